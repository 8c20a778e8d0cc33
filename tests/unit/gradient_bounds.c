/*
 * How far a right gradient may be from the oracle's, componentwise and to first order or more. u is the unit roundoff
 * of what is summed in (fp32 or fp64), v that of the storage, m the storage's smallest step at 0.
 *
 *   dot product of K      |x' - x| <= (K + 8) u sum |a||b|, whatever the order of its sum
 *   kept between steps    rounding to what is summed in once more: u (|x| + dx) + l, l its smallest normal number
 *   edge f(x, s)          the largest change of f over [x - dx, x + dx], and 8 u |f|: exact for what is monotonic or
 *                         linear there, everything between both sides of a kink that lies within; the exponential
 *                         changes by a factor of exp(|scale| dx + 4 u (1 + |y|)), and so do the sigmoid and its
 *                         derivative, whose logarithms change less than y does
 *   softmax of n          p' = p (1 + r), |r| <= expm1(2 max dy) + (n + 20) u with dy the error of a score in the row;
 *                         the row's mean of dp: the errors of its products, and (n + 8) u of their sizes
 *                         from the result, as sum dE E: the errors of p and of E, 2 v (1 + v) and
 *                         (n + 8) u of the sizes of the products' terms
 *   product               |x'y' - xy| <= |x| dy + |y| dx + dx dy + 4 u |xy|
 *   sum of n products     the errors of its products, and (n + 8) u times their sizes
 *   p and dx as factors   of 16 bits, in one piece: v of them, and half a step at 0. In fp16 that is 2^-39 for p, which
 *                         is times 2^14 then, and 2^-38 of the largest dp for dx
 *   an output             |alpha| times that, 4 u of it, (n + 4) u |beta old|, for old may be the first term of the
 * sum, 2 v of the result and 2 m
 */
#include "gradient_case.h"

#include "support/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <tamis/reference.h>

#include "sparse/element.h"

/* A number and how far it may be off. */
typedef struct about {
    double is, off;
} about;

typedef struct units {
    double u, l, v, m;
} units;

/* All about the nonzeros of one member. */
typedef struct samples {
    about *x, *p, *dp, *dx, *ds;
} samples;

static units units_of(tamis_type type) {
    const double u = type == TAMIS_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
    switch (type) {
    case TAMIS_F16: return (units){u, (double)FLT_MIN, 0x1p-11, 0x1p-24};
    case TAMIS_BF16: return (units){u, (double)FLT_MIN, 0x1p-8, (double)FLT_MIN};
    case TAMIS_F64: return (units){u, DBL_MIN, u, DBL_MIN};
    case TAMIS_F32: break;
    }
    return (units){u, (double)FLT_MIN, u, (double)FLT_MIN};
}

static double *doubles(int64_t count) {
    double *const x = calloc((size_t)count + 1, sizeof *x);
    if (!x) abort();
    return x;
}

static about *abouts(int64_t count) {
    about *const x = calloc((size_t)count + 1, sizeof *x);
    if (!x) abort();
    return x;
}

/* ------------------------------------------------------------------------------------------ arithmetic */

static about product(units e, about x, about y) {
    const double is = x.is * y.is;
    return (about){is, fabs(x.is) * y.off + fabs(y.is) * x.off + x.off * y.off + 4 * e.u * fabs(is)};
}

static about kept(units e, about x) { return (about){x.is, x.off + e.u * (fabs(x.is) + x.off) + e.l}; }

static about dot(units e, reals X, int64_t i, reals Y, int64_t j) {
    const double *const x = X.at + i * X.cols, *const y = Y.at + j * Y.cols;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < X.cols; k++) {
        sum += x[k] * y[k];
        size += fabs(x[k] * y[k]);
    }
    return (about){sum, ((double)X.cols + 8) * e.u * size};
}

/* ------------------------------------------------------------------------------------------ edges */

static double floored(const tamis_options *o, double x) { return x <= o->edge_epsilon ? o->edge_epsilon : x; }

static double leaky(const tamis_options *o, double x) {
    return o->edge_scale * x < 0 ? o->edge_slope * o->edge_scale * x : o->edge_scale * x;
}

/* f of what s is a factor, and its derivative by x. */
static void factor_of(const gradient_case *c, units e, about x, about *f, about *slope) {
    const tamis_options *const o = &c->options;
    const double y = o->edge_scale * x.is, wide = fabs(o->edge_scale) * x.off;
    const double grows = expm1(wide + 4 * e.u * (1 + fabs(y))) + 8 * e.u;
    const double low = x.is - x.off, high = x.is + x.off;
    switch (o->edge) {
    case TAMIS_EDGE_QUOTIENT: {
        const double is = 1 / floored(o, x.is);
        const double by = x.is <= o->edge_epsilon ? 0 : -is * is;
        *f = (about){is, fmax(1 / floored(o, low) - is, is - 1 / floored(o, high)) + 8 * e.u * is};
        if (high <= o->edge_epsilon)
            *slope = (about){0, 0};
        else if (low <= o->edge_epsilon) /* either side */
            *slope = (about){by, (1 + 8 * e.u) / (o->edge_epsilon * o->edge_epsilon)};
        else
            *slope = (about){by, fmax(1 / (low * low) + by, -by - 1 / (high * high)) + 8 * e.u * is * is};
        return;
    }
    case TAMIS_EDGE_SIGMOID: {
        const double is = 1 / (1 + exp(-y)), by = o->edge_scale * is * (1 / (1 + exp(y)));
        *f = (about){is, is * grows};
        *slope = (about){by, fabs(by) * grows};
        return;
    }
    case TAMIS_EDGE_EXP:
        *f = (about){exp(y), exp(y) * grows};
        *slope = (about){o->edge_scale * exp(y), fabs(o->edge_scale) * exp(y) * grows};
        return;
    case TAMIS_EDGE_LEAKY_RELU: {
        const double is = leaky(o, x.is), by = o->edge_scale * (y < 0 ? o->edge_slope : 1);
        const bool kink = fabs(y) <= wide * (1 + 4 * e.u) + 4 * e.u * fabs(y);
        *f = (about){is, fmax(1, fabs(o->edge_slope)) * wide + 8 * e.u * fabs(is)};
        *slope = (about){by, (kink ? fabs(o->edge_scale * (1 - o->edge_slope)) : 0) + 8 * e.u * fabs(by)};
        return;
    }
    default: *f = x, *slope = (about){1, 0}; return;
    }
}

static double value_of(const gradient_case *c, int64_t member, int64_t t) {
    const tamis_sparse *const S = &c->S_here;
    if (!gradient_case_has_values(c)) return 1;
    return tamis_element_load(c->values.host, c->value_type, member * S->batch_stride + S->offset_base + t);
}

static void differentiate(const gradient_case *c, units e, int64_t member, const samples *a) {
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        const about s = {value_of(c, member, t), 0};
        about f, slope;
        factor_of(c, e, a->x[t], &f, &slope);
        if (c->options.edge == TAMIS_EDGE_RESIDUAL) {
            a->p[t] = (about){s.is - a->x[t].is, a->x[t].off + 4 * e.u * (fabs(s.is) + fabs(a->x[t].is))};
            a->dx[t] = (about){-a->dp[t].is, a->dp[t].off};
            a->ds[t] = a->dp[t];
            continue;
        }
        a->p[t] = product(e, s, f);
        a->dx[t] = product(e, a->dp[t], product(e, s, slope));
        a->ds[t] = product(e, a->dp[t], f);
    }
}

/* Of one row of op(S). */
typedef struct row_facts {
    double most, off, sum, count;
    about mean;
    double size;
} row_facts;

static double score_of(const gradient_case *c, int64_t member, const samples *a, int64_t t) {
    return c->options.edge_scale * a->x[t].is + (gradient_case_has_values(c) ? value_of(c, member, t) : 0);
}

/* The size of an outer product's terms. */
static double size_of_outer(const gradient_case *c, const reals in[INS], int64_t t) {
    const int64_t width = c->shape.width;
    const double *const out = in[IN_OUT].at + c->row_of[t] * width, *const d = in[IN_D].at + c->column_of[t] * width;
    double size = 0;
    for (int64_t l = 0; l < width; l++) size += fabs(out[l] * d[l]);
    return fabs(c->here.alpha) * size;
}

/* in: NULL for an edge by itself. */
static void differentiate_softmax(const gradient_case *c, units e, int64_t member, const reals in[INS],
                                  const samples *a) {
    row_facts *const rows = calloc((size_t)c->rows + 1, sizeof *rows);
    const int64_t nnz = c->shape.nnz;
    const double scale = c->options.edge_scale;
    if (!rows) abort();
    for (int64_t i = 0; i < c->rows; i++) rows[i].most = -INFINITY;
    for (int64_t t = 0; t < nnz; t++) {
        row_facts *const row = &rows[c->row_of[t]];
        const double size = fabs(scale * a->x[t].is) + fabs(value_of(c, member, t));
        row->count++;
        if (score_of(c, member, a, t) == -INFINITY) continue; /* masked: the weight is 0, exactly */
        row->most = fmax(row->most, score_of(c, member, a, t));
        row->off = fmax(row->off, fabs(scale) * a->x[t].off + 4 * e.u * size);
    }
    for (int64_t t = 0; t < nnz; t++)
        if (score_of(c, member, a, t) > -INFINITY)
            rows[c->row_of[t]].sum += exp(score_of(c, member, a, t) - rows[c->row_of[t]].most);
    for (int64_t t = 0; t < nnz; t++) {
        row_facts *const row = &rows[c->row_of[t]];
        const bool masked = score_of(c, member, a, t) == -INFINITY;
        const double is = masked ? 0 : exp(score_of(c, member, a, t) - row->most) / row->sum;
        a->p[t] = (about){is, is * (expm1(2 * row->off) + (row->count + 20) * e.u) + 2 * e.l};
        const about term = product(e, a->p[t], a->dp[t]);
        row->mean.is += term.is;
        row->mean.off += term.off;
        row->size += fabs(term.is) + term.off;
        if (c->rounds_result)
            row->mean.off += (a->p[t].off + (2 * e.v * (1 + e.v) + (row->count + 8) * e.u) * (is + a->p[t].off)) *
                             size_of_outer(c, in, t);
    }
    for (int64_t i = 0; i < c->rows; i++) rows[i].mean.off += (rows[i].count + 8) * e.u * rows[i].size;
    for (int64_t t = 0; t < nnz; t++) {
        const row_facts *const row = &rows[c->row_of[t]];
        const about apart = {a->dp[t].is - row->mean.is,
                             a->dp[t].off + row->mean.off + 4 * e.u * (fabs(a->dp[t].is) + fabs(row->mean.is))};
        a->ds[t] = product(e, a->p[t], apart);
        a->dx[t] = product(e, (about){scale, 0}, a->ds[t]);
    }
    free(rows);
}

/* ------------------------------------------------------------------------------------------ outputs */

static void bound_output(gradient_case *c, units e, int which, int64_t at, double value, double off, double terms) {
    const double before = c->here.beta != 0 ? c->here.beta * c->old[which][at] : 0;
    c->bound[which][at] =
        off + 4 * e.u * fabs(value) + (terms + 4) * e.u * fabs(before) + 2 * e.v * fabs(c->want[which][at]) + 2 * e.m;
}

/* Row to[t] of the output gathers weights[t] times row from[t] of X. */
static void bound_sums(gradient_case *c, units e, int which, int64_t member, const int64_t *to, const int64_t *from,
                       const about *weights, reals X, double alpha) {
    const int64_t rows = c->out[which].here.rows, cols = c->out[which].here.cols;
    double *const sum = doubles(rows * cols), *const off = doubles(rows * cols), *const count = doubles(rows);
    for (int64_t t = 0; t < c->shape.nnz; t++) count[to[t]]++;
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        const double *const x = X.at + from[t] * cols, size = fabs(weights[t].is) + weights[t].off;
        const double of_one = weights[t].off + (count[to[t]] + 8) * e.u * size;
        for (int64_t k = 0; k < cols; k++) {
            sum[to[t] * cols + k] += weights[t].is * x[k];
            off[to[t] * cols + k] += fabs(x[k]) * of_one;
        }
    }
    for (int64_t i = 0; i < rows * cols; i++)
        bound_output(c, e, which, member * rows * cols + i, alpha * sum[i], fabs(alpha) * off[i], count[i / cols]);
    free(sum);
    free(off);
    free(count);
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

static void bound_member(gradient_case *c, units e, int64_t member, const reals in[INS], const samples *a) {
    const int64_t *const i = c->row_of, *const j = c->column_of;
    const about alpha = {c->here.alpha, 0};
    const bool fused = c->operation == TAMIS_OP_FUSED;
    for (int64_t t = 0; t < c->shape.nnz; t++) {
        if (c->operation == TAMIS_OP_SPMM) {
            a->ds[t] = product(e, alpha, dot(e, in[IN_OUT], i[t], in[IN_B], j[t]));
            a->dx[t] = (about){value_of(c, member, t), 0};
            continue;
        }
        a->x[t] = kept(e, dot(e, in[IN_A], i[t], in[IN_B], j[t]));
        a->dp[t] = fused ? kept(e, dot(e, in[IN_OUT], i[t], in[IN_D], j[t])) : (about){in[IN_OUT].at[t], 0};
        a->dp[t] = product(e, alpha, a->dp[t]);
    }
    if (c->operation == TAMIS_OP_SPMM) {
        bound_sums(c, e, OUT_B, member, j, i, a->dx, in[IN_OUT], c->here.alpha);
        bound_values(c, units_of(c->value_type), member, a->ds);
        return;
    }
    if (c->options.edge == TAMIS_EDGE_SOFTMAX)
        differentiate_softmax(c, e, member, in, a);
    else
        differentiate(c, e, member, a);
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
        c->want[k] = doubles(count);
        c->bound[k] = doubles(count);
        for (int64_t i = 0; i < count; i++) c->want[k][i] = c->old[k][i];
    }
}

static void ask_oracle(gradient_case *c) {
    const tamis_dense *const A = &c->in[IN_A].here, *const B = &c->in[IN_B].here, *const D = &c->in[IN_D].here;
    const tamis_dense *const G = &c->in[IN_OUT].here;
    double **const w = c->want, *const ds = gradient_case_has_values(c) ? w[OUT_S] : NULL;
    switch (c->operation) {
    case TAMIS_OP_SDDMM:
        gradient_works(
            tamis_reference_sddmm_backward(&c->S_here, G, A, B, &c->options, &c->here, w[OUT_A], w[OUT_B], ds));
        return;
    case TAMIS_OP_SPMM:
        gradient_works(tamis_reference_spmm_backward(&c->S_here, G, B, &c->options, &c->here, w[OUT_B], ds));
        return;
    case TAMIS_OP_FUSED: break;
    }
    gradient_works(tamis_reference_fused_backward(&c->S_here, G, A, B, D, &c->options, &c->here, w[OUT_A], w[OUT_B],
                                                  w[OUT_D], ds));
}

static samples samples_make(int64_t nnz) {
    return (samples){abouts(nnz), abouts(nnz), abouts(nnz), abouts(nnz), abouts(nnz)};
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
        reals in[INS];
        for (int i = 0; i < INS; i++) in[i] = gradient_reals(&c->in[i], member);
        bound_member(c, units_of(c->type), member, in, &a);
        for (int i = 0; i < INS; i++) free(in[i].at);
    }
    samples_free(&a);
}

void gradient_case_expect_edge(gradient_case *c) {
    const units e = units_of(c->type);
    const samples a = samples_make(c->shape.nnz);
    make_room(c);
    gradient_works(tamis_reference_edge(&c->S_here, &c->in[IN_OUT].here, &c->options, &c->here, c->want[OUT_S]));
    for (int64_t member = 0; member < c->shape.batch; member++) {
        for (int64_t t = 0; t < c->shape.nnz; t++) a.x[t] = (about){gradient_real(&c->in[IN_OUT], member, t, 0), 0};
        if (c->options.edge == TAMIS_EDGE_SOFTMAX)
            differentiate_softmax(c, e, member, NULL, &a);
        else
            differentiate(c, e, member, &a);
        for (int64_t t = 0; t < c->shape.nnz; t++) a.p[t] = product(e, (about){c->here.alpha, 0}, a.p[t]);
        bound_values(c, e, member, a.p);
    }
    samples_free(&a);
}
