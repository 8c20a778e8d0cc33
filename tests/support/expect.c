/* The oracle's results and their error bounds; see expect.h for the derivation. */
#include <tamis/reference.h>

#include "support/expect.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/element.h"

static double unit_of_sums(tamis_type type) { return type == TAMIS_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2; }

/* What a sum may lose where it, or a term of it, falls below the normal numbers. */
static double smallest_of_sums(tamis_type type) { return type == TAMIS_F64 ? DBL_MIN : (double)FLT_MIN; }

typedef struct storage {
    int digits, least; /* binary digits of a number; the exponent of the smallest positive one */
    double largest;
} storage;

static const storage storages[] = {[TAMIS_F32] = {24, -149, (double)FLT_MAX},
                                   [TAMIS_F64] = {53, -1074, DBL_MAX},
                                   [TAMIS_F16] = {11, -24, 65504},
                                   [TAMIS_BF16] = {8, -133, 0x1.fep127}};

double expect_stored(tamis_type type, double x) {
    const storage *const to = &storages[type];
    int exponent = 0;
    if (x == 0 || !isfinite(x)) return x;
    frexp(x, &exponent);
    const int last = exponent - to->digits > to->least ? exponent - to->digits : to->least;
    const double stored = ldexp(rint(ldexp(x, -last)), last); /* rint: to nearest, ties to even */
    return fabs(stored) <= to->largest ? stored : copysign(INFINITY, x);
}

static double *doubles(int64_t count) {
    double *const x = calloc((size_t)count + 1, sizeof *x);
    if (!x) abort();
    return x;
}

/* One member of a dense operand as packed doubles, absolute values where asked. */
static double *unpack(const tamis_dense *X, int64_t member, bool absolute) {
    double *const x = doubles(X->rows * X->cols);
    for (int64_t i = 0; i < X->rows; i++)
        for (int64_t j = 0; j < X->cols; j++) {
            const double value = test_load(X->data, X->type, test_position(X, member, i, j));
            x[i * X->cols + j] = absolute ? fabs(value) : value;
        }
    return x;
}

static tamis_dense packed(double *data, int64_t rows, int64_t cols) {
    return (tamis_dense){.data = data, .rows = rows, .cols = cols, .type = TAMIS_F64};
}

static void must(tamis_status status) {
    if (status != TAMIS_OK) abort();
}

/* Samples <A_i, B_j>, of absolute values where asked. */
static double *products_of(const problem *p, int64_t member, bool absolute) {
    double *const a = unpack(&p->A, member, absolute), *const b = unpack(&p->B, member, absolute);
    double *const x = doubles(p->S.nnz);
    const tamis_dense A = packed(a, p->A.rows, p->A.cols), B = packed(b, p->B.rows, p->B.cols);
    const tamis_options mask = with_edge(TAMIS_EDGE_MASK);
    must(tamis_reference_sddmm(&p->S, &A, &B, &mask, NULL, x));
    free(a);
    free(b);
    return x;
}

/* |row| of each of `rows` packed rows. */
static double *norms_of(const double *x, int64_t rows, int64_t cols) {
    double *const norm = doubles(rows);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < cols; k++) norm[i] += x[i * cols + k] * x[i * cols + k];
        norm[i] = sqrt(norm[i]);
    }
    return norm;
}

/* What rounding both inputs of each of `terms` products to TF32 adds, of the sum of their magnitudes. */
static double rounding_of(const tamis_options *options, double terms) {
    return options->math == TAMIS_MATH_TF32 ? 0x1p-10 + (terms + 64) * 0x1p-26 : 0;
}

/* dx of a dot product x: `size` is the sum of |a||b|, `norms` is |a||b|. */
static double dot_error(const problem *p, const tamis_options *options, double x, double size, double norms) {
    const double K = (double)p->options.inner, u = unit_of_sums(p->options.type);
    const double rule = 1e-6 * 0x1p24 * u * sqrt(K / 128 + 1);
    if (!isfinite(x) || K == 0) return 0;
    return fmin((K + 8) * u * size, 8 * rule * fmax(fabs(x), norms / sqrt(K))) + rounding_of(options, K) * size;
}

static double edge_of(const tamis_options *options, double x, double s) {
    const double scaled = options->edge_scale * x;
    const double slope = options->edge_slope;
    const double epsilon = options->edge_epsilon;
    switch (options->edge) {
    case TAMIS_EDGE_SCALE: return s * x;
    case TAMIS_EDGE_RESIDUAL: return s - x;
    case TAMIS_EDGE_QUOTIENT: return s / (x <= epsilon ? epsilon : x);
    case TAMIS_EDGE_SIGMOID: return s / (1 + exp(-scaled));
    case TAMIS_EDGE_EXP: return s * exp(scaled);
    case TAMIS_EDGE_LEAKY_RELU: return s * (scaled < 0 ? slope * scaled : scaled);
    case TAMIS_EDGE_MASK:
    case TAMIS_EDGE_SOFTMAX: break;
    }
    return x;
}

static int64_t row_of(const tamis_sparse *S, int64_t t, int64_t from) {
    if (S->format == TAMIS_COO)
        return S->index_type == TAMIS_I64 ? ((const int64_t *)S->row_indices)[t] : ((const int32_t *)S->row_indices)[t];
    while ((S->offset_type == TAMIS_I64 ? ((const int64_t *)S->offsets)[from + 1]
                                        : ((const int32_t *)S->offsets)[from + 1]) <= t)
        from++;
    return from;
}

/* de[t] of an edge other than softmax. */
static double edge_error(const problem *p, const tamis_options *options, double x, double s, double e, double dx) {
    const double u = unit_of_sums(p->options.type), scale = options->edge_scale;
    if (!isfinite(e)) return 0;
    if (!isfinite(x)) return 16 * u * fabs(e); /* exp of it is 0 or not finite */
    const double up = fabs(edge_of(options, x + dx, s) - e), down = fabs(edge_of(options, x - dx, s) - e);
    const bool exponential = options->edge == TAMIS_EDGE_EXP || options->edge == TAMIS_EDGE_SIGMOID;
    /* where the interval reaches the floor of the quotient, anything between both ends is right */
    return fmax(up, down) + 16 * u * fabs(e) + (exponential ? 4 * u * fabs(scale * x) * fabs(e) : 0);
}

/* e[t] and de[t] of one member. */
static void edges_of(const problem *p, const tamis_options *options, int64_t member, double *e, double *de) {
    const tamis_sparse *const S = &p->S;
    const double u = unit_of_sums(p->options.type);
    double *const x = products_of(p, member, false), *const size = products_of(p, member, true);
    double *const row_error = doubles(S->rows), *const row_count = doubles(S->rows);
    tamis_sparse one = *S;
    if (S->values)
        one.values = (const char *)S->values + (size_t)(member * S->batch_stride) * tamis_type_size(S->value_type);
    const tamis_dense A = p->A, B = p->B;
    double *const a = unpack(&A, member, false), *const b = unpack(&B, member, false);
    double *const a_norm = norms_of(a, A.rows, A.cols), *const b_norm = norms_of(b, B.rows, B.cols);
    const tamis_dense A64 = packed(a, A.rows, A.cols), B64 = packed(b, B.rows, B.cols);
    tamis_options plain = *options;
    plain.batch = 1;
    must(tamis_reference_sddmm(&one, &A64, &B64, &plain, NULL, e));
    const double scale = options->edge_scale;
    for (int64_t t = 0, row = 0; t < S->nnz; t++) {
        const double s = S->values ? test_load(one.values, S->value_type, t) : 1;
        row = row_of(S, t, S->format == TAMIS_CSR ? row : 0);
        const double norms = a_norm[row] * b_norm[tamis_index_load(S->columns, S->index_type, t)];
        const double dx = dot_error(p, options, x[t], size[t], norms);
        if (options->edge != TAMIS_EDGE_SOFTMAX) {
            de[t] = edge_error(p, options, x[t], s, e[t], dx);
            continue;
        }
        row_count[row]++;
        /* a score of minus infinity has weight 0, one of infinity or NaN leaves nothing of its row */
        const double ds = fabs(scale) * dx + 4 * u * (fabs(scale * x[t]) + (S->values ? fabs(s) : 0));
        if (isfinite(ds)) row_error[row] = fmax(row_error[row], ds);
    }
    if (options->edge == TAMIS_EDGE_SOFTMAX)
        for (int64_t t = 0, row = 0; t < S->nnz; t++) {
            row = row_of(S, t, S->format == TAMIS_CSR ? row : 0);
            const double relative = expm1(2 * row_error[row]) + (row_count[row] + 20) * u;
            de[t] = (isfinite(e[t]) && e[t] > 0 ? e[t] * relative : 0) + 2 * smallest_of_sums(p->options.type);
        }
    free(x);
    free(size);
    free(row_error);
    free(row_count);
    free(a_norm);
    free(b_norm);
    free(a);
    free(b);
}

/* c = (weights on S) X with weights and X in double */
static double *product(const tamis_sparse *S, const double *weights, const double *x, int64_t cols, int64_t width) {
    double *const c = doubles(S->rows * width);
    tamis_sparse weighted = *S;
    weighted.value_type = TAMIS_F64;
    weighted.values = weights;
    double *const copy = doubles(cols * width);
    memcpy(copy, x, (size_t)(cols * width) * sizeof *x);
    const tamis_dense X = packed(copy, cols, width);
    must(tamis_reference_spmm(&weighted, &X, NULL, NULL, c));
    free(copy);
    return c;
}

void expect_member(const problem *p, tamis_operation operation, const test_call *call, int64_t member,
                   const double *old, double **want, double **bound) {
    const tamis_sparse *const S = &p->S;
    const tamis_type type = p->options.type;
    const double u = unit_of_sums(type);
    const int64_t count = operation == TAMIS_OP_SDDMM ? S->nnz : S->rows * p->options.width;
    double *const e = doubles(S->nnz), *const de = doubles(S->nnz);
    double *value, *error; /* of the result before alpha and beta */
    double *const row_count = doubles(S->rows);
    if (operation == TAMIS_OP_SPMM)
        for (int64_t t = 0; t < S->nnz; t++)
            e[t] = S->values ? test_load(S->values, S->value_type, member * S->batch_stride + t) : 1;
    else
        edges_of(p, &call->options, member, e, de);
    if (operation == TAMIS_OP_SDDMM) {
        value = e;
        error = de;
    } else {
        const int64_t cols = S->cols, width = p->options.width;
        double *const d = unpack(&p->D, member, false), *const size = unpack(&p->D, member, true);
        double *const weight = doubles(S->nnz);
        value = product(S, e, d, cols, width);
        for (int64_t t = 0, row = 0; t < S->nnz; t++) {
            row = row_of(S, t, S->format == TAMIS_CSR ? row : 0);
            row_count[row]++;
        }
        for (int64_t t = 0, row = 0; t < S->nnz; t++) {
            row = row_of(S, t, S->format == TAMIS_CSR ? row : 0);
            weight[t] = de[t] + ((row_count[row] + 8) * u + rounding_of(&call->options, row_count[row])) * fabs(e[t]);
        }
        error = product(S, weight, size, cols, width);
        free(d);
        free(size);
        free(weight);
        free(e);
        free(de);
    }
    *want = doubles(count);
    *bound = doubles(count);
    for (int64_t i = 0; i < count; i++) {
        const double before = call->execution.beta != 0 ? call->execution.beta * old[i] : 0;
        /* what a row's sum may have begun with */
        const double terms = operation == TAMIS_OP_SDDMM ? 0 : row_count[i / p->options.width];
        (*want)[i] = call->execution.alpha * value[i] + before;
        (*bound)[i] = fabs(call->execution.alpha) * error[i] + 4 * u * fabs(call->execution.alpha * value[i]) +
                      (terms + 4) * u * fabs(before) + 2 * smallest_of_sums(type);
    }
    free(row_count);
    free(value);
    free(error);
}

bool expect_fits(tamis_type type, double got, double want, double bound) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    if (!isfinite(bound)) return false; /* what is finite has a bound that is */
    /* rounding keeps order: what was in the interval before it was stored is between the stored ends of it */
    return expect_stored(type, want - bound) <= got && got <= expect_stored(type, want + bound);
}
