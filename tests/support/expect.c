/* The oracle's results and their error bounds; see expect.h and bounds.h for the derivation. */
#include "support/expect.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "support/bounds.h"

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

/* ------------------------------------------------------------------------------------------ the oracle */

/* One member of a problem, by the places in op(S). */
typedef struct member {
    const problem *p;
    tamis_options options;
    tamis_edge_text *text; /* of TAMIS_EDGE_TEXT */
    tamis_execution given; /* with the arrays that it names */
    tamis_edge_operand named[TAMIS_PROGRAM_ARRAYS];
    tamis_dense arrays[TAMIS_PROGRAM_ARRAYS];
    tamis_sparse S;
    tamis_dense A, B, D;
    bool rounds; /* its weights may be rounded to the type */
} member;

static tamis_dense member_of(const tamis_dense *X, int64_t number) {
    tamis_dense view = *X;
    view.data = (char *)X->data + number * X->batch_stride * (int64_t)tamis_type_size(X->type);
    view.batch_stride = 0;
    return view;
}

/* The oracle has one member, whose number a text reads as h: writes the number instead of the letter. */
static const char *with_number(const char *text, int64_t number, char to[TAMIS_TEXT_MOST]) {
    char digits[24];
    size_t used = 0;
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    for (const char *c = text; *c; c++) {
        const bool alone = *c == 'h' && (c == text || !isalnum((unsigned char)c[-1])) && !isalnum((unsigned char)c[1]);
        const char letter[] = {*c, '\0'};
        used += (size_t)snprintf(to + used, TAMIS_TEXT_MOST - used, "%s", alone ? digits : letter);
    }
    return to;
}

static member take_member(const problem *p, tamis_operation operation, const test_call *call, int64_t number) {
    member x = {.p = p, .options = problem_call(p, operation, &call->options)};
    const tamis_sparse *const S = &p->S;
    const size_t at = (size_t)(number * S->batch_stride + S->offset_base);
    tamis_edge_text *text;
    test_must(tamis_edge_text_make(&x.options, &text));
    const bool reads = S->values && (!text || tamis_edge_text_reads(text, TAMIS_STEP_S));
    const tamis_edge edge = tamis_edge_of_text(text, x.options.edge);
    x.rounds = softmax_may_round(call->on, operation, edge, p->options.type, reads);
    tamis_release(text);
    x.options.batch = 1;
    x.options.transpose = false;
    x.S = (tamis_sparse){.format = TAMIS_COO,
                         .rows = p->options.transpose ? S->cols : S->rows,
                         .cols = p->options.transpose ? S->rows : S->cols,
                         .nnz = S->nnz,
                         .index_type = TAMIS_I64,
                         .value_type = S->value_type,
                         .row_indices = p->pattern.row_of,
                         .columns = p->pattern.column_of};
    if (S->values) x.S.values = (const char *)S->values + at * tamis_type_size(S->value_type);
    x.A = member_of(&p->A, number);
    x.B = member_of(&p->B, number);
    x.D = member_of(&p->D, number);
    x.given = (tamis_execution)TAMIS_EXECUTION_INIT;
    x.given.edge_operand_count = call->execution.edge_operand_count;
    for (int64_t k = 0; k < x.given.edge_operand_count; k++) {
        x.named[k] = call->execution.edge_operands[k];
        x.arrays[k] = member_of(x.named[k].values, number);
    }
    return x;
}

/* The result before alpha and beta. */
static double *ask(member *x, tamis_operation operation) {
    const int64_t count = operation == TAMIS_OP_SDDMM ? x->S.nnz : x->S.rows * x->p->options.width;
    double *const to = test_doubles(count);
    for (int64_t k = 0; k < x->given.edge_operand_count; k++) x->named[k].values = &x->arrays[k];
    x->given.edge_operands = x->named;
    test_must(call_oracle(operation, &x->S, &x->A, &x->B, &x->D, &x->options, &x->given, to));
    return to;
}

/* ------------------------------------------------------------------------------------------ bounds */

/* What rounding both inputs of each of `terms` products to TF32 adds, of the sum of their magnitudes. */
static double rounding_of(const tamis_options *options, double terms) {
    return options->math == TAMIS_MATH_TF32 ? 0x1p-10 + (terms + 64) * 0x1p-26 : 0;
}

static double norm_of(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += x[k] * x[k];
    return sqrt(sum);
}

static about dot_of(units e, const tamis_options *options, const double *a, const double *b, int64_t n) {
    double size;
    const double K = (double)n, rule = 1e-6 * 0x1p24 * e.u * sqrt(K / 128 + 1);
    about x = about_dot(e, a, b, n, &size);
    if (!isfinite(x.is) || n == 0) return (about){x.is, 0};
    x.off = fmin(x.off, 8 * rule * fmax(fabs(x.is), norm_of(a, n) * norm_of(b, n) / sqrt(K))) +
            rounding_of(options, K) * size;
    return x;
}

static double value_at(const member *x, int64_t t) {
    return x->S.values ? test_load(x->S.values, x->S.value_type, t) : 1;
}

static tamis_edge_place place_of(const member *x, int64_t t) {
    return about_place(x->text, &x->given, 0, x->p->pattern.row_of[t], x->p->pattern.column_of[t], t);
}

/* An edge other than softmax. Its value is the oracle's. */
static double edge_error(units e, const member *x, int64_t t, about dot, double s, double is) {
    if (!isfinite(is)) return 0;
    if (x->text) {
        about results[3];
        about_text(&x->options, x->text, dot, s, place_of(x, t), results);
        return results[0].off;
    }
    if (!isfinite(dot.is)) return 16 * e.u * fabs(is); /* exp of it is 0 or not finite */
    if (x->options.edge == TAMIS_EDGE_RESIDUAL) return about_residual(e, s, dot).off;
    return about_product(e, (about){x->options.edge == TAMIS_EDGE_MASK ? 1 : s, 0},
                         about_edge(e, &x->options, dot, NULL))
        .off;
}

/* The weights of a member's entries. */
static about *edges_of(units e, member *x) {
    const tamis_options *const o = &x->options;
    const int64_t nnz = x->S.nnz, K = x->p->options.inner, *const row_of = x->p->pattern.row_of;
    OWN(double) *const a = test_values(&x->A, 0), *const b = test_values(&x->B, 0);
    about *const edges = test_abouts(nnz);
    OWN(about) *const dots = test_abouts(nnz);
    x->options.operation = TAMIS_OP_SDDMM;
    test_must(tamis_edge_text_make(&x->options, &x->text));
    const bool softmax = tamis_edge_of_text(x->text, o->edge) == TAMIS_EDGE_SOFTMAX;
    OWN(double) *const oracle = ask(x, TAMIS_OP_SDDMM);
    for (int64_t t = 0; t < nnz; t++) {
        dots[t] = dot_of(e, o, a + row_of[t] * K, b + x->p->pattern.column_of[t] * K, K);
        edges[t] = (about){oracle[t], 0};
        if (softmax && x->text) {
            about score[3];
            about_text(o, x->text, dots[t], value_at(x, t), place_of(x, t), score);
            dots[t] = score[0];
        } else if (softmax)
            dots[t] = about_score(e, o, dots[t], x->S.values ? value_at(x, t) : 0);
        else
            edges[t].off = edge_error(e, x, t, dots[t], value_at(x, t), oracle[t]);
    }
    /* a score of minus infinity has weight 0, one of infinity or NaN leaves nothing of its row */
    OWN(softmax_row) *const rows = softmax_rows(dots, row_of, nnz, x->S.rows);
    for (int64_t t = 0; t < nnz && softmax; t++) {
        const bool weighs = isfinite(oracle[t]) && oracle[t] > 0;
        edges[t].off = (weighs ? oracle[t] * softmax_relative(e, &rows[row_of[t]]) : 0) + 2 * e.l;
        if (x->rounds) edges[t].off += e.v * (oracle[t] + edges[t].off) + e.m;
    }
    tamis_release(x->text);
    return edges;
}

/* How far sums of weights times rows of D may be off, the number of their terms in count. */
static double *error_of_sums(units e, const member *x, const about *edges, double *count) {
    const int64_t width = x->p->options.width, *const row_of = x->p->pattern.row_of;
    double *const error = test_doubles(x->S.rows * width);
    OWN(double) *const d = test_values(&x->D, 0);
    for (int64_t t = 0; t < x->S.nnz; t++) count[row_of[t]]++;
    for (int64_t t = 0; t < x->S.nnz; t++) {
        const double n = count[row_of[t]], *const from = d + x->p->pattern.column_of[t] * width;
        const double weight = edges[t].off + ((n + 8) * e.u + rounding_of(&x->options, n)) * fabs(edges[t].is);
        for (int64_t l = 0; l < width; l++) error[row_of[t] * width + l] += weight * fabs(from[l]);
    }
    return error;
}

void expect_member(const problem *p, tamis_operation operation, const test_call *call, int64_t number,
                   const double *old, double **want, double **bound) {
    member x = take_member(p, operation, call, number);
    char text[TAMIS_TEXT_MOST];
    if (x.options.edge_text) x.options.edge_text = with_number(x.options.edge_text, number, text);
    const units e = units_of(p->options.type);
    const bool sddmm = operation == TAMIS_OP_SDDMM;
    const int64_t count = sddmm ? x.S.nnz : x.S.rows * p->options.width;
    const double alpha = call->execution.alpha;
    double *const value = ask(&x, operation);
    OWN(double) *const terms = test_doubles(x.S.rows);
    OWN(about) *edges;
    if (operation == TAMIS_OP_SPMM) {
        edges = test_abouts(x.S.nnz);
        for (int64_t t = 0; t < x.S.nnz; t++) edges[t].is = value_at(&x, t);
    } else {
        edges = edges_of(e, &x);
    }
    OWN(double) *const error = sddmm ? NULL : error_of_sums(e, &x, edges, terms);
    *want = value;
    *bound = test_doubles(count);
    for (int64_t i = 0; i < count; i++) {
        const double before = call->execution.beta != 0 ? call->execution.beta * old[i] : 0;
        /* what a row's sum may have begun with */
        const double first = sddmm ? 0 : terms[i / p->options.width];
        (*bound)[i] = fabs(alpha) * (sddmm ? edges[i].off : error[i]) + 4 * e.u * fabs(alpha * value[i]) +
                      (first + 4) * e.u * fabs(before) + 2 * e.l;
        value[i] = alpha * value[i] + before;
    }
}

bool expect_fits(tamis_type type, double got, double want, double bound) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    if (!isfinite(bound)) return false; /* what is finite has a bound that is */
    /* rounding keeps order: what was in the interval before it was stored is between the stored ends of it */
    return expect_stored(type, want - bound) <= got && got <= expect_stored(type, want + bound);
}

const char *expect_wrong(const tamis_dense *X, int64_t number, const double *want, const double *bound) {
    static _Thread_local char text[160];
    for (int64_t i = 0; i < X->rows; i++)
        for (int64_t j = 0; j < X->cols; j++) {
            const int64_t at = i * X->cols + j;
            const double got = test_load(X->data, X->type, test_position(X, number, i, j));
            if (bound ? expect_fits(X->type, got, want[at], bound[at]) : got == want[at]) continue;
            snprintf(text, sizeof text, "member %lld at (%lld, %lld) is %.9g, expected %.9g within %.3g",
                     (long long)number, (long long)i, (long long)j, got, want[at], bound ? bound[at] : 0);
            return text;
        }
    return NULL;
}

expectation expect_members(const problem *p, tamis_operation operation, const test_call *call, const matrix *old) {
    expectation x = {.want = {NULL}};
    for (int64_t m = 0; m < p->options.batch; m++) {
        OWN(double) *const before = test_values(&old->here, m);
        expect_member(p, operation, call, m, before, &x.want[m], &x.bound[m]);
    }
    return x;
}

const char *expect_compare(const expectation *x, const matrix *result) {
    const char *wrong = matrix_touched(result) >= 0 ? "a gap was written to" : NULL;
    for (int64_t m = 0; m < result->members && !wrong; m++)
        wrong = expect_wrong(&result->here, m, x->want[m], x->bound[m]);
    return wrong;
}

void expect_free(expectation *x) {
    for (int m = 0; m < EXPECT_MOST; m++) {
        free(x->want[m]);
        free(x->bound[m]);
    }
}
