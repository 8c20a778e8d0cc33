/*
 * How far a right gradient may be from the oracle's, componentwise and to first order or more. u is the unit roundoff
 * of what is summed in (fp32 or fp64), v that of the storage, m the storage's smallest step at 0.
 *
 *   kept between steps    rounding to what is summed in once more: u (|x| + dx) + l, l its smallest normal number
 *   derivative of an edge  the largest change over [x - dx, x + dx], and 8 u of it, everything between both sides of a
 *                         kink that lies within; that of an exponential changes by a factor of exp(|scale| dx + 4 u (1
 * + |y|)), and so does the sigmoid's, whose logarithm changes less than y does softmax's mean of dp  the errors of its
 * products, and (n + 8) u of their sizes from the result, as sum dE E: the errors of p and of E, 2 v (1 + v) and (n +
 * 8) u of the sizes of the products' terms p and dx as factors   of 16 bits, in one piece: v of them, and half a step
 * at 0. In fp16 that is 2^-39 for p, which is times 2^14 then, and 2^-38 of the largest dp for dx an output |alpha|
 * times that, 4 u of it, (n + 4) u |beta old|, for old may be the first term of the sum, v of the result and m, and it
 * is stored: see expect_fits()
 */
#include "gradient_case.h"

#include "support/test.h"

#include "support/bounds.h"

/* All about the nonzeros of one member. */
typedef struct samples {
    about *x, *p, *dp, *dx, *ds;
} samples;

static about dot(const gradient_case *c, units e, double *const in[INS], int x, int64_t i, int y, int64_t j) {
    const int64_t n = c->in[x].here.cols;
    return about_dot(e, in[x] + i * n, in[y] + j * n, n, NULL);
}

static about kept(units e, about x) { return (about){x.is, x.off + e.u * (fabs(x.is) + x.off) + e.l}; }

static double value_of(const gradient_case *c, int64_t member, int64_t t) {
    const tamis_sparse *const S = &c->S_here;
    if (!gradient_case_has_values(c)) return 1;
    return test_load(c->values.host, c->value_type, member * S->batch_stride + S->offset_base + t);
}

static void text_at(const gradient_case *c, int64_t member, const tamis_edge_text *text, const samples *a, int64_t t,
                    about results[3]) {
    about_text(&c->options, text, a->x[t], value_of(c, member, t),
               about_place(text, &c->here, member, c->row_of[t], c->column_of[t], t), results);
}

/* The gradient by named array k: sums of dp times the derivative, each rounded to what is summed in. */
static void bound_named(gradient_case *c, units e, int64_t member, const tamis_edge_text *text, const samples *a,
                        int64_t number) {
    const tamis_edge_operand *const o = &c->here.edge_operands[number];
    double *const bound = c->named_bound[number];
    if (!o->gradient || !bound) return;
    int k = 0;
    while (strcmp(text->value.array[k].name, o->name) != 0) k++;
    const int64_t n = o->gradient->rows, first = member * n;
    tamis_edge_text *by = NULL;
    OWN(double) *const count = test_doubles(n), *const size = test_doubles(n);
    works(tamis_edge_text_by(text, k, &by));
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        about results[3];
        text_at(c, member, by, a, t, results);
        const about term = kept(e, about_product(e, a->dp[t], results[2]));
        const int64_t at = about_place_in(text->value.array[k].kind,
                                          (tamis_edge_place){c->row_of[t], c->column_of[t], member, {0}}, t);
        bound[first + at] += term.off;
        size[at] += fabs(term.is) + term.off;
        count[at]++;
    }
    for (int64_t i = 0; i < n; i++) bound[first + i] += (count[i] + 16) * e.u * size[i] + 4 * e.l;
    if (c->here.beta != 0) /* what a sum may have begun with: the sizes of old numbers are below 2 */
        for (int64_t i = 0; i < n; i++) bound[first + i] += (count[i] + 8) * e.u * 2 * fabs(c->here.beta);
    tamis_release(by);
}

static void differentiate_text(gradient_case *c, units e, int64_t member, const tamis_edge_text *text,
                               const samples *a) {
    for (int64_t k = 0; k < c->here.edge_operand_count; k++) bound_named(c, e, member, text, a, k);
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        about results[3];
        text_at(c, member, text, a, t, results);
        if (!text->value.softmax) a->p[t] = results[0];
        a->dx[t] = about_product(e, a->dp[t], results[1]);
        a->ds[t] = about_product(e, a->dp[t], results[2]);
    }
}

static void differentiate(const gradient_case *c, units e, int64_t member, const samples *a) {
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        const about s = {value_of(c, member, t), 0};
        about slope;
        const about f = about_edge(e, &c->options, a->x[t], &slope);
        if (c->options.edge == TAMIS_EDGE_RESIDUAL) {
            a->p[t] = about_residual(e, s.is, a->x[t]);
            a->dx[t] = (about){-a->dp[t].is, a->dp[t].off};
            a->ds[t] = a->dp[t];
            continue;
        }
        a->p[t] = about_product(e, s, f);
        a->dx[t] = about_product(e, a->dp[t], about_product(e, s, slope));
        a->ds[t] = about_product(e, a->dp[t], f);
    }
}

/* The size of an outer product's terms. */
static double size_of_outer(const gradient_case *c, double *const in[INS], int64_t t) {
    const int64_t width = c->shape.width;
    const double *const out = in[IN_OUT] + c->row_of[t] * width, *const d = in[IN_D] + c->column_of[t] * width;
    double size = 0;
    for (int64_t l = 0; l < width; l++) size += fabs(out[l] * d[l]);
    return fabs(c->here.alpha) * size;
}

/* in: NULL for an edge by itself. */
static void differentiate_softmax(const gradient_case *c, units e, int64_t member, double *const in[INS],
                                  const tamis_edge_text *text, const samples *a) {
    const int64_t nnz = c->shape.nnz;
    OWN(about) *const scores = test_abouts(nnz), *const means = test_abouts(c->rows);
    OWN(double) *const sizes = test_doubles(c->rows);
    for (int64_t t = 0; t < nnz && text; t++) {
        about results[3];
        text_at(c, member, text, a, t, results);
        scores[t] = results[0].is == -INFINITY ? results[0] : kept(e, results[0]);
    }
    for (int64_t t = 0; t < nnz && !text; t++)
        scores[t] = about_score(e, &c->options, a->x[t], gradient_case_has_values(c) ? value_of(c, member, t) : 0);
    OWN(softmax_row) *const rows = softmax_rows(scores, c->row_of, nnz, c->rows);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t row = c->row_of[t];
        a->p[t] = softmax_weight(e, &rows[row], scores[t].is);
        const about term = about_product(e, a->p[t], a->dp[t]);
        means[row].is += term.is;
        means[row].off += term.off;
        sizes[row] += fabs(term.is) + term.off;
        if (c->rounds_result)
            means[row].off +=
                (a->p[t].off + (2 * e.v * (1 + e.v) + (rows[row].count + 8) * e.u) * (a->p[t].is + a->p[t].off)) *
                size_of_outer(c, in, t);
    }
    for (int64_t i = 0; i < c->rows; i++) means[i].off += (rows[i].count + 8) * e.u * sizes[i];
    for (int64_t t = 0; t < nnz; t++) {
        const about *const mean = &means[c->row_of[t]];
        const about apart = {a->dp[t].is - mean->is,
                             a->dp[t].off + mean->off + 4 * e.u * (fabs(a->dp[t].is) + fabs(mean->is))};
        a->ds[t] = about_product(e, a->p[t], apart);
        a->dx[t] = about_product(e, (about){c->options.edge_scale, 0}, a->ds[t]);
        if (text) a->dp[t] = kept(e, a->ds[t]);
    }
}

static void differentiate_edge(gradient_case *c, units e, int64_t member, double *const in[INS], const samples *a) {
    tamis_edge_text *text = NULL;
    works(tamis_edge_text_make(&c->options, &text));
    if (tamis_edge_of_text(text, c->options.edge) == TAMIS_EDGE_SOFTMAX)
        differentiate_softmax(c, e, member, in, text, a);
    if (text)
        differentiate_text(c, e, member, text, a);
    else if (c->options.edge != TAMIS_EDGE_SOFTMAX)
        differentiate(c, e, member, a);
    tamis_release(text);
}

/* ------------------------------------------------------------------------------------------ outputs */

static void bound_output(gradient_case *c, units e, int which, int64_t at, double value, double off, double terms) {
    const double before = c->here.beta != 0 ? c->here.beta * c->old[which][at] : 0;
    const double summed = off + 4 * e.u * fabs(value) + (terms + 4) * e.u * fabs(before);
    c->bound[which][at] = (1 - e.v) * (summed + e.v * fabs(c->want[which][at])) + e.m; /* before it is stored */
}

/* Row to[t] of the output gathers weights[t] times row from[t] of X. */
static void bound_sums(gradient_case *c, units e, int which, int64_t member, const int64_t *to, const int64_t *from,
                       const about *weights, const double *X, double alpha) {
    const int64_t rows = c->out[which].here.rows, cols = c->out[which].here.cols;
    OWN(double) *const sum = test_doubles(rows * cols), *const off = test_doubles(rows * cols),
                       *const count = test_doubles(rows);
    for (int64_t t = 0; t < c->shape.nnz; t++) count[to[t]]++;
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        const double *const x = X + from[t] * cols, size = fabs(weights[t].is) + weights[t].off;
        const double of_one = weights[t].off + (count[to[t]] + 8) * e.u * size;
        for (int64_t k = 0; k < cols; k++) {
            sum[to[t] * cols + k] += weights[t].is * x[k];
            off[to[t] * cols + k] += fabs(x[k]) * of_one;
        }
    }
    for (int64_t i = 0; i < rows * cols; i++)
        bound_output(c, e, which, member * rows * cols + i, alpha * sum[i], fabs(alpha) * off[i], count[i / cols]);
}

static void bound_values(gradient_case *c, units e, int64_t member, const about *ds) {
    for (int64_t t = 0; t < c->shape.nnz; t++)
        bound_output(c, e, OUT_S, member * c->shape.nnz + t, ds[t].is, ds[t].off, 0);
}

/* Factors of 16 bits. */
static void round_factors(const gradient_case *c, units e, const samples *a) {
    double largest = 0;
    for (int64_t t = 0; t < c->shape.nnz; t++) largest = fmax(largest, fabs(a->dp[t].is) + a->dp[t].off);
    const double step = c->type == TAMIS_F16 ? 0x1p-39 : e.l;
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        a->p[t].off += e.v * (fabs(a->p[t].is) + a->p[t].off) + step;
        a->dx[t].off += e.v * (fabs(a->dx[t].is) + a->dx[t].off) + 2 * step * largest * fabs(c->options.edge_scale);
    }
}

static void bound_member(gradient_case *c, units e, int64_t member, double *const in[INS], const samples *a) {
    const int64_t *const i = c->row_of, *const j = c->column_of;
    const about alpha = {c->here.alpha, 0};
    const bool fused = c->operation == TAMIS_OP_FUSED;
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        if (c->operation == TAMIS_OP_SPMM) {
            a->ds[t] = about_product(e, alpha, dot(c, e, in, IN_OUT, i[t], IN_B, j[t]));
            a->dx[t] = (about){value_of(c, member, t), 0};
            continue;
        }
        a->x[t] = kept(e, dot(c, e, in, IN_A, i[t], IN_B, j[t]));
        a->dp[t] = fused ? kept(e, dot(c, e, in, IN_OUT, i[t], IN_D, j[t])) : (about){in[IN_OUT][t], 0};
        a->dp[t] = about_product(e, alpha, a->dp[t]);
    }
    if (c->operation == TAMIS_OP_SPMM) {
        bound_sums(c, e, OUT_B, member, j, i, a->dx, in[IN_OUT], c->here.alpha);
        bound_values(c, units_of(c->value_type), member, a->ds);
        return;
    }
    differentiate_edge(c, e, member, in, a);
    bound_values(c, e, member, a->ds);
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        a->dx[t] = kept(e, a->dx[t]);
        a->p[t] = kept(e, a->p[t]);
    }
    if (c->rounds_factors) round_factors(c, e, a);
    bound_sums(c, e, OUT_A, member, i, j, a->dx, in[IN_B], 1);
    bound_sums(c, e, OUT_B, member, j, i, a->dx, in[IN_A], 1);
    if (fused) bound_sums(c, e, OUT_D, member, j, i, a->p, in[IN_OUT], c->here.alpha);
}

static void make_room(gradient_case *c) {
    for (int k = 0; k < OUTS; k++) {
        const int64_t count = c->out[k].here.rows * c->out[k].here.cols * c->shape.batch;
        free(c->want[k]);
        free(c->bound[k]);
        c->want[k] = test_doubles(count);
        c->bound[k] = test_doubles(count);
        for (int64_t i = 0; i < count; i++) c->want[k][i] = c->old[k][i];
    }
}

static void ask_oracle(gradient_case *c) {
    const tamis_dense *const A = &c->in[IN_A].here, *const B = &c->in[IN_B].here, *const D = &c->in[IN_D].here;
    double **const w = c->want, *const ds = gradient_case_has_values(c) ? w[OUT_S] : NULL;
    const bool spmm = c->operation == TAMIS_OP_SPMM;
    works(call_oracle_back(c->operation, &c->S_here, &c->in[IN_OUT].here, A, B, spmm ? B : D, &c->options, &c->here,
                           w[OUT_A], w[OUT_B], w[spmm ? OUT_B : OUT_D], ds));
}

static samples samples_make(int64_t nnz) {
    return (samples){test_abouts(nnz), test_abouts(nnz), test_abouts(nnz), test_abouts(nnz), test_abouts(nnz)};
}

static void samples_free(const samples *a) {
    free(a->x);
    free(a->p);
    free(a->dp);
    free(a->dx);
    free(a->ds);
}

void gradient_case_expect(gradient_case *c) {
    const samples a = samples_make(c->shape.nnz);
    make_room(c);
    ask_oracle(c);
    for (int64_t member = 0; member < c->shape.batch; member++) {
        double *in[INS];
        for (int i = 0; i < INS; i++) in[i] = test_values(&c->in[i].here, member);
        bound_member(c, units_of(c->type), member, in, &a);
        for (int i = 0; i < INS; i++) free(in[i]);
    }
    samples_free(&a);
}

void gradient_case_expect_edge(gradient_case *c) {
    const units e = units_of(c->type);
    const samples a = samples_make(c->shape.nnz);
    make_room(c);
    works(tamis_reference_edge(&c->S_here, &c->in[IN_OUT].here, &c->options, &c->here, c->want[OUT_S]));
    for (int64_t member = 0; member < c->shape.batch; member++) {
        for (int64_t t = 0; t < c->shape.nnz; t++) a.x[t] = (about){matrix_at(&c->in[IN_OUT], member, t, 0), 0};
        differentiate_edge(c, e, member, NULL, &a);
        for (int64_t t = 0; t < c->shape.nnz; t++) a.p[t] = about_product(e, (about){c->here.alpha, 0}, a.p[t]);
        bound_values(c, e, member, a.p);
    }
    samples_free(&a);
}
