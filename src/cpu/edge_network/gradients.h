/* The backward pass of a chunk of edges. It computes the layers of a block again, and adds to the chunk's sums for the
   gradients of weights. */
#ifndef TAMIS_CPU_EDGE_NETWORK_GRADIENTS_H
#define TAMIS_CPU_EDGE_NETWORK_GRADIENTS_H

#include "cpu/edge_network/layers.h"
#include "sparse/index.h"

/* Numbers of the gradients of weights: tamis_cpu_network_gradient. */
enum { SUM_W1, SUM_B1, SUM_W2, SUM_B2, SUM_W3, SUM_B3, SUM_GAIN, SUM_SHIFT };

/* Whose gradients by an edge's results are. */
typedef struct network_seed {
    const char *edges, *out; /* rows of d_edges and d_out; NULL: 0 */
    real weight;             /* of out */
    const char *argument;    /* the row's, if extremes are reduced */
    int64_t entry;
} network_seed;

static network_seed network_seed_of(const network_chunk_state *c, int64_t i) {
    const tamis_edge_network_job *const job = c->job;
    const int64_t size = element_bytes(TYPE), row = c->row[i], index = (int64_t)tamis_index_size(job->o.argument_type);
    const rows_of edges = rows_at(job->d_edges, size), out = rows_at(job->d_out, size);
    const int64_t count = order_offset(&c->order, row + 1) - order_offset(&c->order, row);
    const bool extreme = out.at && tamis_edge_network_is_extreme(&job->o);
    return (network_seed){.edges = edges.at ? edges.at + c->entry[i] * edges.stride : NULL,
                          .out = out.at ? out.at + row * out.stride : NULL,
                          .weight = job->o.reduce == TAMIS_REDUCE_MEAN ? 1 / (real)count : 1,
                          .argument = extreme ? pass_address(job->argument) + row * job->o.width * index : NULL,
                          .entry = c->entry[i]};
}

/* Sets dz to the gradient by the update, and dr to that by e_t through the residual; dr may be NULL. */
static void network_seed_row(const tamis_edge_network_options *o, const network_seed *s, real *dz, real *dr) {
    const int64_t size = element_bytes(TYPE);
    EACH_VECTOR(o->width, {
        vector by_out = s->out ? s->weight * pass_load(s->out + t * size, tail) : vector_zero();
        const vector by_edge = s->edges ? pass_load(s->edges + t * size, tail) : vector_zero();
        for (int i = 0; s->argument && i < (tail ? tail : LANES); i++)
            if (column_at(s->argument, t + i, o->argument_type == TAMIS_I64) != s->entry) by_out[i] = 0;
        network_store(dz + t, tail, by_edge + by_out);
        if (dr) network_store(dr + t, tail, o->reduce_update ? by_edge : by_edge + by_out);
    });
}

/* Turns dz, the gradient by the normalised update, into that by y. */
static void network_normalise_back(const network_chunk_state *c, const real *normal, real rate, real *dz) {
    const int64_t n = c->job->o.width;
    const real *const gain = network_reals(c, NETWORK_GAIN);
    double *const gains = (double *)(void *)(c->own + c->n->at[NETWORK_SUMS + SUM_GAIN]);
    double *const shifts = (double *)(void *)(c->own + c->n->at[NETWORK_SUMS + SUM_SHIFT]);
    vector sum = vector_zero(), product = vector_zero();
#pragma omp simd
    for (int64_t k = 0; k < n; k++) {
        gains[k] += (double)(dz[k] * normal[k]);
        shifts[k] += (double)dz[k];
    }
    EACH_VECTOR(n, {
        const vector g = network_load(dz + t, tail) * network_load(gain + t, tail);
        sum += g;
        product += g * network_load(normal + t, tail);
        network_store(dz + t, tail, g);
    });
    const real mean = vector_sum(sum) / (real)n, share = vector_sum(product) / (real)n;
    EACH_VECTOR(n, network_store(dz + t, tail,
                                 rate * (network_load(dz + t, tail) - mean - share * network_load(normal + t, tail))));
}

/* Stores the gradients by entries of a block, row by row. */
static void network_scatter(const network_chunk_state *c, const tamis_matrix *to, const real *from, int64_t count,
                            int64_t cols) {
    const rows_of rows = rows_at(*to, element_bytes(TYPE));
    for (int64_t i = 0; rows.at && i < count; i++)
        network_narrow(from + i * cols, rows.at + c->entry[i] * rows.stride, cols);
}

/* True if the gradient by the first layer's argument is wanted, or by the last one's: for itself, or for layers before
   it. */
static bool network_wants_first(const tamis_edge_network_job *job) {
    return job->da.at.base || job->dw1.at.base || job->db1.at.base || job->de.at.base;
}

static bool network_wants_hidden(const tamis_edge_network_job *job) {
    return network_wants_first(job) || job->dw2.at.base || job->db2.at.base;
}

/* From dy to the first layer's argument, then to the vectors of edges. */
static void network_block_back(const network_chunk_state *c, int64_t count) {
    const tamis_edge_network_job *const job = c->job;
    const tamis_edge_network_options *const o = &job->o;
    const int64_t hidden = o->hidden, width = o->width, all = count * hidden;
    const bool two = o->hidden_layers == 2;
    const real *const dy = network_reals(c, NETWORK_DY), *const h1 = network_reals(c, NETWORK_H1);
    real *const da1 = network_reals(c, NETWORK_DA1), *const de = network_reals(c, NETWORK_DE);
    real *const da2 = two ? network_reals(c, NETWORK_DA2) : da1;
    network_sum(c, dy, count, width, SUM_B3, two ? network_reals(c, NETWORK_H2) : h1, hidden, SUM_W3);
    if (!network_wants_hidden(job)) return;
    network_multiply(c, dy, count, width, NETWORK_W3, hidden, da2, 0);
    if (two) {
        network_activate_back(o->activation, network_reals(c, NETWORK_A2), da2, all);
        network_sum(c, da2, count, hidden, SUM_B2, h1, hidden, SUM_W2);
        if (!network_wants_first(job)) return;
        network_multiply(c, da2, count, hidden, NETWORK_W2, hidden, da1, 0);
    }
    network_activate_back(o->activation, network_reals(c, NETWORK_A1), da1, all);
    network_sum(c, da1, count, hidden, SUM_B1, network_reals(c, NETWORK_E), o->edge_width, SUM_W1);
    network_scatter(c, &job->da, da1, count, hidden);
    if (!job->de.at.base) return;
    network_multiply(c, da1, count, hidden, NETWORK_W1, o->edge_width, de, o->residual);
    network_scatter(c, &job->de, de, count, o->edge_width);
}

static void network_clear_sums(const network_chunk_state *c) {
    for (int k = 0; k < NETWORK_BUFFERS - NETWORK_SUMS; k++) {
        int64_t rows, cols;
        const tamis_matrix to = tamis_cpu_network_gradient(c->job, k, &rows, &cols);
        if (to.at.base || k >= SUM_GAIN)
            memset(c->own + c->n->at[NETWORK_SUMS + k], 0, (size_t)(rows * cols) * sizeof(double));
    }
}

static void network_chunk_back(network_chunk_state *c) {
    const tamis_edge_network_options *const o = &c->job->o;
    const bool direct = c->job->de.at.base && o->residual;
    int64_t row = c->begin == c->end ? 0 : network_row_of(c, c->begin);
    network_clear_sums(c);
    for (int64_t t = c->begin; t < c->end; t += TAMIS_CPU_NETWORK_BLOCK) {
        const int64_t count = c->end - t < TAMIS_CPU_NETWORK_BLOCK ? c->end - t : TAMIS_CPU_NETWORK_BLOCK;
        network_find(c, t, count, &row);
        network_forward(c, t, count, o->normalise);
        for (int64_t i = 0; i < count; i++) {
            const network_seed s = network_seed_of(c, i);
            real *const dz = network_reals(c, NETWORK_DY) + i * o->width;
            real *const y = network_reals(c, NETWORK_Y) + i * o->width;
            network_seed_row(o, &s, dz, direct ? network_reals(c, NETWORK_DE) + i * o->width : NULL);
            if (o->normalise) network_normalise_back(c, y, network_normalise(o, y), dz);
        }
        network_block_back(c, count);
    }
}

#endif
