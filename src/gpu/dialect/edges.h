/*
 * Edge operations: they combine a sample x = <A_i, B_j> and the stored value s. EDGE is a number of tamis_edge, and
 * HAS_VALUES says whether S has values (without them, s is 1). On GPUs both are constants; where compilation is slow
 * they are kernel arguments (edge_kind, has_values). So neither may be used in an #if.
 */

#include "edge_rows.h"
#include "texts.h"

#define ROW(NAME, number, name, entry, shape, e_is, f_is, gradient_e, gradient_f, df_dx) EDGE_##NAME = number,
enum { TAMIS_EDGES(ROW) EDGE_IS_TEXT = 100 };
#undef ROW

#define EXPONENTIAL(z) (has_e = 1, z)
#define NONE           0

/* The edge's value; for softmax the score, which the row normalises later. */
FUNCTION real edge_value(int edge, int has_values, real x, real s, real scale, real slope, real epsilon) {
#if defined(EDGE_TEXT)
    if (edge == EDGE_IS_TEXT)
        return text_results_of(x, has_values ? s : 1, 0, 0, 0, 0, scale, slope, epsilon, NO_ARRAYS).p;
#endif
    const real y = scale * x;
    real e = 0;
    int has_e = 0;
    switch (edge) {
#define ROW(NAME, number, name, entry, shape, e_is, f_is, gradient_e, gradient_f, df_dx)                               \
    case number: e = e_is; break;
        TAMIS_EDGES(ROW)
#undef ROW
    default: break;
    }
    if (has_e) e = exp(e); /* one inlined call for all edges, since exp is long */
    if (!has_values) s = 1;
    switch (edge) {
#define ROW(NAME, number, name, entry, shape, e_is, f_is, gradient_e, gradient_f, df_dx)                               \
    case number: {                                                                                                     \
        const real f = f_is;                                                                                           \
        return has_values || entry != TAMIS_S_BIAS ? TAMIS_EDGE_VALUE(entry, s, f) : f;                                \
    }
        TAMIS_EDGES(ROW)
#undef ROW
    default: return x;
    }
}

/* Scalar parameters of every kernel with an edge operation, and the same as arguments. */
#define EDGE_PARAMETERS                                                                                                \
    real edge_scale, real edge_slope, real edge_epsilon, int32 edge_kind, int32 has_values, real alpha, real beta
#define EDGE_ARGUMENTS edge_scale, edge_slope, edge_epsilon, edge_kind, has_values, alpha, beta

/*
 * KEEP_SOFTMAX: 1 if executions may ask for each row's largest score and sum of exponentials (softmax_rows of
 * tamis_execution). Such kernels write `pairs`, which is NULL if nobody asked for them; other kernels ignore it.
 */
#define KEEP_PARAMETERS OUT(real, pairs), int64 pairs_batch_stride, int32 keeps
#if KEEP_SOFTMAX
#define KEEP_ASKED                                                                                                     \
    if (!keeps) pairs = 0
#define KEEP_FORMALS   , GLOBAL real *pairs
#define KEEP_ARGUMENTS , pairs
#define KEEP_ROW(when, row, most, sum)                                                                                 \
    if (pairs && (when)) {                                                                                             \
        pairs[2 * (row)] = most;                                                                                       \
        pairs[2 * (row) + 1] = sum;                                                                                    \
    }
#else
#define KEEP_ASKED
#define KEEP_FORMALS
#define KEEP_ARGUMENTS
#define KEEP_ROW(when, row, most, sum)
#endif

/*
 * Output of samples: P in its storage type; or scratch in `real` (SAMPLES_REAL), for a later softmax or for partial
 * sums. out[t] = alpha * y + beta * out[t]; with beta = 0 it does not read out.
 */
#if SAMPLES_REAL
typedef real sample;
FUNCTION sample sample_of(real y, real alpha) { return y; } /* the value that is stored if beta = 0 */
FUNCTION void store_sample(GLOBAL sample *out, int64 t, real y, real alpha, real beta) { out[t] = y; }
#else
typedef output sample;
FUNCTION sample sample_of(real y, real alpha) { return output_of(alpha * y); }
FUNCTION void store_sample(GLOBAL sample *out, int64 t, real y, real alpha, real beta) {
    out[t] = output_of(beta == 0 ? alpha * y : alpha * y + beta * real_of_output(out[t]));
}
#endif

/* Common parameters of SDDMM kernels. `wide`: bit 0 if rows of A and B allow vector loads of units (simt.h), bit 1 if
   columns allow 16-byte loads. */
#define SDDMM_PARAMETERS                                                                                               \
    int64 rows, int64 cols, int64 nnz, IN(offset, offsets), IN(index, columns), IN(element, values), IN(element, a),   \
        int64 a_stride, IN(element, b), int64 b_stride, int64 inner, OUT(sample, out), EDGE_PARAMETERS, int wide

/* The value of S at nonzero t, if the edge reads it: value_at(EDGE, HAS_VALUES, values, t). */
FUNCTION element value_at(int edge, int has_values, GLOBAL const element *values, int64 t) {
    return has_values && edge != EDGE_MASK ? values[t] : (element)0;
}

/* Applies the edge to nonzero t, whose value in S is `value`, and stores the sample. Kernels that store several samples
   read all values first, since the compiler moves no load across a store. */
FUNCTION void finish_value(GLOBAL sample *out, element value, int64 t, real x, EDGE_PARAMETERS) {
    const real s = HAS_VALUES ? real_of(value) : (real)1;
    store_sample(out, t, edge_value(EDGE, HAS_VALUES, x, s, edge_scale, edge_slope, edge_epsilon), alpha, beta);
}

FUNCTION void finish_sample(GLOBAL sample *out, GLOBAL const element *values, int64 t, real x, EDGE_PARAMETERS) {
    finish_value(out, value_at(EDGE, HAS_VALUES, values, t), t, x, EDGE_ARGUMENTS);
}

/*
 * K in slices, one launch each (SLICED; see gpu/slices.h): `sums` holds the partial sums of earlier launches. `stage`:
 * bit 0 in the first launch, bit 1 in the last.
 */
#define SLICE_PARAMETERS OUT(real, sums), int32 stage
#if defined(SLICED)
FUNCTION void finish_slice(GLOBAL sample *out, element value, int64 t, real x, GLOBAL real *sums, int stage,
                           EDGE_PARAMETERS) {
    if (SLICED && !(stage & 1)) x += sums[t];
    if (!SLICED || stage & 2)
        finish_value(out, value, t, x, EDGE_ARGUMENTS);
    else
        sums[t] = x;
}
#endif
