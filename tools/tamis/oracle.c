/*
 * The oracle and its tolerance.
 *
 * Let u be the unit roundoff of the accumulation: 2^-53 for fp64, 2^-24 otherwise, since half types are accumulated in
 * fp32; v = u + 2^-53, since the oracle rounds too; h the smallest normal number of the accumulation, 2^-1022 or
 * 2^-126: what is smaller may lose so much, by gradual underflow or because it becomes 0. The project's rule for a sum
 * of T products is a relative Frobenius error of at most
 *
 *     g(T) = 1e-6 * 2^24 * u * sqrt(T / 128 + 1)         (for fp32: 1e-6 * sqrt(T / 128 + 1))
 *
 * which grows as the rounding errors of T additions do. From it follows what is allowed in each result.
 *
 * x_ij = <A_i, B_j>: d_ij = g(K) max(|X|, |N| / sqrt(K)) n_ij / |N| + K h, where n_ij = |A_i| |B_j|. That is the rule
 * for X, shared out in proportion to the size of the terms, so that the norm of all d_ij is g(K) |X|, and K products
 * that may vanish. |N| / sqrt(K) is what |X| comes to where the K terms have random signs. Where few products happen to
 * cancel to less, |X| shrinks, but the errors do not: they come of the terms and of the partial sums.
 *
 * bf16 adds h sqrt(K) (|A_i| + |B_j|): what multiplies pairs of bf16 (vdpbf16ps) takes a subnormal a or b, of less than
 * h, for 0, and loses less than h |b| or h |a| with it; the sums of those are at most sqrt(K) times the norms.
 *
 * With A and B rounded to TF32 (where that was allowed, and the plan says that it does so) g(K) + t(K) takes the place
 * of g(K), t(K) = 2^-10 + (K + 64) 2^-26: a and b are off by at most 2^-11 of themselves each, a b by (2^-10 + 2^-22)
 * |a b|, and tensor cores cut off their sum by at most 2^-23 of it for each eight of K, and products by less than one
 * such cut within an eight; 64 is for that and for 2^-22. Where terms have one sign that bounds x itself; where signs
 * are random, so are those of the errors, and it bounds X in the norm.
 *
 * p = f(s, x), with y = scale * x: e_ij = what d_ij makes of f, and the roundings of its evaluation. y is off by
 * |scale| d + 2 v |y|: scale is rounded to the arithmetic, and so is the product.
 *     mask        d
 *     residual    d + v |p|
 *     scale       |s| d + v |p| + h
 *     leaky_relu  |s scale| max(1, |slope|) d + 5 v |p| + (1 + |s|) h: two constants and three products
 *     quotient    |s| d / (max(x - d, epsilon) max(x, epsilon)) + 16 v |p| + h
 *     exp         |p| expm1(|scale| d + 2 v |y|) + 16 v |p| + (1 + |s|) h: 16 roundings are enough for exp, sums,
 *                 divisions and products of any device
 *     sigmoid     as exp, since |df/dy| <= |f|, and at most |s|
 *     softmax     with y = scale * x + s, m the largest y of the row and T its length, the exponent y - m of an entry
 *                 is off by  c_j = |scale| d_j + v (2 |scale x_j| + |y_j| + |y_j - m| + 16): the roundings of scale, of
 *                 scale * x, of y, of y - m (in one step or, as the largest rises, in several of the same sign) and of
 *                 exp; m is off as well, but by the same in the whole row. So the denominator is off by a factor of at
 *                 most exp(c), c = log1p(sum_k p_k expm1(c_k)) + g(T), and p_j by p_j expm1(c_j + c) + 2 h: exp and
 *                 the product or division after it may vanish. Where c_j + c >= 1, p_j may become
 *                 exp(y_j - m - log sum + c_j + c), and never more than 1 + g(T). A score of minus infinity has
 *                 p = 0 with no error at all.
 *
 * SpMM, a row of T entries: g(T) sqrt(sum_j s_ij^2 |B_j|^2 / L) + T h for each of its elements.
 * For bf16, whose subnormal s or b may count as 0 as above, h (|B_j| + |s_ij|) of each entry more.
 * fused, a row of T entries: r = sqrt(sum_j (e_ij^2 + g(T)^2 p_ij^2) |D_j|^2 / L), and T h. Softmax has its c_j alone
 * in r, and exp(c) r + expm1(c) |E_i| / sqrt(L), since all p of the row share the denominator. Never more than sum_j
 * (e_ij + g(T) |p_ij|) |D_j| + T h, which bounds each element however its errors conspire. alpha and beta, unless they
 * are 1 and 0, round three times: 3 v (|alpha E| + |beta C|). C may be the first term of a row's sum, which makes
 * another g(T) |beta C|.
 *
 * Inputs of half types are rounded before the oracle sees them; their outputs add one rounding to nearest: half the
 * distance of neighbours of the type, where the element may lie. A bound relative to the element would be up to twice
 * that, and a result cut off instead of rounded would be within it. The Frobenius norm of the difference must stay
 * under the norm of these bounds, and no single element may exceed eight times its own (once for the rounding of its
 * type, which is a hard bound): an entry that is plainly wrong cannot hide in the norm of a million right ones.
 *
 * What is not finite: where the oracle's result is NaN or infinite, the other must be NaN or infinite as well (which of
 * them can turn on the sign of a factor that is 0 but for rounding). Where the oracle's result is within its bound of
 * the type's largest number, infinity of its sign will do; where partial sums or intermediate results can pass the
 * accumulation's largest number, any NaN or infinity. Such elements are counted apart: they are not in the norms.
 */
#include <tamis/reference.h>

#include "oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "exit.h"
#include "squares.h"
#include "submatrix.h"

enum { STRAY_FACTOR = 8 };

/* The rows of S that are compared, with theirs of A. */
typedef struct sample {
    tool_submatrix part;
    tool_dense A;
} sample;

static void take_sample(const tool_problem *problem, double cost, double budget, sample *chosen) {
    *chosen = (sample){0};
    tool_submatrix_take(&problem->S, cost, budget, true, &chosen->part);
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

/* |row| of its finite elements: those that are not make what they touch infinite or NaN, which has no error. */
static double row_norm(const tamis_dense *dense, int64_t row) {
    tool_squares sum = {0};
    for (int64_t k = 0; k < dense->cols; k++) {
        const double value = tool_dense_get(dense, row, k);
        if (isfinite(value)) tool_squares_add(&sum, value);
    }
    return tool_squares_norm(&sum);
}

/* |row| of the rows that the sample touches; others stay 0. */
static double *column_norms(const sample *chosen, const tamis_dense *dense) {
    double *norms = tool_allocate((size_t)chosen->part.view.cols, sizeof *norms);
    unsigned char *seen = tool_allocate((size_t)chosen->part.view.cols, 1);
    for (int64_t t = 0; t < chosen->part.nnz; t++) {
        const int64_t column = chosen->part.columns[t];
        if (seen[column]) continue;
        seen[column] = 1;
        norms[column] = row_norm(dense, column);
    }
    free(seen);
    return norms;
}

/* d_ij of the heading, from the exact products x; and n_ij, for the largest that partial sums can be. */
static double *product_bounds(const tool_problem *problem, const sample *chosen, const double *x, double *largest) {
    double *bound = tool_allocate((size_t)chosen->part.nnz, sizeof *bound);
    double *norms = column_norms(chosen, &problem->B);
    const double inner = (double)problem->inner, least = tool_arithmetic_of(problem->type).least;
    tool_squares products = {0}, sizes = {0};
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        const double norm = row_norm(&chosen->A.view, i);
        for (int64_t t = chosen->part.offsets[i]; t < chosen->part.offsets[i + 1]; t++) {
            bound[t] = largest[t] = norm * norms[chosen->part.columns[t]];
            if (!isfinite(x[t])) continue;
            tool_squares_add(&products, x[t]);
            tool_squares_add(&sizes, bound[t]);
        }
    }
    double share = tool_squares_norm(&sizes) > 0 ? tool_squares_ratio(&products, &sizes) : 0;
    if (inner > 0) share = fmax(share, 1 / sqrt(inner));
    const double factor =
        (tool_sum_tolerance(problem->type, inner) + tool_rounding_tolerance(problem->math, inner)) * share;
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        const double norm = row_norm(&chosen->A.view, i);
        for (int64_t t = chosen->part.offsets[i]; t < chosen->part.offsets[i + 1]; t++) {
            const double vanished =
                inner + tool_flushed(problem->type, norm, norms[chosen->part.columns[t]]) * sqrt(inner);
            bound[t] = isfinite(x[t]) ? bound[t] * factor + vanished * least : 0;
        }
    }
    free(norms);
    return bound;
}

/* S's values in double, 1 where it has none; NULL for a softmax of such, to which they add nothing. */
static double *values_of(const tool_problem *problem, const sample *chosen) {
    const bool softmax = tool_uses_edge(problem->operation) && problem->edge == TAMIS_EDGE_SOFTMAX;
    if (softmax && !chosen->part.values) return NULL;
    double *values = tool_allocate((size_t)chosen->part.nnz, sizeof *values);
    for (int64_t t = 0; t < chosen->part.nnz; t++) {
        values[t] = chosen->part.values ? tool_element_get(chosen->part.values, chosen->part.view.value_type, t) : 1.0;
    }
    return values;
}

/* Of softmax: what each entry is off by itself, and what each row is off together. */
typedef struct softmax_errors {
    double *own, *shared;
} softmax_errors;

/* e_ij for all nonzeros of the sample, in place of d_ij; the errors of softmax; the largest numbers on the way. */
static void edge_bounds(const tool_problem *problem, const sample *chosen, const double *x, const double *p, double *d,
                        const softmax_errors *softmax, double *largest) {
    double *values = values_of(problem, chosen);
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        const int64_t begin = chosen->part.offsets[i], end = chosen->part.offsets[i + 1];
        double most = 0; /* of softmax, whose scores meet in the denominator */
        for (int64_t t = begin; t < end; t++) {
            const double s = values ? values[t] : 0, largest_here = tool_edge_largest(problem, s, x[t], p[t]);
            if (isfinite(largest_here)) largest[t] = fmax(largest[t], largest_here);
            most = fmax(most, largest[t]);
            if (problem->edge != TAMIS_EDGE_SOFTMAX) d[t] = tool_edge_bound(problem, s, x[t], d[t], p[t]);
        }
        if (problem->edge != TAMIS_EDGE_SOFTMAX) continue;
        for (int64_t t = begin; t < end; t++) largest[t] = most;
        softmax->shared[i] = tool_softmax_bounds(problem, end - begin, values ? values + begin : NULL, x + begin,
                                                 p + begin, d + begin, softmax->own + begin);
    }
    free(values);
}

static tamis_options reference_options(const tool_problem *problem) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.edge = problem->edge;
    options.edge_scale = problem->edge_scale;
    options.edge_slope = problem->edge_slope;
    options.edge_epsilon = problem->edge_epsilon;
    options.trust_input = true;
    return options;
}

/* Of the elements of row i: how far they may be off, and what partial sums may come to. e: NULL for SpMM; softmax: NULL
   for all but a fused one. */
static void row_bound(const tool_problem *problem, const sample *chosen, int64_t i, const double *norms,
                      const double *weights, const double *e, const softmax_errors *softmax, tool_oracle *oracle) {
    const int64_t begin = chosen->part.offsets[i], end = chosen->part.offsets[i + 1];
    const double g = tool_sum_tolerance(problem->type, (double)(end - begin));
    const double least = tool_arithmetic_of(problem->type).least;
    double vanished = (double)(end - begin) * least;
    tool_squares spread = {0}, row = {0};
    double worst = 0, largest = 0;
    for (int64_t t = begin; t < end; t++) {
        const double norm = norms[chosen->part.columns[t]], weight = fabs(weights[t]), error = e ? e[t] : 0;
        if (norm == 0 || !isfinite(weight)) continue;
        if (!e) vanished += tool_flushed(problem->type, norm, weight) * least;
        tool_squares_add(&spread, hypot(softmax ? softmax->own[t] : error, g * weight) * norm);
        worst += (error + g * weight) * norm;
        largest += (softmax ? 1 : weight) * norm;
    }
    for (int64_t l = 0; l < oracle->width; l++) {
        const double value = oracle->reference[i * oracle->width + l];
        if (isfinite(value)) tool_squares_add(&row, value);
    }
    const double root = sqrt((double)(oracle->width > 0 ? oracle->width : 1));
    double likely = tool_squares_norm(&spread) / root;
    if (softmax) {
        const double size = tool_squares_norm(&row) / root;
        likely += softmax->shared[i] * (likely + size);
    }
    oracle->bound[i] = fmin(likely, worst) + vanished;
    oracle->largest[i] = fmax(oracle->largest[i], largest);
    oracle->first_term[i] = g;
}

/* Those of all sampled rows. */
static void row_bounds(const tool_problem *problem, const sample *chosen, const double *weights, const double *e,
                       const softmax_errors *softmax, tool_oracle *oracle) {
    double *norms = column_norms(chosen, problem->operation == TAMIS_OP_SPMM ? &problem->B : &problem->D);
    for (int64_t i = 0; i < chosen->part.rows; i++) {
        row_bound(problem, chosen, i, norms, weights, e, softmax, oracle);
    }
    free(norms);
}

static tamis_status compute_edges(const tool_problem *problem, const sample *chosen, tool_oracle *oracle) {
    const size_t nnz = (size_t)chosen->part.nnz;
    double *x = tool_allocate(nnz, sizeof *x), *p = tool_allocate(nnz, sizeof *p), *e = NULL;
    const softmax_errors softmax = {.own = tool_allocate(nnz, sizeof *softmax.own),
                                    .shared = tool_allocate((size_t)chosen->part.rows, sizeof *softmax.shared)};
    double *largest = tool_allocate(nnz, sizeof *largest);
    tamis_options options = reference_options(problem);
    tamis_options plain = options;
    plain.edge = TAMIS_EDGE_MASK;
    tamis_status status = tamis_reference_sddmm(&chosen->part.view, &chosen->A.view, &problem->B, &plain, NULL, x);
    if (status == TAMIS_OK) {
        status = tamis_reference_sddmm(&chosen->part.view, &chosen->A.view, &problem->B, &options, NULL, p);
    }
    if (status == TAMIS_OK && problem->operation == TAMIS_OP_FUSED) {
        status = tamis_reference_fused(&chosen->part.view, &chosen->A.view, &problem->B, &problem->D, &options, NULL,
                                       oracle->reference);
    }
    if (status == TAMIS_OK) {
        e = product_bounds(problem, chosen, x, largest);
        edge_bounds(problem, chosen, x, p, e, &softmax, largest);
        if (problem->operation == TAMIS_OP_SDDMM) {
            memcpy(oracle->reference, p, nnz * sizeof *p);
            memcpy(oracle->bound, e, nnz * sizeof *e);
            memcpy(oracle->largest, largest, nnz * sizeof *largest);
        } else {
            for (int64_t i = 0; i < chosen->part.rows; i++) {
                for (int64_t t = chosen->part.offsets[i]; t < chosen->part.offsets[i + 1]; t++) {
                    oracle->largest[i] = fmax(oracle->largest[i], largest[t]);
                }
            }
            row_bounds(problem, chosen, p, e, problem->edge == TAMIS_EDGE_SOFTMAX ? &softmax : NULL, oracle);
        }
    }
    free(x);
    free(p);
    free(e);
    free(softmax.own);
    free(softmax.shared);
    free(largest);
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
    const double sampled = (double)oracle->items, all = (double)(per_entry ? problem->S.nnz : problem->S.rows);
    oracle->share = all > 0 ? sampled / all : 1;
    oracle->reference = tool_allocate((size_t)oracle->items * (size_t)oracle->width, sizeof *oracle->reference);
    oracle->bound = tool_allocate((size_t)oracle->items, sizeof *oracle->bound);
    oracle->largest = tool_allocate((size_t)oracle->items, sizeof *oracle->largest);
    oracle->first_term = tool_allocate((size_t)oracle->items, sizeof *oracle->first_term);
    oracle->item = tool_allocate((size_t)oracle->items, sizeof *oracle->item);
    if (oracle->items > 0) {
        memcpy(oracle->item, per_entry ? chosen.part.entry : chosen.part.row,
               (size_t)oracle->items * sizeof *oracle->item);
    }
    tamis_status status = TAMIS_OK;
    if (problem->operation == TAMIS_OP_SPMM) {
        const tamis_options options = reference_options(problem);
        status = tamis_reference_spmm(&chosen.part.view, &problem->B, &options, NULL, oracle->reference);
        double *values = values_of(problem, &chosen);
        if (status == TAMIS_OK) row_bounds(problem, &chosen, values, NULL, NULL, oracle);
        free(values);
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
    free(oracle->largest);
    free(oracle->first_term);
    free(oracle->item);
    *oracle = (tool_oracle){0};
}

typedef struct storage { /* one rounding to the output's type */
    int digits;          /* binary digits of a number; 0 where that rounding is within g already */
    double absolute, largest;
} storage;

static storage storage_of(tamis_type type) {
    switch (type) {
    case TAMIS_F16: return (storage){11, 0x1p-25, 65504};
    case TAMIS_BF16: return (storage){8, 0x1p-134, 3.3895e38};
    case TAMIS_F32: return (storage){0, 0x1p-149, FLT_MAX};
    case TAMIS_F64: break;
    }
    return (storage){0, 0x1p-1074, DBL_MAX};
}

/* How far the number that is stored may be from one of up to `size`: half a unit in its last place. */
static double rounding_of(const storage *stored, double size) {
    int exponent = 0;
    if (stored->digits == 0) return stored->absolute;
    if (!isfinite(size)) return HUGE_VAL;
    frexp(size, &exponent);
    return fmax(ldexp(0.5, exponent - stored->digits), stored->absolute);
}

/* One element beside what is right for it. */
typedef struct element {
    double expected, found;
    double computed, rounded; /* the bound: of the computation, of storing the result */
    double passed;            /* the largest number that the computation may have passed through */
} element;

/* Whether what is not finite, or should not be, may be so. */
static bool class_agrees(const element *at, const storage *stored, const tool_arithmetic *arithmetic) {
    if (!(at->passed <= arithmetic->most)) return true;
    if (!isfinite(at->expected)) return !isfinite(at->found);
    const double reach = fabs(at->expected) + STRAY_FACTOR * at->computed + at->rounded;
    const bool sign = signbit(at->found) == signbit(at->expected) || at->computed >= fabs(at->expected);
    return isinf(at->found) && sign && reach >= stored->largest;
}

static void keep_worst(tool_comparison *result, const element *at, int64_t row, int64_t col) {
    result->row = row;
    result->col = col;
    result->expected = at->expected;
    result->found = at->found;
}

tool_comparison tool_oracle_compare(const tool_oracle *oracle, const tamis_dense *output, double alpha, double beta,
                                    const tamis_dense *old) {
    const storage stored = storage_of(oracle->type);
    const tool_arithmetic arithmetic = tool_arithmetic_of(oracle->type);
    const double scaling = alpha != 1 || beta != 0 ? 3 * arithmetic.both : 0;
    tool_comparison result = {.passed = true, .share = oracle->share};
    tool_squares error = {0}, allowed = {0}, size = {0};
    double worst = 0;
    for (int64_t i = 0; i < oracle->items; i++) {
        for (int64_t l = 0; l < oracle->width; l++) {
            const double before = beta != 0 ? beta * tool_dense_get(old, oracle->item[i], l) : 0;
            const double product = alpha * oracle->reference[i * oracle->width + l];
            element at = {.expected = product + before, .found = tool_dense_get(output, oracle->item[i], l)};
            at.computed = fabs(alpha) * oracle->bound[i] + scaling * fabs(product) +
                          (scaling + oracle->first_term[i]) * fabs(before);
            at.rounded = rounding_of(&stored, fabs(at.expected) + STRAY_FACTOR * at.computed);
            at.passed = fmax(1, fabs(alpha)) * oracle->largest[i] + fabs(before);
            const double bound = at.computed + at.rounded, difference = fabs(at.found - at.expected);
            if (!isfinite(at.expected) || !isfinite(at.found)) {
                result.not_finite++;
                if (class_agrees(&at, &stored, &arithmetic)) continue;
                if (worst < HUGE_VAL) keep_worst(&result, &at, oracle->item[i], l);
                worst = HUGE_VAL;
                continue;
            }
            if (!isfinite(bound)) { /* any finite number may be right */
                result.not_finite++;
                continue;
            }
            result.compared++;
            tool_squares_add(&error, difference);
            tool_squares_add(&allowed, bound);
            tool_squares_add(&size, at.expected);
            const double share = difference / (STRAY_FACTOR * at.computed + at.rounded);
            if (share > worst) {
                worst = share;
                keep_worst(&result, &at, oracle->item[i], l);
            }
        }
    }
    result.error = tool_squares_ratio(&error, &size);
    result.tolerance = tool_squares_ratio(&allowed, &size);
    result.stray = worst > 1;
    result.passed = result.error <= result.tolerance && !result.stray;
    return result;
}
