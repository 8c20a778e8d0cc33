/* The oracle's results and their error bounds; see expect.h for the derivation. */
#include "support/expect.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double unit_of_sums(tamis_type type) { return type == TAMIS_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2; }

static double unit_of_storage(tamis_type type) {
    switch (type) {
    case TAMIS_F64: return DBL_EPSILON / 2;
    case TAMIS_F16: return 0x1p-11;
    case TAMIS_BF16: return 0x1p-8;
    case TAMIS_F32: break;
    }
    return (double)FLT_EPSILON / 2;
}

static double smallest_of(tamis_type type) {
    switch (type) {
    case TAMIS_F64: return DBL_MIN;
    case TAMIS_F16: return 0x1p-24;
    case TAMIS_BF16:
    case TAMIS_F32: break;
    }
    return (double)FLT_MIN;
}

static double largest_of(tamis_type type) {
    switch (type) {
    case TAMIS_F64: return DBL_MAX;
    case TAMIS_F16: return 65504;
    case TAMIS_BF16: return 0x1.fep127;
    case TAMIS_F32: break;
    }
    return (double)FLT_MAX;
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
static double *samples_of(const problem *p, int64_t member, bool absolute) {
    double *const a = unpack(&p->A, member, absolute), *const b = unpack(&p->B, member, absolute);
    double *const x = doubles(p->S.nnz);
    const tamis_dense A = packed(a, p->A.rows, p->A.cols), B = packed(b, p->B.rows, p->B.cols);
    must(tamis_reference_sddmm(&p->S, &A, &B, &(tamis_args){.alpha = 1, .edge = TAMIS_EDGE_MASK}, x));
    free(a);
    free(b);
    return x;
}

static double edge_of(const tamis_args *args, double x, double s) {
    const double scaled = (args->edge_scale != 0 ? args->edge_scale : 1) * x;
    const double slope = args->edge_slope != 0 ? args->edge_slope : 0.01;
    const double epsilon = args->edge_epsilon != 0 ? args->edge_epsilon : 1e-10;
    switch (args->edge) {
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

/* e[t] and de[t] of one member. */
static void edges_of(const problem *p, const tamis_args *args, int64_t member, double *e, double *de) {
    const tamis_sparse *const S = &p->S;
    const double u = unit_of_sums(p->options.type), gamma = ((double)p->options.inner + 8) * u;
    double *const x = samples_of(p, member, false), *const size = samples_of(p, member, true);
    double *const row_error = doubles(S->rows), *const row_count = doubles(S->rows);
    tamis_sparse one = *S;
    if (S->values)
        one.values = (const char *)S->values + (size_t)(member * S->batch_stride) * tamis_type_size(S->value_type);
    const tamis_dense A = p->A, B = p->B;
    double *const a = unpack(&A, member, false), *const b = unpack(&B, member, false);
    const tamis_dense A64 = packed(a, A.rows, A.cols), B64 = packed(b, B.rows, B.cols);
    tamis_args plain = *args;
    plain.alpha = 1;
    plain.beta = 0;
    plain.batch = 1;
    must(tamis_reference_sddmm(&one, &A64, &B64, &plain, e));
    const double scale = args->edge_scale != 0 ? args->edge_scale : 1;
    for (int64_t t = 0, row = 0; t < S->nnz; t++) {
        const double s = S->values ? test_load(one.values, S->value_type, t) : 1, dx = gamma * size[t];
        row = row_of(S, t, S->format == TAMIS_CSR ? row : 0);
        if (args->edge == TAMIS_EDGE_SOFTMAX) {
            const double ds = fabs(scale) * dx + 4 * u * (fabs(scale * x[t]) + (S->values ? fabs(s) : 0));
            row_error[row] = fmax(row_error[row], ds);
            row_count[row]++;
            continue;
        }
        const double up = fabs(edge_of(args, x[t] + dx, s) - e[t]), down = fabs(edge_of(args, x[t] - dx, s) - e[t]);
        de[t] = fmax(up, down) + 16 * u * fabs(e[t]);
        /* where the interval reaches the floor of the quotient, anything between both ends is right */
        if (args->edge == TAMIS_EDGE_EXP || args->edge == TAMIS_EDGE_SIGMOID)
            de[t] += 4 * u * fabs(scale * x[t]) * fabs(e[t]);
    }
    if (args->edge == TAMIS_EDGE_SOFTMAX)
        for (int64_t t = 0, row = 0; t < S->nnz; t++) {
            row = row_of(S, t, S->format == TAMIS_CSR ? row : 0);
            de[t] = e[t] * (expm1(2 * row_error[row]) + (row_count[row] + 20) * u) + 2 * smallest_of(p->options.type);
        }
    free(x);
    free(size);
    free(row_error);
    free(row_count);
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
    must(tamis_reference_spmm(&weighted, &X, NULL, c));
    free(copy);
    return c;
}

void expect_member(const problem *p, tamis_operation operation, const tamis_args *args, int64_t member,
                   const double *old, double **want, double **bound) {
    const tamis_sparse *const S = &p->S;
    const tamis_type type = p->options.type;
    const double u = unit_of_sums(type), v = unit_of_storage(type);
    const int64_t count = operation == TAMIS_OP_SDDMM ? S->nnz : S->rows * p->options.width;
    double *const e = doubles(S->nnz), *const de = doubles(S->nnz);
    double *value, *error; /* of the result before alpha and beta */
    double *const row_count = doubles(S->rows);
    if (operation == TAMIS_OP_SPMM)
        for (int64_t t = 0; t < S->nnz; t++)
            e[t] = S->values ? test_load(S->values, S->value_type, member * S->batch_stride + t) : 1;
    else
        edges_of(p, args, member, e, de);
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
            weight[t] = de[t] + (row_count[row] + 8) * u * fabs(e[t]);
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
        const double before = args->beta != 0 ? args->beta * old[i] : 0;
        /* what a row's sum may have begun with */
        const double terms = operation == TAMIS_OP_SDDMM ? 0 : row_count[i / p->options.width];
        (*want)[i] = args->alpha * value[i] + before;
        (*bound)[i] = fabs(args->alpha) * error[i] + 4 * u * fabs(args->alpha * value[i]) +
                      (terms + 4) * u * fabs(before) + 2 * v * fabs((*want)[i]) + 2 * smallest_of(type);
    }
    free(row_count);
    free(value);
    free(error);
}

bool expect_fits(tamis_type type, double got, double want, double bound) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    if (isnan(bound) || isinf(bound)) return !isnan(got); /* the interval reaches a pole: only the class can be told */
    if (fabs(want) + bound >= largest_of(type))
        return isinf(got) ? signbit(got) == signbit(want) : fabs(got - want) <= bound;
    return fabs(got - want) <= bound;
}
