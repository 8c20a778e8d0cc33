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
 */
#include "softmax_kept.h"

#include "support/test.h"

#include "support/bounds.h"

/* ------------------------------------------------------------------------------------------ expected */

/* Of a member. */
typedef struct facts {
    about *scores;
    softmax_row *rows;
    double *relative; /* how far exponentials and their sum may be off, of each row */
} facts;

static tamis_type real_of(tamis_type type) { return type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32; }

static facts expect(const gradient_case *c, int64_t member) {
    const int64_t nnz = c->shape.nnz, K = c->shape.inner;
    const units e = units_of(c->type);
    const tamis_sparse *const S = &c->S_here;
    facts f = {.scores = test_abouts(nnz), .relative = test_doubles(c->rows)};
    OWN(double) *const A = test_values(&c->in[IN_A].here, member), *const B = test_values(&c->in[IN_B].here, member);
    for (int64_t t = 0; t < nnz; t++) {
        const int64_t at = member * S->batch_stride + S->offset_base + t;
        f.scores[t] = about_score(e, &c->options, about_dot(e, A + c->row_of[t] * K, B + c->column_of[t] * K, K, NULL),
                                  c->shape.with_values ? test_load(c->values.host, c->type, at) : 0);
    }
    f.rows = softmax_rows(f.scores, c->row_of, nnz, c->rows);
    for (int64_t i = 0; i < c->rows; i++) {
        const softmax_row *const row = &f.rows[i];
        const double range = row->most > -INFINITY ? row->most - row->least : 0;
        f.relative[i] = expm1(2 * row->off) + (8 * row->count + 20 + 4 * range) * e.u;
    }
    return f;
}

/* ------------------------------------------------------------------------------------------ memory */

kept kept_make(const gradient_case *c) {
    const int64_t count = 2 * c->rows * c->shape.batch;
    kept k = {.pairs = twin_make((size_t)count * tamis_type_size(real_of(c->type)), 0),
              .out = matrix_like(c->operation == TAMIS_OP_SDDMM ? &c->out[OUT_S] : &c->in[IN_OUT])};
    kept_poison(c, &k);
    return k;
}

void kept_free(kept *k) {
    twin_free(&k->pairs);
    matrix_free(&k->out);
}

void kept_poison(const gradient_case *c, kept *k) {
    memset(k->pairs.host, 0xff, k->pairs.bytes);
    twin_send(&k->pairs, c->device);
    matrix_poison(&k->out);
    matrix_send(c->device, &k->out);
}

void kept_fetch(kept *k) {
    twin_fetch(&k->pairs);
    matrix_fetch(&k->out);
}

/* ------------------------------------------------------------------------------------------ comparing */

static void facts_free(const facts *f) {
    free(f->scores);
    free(f->rows);
    free(f->relative);
}

void kept_expect(const gradient_case *c, double *want, double *bound) {
    for (int64_t at = 0, member = 0; member < c->shape.batch; member++) {
        const facts f = expect(c, member);
        for (int64_t i = 0; i < c->rows; i++, at += 2) {
            const softmax_row *const row = &f.rows[i];
            want[at] = row->most, want[at + 1] = row->sum;
            if (row->most == -INFINITY) continue;
            bound[at] = row->off;
            bound[at + 1] = row->sum * f.relative[i] + row->count * units_of(real_of(c->type)).l;
        }
        facts_free(&f);
    }
}

tamis_status kept_forward(const gradient_case *c, const tamis_plan *plan, const kept *k,
                          const tamis_execution *execution) {
    const tamis_dense *const A = &c->in[IN_A].there, *const B = &c->in[IN_B].there, *const D = &c->in[IN_D].there;
    return call_plan(plan, c->operation, A, B, c->operation == TAMIS_OP_SPMM ? B : D, &k->out.there, execution);
}

tamis_execution kept_asking(const gradient_case *c, const kept *k) {
    tamis_execution execution = c->there;
    execution.beta = 0;
    execution.softmax_rows = twin_there(&k->pairs);
    return execution;
}
