/* The oracle of attention on graphs and of segments: loops over the entries in S's order, in double. */
#include <tamis/reference.h>

#include <math.h>

#include "base/reserved.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "base/status.h"
#include "reference/places.h"
#include "reference/request.h"

static double at(const tamis_dense *X, int64_t i, int64_t k) { return tamis_oracle_dense_at(X, 0, i, k); }

/* Turns the score of each entry and head into its softmax over the rows. log_sums, per row and head, may be NULL. */
static tamis_status softmax(const tamis_oracle_places *c, int64_t heads, double *x, double *log_sums) {
    TAMIS_SCOPE;
    double *most, *sum;
    TRY(tamis_allocate_array(tamis_times(c->S->rows, heads), "largest scores", most));
    TRY(tamis_allocate_array(tamis_times(c->S->rows, heads), "sums of rows", sum));
    for (int64_t i = 0; i < c->S->rows * heads; i++) most[i] = -(double)INFINITY;
    tamis_oracle_clear(sum, c->S->rows * heads);
    for (int64_t t = 0; t < c->S->nnz; t++)
        for (int64_t h = 0; h < heads; h++) {
            double *const m = &most[c->row[t] * heads + h];
            if (x[t * heads + h] > *m) *m = x[t * heads + h];
        }
    for (int64_t t = 0; t < c->S->nnz; t++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t place = c->row[t] * heads + h;
            x[t * heads + h] = exp(x[t * heads + h] - (most[place] == -(double)INFINITY ? 0 : most[place]));
            sum[place] += x[t * heads + h];
        }
    for (int64_t t = 0; t < c->S->nnz; t++)
        for (int64_t h = 0; h < heads; h++) {
            const double divisor = sum[c->row[t] * heads + h];
            x[t * heads + h] /= divisor == 0 ? 1 : divisor; /* the whole row is masked */
        }
    for (int64_t i = 0; log_sums && i < c->S->rows * heads; i++) log_sums[i] = most[i] + log(sum[i]);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ attention */

typedef struct call {
    tamis_oracle_places places;
    tamis_graph_attention_options o;
    const tamis_graph_attention_matrices *m;
    int64_t all;
} call;

static tamis_status check(const call *c) {
    const tamis_sparse *const S = c->places.S;
    TRY(tamis_oracle_check_matrix(c->m->Q, "Q", S->rows, c->all));
    TRY(tamis_oracle_check_matrix(c->m->K, "K", S->cols, c->all));
    TRY(tamis_oracle_check_matrix(c->m->V, "V", S->cols, c->all));
    if (c->m->E) TRY(tamis_oracle_check_matrix(c->m->E, "E", S->nnz, c->all));
    return c->m->B ? tamis_oracle_check_matrix(c->m->B, "B", S->nnz, c->o.heads) : TAMIS_OK;
}

static tamis_status begin(call *c, const tamis_sparse *S, const tamis_graph_attention_options *options,
                          const tamis_graph_attention_matrices *matrices) {
    if (!options || !matrices)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected the call", options ? "matrices" : "options");
    TRY(TAMIS_RESERVED(options, "options"));
    TRY(TAMIS_RESERVED(matrices, "matrices"));
    c->o = *options;
    c->m = matrices;
    if (c->o.heads == 0) c->o.heads = 1;
    c->all = c->o.heads * c->o.width;
    TRY(tamis_oracle_places_begin(&c->places, S));
    TRY(check(c));
    return TAMIS_OK;
}

static double edge(const call *c, int64_t t, int64_t k) { return c->m->E ? at(c->m->E, t, k) : 0; }

static tamis_status weights(const call *c, double *p, double *log_sums) {
    for (int64_t t = 0; t < c->places.S->nnz; t++)
        for (int64_t h = 0; h < c->o.heads; h++) {
            double x = 0;
            for (int64_t k = h * c->o.width; k < (h + 1) * c->o.width; k++)
                x += at(c->m->Q, c->places.row[t], k) * (at(c->m->K, c->places.column[t], k) + edge(c, t, k));
            p[t * c->o.heads + h] = c->o.scale * x + (c->m->B ? at(c->m->B, t, h) : 0);
        }
    return softmax(&c->places, c->o.heads, p, log_sums);
}

tamis_status tamis_reference_graph_attention(const tamis_sparse *S, const tamis_graph_attention_options *options,
                                             const tamis_graph_attention_matrices *matrices, double *out,
                                             double *log_sums) {
    TAMIS_SCOPE;
    double *p;
    call c;
    tamis_clear_error();
    TRY(begin(&c, S, options, matrices));
    TRY(tamis_oracle_check_output(out, "out", S->rows * c.all));
    TRY(tamis_allocate_array(tamis_times(S->nnz, c.o.heads), "weights", p));
    TRY(weights(&c, p, log_sums));
    tamis_oracle_clear(out, S->rows * c.all);
    for (int64_t t = 0; t < S->nnz; t++)
        for (int64_t k = 0; k < c.all; k++)
            out[c.places.row[t] * c.all + k] +=
                p[t * c.o.heads + k / c.o.width] * (at(c.m->V, c.places.column[t], k) + edge(&c, t, k));
    return TAMIS_OK;
}

/* The gradients of the scores: p (dp - the sum of p dp over the row). `sums` has a number per row and head. */
static void score_gradients(const call *c, const tamis_dense *dOut, const double *p, double *sums, double *d) {
    const int64_t heads = c->o.heads;
    tamis_oracle_clear(sums, c->places.S->rows * heads);
    tamis_oracle_clear(d, c->places.S->nnz * heads);
    for (int64_t t = 0; t < c->places.S->nnz; t++)
        for (int64_t k = 0; k < c->all; k++)
            d[t * heads + k / c->o.width] +=
                at(dOut, c->places.row[t], k) * (at(c->m->V, c->places.column[t], k) + edge(c, t, k));
    for (int64_t t = 0; t < c->places.S->nnz; t++)
        for (int64_t h = 0; h < heads; h++) sums[c->places.row[t] * heads + h] += p[t * heads + h] * d[t * heads + h];
    for (int64_t t = 0; t < c->places.S->nnz; t++)
        for (int64_t h = 0; h < heads; h++)
            d[t * heads + h] = p[t * heads + h] * (d[t * heads + h] - sums[c->places.row[t] * heads + h]);
}

static void gradients_of_entry(const call *c, const tamis_dense *dOut, int64_t t, const double *p, const double *d,
                               const tamis_graph_attention_gradients *to) {
    const int64_t i = c->places.row[t], j = c->places.column[t];
    for (int64_t k = 0; k < c->all; k++) {
        const double dx = c->o.scale * d[k / c->o.width], g = p[k / c->o.width] * at(dOut, i, k);
        if (to->q) to->q[i * c->all + k] += dx * (at(c->m->K, j, k) + edge(c, t, k));
        if (to->k) to->k[j * c->all + k] += dx * at(c->m->Q, i, k);
        if (to->v) to->v[j * c->all + k] += g;
        if (to->e) to->e[t * c->all + k] = dx * at(c->m->Q, i, k) + g;
    }
    for (int64_t h = 0; to->b && h < c->o.heads; h++) to->b[t * c->o.heads + h] = d[h];
}

tamis_status tamis_reference_graph_attention_backward(const tamis_sparse *S,
                                                      const tamis_graph_attention_options *options,
                                                      const tamis_graph_attention_matrices *matrices,
                                                      const tamis_dense *dOut,
                                                      const tamis_graph_attention_gradients *gradients) {
    TAMIS_SCOPE;
    double *p, *d, *sums;
    call c;
    tamis_clear_error();
    if (!gradients) return tamis_fail(TAMIS_ERROR_ARGUMENT, "gradients = NULL: expected those that are wanted");
    TRY(TAMIS_RESERVED(gradients, "gradients"));
    TRY(begin(&c, S, options, matrices));
    TRY(tamis_oracle_check_matrix(dOut, "dOut", S->rows, c.all));
    TRY(tamis_allocate_array(tamis_times(S->nnz, c.o.heads), "weights", p));
    TRY(tamis_allocate_array(tamis_times(S->nnz, c.o.heads), "gradients of scores", d));
    TRY(tamis_allocate_array(tamis_times(S->rows, c.o.heads), "sums of rows", sums));
    TRY(weights(&c, p, NULL));
    score_gradients(&c, dOut, p, sums, d);
    tamis_oracle_clear(gradients->q, S->rows * c.all);
    tamis_oracle_clear(gradients->k, S->cols * c.all);
    tamis_oracle_clear(gradients->v, S->cols * c.all);
    for (int64_t t = 0; t < S->nnz; t++)
        gradients_of_entry(&c, dOut, t, p + t * c.o.heads, d + t * c.o.heads, gradients);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ segments */

typedef struct segment_call {
    tamis_oracle_places places;
    tamis_segment_options o;
    int64_t *position; /* of each entry of S, in the order of the values */
} segment_call;

/* Stable counting sort: the position of each entry by `key`, 0 .. count - 1. */
static tamis_status sort(const int64_t *key, int64_t count, int64_t nnz, int64_t *position) {
    TAMIS_SCOPE;
    int64_t *next;
    TRY(tamis_allocate_zeros(count + 1, "places of rows", next));
    for (int64_t t = 0; t < nnz; t++) next[key[t] + 1]++;
    for (int64_t i = 0; i < count; i++) next[i + 1] += next[i];
    for (int64_t t = 0; t < nnz; t++) position[t] = next[key[t]]++;
    return TAMIS_OK;
}

static tamis_status begin_segment(segment_call *c, const tamis_sparse *S, const tamis_segment_options *options) {
    if (!options) return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected the operation");
    TRY(TAMIS_RESERVED(options, "options"));
    *c = (segment_call){.o = *options};
    if (c->o.heads == 0) c->o.heads = 1;
    TRY(tamis_oracle_places_begin(&c->places, S));
    TRY(tamis_allocate_array(S->nnz, "positions of entries", c->position));
    for (int64_t t = 0; t < S->nnz; t++) c->position[t] = t;
    if (c->o.order == TAMIS_ENTRIES_BY_ROW) TRY(sort(c->places.row, S->rows, S->nnz, c->position));
    if (c->o.order == TAMIS_ENTRIES_BY_COLUMN) TRY(sort(c->places.column, S->cols, S->nnz, c->position));
    return TAMIS_OK;
}

static void reduce(const segment_call *c, const tamis_dense *X, double *out, int64_t *argument) {
    const int64_t heads = c->o.heads;
    tamis_oracle_clear(out, c->places.S->rows * heads);
    for (int64_t i = 0; i < c->places.S->rows * heads; i++) argument[i] = -1;
    for (int64_t t = 0; t < c->places.S->nnz; t++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t place = c->places.row[t] * heads + h;
            const double x = at(X, c->position[t], h);
            if (c->o.op < TAMIS_SEGMENT_MAX) {
                out[place] += c->o.op == TAMIS_SEGMENT_MEAN ? x / (double)c->places.count[c->places.row[t]] : x;
            } else if (argument[place] < 0 || tamis_oracle_replaces(c->o.op == TAMIS_SEGMENT_MAX, x, out[place])) {
                out[place] = x;
                argument[place] = c->position[t];
            }
        }
}

/* The softmax in the order of S. */
static tamis_status softmax_of(const segment_call *c, const tamis_dense *X, double *p) {
    for (int64_t t = 0; t < c->places.S->nnz; t++)
        for (int64_t h = 0; h < c->o.heads; h++) p[t * c->o.heads + h] = at(X, c->position[t], h);
    return softmax(&c->places, c->o.heads, p, NULL);
}

tamis_status tamis_reference_segment(const tamis_sparse *S, const tamis_segment_options *options, const tamis_dense *X,
                                     double *out, int64_t *argument) {
    TAMIS_SCOPE;
    double *p;
    int64_t *own;
    segment_call c;
    tamis_clear_error();
    TRY(begin_segment(&c, S, options));
    const bool soft = c.o.op == TAMIS_SEGMENT_SOFTMAX;
    TRY(tamis_oracle_check_matrix(X, "X", S->nnz, c.o.heads));
    TRY(tamis_oracle_check_output(out, "out", (soft ? S->nnz : S->rows) * c.o.heads));
    TRY(tamis_allocate_array(tamis_times(S->nnz, c.o.heads), "weights", p));
    TRY(tamis_allocate_array(tamis_times(S->rows, c.o.heads), "arguments", own));
    if (soft) {
        TRY(softmax_of(&c, X, p));
        for (int64_t i = 0; i < S->nnz * c.o.heads; i++)
            out[c.position[i / c.o.heads] * c.o.heads + i % c.o.heads] = p[i];
    } else {
        reduce(&c, X, out, argument ? argument : own);
    }
    return TAMIS_OK;
}

tamis_status tamis_reference_segment_backward(const tamis_sparse *S, const tamis_segment_options *options,
                                              const tamis_dense *dOut, const tamis_dense *X, double *dx) {
    TAMIS_SCOPE;
    double *p, *sums;
    int64_t *argument;
    segment_call c;
    tamis_clear_error();
    TRY(begin_segment(&c, S, options));
    const int64_t heads = c.o.heads;
    const bool soft = c.o.op == TAMIS_SEGMENT_SOFTMAX;
    TRY(tamis_oracle_check_matrix(X, "X", S->nnz, heads));
    TRY(tamis_oracle_check_matrix(dOut, "dOut", soft ? S->nnz : S->rows, heads));
    TRY(tamis_oracle_check_output(dx, "dx", S->nnz * heads));
    TRY(tamis_allocate_array(tamis_times(S->nnz, heads), "weights", p));
    TRY(tamis_allocate_array(tamis_times(S->rows, heads), "sums of rows", sums));
    TRY(tamis_allocate_array(tamis_times(S->rows, heads), "arguments", argument));
    TRY(softmax_of(&c, X, p));
    if (!soft) reduce(&c, X, sums, argument);
    if (soft) tamis_oracle_clear(sums, S->rows * heads);
    for (int64_t t = 0; soft && t < S->nnz; t++)
        for (int64_t h = 0; h < heads; h++)
            sums[c.places.row[t] * heads + h] += p[t * heads + h] * at(dOut, c.position[t], h);
    for (int64_t t = 0; t < S->nnz; t++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t row = c.places.row[t], position = c.position[t];
            double *const to = &dx[position * heads + h];
            if (soft)
                *to = p[t * heads + h] * (at(dOut, position, h) - sums[row * heads + h]);
            else if (c.o.op == TAMIS_SEGMENT_SUM)
                *to = at(dOut, row, h);
            else if (c.o.op == TAMIS_SEGMENT_MEAN)
                *to = at(dOut, row, h) / (double)c.places.count[row];
            else
                *to = argument[row * heads + h] == position ? at(dOut, row, h) : 0;
        }
    return TAMIS_OK;
}
