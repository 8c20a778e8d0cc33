/*
 * Chunks of edges, forward and backward, and what joins them. Moves for each edge: its vector, a row of Q, and results;
 * a row of P for each row. The layers of a block, the weights and the sums of a chunk stay in cache.
 */
#ifndef TAMIS_CPU_EDGE_NETWORK_CHUNKS_H
#define TAMIS_CPU_EDGE_NETWORK_CHUNKS_H

#include "cpu/edge_network/gradients.h"
#include "sparse/index.h"

static network_chunk_state network_chunk_of(const tamis_cpu_network *n, int chunk) {
    return (network_chunk_state){.n = n,
                                 .job = n->job,
                                 .order = entry_order_of(&n->job->order),
                                 .own = pass_address(n->job->workspace) + n->begin + chunk * n->apart,
                                 .begin = tamis_cpu_network_begin(n, chunk),
                                 .end = tamis_cpu_network_begin(n, chunk + 1)};
}

/* The first row that begins at a position of at least `least`. */
static int64_t network_first_row(const network_chunk_state *c, int64_t least) {
    return tamis_index_first(c->order.offsets, c->job->order.offset_type, 0, c->job->order.rows, least);
}

/* ------------------------------------------------------------------------------------------ rows */

/* The reduction of a row, or of a part of it: sums, or factor * extremes and the entries from which they come. */
typedef struct network_row {
    real *sums;
    int64_t *from;
    bool any; /* an entry has been added */
} network_row;

static network_row network_row_at(const network_chunk_state *c, int buffer) {
    const int from = buffer == NETWORK_HEAD ? NETWORK_HEAD_FROM : NETWORK_TAIL_FROM;
    return (network_row){network_reals(c, buffer), (int64_t *)(void *)(c->own + c->n->at[from]), false};
}

INLINE void network_larger(network_row *r, int64_t k, real x, int64_t entry) {
    const bool takes = !(x <= r->sums[k]) && r->sums[k] == r->sums[k];
    r->sums[k] = takes ? x : r->sums[k];
    r->from[k] = takes ? entry : r->from[k];
}

/* Adds the values of an edge. */
static void network_reduce(const tamis_edge_network_options *o, network_row *r, const real *x, int64_t entry) {
    const real factor = o->reduce == TAMIS_REDUCE_MIN ? -1 : 1;
    const bool first = !r->any, extreme = tamis_edge_network_is_extreme(o);
    r->any = true;
    if (!extreme && !first) {
        EACH_VECTOR(o->width,
                    network_store(r->sums + t, tail, network_load(r->sums + t, tail) + network_load(x + t, tail)));
    } else if (first) {
        EACH_VECTOR(o->width, network_store(r->sums + t, tail, factor * network_load(x + t, tail)));
        for (int64_t k = 0; extreme && k < o->width; k++) r->from[k] = entry;
    } else {
        for (int64_t k = 0; k < o->width; k++) network_larger(r, k, factor * x[k], entry);
    }
}

/* Adds a later part of the same row. */
static void network_add_part(const tamis_edge_network_options *o, network_row *r, const network_row *part) {
    const bool extreme = tamis_edge_network_is_extreme(o);
    for (int64_t k = 0; k < o->width; k++)
        if (extreme)
            network_larger(r, k, part->sums[k], part->from[k]);
        else
            r->sums[k] += part->sums[k];
}

/* Writes a whole row. */
static void network_write_row(const network_chunk_state *c, int64_t row, const network_row *r) {
    const tamis_edge_network_job *const job = c->job;
    const tamis_edge_network_options *const o = &job->o;
    const int64_t size = element_bytes(TYPE);
    const rows_of to = rows_at(job->out, size);
    char *const out = to.at + row * to.stride, *const argument = pass_address(job->argument);
    const int64_t entries = order_offset(&c->order, row + 1) - order_offset(&c->order, row);
    const real factor = o->reduce == TAMIS_REDUCE_MIN ? -1 : 1;
    const real divisor = o->reduce == TAMIS_REDUCE_MEAN && entries ? (real)entries : factor;
    EACH_VECTOR(o->width,
                pass_store(out + t * size, tail, entries ? network_load(r->sums + t, tail) / divisor : vector_zero()));
    for (int64_t k = 0; argument && k < o->width; k++)
        column_store(argument, row * o->width + k, o->argument_type == TAMIS_I64, entries ? r->from[k] : -1);
}

/* Where a chunk's reduction is: rows first .. last - 1 begin in it, and row first - 1 may reach into it. */
typedef struct network_walk {
    int64_t first, last, row;
    network_row head, tail;
} network_walk;

static network_walk network_walk_of(const network_chunk_state *c) {
    network_walk w = {.first = network_first_row(c, c->begin),
                      .last = c->end == c->job->order.nnz ? c->job->order.rows : network_first_row(c, c->end),
                      .head = network_row_at(c, NETWORK_HEAD),
                      .tail = network_row_at(c, NETWORK_TAIL)};
    w.row = w.first > 0 && order_offset(&c->order, w.first) > c->begin ? w.first - 1 : w.first;
    return w;
}

/* Ends the rows before `row`: a part that is to be joined stays where it is. */
static void network_end_rows(const network_chunk_state *c, network_walk *w, int64_t row) {
    for (; w->row < row; w->row++) {
        if (w->row < w->first) continue;
        if (order_offset(&c->order, w->row + 1) <= c->end) network_write_row(c, w->row, &w->tail);
        w->tail.any = false;
    }
}

/* ------------------------------------------------------------------------------------------ forward */

/* The results of an edge of a block, from y. */
static void network_edge(const network_chunk_state *c, int64_t i, network_walk *w) {
    const tamis_edge_network_job *const job = c->job;
    const tamis_edge_network_options *const o = &job->o;
    const int64_t size = element_bytes(TYPE);
    real *const y = network_reals(c, NETWORK_Y) + i * o->width;
    const real *const e = network_reals(c, NETWORK_E) + i * o->width; /* with a residual */
    const real *const gain = network_reals(c, NETWORK_GAIN), *const shift = network_reals(c, NETWORK_SHIFT);
    const rows_of to = rows_at(job->edges, size);
    char *const edges = to.at ? to.at + c->entry[i] * to.stride : NULL;
    if (o->normalise) network_normalise(o, y);
    EACH_VECTOR(o->width, {
        vector z = network_load(y + t, tail);
        if (o->normalise) z = z * network_load(gain + t, tail) + network_load(shift + t, tail);
        const vector r = o->residual ? z + network_load(e + t, tail) : z;
        if (edges) pass_store(edges + t * size, tail, r);
        network_store(y + t, tail, o->reduce_update ? z : r);
    });
    if (!job->out.at.base) return;
    network_end_rows(c, w, c->row[i]);
    network_reduce(o, c->row[i] < w->first ? &w->head : &w->tail, y, c->entry[i]);
}

static void network_chunk_forward(network_chunk_state *c) {
    network_walk w = network_walk_of(c);
    int64_t row = c->begin == c->end ? 0 : network_row_of(c, c->begin);
    for (int64_t t = c->begin; t < c->end; t += TAMIS_CPU_NETWORK_BLOCK) {
        const int64_t count = c->end - t < TAMIS_CPU_NETWORK_BLOCK ? c->end - t : TAMIS_CPU_NETWORK_BLOCK;
        network_find(c, t, count, &row);
        network_forward(c, t, count, true);
        for (int64_t i = 0; i < count; i++) network_edge(c, i, &w);
    }
    if (c->job->out.at.base) network_end_rows(c, &w, w.last);
}

/* ------------------------------------------------------------------------------------------ all chunks */

static void network_chunk(const tamis_cpu_network *n, int chunk) {
    network_chunk_state c = network_chunk_of(n, chunk);
    if (n->job->back)
        network_chunk_back(&c);
    else
        network_chunk_forward(&c);
}

/* Writes the rows that chunks cut. */
static void network_join(const tamis_cpu_network *n) {
    for (int chunk = 0; chunk < n->chunks; chunk++) {
        const network_chunk_state c = network_chunk_of(n, chunk);
        network_walk w = network_walk_of(&c);
        if (w.last == 0 || w.last - 1 < w.first) continue;
        const int64_t row = w.last - 1, end = order_offset(&c.order, w.last);
        if (end <= c.end) continue;
        for (int next = chunk + 1; next < n->chunks && tamis_cpu_network_begin(n, next) < end; next++) {
            const network_chunk_state other = network_chunk_of(n, next);
            const network_row part = network_row_at(&other, NETWORK_HEAD);
            network_add_part(&n->job->o, &w.tail, &part);
        }
        network_write_row(&c, row, &w.tail);
    }
}

/* Adds the sums of all chunks, and writes the gradients. */
static void network_finish(const tamis_cpu_network *n, int part, int parts) {
    const int64_t size = element_bytes(TYPE);
    for (int k = 0; k < NETWORK_BUFFERS - NETWORK_SUMS; k++) {
        int64_t rows, cols;
        const rows_of to = rows_at(tamis_cpu_network_gradient(n->job, k, &rows, &cols), size);
        if (!to.at) continue;
        TAMIS_EACH_OF_SHARE(i, rows * cols, parts, part) {
            double sum = 0;
            for (int chunk = 0; chunk < n->chunks; chunk++) {
                const char *const own = pass_address(n->job->workspace) + n->begin + chunk * n->apart;
                sum += ((const double *)(const void *)(own + n->at[NETWORK_SUMS + k]))[i];
            }
            element_store(to.at + i / cols * to.stride + i % cols * size, TYPE, (real)sum);
        }
    }
}

/* ------------------------------------------------------------------------------------------ weights */

/* Copies a matrix, and its transpose unless `turned` is NULL. */
static void network_copy_weights(tamis_matrix from, int64_t rows, int64_t cols, real *as_it_is, real *turned) {
    const int64_t size = element_bytes(TYPE);
    const rows_of w = rows_at(from, size);
    for (int64_t i = 0; w.at && i < rows; i++)
        for (int64_t k = 0; k < cols; k++) {
            const real x = element_load(w.at + i * w.stride + k * size, TYPE);
            if (as_it_is) as_it_is[i * cols + k] = x;
            turned[k * rows + i] = x;
        }
}

/* Copies a vector; absent: all are `value`. */
static void network_copy_vector(tamis_matrix from, int64_t count, real value, real *to) {
    const char *const at = pass_address(from.at);
    for (int64_t k = 0; k < count; k++) to[k] = at ? element_load(at + k * element_bytes(TYPE), TYPE) : value;
}

static void network_prepare(const tamis_cpu_network *n) {
    const tamis_edge_network_job *const job = n->job;
    const network_chunk_state c = network_chunk_of(n, 0);
    const int64_t hidden = job->o.hidden, width = job->o.width;
    real *const own[] = {network_reals(&c, NETWORK_W1), network_reals(&c, NETWORK_W2), network_reals(&c, NETWORK_W3)};
    network_copy_weights(job->w1, hidden, job->o.edge_width, job->back ? own[0] : NULL,
                         network_reals(&c, NETWORK_W1_TURNED));
    network_copy_weights(job->w2, hidden, hidden, job->back ? own[1] : NULL, network_reals(&c, NETWORK_W2_TURNED));
    network_copy_weights(job->w3, width, hidden, job->back ? own[2] : NULL, network_reals(&c, NETWORK_W3_TURNED));
    network_copy_vector(job->b1, hidden, 0, network_reals(&c, NETWORK_B1));
    if (job->o.hidden_layers == 2) network_copy_vector(job->b2, hidden, 0, network_reals(&c, NETWORK_B2));
    network_copy_vector(job->b3, width, 0, network_reals(&c, NETWORK_B3));
    network_copy_vector(job->gain, width, 1, network_reals(&c, NETWORK_GAIN));
    network_copy_vector(job->shift, width, 0, network_reals(&c, NETWORK_SHIFT));
}

#endif
