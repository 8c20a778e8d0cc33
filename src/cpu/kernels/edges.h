/*
 * Edge operations on a run of samples: they combine x = <A_i, B_j> and s = S_ij, a vector at a time. The exponential
 * is a polynomial in vectors, so sigmoid, exp and softmax cost a few instructions per element instead of a call.
 */
#ifndef TAMIS_CPU_KERNELS_EDGES_H
#define TAMIS_CPU_KERNELS_EDGES_H

#include "base/edge_rows.h"
#include "cpu/kernels/edge_text.h"
#include "cpu/kernels/softmax.h"

typedef struct edge_arguments {
    tamis_edge edge;
    real scale, slope, epsilon;
    const tamis_cpu_job *job;
} edge_arguments;

INLINE edge_arguments edge_arguments_of(const tamis_cpu_job *job) {
    const tamis_edge edge = job->edge_constants.text ? TAMIS_EDGE_TEXT : job->edge; /* of softmax, the scores */
    return (edge_arguments){edge, (real)job->edge_constants.scale, (real)job->edge_constants.slope,
                            (real)job->edge_constants.epsilon, job};
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
    case TAMIS_EDGE_TEXT: break; /* program_run */
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
    EACH_VECTOR(n, {
        char *const at = (char *)(x + t);
        const vector s = with_values ? part_load(values + t * element_bytes(type), type, tail) : vector_zero();
        part_store(at, REAL, tail, edge_vector(arguments, edge, part_load(at, REAL, tail), s, with_values));
    });
}

/* The samples x[0 .. n) belong to nonzeros first .. first + n - 1. */
static void edge_run(const edge_arguments *arguments, tamis_type type, real *x, int64_t first, int64_t n) {
    const char *const all = arguments->job->values, *const values = all ? all + first * element_bytes(type) : NULL;
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
    case TAMIS_EDGE_TEXT: program_run(arguments->job, type, x, first, n);
    }
}

/* out = alpha * x + beta * out over n elements of the storage type; beta = 0 does not read out */
static void store_run(char *out, tamis_type type, const real *x, int64_t n, real alpha, real beta) {
    const int64_t size = element_bytes(type);
    if (beta == 0)
        EACH_VECTOR(n, part_store(out + t * size, type, tail, alpha * part_load((const char *)(x + t), REAL, tail)));
    else
        EACH_VECTOR(n, part_store(out + t * size, type, tail,
                                  alpha * part_load((const char *)(x + t), REAL, tail) +
                                      beta * part_load(out + t * size, type, tail)));
}

/* The same for samples first .. first + n of p. */
static void store_samples(const tamis_cpu_job *job, tamis_type type, int64_t first, const real *x, int64_t n) {
    if (type != REAL && job->real_out)
        store_run(job->out + first * (int64_t)sizeof(real), REAL, x, n, (real)job->alpha, (real)job->beta);
    else
        store_run(job->out + first * element_bytes(type), type, x, n, (real)job->alpha, (real)job->beta);
}

#endif
