/*
 * Collects the whole model of a group: on rank 0 for a file, on all ranks at the end. During the fit a rank's model has
 * its own rows of both factors.
 */
#include "ml/fit/group_factors.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/host.h"
#include "ml/fit/group.h"
#include "ml/fit/place.h"
#include "ml/fit/score.h"
#include "ml/model.h"

static tamis_dense *factors_of(tamis_model *model, bool columns) {
    return columns ? &model->column_factors : &model->row_factors;
}

static const int64_t *starts_of(const ml_rank *rank, bool columns) {
    return columns ? rank->column_starts : rank->row_starts;
}

/* ------------------------------------------------------------------------------------------ collecting */

typedef struct collection {
    tamis_model *model;
    bool columns, everywhere;
    tamis_dense rows;                      /* on the host: all ranks' rows if this rank gets them, else its own */
    const char *own;                       /* in `rows` */
    char *copies;                          /* of the own rows, if several ranks get them: one copy per rank */
    int64_t *send_starts, *receive_starts; /* in one allocation */
} collection;

/* Returns true if the rank receives the rows of all ranks. */
static bool gets(const collection *c, int rank) { return c->everywhere || rank == 0; }

static tamis_status prepare(collection *c) {
    tamis_model *const model = c->model;
    const ml_rank *const rank = model->rank;
    const int64_t *const starts = starts_of(rank, c->columns);
    const int64_t line = model->width * (int64_t)tamis_type_size(model->options.type);
    const int64_t first = starts[rank->number], own = starts[rank->number + 1] - first, bytes = tamis_times(own, line);
    const bool whole = gets(c, rank->number);
    const int others = c->everywhere ? rank->ranks - 1 : !whole;
    TRY(ml_host_make(whole ? starts[rank->ranks] : own, model->width, model->options.type, &c->rows));
    char *const data = c->rows.data, *const at = data && whole ? data + first * line : data;
    c->own = at;
    TRY(ml_dense_read(model, factors_of(model, c->columns), at));
    const int64_t entries = (int64_t)rank->ranks + 1;
    TRY(tamis_allocate_array(2 * entries, "factors of all ranks", c->send_starts));
    c->receive_starts = c->send_starts + entries;
    c->send_starts[0] = 0;
    for (int r = 0; r <= rank->ranks; r++) c->receive_starts[r] = whole ? starts[r] * line : 0;
    for (int r = 0; r < rank->ranks; r++)
        c->send_starts[r + 1] = c->send_starts[r] + (r != rank->number && gets(c, r) ? bytes : 0);
    if (others <= 1 || bytes == 0 || !at) return TAMIS_OK;
    TRY(tamis_scope_allocate(others, (size_t)bytes, "factors for other ranks", (void **)&c->copies));
    for (int i = 0; i < others; i++) memcpy(c->copies + i * bytes, at, (size_t)bytes);
    return TAMIS_OK;
}

static tamis_status exchange(const collection *c) {
    const tamis_transfer transfer = {.send = c->copies ? c->copies : c->own,
                                     .send_starts = c->send_starts,
                                     .receive = c->rows.data,
                                     .receive_starts = c->receive_starts};
    return tamis_group_exchange(c->model->rank->group, &transfer);
}

/* Gathers the rows of all ranks, in their order, to the hosts of all ranks, or only of rank 0; the others then get
   their own rows. */
static tamis_status collect(tamis_model *model, bool columns, bool everywhere, tamis_dense *rows) {
    collection c = {.model = model, .columns = columns, .everywhere = everywhere};
    TRY(tamis_group_share(model->rank->group, prepare(&c), NULL, 0));
    TRY(exchange(&c));
    tamis_scope_drop(c.copies);
    tamis_scope_drop(c.send_starts);
    *rows = c.rows;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ own and whole */

/* Replaces a matrix by packed rows from the host. */
static tamis_status replace(const tamis_model *model, int64_t rows, const void *host, tamis_dense *dense) {
    tamis_dense made;
    TRY(ml_dense_make(model, rows, model->width, &made));
    const tamis_status status = ml_dense_write(model, &made, host);
    ml_dense_free(model, status == TAMIS_OK ? dense : &made);
    if (status == TAMIS_OK) *dense = made;
    return status;
}

tamis_status ml_group_take_own(tamis_model *model) {
    const ml_rank *const rank = model->rank;
    for (int columns = 0; columns < 2; columns++) {
        const int64_t *const starts = starts_of(rank, columns);
        const int64_t first = starts[rank->number], line = model->width * (int64_t)tamis_type_size(model->options.type);
        tamis_dense whole;
        TAMIS_SCOPE;
        TRY(ml_dense_here(model, factors_of(model, columns), &whole));
        const char *const data = whole.data;
        TRY(replace(model, starts[rank->number + 1] - first, data ? data + first * line : NULL,
                    factors_of(model, columns)));
    }
    return TAMIS_OK;
}

tamis_status ml_group_take_whole(tamis_model *model) {
    for (int columns = 0; columns < 2; columns++) {
        tamis_dense whole;
        TAMIS_SCOPE;
        TRY(collect(model, columns, true, &whole));
        const tamis_status status = replace(model, whole.rows, whole.data, factors_of(model, columns));
        TRY(tamis_group_share(model->rank->group, status, NULL, 0));
    }
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ between iterations */

/* Scores a rank's entries as one device does, with all columns and its own rows. */
static tamis_status score(tamis_model *model, const tamis_held_out *held_out, const tamis_dense *columns, double *value,
                          double *weight) {
    const tamis_dense own = model->column_factors;
    model->column_factors = (tamis_dense){0};
    tamis_status status = replace(model, columns->rows, columns->data, &model->column_factors);
    if (status == TAMIS_OK) status = ml_metric(model, held_out, value, weight);
    ml_dense_free(model, &model->column_factors);
    model->column_factors = own;
    return status;
}

tamis_status ml_group_metric(tamis_model *model, const tamis_held_out *held_out, double *metric) {
    const bool squares = model->method->about.data == TAMIS_DATA_RATINGS; /* the metric is the root of their mean */
    double value = 0, weight = 0;
    tamis_dense columns;
    TAMIS_SCOPE;
    TRY(collect(model, true, true, &columns));
    TRY(tamis_group_share(model->rank->group, score(model, held_out, &columns, &value, &weight), NULL, 0));
    double sums[2] = {weight > 0 ? weight * (squares ? value * value : value) : 0, weight};
    TRY(tamis_group_sum(model->rank->group, sums, 2));
    const double mean = sums[0] / sums[1];
    *metric = sums[1] > 0 ? squares ? sqrt(mean) : mean : NAN;
    return TAMIS_OK;
}

/* Saves the model with the matrices of all ranks. */
static tamis_status save(const tamis_model *model, const tamis_dense *whole) {
    tamis_model all = *model;
    all.row_factors = whole[0];
    all.column_factors = whole[1];
    return tamis_model_save(&all, model->options.checkpoint);
}

tamis_status ml_group_checkpoint(tamis_model *model, bool due) {
    const ml_rank *const rank = model->rank;
    tamis_dense whole[2];
    TAMIS_SCOPE;
    int32_t requested = due && model->options.checkpoint != NULL;
    TRY(tamis_group_share(rank->group, TAMIS_OK, &requested, sizeof requested));
    memcpy(&requested, tamis_group_shared(rank->group, 0, sizeof requested), sizeof requested);
    if (!requested) return TAMIS_OK;
    for (int columns = 0; columns < 2; columns++) TRY(collect(model, columns, false, &whole[columns]));
    return rank->number == 0 ? save(model, whole) : TAMIS_OK;
}
