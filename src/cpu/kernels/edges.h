/*
 * Edge operations on a run of samples: they combine x = <A_i, B_j> and s = S_ij, a vector at a time. The exponential
 * is a polynomial in vectors, so sigmoid, exp and softmax cost a few instructions per element instead of a call.
 */
#ifndef TAMIS_CPU_KERNELS_EDGES_H
#define TAMIS_CPU_KERNELS_EDGES_H

#include "base/edge_rows.h"
#include "cpu/kernels/exp.h"
#include "cpu/kernels/segment.h"

typedef struct edge_arguments {
    tamis_edge edge;
    real scale, slope, epsilon;
} edge_arguments;

INLINE edge_arguments edge_arguments_of(const tamis_cpu_job *job) {
    return (edge_arguments){job->edge, (real)job->edge_constants.scale, (real)job->edge_constants.slope,
                            (real)job->edge_constants.epsilon};
}

#define NUMBER(x) ((real)(x))
#define SELECT(condition, this, otherwise)                                                                             \
    vector_select((vector_bits)(condition), (this) * vector_of(1), (otherwise)*vector_of(1))
#define EXPONENTIAL(z) vector_exp(z)
#define NONE           vector_zero()

/* The edge of one vector of samples; for softmax the scores, which are normalised later, row by row. `with_values` is a
   compile-time constant. If S has no values, s is not read and counts as ones. */
INLINE vector edge_vector(const edge_arguments *arguments, tamis_edge edge, vector x, vector s, int with_values) {
    const real scale = arguments->scale, slope = arguments->slope, epsilon = arguments->epsilon;
    const vector y = scale * x, one = vector_of(1);
    switch (edge) {
#define ROW(NAME, number, name, entry, shape, e_is, f_is, ...)                                                         \
    case TAMIS_EDGE_##NAME: {                                                                                          \
        const vector e = e_is, f = f_is;                                                                               \
        (void)e;                                                                                                       \
        if (!with_values) return entry == TAMIS_S_BIAS ? f : TAMIS_EDGE_VALUE(entry, one, f);                          \
        return TAMIS_EDGE_VALUE(entry, s, f);                                                                          \
    }
        TAMIS_EDGES(ROW)
#undef ROW
    }
    return x;
}
#undef NUMBER
#undef SELECT
#undef EXPONENTIAL
#undef NONE

/* Replaces the samples x[0 .. n) with the edge's values. */
INLINE void edge_run_of(const edge_arguments *arguments, tamis_edge edge, tamis_type type, real *x, const char *values,
                        int64_t n, int with_values) {
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vector_anywhere *const at = (vector_anywhere *)(void *)(x + t);
        const vector s = with_values ? vector_load(values + t * element_bytes(type), type) : vector_zero();
        *at = edge_vector(arguments, edge, *at, s, with_values);
    }
    if (t < n) {
        const int rest = (int)(n - t);
        const vector s = with_values ? vector_load_tail(values + t * element_bytes(type), type, rest) : vector_zero();
        const vector y =
            edge_vector(arguments, edge, vector_load_tail((const char *)(x + t), REAL, rest), s, with_values);
        vector_store_tail((char *)(x + t), REAL, rest, y);
    }
}

static void edge_run(const edge_arguments *arguments, tamis_type type, real *x, const char *values, int64_t n) {
    switch (arguments->edge) {
#define ROW(NAME, number, name, entry, shape, ...)                                                                     \
    case TAMIS_EDGE_##NAME:                                                                                            \
        if (values && entry != TAMIS_S_UNREAD)                                                                         \
            edge_run_of(arguments, TAMIS_EDGE_##NAME, type, x, values, n, 1);                                          \
        else if (shape != TAMIS_F_IS_X) /* else the sample itself */                                                   \
            edge_run_of(arguments, TAMIS_EDGE_##NAME, type, x, NULL, n, 0);                                            \
        return;
        TAMIS_EDGES(ROW)
#undef ROW
    }
}

/* out = alpha * x + beta * out over n elements of the storage type; beta = 0 does not read out */
static void store_run(char *out, tamis_type type, const real *x, int64_t n, real alpha, real beta) {
    const int64_t size = element_bytes(type);
    int64_t t = 0;
    if (beta == 0) {
        for (; t + LANES <= n; t += LANES)
            vector_store(out + t * size, type, alpha * *(const vector_anywhere *)(const void *)(x + t));
        if (t < n)
            vector_store_tail(out + t * size, type, (int)(n - t),
                              alpha * vector_load_tail((const char *)(x + t), REAL, (int)(n - t)));
        return;
    }
    for (; t + LANES <= n; t += LANES)
        vector_store(out + t * size, type,
                     alpha * *(const vector_anywhere *)(const void *)(x + t) +
                         beta * vector_load(out + t * size, type));
    if (t < n)
        vector_store_tail(out + t * size, type, (int)(n - t),
                          alpha * vector_load_tail((const char *)(x + t), REAL, (int)(n - t)) +
                              beta * vector_load_tail(out + t * size, type, (int)(n - t)));
}

/* The same for samples first .. first + n of p. */
static void store_samples(const tamis_cpu_job *job, tamis_type type, int64_t first, const real *x, int64_t n) {
    if (type != REAL && job->real_out)
        store_run(job->out + first * (int64_t)sizeof(real), REAL, x, n, (real)job->alpha, (real)job->beta);
    else
        store_run(job->out + first * element_bytes(type), type, x, n, (real)job->alpha, (real)job->beta);
}

/* Stores a row's largest score and sum of exponentials if the caller asked for them. */
INLINE void keep_softmax_row(const tamis_cpu_job *job, int64_t row, real most, real sum) {
    if (!job->softmax_rows) return;
    real *const pair = (real *)(void *)job->softmax_rows + 2 * row;
    pair[0] = most;
    pair[1] = sum;
}

/* The divisor of a row's exponentials. If all scores are -infinity (a masked row), the exponentials are zeros, and stay
   zeros. The sum of a row with NaN is NaN. */
INLINE real softmax_sum(real sum) { return sum == 0 ? 1 : sum; }

/* The largest of n scores, or -infinity if n = 0. It may skip NaN, since the exponential brings NaN back. */
static real run_max(const real *x, int64_t n) {
    const vector none = vector_of(-(real)__builtin_inff());
    vector most = none;
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) most = vector_max(*(const vector_anywhere *)(const void *)(x + t), most);
    const int rest = (int)(n - t);
    if (rest > 0)
        most = vector_max(vector_first(vector_load_tail((const char *)(x + t), REAL, rest), rest, none), most);
    return vector_largest(most);
}

/* to[t] = exp(x[t] - shift); returns their sum. `to` may be x. */
static real run_exp(real *to, const real *x, int64_t n, real shift) {
    vector sum = vector_zero();
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        const vector e = vector_exp(*(const vector_anywhere *)(const void *)(x + t) - shift);
        *(vector_anywhere *)(void *)(to + t) = e;
        sum += e;
    }
    const int rest = (int)(n - t);
    if (rest > 0) {
        const vector e = vector_exp(vector_load_tail((const char *)(x + t), REAL, rest) - shift);
        vector_store_tail((char *)(to + t), REAL, rest, e);
        sum += vector_first(e, rest, vector_zero());
    }
    return vector_sum(sum);
}

INLINE void run_subtract(real *x, int64_t n, real y) {
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) *(vector_anywhere *)(void *)(x + t) -= y;
    const int rest = (int)(n - t);
    if (rest > 0)
        vector_store_tail((char *)(x + t), REAL, rest, vector_load_tail((const char *)(x + t), REAL, rest) - y);
}

INLINE real run_sum(const real *x, int64_t n) {
    vector sum = vector_zero();
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) sum += *(const vector_anywhere *)(const void *)(x + t);
    const int rest = (int)(n - t);
    if (rest > 0) sum += vector_load_tail((const char *)(x + t), REAL, rest);
    return vector_sum(sum);
}

#endif
