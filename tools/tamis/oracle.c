/*
 * The oracle and its tolerance.
 *
 * Let u be the unit roundoff of the accumulation: 2^-53 for fp64, 2^-24 otherwise, since half types are accumulated in
 * fp32. The project's rule for a sum of T products is a relative Frobenius error of at most
 *
 *     g(T) = 1e-6 * 2^24 * u * sqrt(T / 128 + 1)         (for fp32: 1e-6 * sqrt(T / 128 + 1))
 *
 * which grows as the rounding errors of T additions do. From it follows what is allowed in each result:
 *
 *   x_ij = <A_i, B_j>     d_ij = g(K) * |X| * n_ij / |N|,  n_ij = |A_i| |B_j|: the rule for X, shared out in proportion
 *                         to the size of the terms, so that the norm of all d_ij is exactly g(K) |X|.
 *   p = edge(s, x)        e_ij = |df/dx| d_ij + (16 + |y|) u |p|; the second term is the evaluation of exp and its kin
 * at y = scale * x, whose own rounding costs |y| u. softmax               e_ij = p_ij (d_ij + sum_k p_ik d_ik + g(T) +
 * ...): numerator and denominator, T = row length. SpMM, row of T        g(T) * sqrt(sum_j s_ij^2 |B_j|^2 / L) for each
 * element of the row. fused, row of T       sqrt(sum_j (e_ij^2 + g(T)^2 p_ij^2) |D_j|^2 / L); softmax adds the error
 * that all p of a row share through the denominator, times |E_i| / sqrt(L).
 *
 * Inputs of half types are rounded before the oracle sees them; their outputs add one rounding, 2^-11 (fp16) or 2^-8
 * (bf16) relative, and 2^-25 absolute for fp16's subnormals. The Frobenius norm of the difference must stay under the
 * norm of these bounds, and no single element may exceed eight times its own (once for the rounding of its type, which
 * is a hard bound): an entry that is plainly wrong cannot hide in the norm of a million right ones.
 */
#include "oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "submatrix.h"

enum { STRAY_FACTOR = 8 };

static double roundoff(tamis_type type) { return type == TAMIS_F64 ? 0x1p-53 : 0x1p-24; }

static double sum_tolerance(tamis_type type, double terms) {
    return 1e-6 * 0x1p24 * roundoff(type) * sqrt(terms / 128 + 1);
}

/* The rows of S that are compared, with theirs of A. */
typedef struct sample {
    tool_submatrix part;
    tool_dense A;
} sample;

static void take_sample(const tool_problem *problem, double cost, double budget, sample *chosen) {
    *chosen = (sample){0};
    tool_submatrix_take(&problem->S, cost, budget, &chosen->part);
    if (problem->operation == TAMIS_OP_SPMM) return;
    chosen->A = tool_dense_create(chosen->part.rows, problem->inner, problem->type, TAMIS_ROW_MAJOR, 0, 0);
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        for (int64_t k = 0; k < problem->inner; k++) {
            tool_element_set(chosen->A.view.data, problem->type, i * chosen->A.view.stride + k,
                             tool_dense_get(&problem->A, chosen->part.row[i], k));
        }
    }
}

static void free_sample(sample *chosen) {
    tool_submatrix_free(&chosen->part);
    tool_dense_free(&chosen->A);
}

static double row_square(const tamis_dense *dense, int64_t row) {
    double sum = 0;
    for (int64_t k = 0; k < dense->cols; k++) {
        const double value = tool_dense_get(dense, row, k);
        sum += value * value;
    }
    return sum;
}

/* |row|^2 of the rows that the sample touches; others stay 0. */
static double *column_squares(const sample *chosen, const tamis_dense *dense) {
    double *squares = tool_allocate((size_t)chosen->part.view.cols, sizeof *squares);
    unsigned char *seen = tool_allocate((size_t)chosen->part.view.cols, 1);
    for (int64_t t = 0; t < chosen->part.nnz; t++) {
        const int64_t column = chosen->part.columns[t];
        if (seen[column]) continue;
        seen[column] = 1;
        squares[column] = row_square(dense, column);
    }
    free(seen);
    return squares;
}

/* d_ij of the heading, from the exact products x. */
static double *product_bounds(const tool_problem *problem, const sample *chosen, const double *x) {
    double *bound = tool_allocate((size_t)chosen->part.nnz, sizeof *bound);
    double *squares = column_squares(chosen, &problem->B);
    double products = 0, sizes = 0;
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        const double square = row_square(&chosen->A.view, i);
        for (int64_t t = chosen->part.offsets[i]; t < chosen->part.offsets[i + 1]; t++) {
            bound[t] = sqrt(square * squares[chosen->part.columns[t]]);
            products += x[t] * x[t];
            sizes += bound[t] * bound[t];
        }
    }
    const double factor = sizes > 0 ? sum_tolerance(problem->type, (double)problem->inner) * sqrt(products / sizes) : 0;
    for (int64_t t = 0; t < chosen->part.nnz; t++) bound[t] *= factor;
    free(squares);
    return bound;
}

/* e_ij of an edge other than softmax. */
static double edge_bound(const tool_problem *problem, double p, double s, double x, double d) {
    const double u = roundoff(problem->type), scale = fabs(problem->edge_scale);
    const double evaluation = (16 + scale * fabs(x)) * u * fabs(p);
    switch (problem->edge) {
    case TAMIS_EDGE_SCALE: return fabs(s) * d;
    case TAMIS_EDGE_MASK: return d;
    case TAMIS_EDGE_RESIDUAL: return d + u * (fabs(s) + fabs(x));
    case TAMIS_EDGE_QUOTIENT: {
        const double least = fmax(x - d, problem->edge_epsilon);
        return fabs(s) * d / (least * fmax(x, problem->edge_epsilon)) + evaluation;
    }
    case TAMIS_EDGE_SIGMOID: return fabs(p) * expm1(scale * d) + evaluation; /* |f'| <= scale f */
    case TAMIS_EDGE_EXP: return fabs(p) * expm1(scale * d) + evaluation;
    case TAMIS_EDGE_LEAKY_RELU: return fabs(s) * scale * fmax(1, fabs(problem->edge_slope)) * d + 4 * u * fabs(p);
    case TAMIS_EDGE_SOFTMAX: break;
    }
    return 0;
}

/* The error that all p of a softmax row share through its denominator, relative. */
static double shared_bound(const tool_problem *problem, const sample *chosen, int64_t row, const double *p,
                           const double *d) {
    double sum = sum_tolerance(problem->type, (double)(chosen->part.offsets[row + 1] - chosen->part.offsets[row]));
    for (int64_t t = chosen->part.offsets[row]; t < chosen->part.offsets[row + 1]; t++) {
        sum += p[t] * fabs(problem->edge_scale) * d[t];
    }
    return sum;
}

static double value_at(const sample *chosen, int64_t t) {
    return chosen->part.values ? tool_element_get(chosen->part.values, chosen->part.view.value_type, t) : 1.0;
}

/* e_ij for all nonzeros of the sample, in place of d_ij; shared[row] for softmax. */
static void edge_bounds(const tool_problem *problem, const sample *chosen, const double *x, const double *p, double *d,
                        double *shared) {
    const double u = roundoff(problem->type);
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        if (problem->edge == TAMIS_EDGE_SOFTMAX) shared[i] = shared_bound(problem, chosen, i, p, d);
        for (int64_t t = chosen->part.offsets[i]; t < chosen->part.offsets[i + 1]; t++) {
            const double s = value_at(chosen, t);
            if (problem->edge == TAMIS_EDGE_SOFTMAX) {
                const double y = fabs(problem->edge_scale * x[t]) + fabs(s);
                d[t] = p[t] * (fabs(problem->edge_scale) * d[t] + shared[i] + (16 + y) * u);
            } else {
                d[t] = edge_bound(problem, p[t], s, x[t], d[t]);
            }
        }
    }
}

static tamis_args reference_args(const tool_problem *problem) {
    return (tamis_args){.alpha = 1,
                        .edge = problem->edge,
                        .edge_scale = problem->edge_scale,
                        .edge_slope = problem->edge_slope,
                        .edge_epsilon = problem->edge_epsilon,
                        .trust_input = true};
}

/* Bounds of the elements of each sampled row of SpMM (d, p, shared NULL) or fused. */
static void row_bounds(const tool_problem *problem, const sample *chosen, const double *p, const double *e,
                       const double *shared, tool_oracle *oracle) {
    const tamis_dense *right = problem->operation == TAMIS_OP_SPMM ? &problem->B : &problem->D;
    double *squares = column_squares(chosen, right);
    const double L = (double)(oracle->width > 0 ? oracle->width : 1);
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        const double g = sum_tolerance(problem->type, (double)(chosen->part.offsets[i + 1] - chosen->part.offsets[i]));
        double sum = 0;
        for (int64_t t = chosen->part.offsets[i]; t < chosen->part.offsets[i + 1]; t++) {
            const double kept = p ? p[t] : value_at(chosen, t);
            const double error = e ? e[t] : 0;
            sum += (error * error + g * g * kept * kept) * squares[chosen->part.columns[t]];
        }
        oracle->bound[i] = sqrt(sum / L);
        if (!shared || problem->edge != TAMIS_EDGE_SOFTMAX) continue;
        double row = 0;
        for (int64_t l = 0; l < oracle->width; l++) {
            const double value = oracle->reference[i * oracle->width + l];
            row += value * value;
        }
        oracle->bound[i] += shared[i] * sqrt(row / L);
    }
    free(squares);
}

static tamis_status compute_edges(const tool_problem *problem, const sample *chosen, tool_oracle *oracle) {
    const size_t nnz = (size_t)chosen->part.nnz;
    double *x = tool_allocate(nnz, sizeof *x), *p = tool_allocate(nnz, sizeof *p), *e = NULL;
    double *shared = tool_allocate((size_t)chosen->part.rows, sizeof *shared);
    tamis_args args = reference_args(problem);
    tamis_args plain = args;
    plain.edge = TAMIS_EDGE_MASK;
    tamis_status status = tamis_reference_sddmm(&chosen->part.view, &chosen->A.view, &problem->B, &plain, x);
    if (status == TAMIS_OK) {
        status = tamis_reference_sddmm(&chosen->part.view, &chosen->A.view, &problem->B, &args, p);
    }
    if (status == TAMIS_OK && problem->operation == TAMIS_OP_FUSED) {
        status = tamis_reference_fused(&chosen->part.view, &chosen->A.view, &problem->B, &problem->D, &args,
                                       oracle->reference);
    }
    if (status == TAMIS_OK) {
        e = product_bounds(problem, chosen, x);
        edge_bounds(problem, chosen, x, p, e, shared);
        if (problem->operation == TAMIS_OP_SDDMM) {
            memcpy(oracle->reference, p, nnz * sizeof *p);
            memcpy(oracle->bound, e, nnz * sizeof *e);
        } else {
            row_bounds(problem, chosen, p, e, shared, oracle);
        }
    }
    free(x);
    free(p);
    free(e);
    free(shared);
    return status;
}

tamis_status tool_oracle_create(const tool_problem *problem, double budget, tool_oracle *oracle) {
    const bool per_entry = problem->operation == TAMIS_OP_SDDMM;
    sample chosen;
    double cost = (double)problem->inner;
    if (problem->operation == TAMIS_OP_SPMM) cost = (double)problem->width;
    if (problem->operation == TAMIS_OP_FUSED) cost += (double)problem->width;
    take_sample(problem, cost, budget, &chosen);
    *oracle = (tool_oracle){.operation = problem->operation,
                            .type = problem->type,
                            .items = per_entry ? chosen.part.nnz : chosen.part.rows,
                            .width = per_entry ? 1 : problem->width,
                            .rows_sampled = chosen.part.rows,
                            .rows = problem->S.rows};
    oracle->reference = tool_allocate((size_t)oracle->items * (size_t)oracle->width, sizeof *oracle->reference);
    oracle->bound = tool_allocate((size_t)oracle->items, sizeof *oracle->bound);
    oracle->item = tool_allocate((size_t)oracle->items, sizeof *oracle->item);
    if (oracle->items > 0) {
        memcpy(oracle->item, per_entry ? chosen.part.entry : chosen.part.row,
               (size_t)oracle->items * sizeof *oracle->item);
    }
    tamis_status status = TAMIS_OK;
    if (problem->operation == TAMIS_OP_SPMM) {
        const tamis_args args = reference_args(problem);
        status = tamis_reference_spmm(&chosen.part.view, &problem->B, &args, oracle->reference);
        if (status == TAMIS_OK) row_bounds(problem, &chosen, NULL, NULL, NULL, oracle);
    } else {
        status = compute_edges(problem, &chosen, oracle);
    }
    free_sample(&chosen);
    if (status != TAMIS_OK) tool_oracle_free(oracle);
    return status;
}

void tool_oracle_free(tool_oracle *oracle) {
    free(oracle->reference);
    free(oracle->bound);
    free(oracle->item);
    *oracle = (tool_oracle){0};
}

typedef struct storage {
    double relative, absolute, largest; /* of one rounding to the output's type */
} storage;

static storage storage_of(tamis_type type) {
    switch (type) {
    case TAMIS_F16: return (storage){0x1p-11, 0x1p-25, 65504};
    case TAMIS_BF16: return (storage){0x1p-8, 0x1p-134, 3.3895e38};
    case TAMIS_F32: return (storage){0, 0x1p-149, FLT_MAX}; /* within g already */
    case TAMIS_F64: break;
    }
    return (storage){0, 0x1p-1074, DBL_MAX};
}

tool_comparison tool_oracle_compare(const tool_oracle *oracle, const tamis_dense *output, double alpha, double beta,
                                    const tamis_dense *old) {
    const storage stored = storage_of(oracle->type);
    const double u = roundoff(oracle->type);
    tool_comparison result = {.passed = true};
    double error = 0, allowed = 0, size = 0, worst = 0;
    for (int64_t i = 0; i < oracle->items; i++) {
        for (int64_t l = 0; l < oracle->width; l++) {
            const double before = beta != 0 ? beta * tool_dense_get(old, oracle->item[i], l) : 0;
            const double expected = alpha * oracle->reference[i * oracle->width + l] + before;
            const double found = tool_dense_get(output, oracle->item[i], l);
            const bool overflown =
                fabs(expected) > stored.largest * (1 - 0x1p-9) && isinf(found) && signbit(found) == signbit(expected);
            if (overflown || (!isfinite(expected) && !isfinite(found))) continue;
            const double computed = fabs(alpha) * oracle->bound[i] + 4 * u * fabs(before);
            const double rounded = stored.relative * fabs(expected) + stored.absolute;
            const double bound = computed + rounded;
            const double difference = fabs(found - expected);
            error += difference * difference;
            allowed += bound * bound;
            size += expected * expected;
            const double share = difference / (STRAY_FACTOR * computed + rounded);
            if (!(share <= worst)) {
                worst = isnan(share) ? HUGE_VAL : share;
                result.row = oracle->item[i];
                result.col = l;
                result.expected = expected;
                result.found = found;
            }
        }
    }
    const double norm = size > 0 ? sqrt(size) : 1;
    result.error = sqrt(error) / norm;
    result.tolerance = sqrt(allowed) / norm;
    result.stray = worst > 1;
    result.passed = result.error <= result.tolerance && !result.stray;
    return result;
}
