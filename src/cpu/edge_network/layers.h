/* The layers of a block of edges. Buffers have a packed row for each edge, in the type of sums, so that an activation
   goes through a buffer as one row. */
#ifndef TAMIS_CPU_EDGE_NETWORK_LAYERS_H
#define TAMIS_CPU_EDGE_NETWORK_LAYERS_H

#include "cpu/edge_network/network.h"
#include "cpu/kernels/expression.h"
#include "cpu/messages/pass.h"
#include "sparse/index.h"

typedef struct network_chunk_state {
    const tamis_cpu_network *n;
    const tamis_edge_network_job *job;
    entry_order order;
    char *own; /* where the chunk's buffers begin */
    int64_t begin, end;
    int64_t entry[TAMIS_CPU_NETWORK_BLOCK], row[TAMIS_CPU_NETWORK_BLOCK]; /* of the block's edges */
} network_chunk_state;

INLINE real *network_reals(const network_chunk_state *c, int buffer) {
    char *const from = buffer < NETWORK_OWN ? pass_address(c->job->workspace) : c->own;
    return (real *)(void *)(from + c->n->at[buffer]);
}

INLINE vector network_load(const real *p, int tail) { return part_load((const char *)p, REAL, tail); }
INLINE void network_store(real *p, int tail, vector x) { part_store((char *)p, REAL, tail, x); }

/* ------------------------------------------------------------------------------------------ activations */

#define NETWORK_ROOT_HALF ((real)0.70710678118654752440)
#define NETWORK_DENSITY   ((real)0.39894228040143267794) /* 1 / sqrt(2 pi) */

INLINE vector network_logistic(vector x) { return 1 / (1 + vector_exp(-x)); }

/* NaN stays NaN. */
INLINE vector network_relu(vector x, vector value) {
    return vector_select((vector_bits)(x <= vector_zero()), vector_zero(), value);
}

INLINE vector network_value(tamis_activation kind, vector x) {
    switch (kind) {
    case TAMIS_ACTIVATION_RELU: return network_relu(x, x);
    case TAMIS_ACTIVATION_SILU: return x * network_logistic(x);
    case TAMIS_ACTIVATION_GELU: return x * vector_erfc(-x * NETWORK_ROOT_HALF) / 2;
    default: return vector_tanh(x);
    }
}

INLINE vector network_slope(tamis_activation kind, vector x) {
    if (kind == TAMIS_ACTIVATION_RELU) return network_relu(x, vector_of(1));
    if (kind == TAMIS_ACTIVATION_SILU) {
        const vector s = network_logistic(x);
        return s * (1 + x * (1 - s));
    }
    if (kind == TAMIS_ACTIVATION_GELU)
        return vector_erfc(-x * NETWORK_ROOT_HALF) / 2 + NETWORK_DENSITY * x * vector_exp(x * x * (real)-0.5);
    const vector t = vector_tanh(x);
    return 1 - t * t;
}

#define NETWORK_EACH_ACTIVATION(kind, X)                                                                               \
    switch (kind) {                                                                                                    \
    case TAMIS_ACTIVATION_RELU: X(TAMIS_ACTIVATION_RELU); break;                                                       \
    case TAMIS_ACTIVATION_SILU: X(TAMIS_ACTIVATION_SILU); break;                                                       \
    case TAMIS_ACTIVATION_GELU: X(TAMIS_ACTIVATION_GELU); break;                                                       \
    default: X(TAMIS_ACTIVATION_TANH);                                                                                 \
    }

/* to = f(from), which may be the same. */
static void network_activate(tamis_activation kind, const real *from, real *to, int64_t count) {
#define ACTIVATE(f) EACH_VECTOR(count, network_store(to + t, tail, network_value(f, network_load(from + t, tail))))
    NETWORK_EACH_ACTIVATION(kind, ACTIVATE)
#undef ACTIVATE
}

/* d = d * f'(a) */
static void network_activate_back(tamis_activation kind, const real *a, real *d, int64_t count){
#define ACTIVATE(f)                                                                                                    \
    EACH_VECTOR(count,                                                                                                 \
                network_store(d + t, tail, network_load(d + t, tail) * network_slope(f, network_load(a + t, tail))))
    NETWORK_EACH_ACTIVATION(kind, ACTIVATE)
#undef ACTIVATE
}

/* ------------------------------------------------------------------------------------------ products */

INLINE tamis_matrix network_packed(const real *x, int64_t cols) {
    return (tamis_matrix){.at = {.base = (void *)(uintptr_t)x}, .stride = cols};
}

/* to = x G + keep * to, with G inner x cols. */
static void network_multiply(const network_chunk_state *c, const real *x, int64_t count, int64_t inner, int weights,
                             int64_t cols, real *to, double keep) {
    const tamis_dense_job job = {.rows = count,
                                 .cols = cols,
                                 .last = cols,
                                 .inner = inner,
                                 .c = 1,
                                 .d = keep,
                                 .x = network_packed(x, inner),
                                 .y = network_packed(network_reals(c, weights), cols),
                                 .z = network_packed(to, cols)};
    c->n->dense->multiply(&job, 0, count);
}

/* Adds the sums of x to the gradient of a vector, and x^T y to the gradient of weights: their numbers. */
static void network_sum(const network_chunk_state *c, const real *x, int64_t count, int64_t inner, int vector_number,
                        const real *y, int64_t cols, int weights) {
    int64_t rows, length;
    double *const sums = (double *)(void *)(c->own + c->n->at[NETWORK_SUMS + vector_number]);
    if (tamis_cpu_network_gradient(c->job, vector_number, &rows, &length).at.base)
        for (int64_t i = 0; i < count; i++)
#pragma omp simd
            for (int64_t k = 0; k < inner; k++) sums[k] += (double)x[i * inner + k];
    if (!tamis_cpu_network_gradient(c->job, weights, &rows, &length).at.base) return;
    const tamis_dense_job job = {
        .rows = count, .cols = cols, .inner = inner, .x = network_packed(x, inner), .y = network_packed(y, cols)};
    c->n->dense->cross(&job, (double *)(void *)(c->own + c->n->at[NETWORK_SUMS + weights]));
}

/* ------------------------------------------------------------------------------------------ a block */

/* Copies a row of elements into reals. */
INLINE void network_widen(const char *from, real *to, int64_t count) {
    EACH_VECTOR(count, network_store(to + t, tail, pass_load(from + t * element_bytes(TYPE), tail)));
}

INLINE void network_narrow(const real *from, char *to, int64_t count) {
    EACH_VECTOR(count, pass_store(to + t * element_bytes(TYPE), tail, network_load(from + t, tail)));
}

/* a = p + q + b1; p and q may be NULL. */
INLINE void network_gather(const char *p, const char *q, const real *b, real *a, int64_t count) {
    const int64_t size = element_bytes(TYPE);
    EACH_VECTOR(count, {
        vector x = network_load(b + t, tail);
        if (p) x += pass_load(p + t * size, tail);
        if (q) x += pass_load(q + t * size, tail);
        network_store(a + t, tail, x);
    });
}

/* The row of a position. */
static int64_t network_row_of(const network_chunk_state *c, int64_t position) {
    const tamis_message_order *const order = &c->job->order;
    return tamis_index_first(c->order.offsets, order->offset_type, 1, order->rows, position + 1) - 1;
}

/* Finds the rows and entries of positions `begin` on; *row is that of the first, and then of the last. */
static void network_find(network_chunk_state *c, int64_t begin, int64_t count, int64_t *row) {
    for (int64_t i = 0; i < count; i++) {
        while (order_offset(&c->order, *row + 1) <= begin + i) ++*row;
        c->row[i] = *row;
        c->entry[i] = order_entry(&c->order, begin + i);
    }
}

static void network_load_block(const network_chunk_state *c, int64_t begin, int64_t count) {
    enum { NEXT = 4, LONG = 1024 };
    const tamis_edge_network_job *const job = c->job;
    const int64_t size = element_bytes(TYPE), hidden = job->o.hidden, inner = job->o.edge_width;
    const rows_of e = rows_at(job->e, size), p = rows_at(job->p, size), q = rows_at(job->q, size);
    const int64_t bytes = hidden * size < LONG ? hidden * size : LONG;
    for (int64_t i = 0; i < count; i++) {
        const int64_t column = order_column(&c->order, begin + i);
        if (q.at && i + NEXT < count)
            prefetch_bytes(q.at + order_column(&c->order, begin + i + NEXT) * q.stride, 0, bytes);
        network_gather(p.at ? p.at + c->row[i] * p.stride : NULL, q.at ? q.at + column * q.stride : NULL,
                       network_reals(c, NETWORK_B1), network_reals(c, NETWORK_A1) + i * hidden, hidden);
        if (inner) network_widen(e.at + c->entry[i] * e.stride, network_reals(c, NETWORK_E) + i * inner, inner);
    }
}

static void network_spread(const real *b, real *to, int64_t count, int64_t cols) {
    for (int64_t i = 0; i < count; i++) memcpy(to + i * cols, b, (size_t)cols * sizeof *to);
}

/* Computes the hidden layers of a block, and y if it is wanted. */
static void network_forward(const network_chunk_state *c, int64_t begin, int64_t count, bool wants_y) {
    const tamis_edge_network_options *const o = &c->job->o;
    const int64_t hidden = o->hidden, all = count * hidden;
    real *const a1 = network_reals(c, NETWORK_A1), *const h1 = network_reals(c, NETWORK_H1);
    real *const a2 = network_reals(c, NETWORK_A2), *const h2 = network_reals(c, NETWORK_H2);
    network_load_block(c, begin, count);
    if (o->edge_width)
        network_multiply(c, network_reals(c, NETWORK_E), count, o->edge_width, NETWORK_W1_TURNED, hidden, a1, 1);
    network_activate(o->activation, a1, h1, all);
    if (o->hidden_layers == 2) {
        network_spread(network_reals(c, NETWORK_B2), a2, count, hidden);
        network_multiply(c, h1, count, hidden, NETWORK_W2_TURNED, hidden, a2, 1);
        network_activate(o->activation, a2, h2, all);
    }
    if (!wants_y) return;
    network_spread(network_reals(c, NETWORK_B3), network_reals(c, NETWORK_Y), count, o->width);
    network_multiply(c, h2, count, hidden, NETWORK_W3_TURNED, o->width, network_reals(c, NETWORK_Y), 1);
}

/* Normalises a row; returns 1 / sqrt(variance + epsilon). */
INLINE real network_normalise(const tamis_edge_network_options *o, real *y) {
    const int64_t n = o->width;
    vector sum = vector_zero(), squares = vector_zero();
    EACH_VECTOR(n, sum += network_load(y + t, tail));
    const real mean = vector_sum(sum) / (real)n;
    EACH_VECTOR(n, {
        const vector x = part_or(network_load(y + t, tail) - mean, tail, 0);
        squares += x * x;
    });
    const real rate = 1 / REAL_FUNCTION(sqrt)(vector_sum(squares) / (real)n + (real)o->epsilon);
    EACH_VECTOR(n, network_store(y + t, tail, (network_load(y + t, tail) - mean) * rate));
    return rate;
}

#endif
