/*
 * The oracle and its tolerance.
 *
 * Let u be the unit roundoff of the accumulation: 2^-53 for fp64, 2^-24 otherwise, since half types are accumulated in
 * fp32; v = u + 2^-53, since the oracle rounds too; h the smallest normal number of the accumulation, 2^-1022 or
 * 2^-126: smaller numbers may lose up to that, by gradual underflow or flushing to 0. The project's rule for a sum of T
 * products is a relative Frobenius error of at most
 *
 *     g(T) = 1e-6 * 2^24 * u * sqrt(T / 128 + 1)         (for fp32: 1e-6 * sqrt(T / 128 + 1))
 *
 * which grows as the rounding errors of T additions do. The tolerance of each result follows from it.
 *
 * x_ij = <A_i, B_j>: d_ij = g(K) max(|X|, |N| / sqrt(K)) n_ij / |N| + K h, where n_ij = |A_i| |B_j|. That is the rule
 * for X, distributed in proportion to the size of the terms, so that the norm of all d_ij is g(K) |X|, plus K products
 * that may vanish. |N| / sqrt(K) is the expected |X| if the K terms have random signs. If products happen to cancel to
 * less, |X| shrinks, but the errors do not: they come from the terms and the partial sums.
 *
 * bf16 adds h sqrt(K) (|A_i| + |B_j|): products of pairs of bf16 (vdpbf16ps) flush a subnormal a or b, less than h, to
 * 0, and so lose less than h |b| or h |a|; the sums of these losses are at most sqrt(K) times the norms.
 *
 * With A and B rounded to TF32 (if allowed, and the plan reports it) g(K) + t(K) replaces g(K), t(K) = 2^-10 + (K + 64)
 * 2^-26: a and b are off by at most 2^-11 of themselves each, a b by (2^-10 + 2^-22) |a b|, and tensor cores cut off
 * their sum by at most 2^-23 of it for each eight of K, and products by less than one such cut within an eight; 64 is
 * for that and for 2^-22. If terms have one sign, that bounds x itself; if signs are random, so are the signs of the
 * errors, and it bounds X in the norm.
 *
 * p = f(s, x), with y = scale * x: e_ij = the effect of d_ij on f, and the roundings of its evaluation. y is off by
 * |scale| d + 2 v |y|: scale is rounded to the arithmetic, and so is the product.
 *     mask        d
 *     residual    d + v |p|
 *     scale       |s| d + v |p| + h
 *     leaky_relu  |s scale| max(1, |slope|) d + 5 v |p| + (1 + |s|) h: two constants and three products
 *     quotient    |s| d / (max(x - d, epsilon) max(x, epsilon)) + 16 v |p| + h
 *     exp         |p| expm1(|scale| d + 2 v |y|) + 16 v |p| + (1 + |s|) h: 16 roundings are enough for exp, sums,
 *                 divisions and products of any device
 *     sigmoid     as exp, since |df/dy| <= |f|, and at most |s|
 *     a text      what intervals say: see reference/expression.c
 *     softmax     with y = scale * x + s, m the largest y of the row and T its length, the exponent y - m of an entry
 *                 is off by  c_j = |scale| d_j + v (2 |scale x_j| + |y_j| + |y_j - m| + 16): the roundings of scale, of
 *                 scale * x, of y, of y - m (in one step or, as the largest rises, in several of the same sign) and of
 *                 exp; m is off as well, but by the same in the whole row. So the denominator is off by a factor of at
 *                 most exp(c), c = log1p(sum_k p_k expm1(c_k)) + g(T), and p_j by p_j expm1(c_j + c) + 2 h: exp and
 *                 the product or division after it may vanish. Where c_j + c >= 1, p_j may become
 *                 exp(y_j - m - log sum + c_j + c), and never more than 1 + g(T). A score of minus infinity has
 *                 p = 0 with no error at all.
 *
 * SpMM, a row C_i of T entries: g(T) max(|C_i|, sqrt(sum_j s_ij^2 |B_j|^2)) / sqrt(L) + T h for each of its elements.
 * That is the rule for x_ij again: the sum of squares is the expected |C_i|^2 if the terms have random signs; if they
 * have one sign, the partial sums, which are all rounded, grow to |C_i| itself. For bf16, whose subnormal s or b may be
 * flushed as above, h (|B_j| + |s_ij|) is added for each entry. fused, a row E_i of T entries: r = sqrt((sum_j e_ij^2
 * |D_j|^2 + g(T)^2 max(|E_i|^2, sum_j p_ij^2 |D_j|^2)) / L), and T h. For softmax r has only c_j, and the bound is
 * exp(c) r + expm1(c) |E_i| / sqrt(L), since all p of the row share the denominator. It is never more than sum_j (e_ij
 * + g(T) |p_ij|) |D_j| + T h, which bounds each element however its errors conspire. Softmax of a half type may round
 * p_ij to the type before it is multiplied by D_j, as attention on tensor cores does: this adds half a unit in the last
 * place of p_ij to c_j and e_ij. alpha and beta, unless they are 1 and 0, round three times: 3 v (|alpha E| + |beta
 * C|). C may be the first term of a row's sum, which adds g(T) |beta C|. With S (in fused p) and B (D) rounded to TF32,
 * g(T) + t(T) replaces g(T), except in this last term, as above.
 *
 * Inputs of half types are rounded before the oracle sees them; their outputs add one rounding to nearest: half the
 * distance of neighbours of the type, where the element may lie. A bound relative to the element would be up to twice
 * that, and would accept a truncated result. The Frobenius norm of the difference must stay under the norm of these
 * bounds, and no single element may exceed eight times its own bound (once for the rounding of its type, which is a
 * hard bound): a plainly wrong entry cannot hide in the norm of a million right ones.
 *
 * Non-finite results: if the oracle's result is NaN or infinite, the other must be NaN or infinite as well (which one
 * may depend on the sign of a factor that is 0 except for rounding). If the oracle's result is within its bound of the
 * type's largest number, infinity of its sign is accepted; if partial sums or intermediate results can exceed the
 * accumulation's largest number, any NaN or infinity is. Such elements are counted separately, and are not in the
 * norms.
 */
#include "reference/oracle.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/scope.h"
#include "reference/bounds.h"
#include "reference/reference.h"
#include "reference/request.h"
#include "reference/squares.h"
#include "sparse/check.h"
#include "sparse/element.h"
#include "sparse/structure.h"
#include "sparse/submatrix.h"

enum { STRAY_FACTOR = 8 };

/* The call that the oracle repeats: its operands (SpMM has no A, SDDMM and SpMM have no D), and the rows of S that are
   compared. */
typedef struct problem {
    tamis_options options; /* with the operation, the operands' type, K and L */
    const tamis_dense *B, *D;
    tamis_submatrix part;
    tamis_dense A;         /* the compared rows of A, packed */
    tamis_edge_text *text; /* of TAMIS_EDGE_TEXT */
    double *norms;         /* norms of the rows of B, or of D for the last product, that the part reads */
} problem;

/* The norm of a row's finite elements. Other elements make results infinite or NaN, which have no error. */
static double row_norm(const tamis_dense *dense, int64_t row) {
    tamis_squares sum = {0};
    for (int64_t k = 0; k < dense->cols; k++) {
        const double value = tamis_oracle_dense_at(dense, 0, row, k);
        if (isfinite(value)) tamis_squares_add(&sum, value);
    }
    return tamis_squares_norm(&sum);
}

/* Computes the norms of the rows that the part reads. */
static void find_norms(const problem *p, const tamis_dense *dense) {
    for (int64_t j = 0; j < p->part.cols; j++) p->norms[j] = -1;
    for (int64_t t = 0; t < p->part.nnz; t++) {
        const int64_t column = p->part.columns[t];
        if (p->norms[column] < 0) p->norms[column] = row_norm(dense, column);
    }
}

/* Computes d_ij of the heading from the exact products x, and n_ij, which partial sums do not exceed. */
static void product_bounds(const problem *p, const double *x, double *bound, double *largest) {
    const tamis_type type = p->options.type;
    const double inner = (double)p->options.inner, least = tamis_arithmetic_of(type).least;
    tamis_squares products = {0}, sizes = {0};
    find_norms(p, p->B);
    for (int64_t i = 0; i < p->part.rows; i++) {
        const double norm = row_norm(&p->A, i);
        for (int64_t t = p->part.offsets[i]; t < p->part.offsets[i + 1]; t++) {
            bound[t] = largest[t] = norm * p->norms[p->part.columns[t]];
            if (!isfinite(x[t])) continue;
            tamis_squares_add(&products, x[t]);
            tamis_squares_add(&sizes, bound[t]);
        }
    }
    double share = tamis_squares_norm(&sizes) > 0 ? tamis_squares_ratio(&products, &sizes) : 0;
    if (inner > 0) share = fmax(share, 1 / sqrt(inner));
    const double factor = (tamis_sum_tolerance(type, inner) + tamis_rounding_tolerance(p->options.math, inner)) * share;
    for (int64_t i = 0; i < p->part.rows; i++) {
        const double norm = row_norm(&p->A, i);
        for (int64_t t = p->part.offsets[i]; t < p->part.offsets[i + 1]; t++) {
            const double vanished = inner + tamis_flushed(type, norm, p->norms[p->part.columns[t]]) * sqrt(inner);
            bound[t] = isfinite(x[t]) ? bound[t] * factor + vanished * least : 0;
        }
    }
}

/* True if the values of a row are normalised: the edge softmax, or a text's. */
static bool is_softmax(const problem *p) {
    return p->options.operation != TAMIS_OP_SPMM && tamis_edge_of_text(p->text, p->options.edge) == TAMIS_EDGE_SOFTMAX;
}

/* S's value at entry t. Without values it is 1, or 0 for softmax, which adds it. */
static double value_at(const problem *p, int64_t t) {
    if (p->part.values) return tamis_element_load(p->part.values, p->part.view.value_type, t);
    return p->options.operation != TAMIS_OP_SPMM && p->options.edge == TAMIS_EDGE_SOFTMAX ? 0 : 1;
}

/* Arrays of the part's entries; `shared` has a number per row. SpMM has only S's values. */
typedef struct entries {
    double *x, *p;        /* the products and the edge's values */
    double *e, *largest;  /* their bounds, and the largest intermediate numbers */
    double *own, *shared; /* softmax: each entry's own error, and each row's common one */
    double *s;            /* S's values */
} entries;

/* Replaces d_ij by e_ij; also computes the errors of softmax and the largest intermediate numbers. */
static void edge_bounds(const problem *p, const entries *a) {
    const tamis_options *const o = &p->options;
    for (int64_t i = 0; i < p->part.rows; i++) {
        const int64_t begin = p->part.offsets[i], end = p->part.offsets[i + 1];
        double most = 0; /* of the row: in softmax all scores meet in the denominator */
        for (int64_t t = begin; t < end; t++) {
            const tamis_edge_place place = {p->part.row[i], p->part.columns[t], 0, {0}};
            const tamis_edge_point at = p->text ? tamis_edge_text_at(p->text, o->type, a->s[t], a->x[t], a->e[t], place)
                                                : tamis_edge_at(o, a->s[t], a->x[t], a->e[t]);
            if (isfinite(at.largest) || p->text) a->largest[t] = fmax(a->largest[t], at.largest);
            most = fmax(most, a->largest[t]);
            if (!is_softmax(p) || p->text) a->e[t] = at.bound;
            if (is_softmax(p) && p->text) a->x[t] = at.p; /* the score */
        }
        if (!is_softmax(p)) continue;
        for (int64_t t = begin; t < end; t++) a->largest[t] = most;
        tamis_options scores = *o;
        if (p->text) scores.edge_scale = 1;
        a->shared[i] = tamis_softmax_bounds(&scores, end - begin, p->part.values && !p->text ? a->s + begin : NULL,
                                            a->x + begin, a->p + begin, a->e + begin, a->own + begin);
    }
}

/* Computes the bounds of the elements of row i, and the largest number that their partial sums may reach. In SpMM the
   weights are S's values, which have no error: a->e is NULL. */
static void row_bound(const problem *p, const entries *a, int64_t i, tamis_oracle *oracle) {
    const int64_t begin = p->part.offsets[i], end = p->part.offsets[i + 1];
    const double g = tamis_sum_tolerance(p->options.type, (double)(end - begin));
    const double rounded = g + tamis_rounding_tolerance(p->options.math, (double)(end - begin));
    const double least = tamis_arithmetic_of(p->options.type).least;
    const bool softmax = a->e && is_softmax(p);
    double vanished = (double)(end - begin) * least;
    tamis_squares errors = {0}, terms = {0}, row = {0};
    double worst = 0, largest = 0;
    for (int64_t t = begin; t < end; t++) {
        const double norm = p->norms[p->part.columns[t]], weight = fabs(a->p[t]), error = a->e ? a->e[t] : 0;
        if (norm == 0 || !isfinite(weight)) continue;
        if (!a->e) vanished += tamis_flushed(p->options.type, norm, weight) * least;
        tamis_squares_add(&errors, (softmax ? a->own[t] : error) * norm);
        tamis_squares_add(&terms, weight * norm);
        worst += (error + rounded * weight) * norm;
        largest += (softmax ? 1 : weight) * norm;
    }
    for (int64_t l = 0; l < oracle->width; l++) {
        const double value = oracle->reference[i * oracle->width + l];
        if (isfinite(value)) tamis_squares_add(&row, value);
    }
    const double root = sqrt((double)(oracle->width > 0 ? oracle->width : 1)), size = tamis_squares_norm(&row);
    tamis_squares_add(&errors, rounded * fmax(size, tamis_squares_norm(&terms)));
    double likely = tamis_squares_norm(&errors) / root;
    if (softmax) likely += a->shared[i] * (likely + size / root);
    oracle->bound[i] = fmin(likely, worst) + vanished;
    for (int64_t t = begin; t < end && a->e; t++) oracle->largest[i] = fmax(oracle->largest[i], a->largest[t]);
    oracle->largest[i] = fmax(oracle->largest[i], largest);
    oracle->first_term[i] = g;
}

/* Accounts for softmax values being rounded to the operands' type before they are summed. */
static void round_factors(const problem *p, const entries *a) {
    const double digits = p->options.type == TAMIS_F16 ? 11 : 8;
    if (!is_softmax(p) || tamis_type_size(p->options.type) != 2) return;
    for (int64_t t = 0; t < p->part.nnz; t++) {
        const double rounding = isfinite(a->p[t]) ? fabs(a->p[t]) * exp2(-digits) : 0;
        a->own[t] += rounding;
        a->e[t] += rounding;
    }
}

static void row_bounds(const problem *p, const entries *a, const tamis_dense *last, tamis_oracle *oracle) {
    find_norms(p, last);
    for (int64_t i = 0; i < p->part.rows; i++) row_bound(p, a, i, oracle);
}

static tamis_status allocate_entries(const problem *p, entries *a) {
    double **const arrays[] = {&a->s, &a->x, &a->p, &a->e, &a->largest, &a->own};
    static const char what[] = "the oracle's entries";
    const size_t count = p->options.operation == TAMIS_OP_SPMM ? 1 : sizeof arrays / sizeof *arrays;
    for (size_t i = 0; i < count; i++) TRY(tamis_allocate_array(p->part.nnz, what, *arrays[i]));
    return tamis_allocate_array(p->part.rows, what, a->shared);
}

static tamis_status compute_edges(const problem *p, const entries *a, tamis_oracle *oracle) {
    const size_t nnz = (size_t)p->part.nnz;
    tamis_options plain = p->options;
    plain.edge = TAMIS_EDGE_MASK;
    TRY(tamis_reference_sddmm(&p->part.view, &p->A, p->B, &plain, NULL, a->x));
    TRY(tamis_oracle_sddmm(&p->part.view, &p->A, p->B, &p->options, NULL, p->part.row, a->p));
    product_bounds(p, a->x, a->e, a->largest);
    edge_bounds(p, a);
    if (p->options.operation == TAMIS_OP_FUSED) {
        TRY(tamis_oracle_fused(&p->part.view, &p->A, p->B, p->D, &p->options, NULL, p->part.row, oracle->reference));
        round_factors(p, a);
        row_bounds(p, a, p->D, oracle);
    } else if (nnz > 0) {
        memcpy(oracle->reference, a->p, nnz * sizeof *a->p);
        memcpy(oracle->bound, a->e, nnz * sizeof *a->e);
        memcpy(oracle->largest, a->largest, nnz * sizeof *a->largest);
    }
    return TAMIS_OK;
}

static tamis_status compute(const problem *p, tamis_oracle *oracle) {
    entries a = {.x = NULL};
    TAMIS_SCOPE;
    TRY(allocate_entries(p, &a));
    for (int64_t t = 0; t < p->part.nnz; t++) a.s[t] = value_at(p, t);
    if (p->options.operation != TAMIS_OP_SPMM) return compute_edges(p, &a, oracle);
    const entries weights = {.p = a.s};
    TRY(tamis_reference_spmm(&p->part.view, p->B, &p->options, NULL, oracle->reference));
    row_bounds(p, &weights, p->B, oracle);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ making one */

static tamis_status check_call(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                               const tamis_options *options, problem *p) {
    if (!S) return tamis_fail(TAMIS_ERROR_ARGUMENT, "S = NULL: expected a sparse matrix");
    if (!B) return tamis_fail(TAMIS_ERROR_ARGUMENT, "B = NULL: expected a dense matrix");
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the options of the call");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(tamis_sparse_check_host(S, "S"));
    p->options = *options;
    const tamis_operation operation = options->operation;
    if ((unsigned)operation > TAMIS_OP_FUSED)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.operation = %d is not a valid tamis_operation",
                          (int)operation);
    if (S->format != TAMIS_CSR || options->transpose || options->batch != 1)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "S.format = %s, options.transpose = %s, options.batch = %lld: the oracle compares results of "
                          "a CSR matrix as it is, one at a time; tamis_convert transposes and converts",
                          tamis_format_name(S->format), options->transpose ? "true" : "false",
                          (long long)options->batch);
    if (operation != TAMIS_OP_SPMM && !A) return tamis_fail(TAMIS_ERROR_ARGUMENT, "A = NULL: expected a dense matrix");
    if (operation == TAMIS_OP_FUSED && !D) return tamis_fail(TAMIS_ERROR_ARGUMENT, "D = NULL: expected a dense matrix");
    TRY(tamis_dense_check(B, "B", S->cols, B->cols, B->type));
    if (operation != TAMIS_OP_SPMM) TRY(tamis_dense_check(A, "A", S->rows, B->cols, B->type));
    if (operation == TAMIS_OP_FUSED) TRY(tamis_dense_check(D, "D", S->cols, D->cols, B->type));
    p->B = B;
    p->D = D;
    p->options.type = B->type;
    p->options.inner = B->cols;
    p->options.width = operation == TAMIS_OP_FUSED ? D->cols : B->cols;
    if (!options->trust_input) TRY(tamis_validate_threads(S, 1));
    p->options.trust_input = true;
    return TAMIS_OK;
}

static tamis_status take_part(const tamis_sparse *S, const tamis_dense *A, double budget, problem *p) {
    const tamis_options *const o = &p->options;
    const double cost = (double)o->inner + (o->operation == TAMIS_OP_FUSED ? (double)o->width : 0);
    TRY(tamis_submatrix_take(S, cost, budget, true, &p->part));
    TRY(tamis_allocate(p->part.cols, sizeof *p->norms, "the oracle's norms", (void **)&p->norms));
    if (o->operation == TAMIS_OP_SPMM) return TAMIS_OK;
    p->A = (tamis_dense){.rows = p->part.rows, .cols = o->inner, .type = o->type};
    int64_t elements = 0;
    if (__builtin_mul_overflow(p->part.rows, o->inner, &elements))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "A.cols = %lld: too large", (long long)o->inner);
    TRY(tamis_allocate(elements, tamis_type_size(o->type), "the oracle's rows of A", &p->A.data));
    for (int64_t i = 0; i < p->part.rows; i++) {
        for (int64_t k = 0; k < o->inner; k++)
            tamis_element_store(p->A.data, o->type, i * o->inner + k, tamis_oracle_dense_at(A, 0, p->part.row[i], k));
    }
    return TAMIS_OK;
}

static tamis_status allocate_items(const problem *p, const tamis_sparse *S, tamis_oracle *oracle) {
    static const char what[] = "the oracle's results";
    const bool per_entry = p->options.operation == TAMIS_OP_SDDMM;
    *oracle = (tamis_oracle){.operation = p->options.operation,
                             .type = p->options.type,
                             .items = per_entry ? p->part.nnz : p->part.rows,
                             .width = per_entry ? 1 : p->options.width,
                             .rows_sampled = p->part.rows,
                             .rows = per_entry ? S->nnz : S->rows};
    oracle->share = oracle->rows > 0 ? (double)oracle->items / (double)oracle->rows : 1;
    int64_t elements = 0;
    if (__builtin_mul_overflow(oracle->items, oracle->width, &elements))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "options.width = %lld: too large", (long long)oracle->width);
    TRY(tamis_allocate(elements, sizeof *oracle->reference, what, (void **)&oracle->reference));
    TRY(tamis_allocate_zeroed(oracle->items, sizeof *oracle->bound, what, (void **)&oracle->bound));
    TRY(tamis_allocate_zeroed(oracle->items, sizeof *oracle->largest, what, (void **)&oracle->largest));
    TRY(tamis_allocate_zeroed(oracle->items, sizeof *oracle->first_term, what, (void **)&oracle->first_term));
    TRY(tamis_allocate(oracle->items, sizeof *oracle->item, what, (void **)&oracle->item));
    const int64_t *const places = per_entry ? p->part.entry : p->part.row;
    for (int64_t i = 0; i < oracle->items; i++) oracle->item[i] = places[i];
    return TAMIS_OK;
}

tamis_status tamis_oracle_create(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                 const tamis_dense *D, const tamis_options *options, double budget,
                                 tamis_oracle **oracle) {
    tamis_status status = TAMIS_OK;
    problem p = {.B = NULL};
    tamis_sparse view;
    void *offsets = NULL;
    tamis_oracle *made = NULL;
    tamis_clear_error();
    if (!oracle) return tamis_fail(TAMIS_ERROR_ARGUMENT, "oracle = NULL: expected an address for the result");
    *oracle = NULL;
    if (!(budget >= 0)) return tamis_fail(TAMIS_ERROR_ARGUMENT, "budget = %g: expected 0 or more", budget);
    TRY(check_call(S, A, B, D, options, &p));
    if (p.options.operation != TAMIS_OP_SPMM) TRY_GOTO(done, tamis_edge_text_make(&p.options, &p.text));
    if (p.text && p.text->value.arrays > 0)
        TRY_GOTO(done, tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                                  "options.edge_text reads %s, which an execution gives, and this comparison has none: "
                                  "compare with tamis_reference_sddmm or tamis_reference_fused",
                                  p.text->value.array[0].name));
    TRY_GOTO(done, tamis_slice_rebase(S, &view, &offsets));
    TRY_GOTO(done, take_part(&view, A, budget, &p));
    TRY_GOTO(done, tamis_allocate_zeroed(1, sizeof *made, "the oracle", (void **)&made));
    TRY_GOTO(done, allocate_items(&p, S, made));
    TRY_GOTO(done, compute(&p, made));
    *oracle = made;
    made = NULL;
done:
    tamis_oracle_free(made);
    tamis_submatrix_free(&p.part);
    tamis_release(p.A.data);
    tamis_release(p.norms);
    tamis_release(p.text);
    tamis_release(offsets);
    return status;
}

void tamis_oracle_free(tamis_oracle *oracle) {
    if (!oracle) return;
    tamis_release(oracle->reference);
    tamis_release(oracle->bound);
    tamis_release(oracle->largest);
    tamis_release(oracle->first_term);
    tamis_release(oracle->item);
    tamis_release(oracle);
}

int64_t tamis_oracle_rows(const tamis_oracle *oracle, const int64_t **rows) {
    if (rows) *rows = oracle ? oracle->item : NULL;
    return oracle ? oracle->items : 0;
}

/* ------------------------------------------------------------------------------------------ comparing */

static const double SAYS_LITTLE = 0.1; /* relative: a comparison that accepts an error of a tenth says little */

typedef struct storage { /* the rounding to the output's type */
    int digits;          /* binary digits of a number; 0 if g covers the rounding */
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

/* Half a unit in the last place of a stored number of up to `size`. */
static double rounding_of(const storage *stored, double size) {
    int exponent = 0;
    if (stored->digits == 0) return stored->absolute;
    if (!isfinite(size)) return HUGE_VAL;
    frexp(size, &exponent);
    return fmax(ldexp(0.5, exponent - stored->digits), stored->absolute);
}

/* An element, and the correct result. */
typedef struct element {
    double expected, found;
    double computed, rounded; /* bounds of the computation, and of rounding the stored result */
    double passed;            /* the largest intermediate number of the computation */
} element;

typedef enum class_verdict { SAME, UNDECIDED, DIFFERENT } class_verdict;

/* Judges an element that is not finite, or should not be. NaN and each infinity equal only themselves. If an
   intermediate number may have overflowed, another value may be correct. */
static class_verdict compare_class(const element *at, const storage *stored, const tamis_arithmetic *arithmetic) {
    const double found = at->found, expected = at->expected;
    if ((isnan(found) && isnan(expected)) || (isinf(found) && found == expected)) return SAME;
    if (!(at->passed <= arithmetic->most)) return UNDECIDED;
    if (!isfinite(expected)) return DIFFERENT;
    const double reach = fabs(expected) + STRAY_FACTOR * at->computed + at->rounded;
    const bool sign = signbit(found) == signbit(expected) || at->computed >= fabs(expected);
    return isinf(found) && sign && reach >= stored->largest ? SAME : DIFFERENT;
}

/* Sums over the compared elements, and the largest ratio of an error to its bound. */
typedef struct norms_of_all {
    tamis_squares error, allowed, size;
    double worst;
} norms_of_all;

static void keep_worst(tamis_comparison *result, const element *at, int64_t row, int64_t col) {
    result->row = row;
    result->col = col;
    result->expected = at->expected;
    result->found = at->found;
}

/* Compares one element with the correct result. */
static void compare_element(const storage *stored, const tamis_arithmetic *arithmetic, const element *at, int64_t row,
                            int64_t col, norms_of_all *all, tamis_comparison *result) {
    const double bound = at->computed + at->rounded, difference = fabs(at->found - at->expected);
    if (!isfinite(at->expected) || !isfinite(at->found)) {
        const class_verdict verdict = compare_class(at, stored, arithmetic);
        result->not_finite++;
        result->undecided += verdict == UNDECIDED;
        if (verdict != DIFFERENT) return;
        if (all->worst < HUGE_VAL) keep_worst(result, at, row, col);
        all->worst = HUGE_VAL;
        return;
    }
    if (!isfinite(bound)) { /* any finite number may be correct */
        result->not_finite++;
        result->undecided++;
        return;
    }
    result->compared++;
    tamis_squares_add(&all->error, difference);
    tamis_squares_add(&all->allowed, bound);
    tamis_squares_add(&all->size, at->expected);
    const double share = difference / (STRAY_FACTOR * at->computed + at->rounded);
    if (share > all->worst) {
        all->worst = share;
        keep_worst(result, at, row, col);
    }
}

tamis_status tamis_oracle_compare(const tamis_oracle *oracle, const tamis_dense *output, double alpha, double beta,
                                  const tamis_dense *old, tamis_comparison *comparison) {
    tamis_clear_error();
    if (!oracle || !output || !comparison)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL", !oracle ? "oracle" : !output ? "output" : "comparison");
    TRY(tamis_dense_check(output, "output", oracle->rows, oracle->width, output->type));
    if (beta != 0 && !old) return tamis_fail(TAMIS_ERROR_ARGUMENT, "old = NULL: with beta = %g it is needed", beta);
    if (beta != 0) TRY(tamis_dense_check(old, "old", oracle->rows, oracle->width, old->type));
    const storage stored = storage_of(output->type);
    const tamis_arithmetic arithmetic = tamis_arithmetic_of(oracle->type);
    const double scaling = alpha != 1 || beta != 0 ? 3 * arithmetic.both : 0;
    norms_of_all all = {.worst = 0};
    *comparison = (tamis_comparison){.share = oracle->share};
    for (int64_t i = 0; i < oracle->items; i++) {
        for (int64_t l = 0; l < oracle->width; l++) {
            const double before = beta != 0 ? beta * tamis_oracle_dense_at(old, 0, oracle->item[i], l) : 0;
            const double product = alpha * oracle->reference[i * oracle->width + l];
            element at = {.expected = product + before, .found = tamis_oracle_dense_at(output, 0, oracle->item[i], l)};
            at.computed = fabs(alpha) * oracle->bound[i] + scaling * fabs(product) +
                          (scaling + oracle->first_term[i]) * fabs(before);
            at.rounded = rounding_of(&stored, fabs(at.expected) + STRAY_FACTOR * at.computed);
            at.passed = fmax(1, fabs(alpha)) * oracle->largest[i] + fabs(before);
            compare_element(&stored, &arithmetic, &at, oracle->item[i], l, &all, comparison);
        }
    }
    comparison->error = tamis_squares_ratio(&all.error, &all.size);
    comparison->tolerance = tamis_squares_ratio(&all.allowed, &all.size);
    comparison->stray = all.worst > 1;
    comparison->passed = comparison->error <= comparison->tolerance && !comparison->stray;
    comparison->cannot_tell = comparison->passed && (comparison->tolerance > SAYS_LITTLE ||
                                                     (comparison->compared == 0 && comparison->undecided > 0));
    return TAMIS_OK;
}
