/*
 * What forward calls keep of softmax's rows, against sums in double.
 *
 * With u the unit roundoff of what is summed in, y the scores of a row of n, y' those computed, R = max y - min y over
 * the finite ones, dy the largest error of a score, (K + 8) u |edge_scale| sum |a||b| + 4 u (|edge_scale x| + |s|):
 *   the largest   |m' - max y| <= dy
 *   the sum       l' is about sum exp(y' - m'), so a factor of exp(+-2 dy) from sum exp(y - max y); each term takes
 *                 part in n sums, is scaled down at most n times, by exponentials of differences that add up to R, and
 *                 is one itself: 8 u for each, whose argument is off by u R as well
 *                 |l' - l| <= l (expm1(2 dy) + (8 n + 20 + 4 R) u) + n (smallest normal number)
 *   an output     p' = exp(y' - m') / l' likewise, sums of p' d as gradient_bounds.c has them
 */
#include "softmax_kept.h"

#include "support/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/element.h"

/* ------------------------------------------------------------------------------------------ expected */

typedef struct row_facts {
    double most, sum, off, low, count, rest;
    double relative; /* how far exponentials and their sum may be off */
} row_facts;

typedef struct facts {
    row_facts *rows; /* of all members */
    double *scores;
} facts;

static double unit_of(tamis_type type) { return type == TAMIS_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2; }
static tamis_type real_of(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

static double storage_unit(tamis_type type) {
    const double units[] = {(double)FLT_EPSILON / 2, DBL_EPSILON / 2, 0x1p-11, 0x1p-8};
    return units[type];
}

static void *cleared(int64_t count, size_t size) {
    void *const memory = calloc((size_t)count + 1, size);
    if (!memory) abort();
    return memory;
}

static double value_of(const gradient_case *c, int64_t member, int64_t t) {
    const tamis_sparse *const S = &c->S_here;
    if (!c->shape.with_values) return 0;
    return tamis_element_load(c->values.host, c->type, member * S->batch_stride + S->offset_base + t);
}

/* The score, and how far a right one may be off. */
static double score_of(const gradient_case *c, int64_t member, int64_t t, reals A, reals B, double *off) {
    const double scale = c->options.edge_scale, s = value_of(c, member, t), u = unit_of(c->type);
    const double *const a = A.at + c->row_of[t] * A.cols, *const b = B.at + c->column_of[t] * B.cols;
    double x = 0, size = 0;
    for (int64_t k = 0; k < c->shape.inner; k++) {
        x += a[k] * b[k];
        size += fabs(a[k] * b[k]);
    }
    *off = 0;
    if (s == -INFINITY) return s;
    *off = fabs(scale) * ((double)c->shape.inner + 8) * u * size + 4 * u * (fabs(scale * x) + fabs(s));
    return scale * x + s;
}

static facts expect(const gradient_case *c) {
    const int64_t nnz = c->shape.nnz, batch = c->shape.batch;
    const facts f = {cleared(c->rows * batch, sizeof(row_facts)), cleared(nnz * batch, sizeof(double))};
    for (int64_t i = 0; i < c->rows * batch; i++) f.rows[i] = (row_facts){.most = -INFINITY, .low = INFINITY};
    reals A = {NULL, 0}, B = {NULL, 0};
    for (int64_t at = 0; at < nnz * batch; at++) {
        double off;
        row_facts *const row = &f.rows[at / nnz * c->rows + c->row_of[at % nnz]];
        if (at % nnz == 0) {
            free(A.at);
            free(B.at);
            A = gradient_reals(&c->in[IN_A], at / nnz);
            B = gradient_reals(&c->in[IN_B], at / nnz);
        }
        f.scores[at] = score_of(c, at / nnz, at % nnz, A, B, &off);
        row->most = fmax(row->most, f.scores[at]);
        if (f.scores[at] > -INFINITY) row->low = fmin(row->low, f.scores[at]);
        row->off = fmax(row->off, off);
        row->count++;
    }
    free(A.at);
    free(B.at);
    for (int64_t at = 0; at < nnz * batch; at++) {
        row_facts *const row = &f.rows[at / nnz * c->rows + c->row_of[at % nnz]];
        if (row->most > -INFINITY) row->sum += exp(f.scores[at] - row->most);
    }
    for (int64_t i = 0; i < c->rows * batch; i++) {
        row_facts *const row = &f.rows[i];
        const double range = row->most > -INFINITY ? row->most - row->low : 0;
        row->relative = expm1(2 * row->off) + (8 * row->count + 20 + 4 * range) * unit_of(c->type);
    }
    return f;
}

static void facts_free(const facts *f) {
    free(f->rows);
    free(f->scores);
}

/* ------------------------------------------------------------------------------------------ memory */

enum { GUARD = 32 }; /* numbers behind the last that nobody may touch */

static void *given_there(const gradient_case *c, size_t bytes) {
    void *memory = NULL;
    if (c->copies) gradient_works(tamis_device_allocate(c->device, bytes, &memory));
    return memory;
}

static void poison(const gradient_case *c, void *here, void *there, size_t bytes) {
    memset(here, 0xff, bytes); /* NaN of every type */
    if (c->copies) gradient_works(tamis_device_upload(c->device, NULL, there, 0, here, bytes));
}

kept kept_make(const gradient_case *c) {
    const bool sddmm = c->operation == TAMIS_OP_SDDMM;
    const gradient_matrix *const like = sddmm ? &c->out[OUT_S] : &c->in[IN_OUT];
    kept k = {.out = like->there, .out_bytes = like->array.bytes + 1};
    k.pair_bytes = (size_t)(2 * c->rows * c->shape.batch + GUARD) * tamis_type_size(real_of(c->type));
    k.pairs = cleared((int64_t)k.pair_bytes, 1);
    k.out_here = cleared((int64_t)k.out_bytes, 1);
    k.pairs_there = c->copies ? given_there(c, k.pair_bytes) : k.pairs;
    k.out.data = c->copies ? given_there(c, k.out_bytes) : k.out_here;
    return k;
}

void kept_free(const gradient_case *c, const kept *k) {
    if (c->copies) {
        tamis_device_free(c->device, k->pairs_there);
        tamis_device_free(c->device, k->out.data);
    }
    free(k->pairs);
    free(k->out_here);
}

void kept_poison(const gradient_case *c, const kept *k) {
    poison(c, k->pairs, k->pairs_there, k->pair_bytes);
    poison(c, k->out_here, k->out.data, k->out_bytes);
}

void kept_fetch(const gradient_case *c, const kept *k) {
    if (!c->copies) return;
    gradient_works(tamis_device_download(c->device, NULL, k->pairs, k->pairs_there, 0, k->pair_bytes));
    gradient_works(tamis_device_download(c->device, NULL, k->out_here, k->out.data, 0, k->out_bytes));
}

/* ------------------------------------------------------------------------------------------ comparing */

static void check_pairs(const gradient_case *c, const facts *f, const kept *k, const char *what) {
    const tamis_type real = real_of(c->type);
    const double tiny = real == TAMIS_F64 ? DBL_MIN : (double)FLT_MIN;
    const size_t used = (size_t)(2 * c->rows * c->shape.batch) * tamis_type_size(real);
    for (int64_t i = 0; i < c->rows * c->shape.batch; i++) {
        const row_facts *const row = &f->rows[i];
        const double most = tamis_element_load(k->pairs, real, 2 * i);
        const double sum = tamis_element_load(k->pairs, real, 2 * i + 1);
        const bool right = row->most == -INFINITY
                               ? most == row->most && sum == 0
                               : fabs(most - row->most) <= row->off &&
                                     fabs(sum - row->sum) <= row->sum * row->relative + row->count * tiny;
        if (!right)
            fail_msg("%s, %s: row %lld of %g nonzeros: %.9g and %.9g, expected %.9g within %.3g and %.9g within a "
                     "factor of %.3g",
                     what, tamis_type_name(c->type), (long long)i, row->count, most, sum, row->most, row->off, row->sum,
                     row->relative);
    }
    for (size_t at = used; at < k->pair_bytes; at++)
        if (((const unsigned char *)k->pairs)[at] != 0xff) fail_msg("%s: byte %zu behind the end", what, at - used);
}

static double output_at(const gradient_case *c, const kept *k, int64_t member, int64_t i, int64_t j) {
    const tamis_dense *const v = &k->out;
    const int64_t at = v->layout == TAMIS_ROW_MAJOR ? i * v->stride + j : j * v->stride + i;
    return tamis_element_load(k->out_here, c->type, member * v->batch_stride + at);
}

static void check_output(const char *what, const gradient_case *c, double got, double want, double off) {
    const double v = storage_unit(c->type), tiny = c->type == TAMIS_F16 ? 0x1p-24 : (double)FLT_MIN;
    if (isnan(want) ? isnan(got) : fabs(got - want) <= off + 4 * v * (fabs(want) + off) + 2 * tiny) return;
    fail_msg("%s, %s: an output of %.9g, expected %.9g within %.3g", what, tamis_type_name(c->type), got, want, off);
}

/* A row whose scores are all -infinity is masked: its weights are zeros. */
static double weight_of(const row_facts *row, double score) {
    return row->most == -INFINITY ? 0 : exp(score - row->most) / row->sum;
}

static void check_samples(const gradient_case *c, const facts *f, const kept *k, const char *what) {
    const int64_t nnz = c->shape.nnz;
    for (int64_t at = 0; at < nnz * c->shape.batch; at++) {
        const row_facts *const row = &f->rows[at / nnz * c->rows + c->row_of[at % nnz]];
        const double p = c->here.alpha * weight_of(row, f->scores[at]);
        check_output(what, c, output_at(c, k, at / nnz, at % nnz, 0), p, 2 * fabs(p) * row->relative);
    }
}

static void check_sums(const gradient_case *c, const facts *f, const kept *k, const char *what) {
    const int64_t nnz = c->shape.nnz, width = c->shape.width, all = c->rows * width;
    double *const sum = cleared(all, sizeof *sum), *const size = cleared(all, sizeof *size);
    for (int64_t m = 0; m < c->shape.batch; m++) {
        memset(sum, 0, (size_t)all * sizeof *sum);
        memset(size, 0, (size_t)all * sizeof *size);
        const reals D = gradient_reals(&c->in[IN_D], m);
        for (int64_t t = 0; t < nnz; t++) {
            const row_facts *const row = &f->rows[m * c->rows + c->row_of[t]];
            const double p = weight_of(row, f->scores[m * nnz + t]);
            for (int64_t l = 0; l < width; l++) {
                const double term = c->here.alpha * p * D.at[c->column_of[t] * width + l];
                sum[c->row_of[t] * width + l] += term;
                size[c->row_of[t] * width + l] += fabs(term);
            }
        }
        free(D.at);
        for (int64_t i = 0; i < all; i++)
            check_output(what, c, output_at(c, k, m, i / width, i % width), sum[i],
                         2 * size[i] * f->rows[m * c->rows + i / width].relative +
                             (c->rounds_factors ? storage_unit(c->type) * size[i] : 0));
    }
    free(sum);
    free(size);
}

tamis_status kept_forward(const gradient_case *c, const tamis_plan *plan, const kept *k,
                          const tamis_execution *execution) {
    const tamis_dense *const A = &c->in[IN_A].there, *const B = &c->in[IN_B].there, *const D = &c->in[IN_D].there;
    switch (c->operation) {
    case TAMIS_OP_SDDMM: return tamis_plan_sddmm(plan, A, B, &k->out, execution);
    case TAMIS_OP_SPMM: return tamis_plan_spmm(plan, B, &k->out, execution);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_plan_fused(plan, A, B, D, &k->out, execution);
}

tamis_execution kept_asking(const gradient_case *c, const kept *k) {
    tamis_execution execution = c->there;
    execution.beta = 0;
    execution.softmax_rows = k->pairs_there;
    return execution;
}

void kept_check(const gradient_case *c, const kept *k, const char *what) {
    const facts f = expect(c);
    check_pairs(c, &f, k, what);
    if (c->operation == TAMIS_OP_SDDMM)
        check_samples(c, &f, k, what);
    else
        check_sums(c, &f, k, what);
    facts_free(&f);
}
