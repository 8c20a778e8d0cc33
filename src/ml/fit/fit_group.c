/*
 * tamis_model_fit_group. Ranks first exchange and compare their arguments; from then on all act alike. After the fit
 * has begun, a rank that fails breaks the group, which ends the others' calls.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "ml/data/canonical.h"
#include "ml/data/rows.h"
#include "ml/files/model_header.h"
#include "ml/fit/choose.h"
#include "ml/fit/fit.h"
#include "ml/fit/group.h"
#include "ml/fit/group_columns.h"
#include "ml/fit/group_factors.h"
#include "ml/fit/loop.h"
#include "ml/fit/place.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "ml/model.h"
#include "ml/numbers.h"

/* ------------------------------------------------------------------------------------------ what must be equal */

/* Message that ranks exchange to check that they agree. */
typedef struct facts {
    tamis_model_options options; /* pointers are meaningless to other ranks */
    int64_t cols, done, held_out;
    uint64_t data; /* the fingerprint of the data that the model has seen */
    int64_t rows, nnz;
    double least, most, sum;
} facts;

/* The arguments and the state of a call on one rank. */
typedef struct joining {
    tamis_model *model;
    const tamis_sparse *S;
    const tamis_held_out *held_out;
    tamis_sparse data; /* S as methods take it */
    ml_rank rank;
} joining;

static facts collect_facts(const joining *j) {
    const tamis_sparse *const data = &j->data;
    facts mine = {.options = j->model->options,
                  .cols = data->cols,
                  .done = j->model->iterations_done,
                  .held_out = j->held_out != NULL,
                  .data = ml_begun(j->model) ? j->model->data_sum : 0,
                  .rows = data->rows,
                  .nnz = data->nnz,
                  .least = INFINITY,
                  .most = -INFINITY};
    for (int64_t t = 0; t < data->nnz; t++) {
        const double value = ml_value(data, t);
        mine.sum += value;
        mine.least = fmin(mine.least, value);
        mine.most = fmax(mine.most, value);
    }
    return mine;
}

/* Returns a field as an integer; for a double its bits. */
static int64_t whole_at(ml_field_kind kind, const void *at) {
    int64_t bits;
    switch (kind) {
    case ML_FIELD_BOOL: return *(const bool *)at;
    case ML_FIELD_METHOD:
    case ML_FIELD_TYPE:
    case ML_FIELD_INT: return *(const int *)at;
    default: memcpy(&bits, at, sizeof bits); return bits;
    }
}

static tamis_status compare_one(const char *name, ml_field_kind kind, const void *other, const void *first, int rank) {
    const int64_t here = whole_at(kind, other), there = whole_at(kind, first);
    if (here == there) return TAMIS_OK;
    if (kind == ML_FIELD_DOUBLE)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %.17g, but %.17g on rank 0", rank, name,
                          *(const double *)other, *(const double *)first);
    if (kind == ML_FIELD_UINT64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %llu, but %llu on rank 0", rank, name,
                          (unsigned long long)here, (unsigned long long)there);
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: %s = %lld, but %lld on rank 0", rank, name, (long long)here,
                      (long long)there);
}

/* Compares the options that a model keeps, except threads, and the arguments of two ranks. */
static tamis_status compare(const facts *first, const facts *other, int rank) {
    for (int i = 0; i < ML_FIELDS; i++) {
        const size_t at = ml_fields[i].offset - offsetof(tamis_model, options); /* huge before the options */
        char name[64];
        if (at >= sizeof(tamis_model_options) || strcmp(ml_fields[i].key, "threads") == 0) continue;
        snprintf(name, sizeof name, "options.%s", ml_fields[i].key);
        TRY(compare_one(name, ml_fields[i].kind, (const char *)&other->options + at, (const char *)&first->options + at,
                        rank));
    }
    TRY(compare_one("options.by_prediction", ML_FIELD_BOOL, &other->options.by_prediction,
                    &first->options.by_prediction, rank));
    TRY(compare_one("S.cols", ML_FIELD_INT64, &other->cols, &first->cols, rank));
    TRY(compare_one("iterations that the model has done", ML_FIELD_INT64, &other->done, &first->done, rank));
    TRY(compare_one("the fingerprint of the data that the model has seen", ML_FIELD_UINT64, &other->data, &first->data,
                    rank));
    return compare_one("held_out given", ML_FIELD_INT64, &other->held_out, &first->held_out, rank);
}

/* ------------------------------------------------------------------------------------------ arguments */

static bool fits_on_groups(const ml_method *method) { return method->about.groups; }

static tamis_status check(joining *j, tamis_group *group) {
    tamis_model *const model = j->model;
    if (!model) return tamis_fail(TAMIS_ERROR_ARGUMENT, "model is NULL");
    if (!model->method->about.groups) {
        char names[ML_METHOD_NAMES];
        ml_method_names(fits_on_groups, "and", names);
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s cannot be fitted on a group, only %s can: use one device",
                          model->method->about.name, names);
    }
    if (model->features[0] || model->features[1])
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "the model has features of %s, which fits on groups do not use: fit it on one device",
                          model->features[0] ? "rows" : "columns");
    if (model->device != tamis_group_device(group))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "model: it was made on another device than this rank of the group has");
    if (!ml_begun(model)) model->cols = 0; /* a failed fit leaves no trace */
    TRY(ml_canonical(model, j->S, "S", &j->data));
    const int64_t cols = model->cols;
    model->cols = j->data.cols; /* held-out entries must have as many */
    const tamis_status status = ml_check_held_out(model, j->held_out, j->data.rows);
    model->cols = cols;
    return status;
}

/* Frees what ml_group_columns has made. */
static void free_columns(void *given) {
    ml_rank *const rank = given;
    tamis_release(rank->offsets);
    tamis_release(rank->rows);
    tamis_release(rank->values);
}

static tamis_status make_lists(joining *j, tamis_group *group) {
    tamis_group_description description;
    TRY(tamis_scope_own(free_columns, &j->rank));
    TRY(tamis_group_describe(group, &description));
    j->rank.number = description.rank;
    j->rank.ranks = description.ranks;
    const int64_t entries = (int64_t)description.ranks + 1;
    TRY(tamis_allocate_zeros(entries, "the rows of ranks", j->rank.row_starts));
    TRY(tamis_allocate_zeros(entries, "the columns of ranks", j->rank.column_starts));
    return check(j, group);
}

/* Sizes and statistics of the data of all ranks; the model keeps all but the sum. */
typedef struct whole_data {
    int64_t rows, cols, nnz;
    double least, most, sum;
} whole_data;

static tamis_status meet(joining *j, whole_data *whole) {
    ml_rank *const rank = &j->rank;
    facts mine = {0}, first, theirs;
    tamis_status status = make_lists(j, rank->group);
    if (status == TAMIS_OK) mine = collect_facts(j);
    TRY(tamis_group_share(rank->group, status, &mine, sizeof mine));
    TRY(status); /* which tamis_group_share has returned already */
    memcpy(&first, tamis_group_shared(rank->group, 0, sizeof first), sizeof first);
    *whole = (whole_data){.cols = first.cols, .least = INFINITY, .most = -INFINITY};
    for (int r = 0; r < rank->ranks; r++) {
        memcpy(&theirs, tamis_group_shared(rank->group, r, sizeof theirs), sizeof theirs);
        TRY(compare(&first, &theirs, r));
        whole->rows += theirs.rows;
        whole->nnz += theirs.nnz;
        whole->sum += theirs.sum;
        whole->least = fmin(whole->least, theirs.least);
        whole->most = fmax(whole->most, theirs.most);
        rank->row_starts[r + 1] = whole->rows;
    }
    return TAMIS_OK;
}

/* ml_describe_data for the data of all ranks. The scale needs the mean first, and so a second reduction. */
static tamis_status describe(joining *j, const whole_data *whole, uint64_t sum) {
    tamis_model *const model = j->model;
    double squares;
    model->data_sum = sum;
    model->rows = whole->rows;
    model->nnz = whole->nnz;
    if (ml_begun(model)) return TAMIS_OK;
    model->cols = whole->cols;
    model->least = whole->nnz > 0 ? whole->least : 0;
    model->most = whole->nnz > 0 ? whole->most : 0;
    model->mean = whole->nnz > 0 ? whole->sum / (double)whole->nnz : 0;
    squares = ml_squares(model, &j->data);
    TRY(tamis_group_sum(j->rank.group, &squares, 1));
    model->scale = ml_scale_of(model, squares, whole->nnz);
    return TAMIS_OK;
}

/* Checks that all ranks together have the same data as before, and sets the model's statistics of them. */
static tamis_status take_data(joining *j, const whole_data *whole) {
    const ml_rank *const rank = &j->rank;
    uint64_t rows_sum = ml_rows_sum(&j->data, rank->row_starts[rank->number]), theirs;
    TRY(tamis_group_share(rank->group, TAMIS_OK, &rows_sum, sizeof rows_sum));
    rows_sum = 0;
    for (int r = 0; r < rank->ranks; r++) {
        memcpy(&theirs, tamis_group_shared(rank->group, r, sizeof theirs), sizeof theirs);
        rows_sum += theirs;
    }
    const uint64_t sum = ml_data_sum(whole->rows, whole->cols, whole->nnz, rows_sum);
    const tamis_status same = ml_check_same(j->model, whole->rows, whole->cols, whole->nnz, sum);
    TRY(tamis_group_share(rank->group, same, NULL, 0));
    return describe(j, whole, sum);
}

/* ------------------------------------------------------------------------------------------ a sample for a choice */

/* Rank 0 gets the first rows of the whole data, as one device would take them (choose.h). Their number follows from the
   numbers of entries before each candidate end, which are sums over ranks. */
enum { ENDS = 160 }; /* more candidates than from 2^63 rows down to one */

typedef struct sample_trip {
    const ml_rank *rank;
    const tamis_sparse *data;
    int64_t rows, entries;    /* this rank's part of the sample */
    int64_t *starts;          /* four lists of ranks + 1, in one allocation: */
    int64_t *rows_from;       /* rank r's rows of the sample begin at rows_from[r], */
    int64_t *entries_from;    /* its entries at entries_from[r] */
    int64_t *sent, *received; /* offsets in bytes of the current exchange */
    int64_t *counts;          /* entries of each of this rank's rows */
    int64_t *columns;
} sample_trip;

static const char what[] = "the rows that a choice is made by";

/* Returns how many rows of a rank are among the first `rows` of the whole. */
static int64_t rows_among(const ml_rank *rank, int number, int64_t rows) {
    const int64_t first = rank->row_starts[number], end = rank->row_starts[number + 1];
    return rows <= first ? 0 : (rows < end ? rows : end) - first;
}

/* Finds the number of rows of the sample. */
static tamis_status find_rows(const ml_rank *rank, const tamis_sparse *data, int64_t *rows) {
    double before[ENDS];
    const int64_t all = rank->row_starts[rank->ranks];
    int ends = 0;
    for (int64_t end = all; ends < ENDS && end > 0; end = ml_fewer_rows(end))
        before[ends++] = (double)ml_offset(data, rows_among(rank, rank->number, end));
    TRY(tamis_group_sum(rank->group, before, ends));
    *rows = all;
    for (int i = 0; i < ends && ml_too_many(*rows, before[i]); i++) *rows = ml_fewer_rows(*rows);
    return TAMIS_OK;
}

static tamis_status take_rows(sample_trip *t) {
    const int64_t lists = (int64_t)t->rank->ranks + 1;
    TRY(tamis_allocate_array(4 * lists, what, t->starts));
    t->rows_from = t->starts;
    t->entries_from = t->starts + lists;
    t->sent = t->starts + 2 * lists;
    t->received = t->starts + 3 * lists;
    TRY(tamis_allocate_array(t->rows, what, t->counts));
    TRY(tamis_allocate_array(t->entries, what, t->columns));
    for (int64_t i = 0; i < t->rows; i++) t->counts[i] = ml_offset(t->data, i + 1) - ml_offset(t->data, i);
    for (int64_t e = 0; e < t->entries; e++) t->columns[e] = ml_column(t->data, e);
    return TAMIS_OK;
}

/* Where each rank's part begins. Only rank 0 receives. */
static void place_parts(const sample_trip *t, int64_t rows) {
    const bool comes = t->rank->number == 0;
    int64_t entries;
    t->rows_from[0] = t->entries_from[0] = 0;
    for (int r = 0; r < t->rank->ranks; r++) {
        memcpy(&entries, tamis_group_shared(t->rank->group, r, sizeof entries), sizeof entries);
        t->rows_from[r + 1] = t->rows_from[r] + (comes ? rows_among(t->rank, r, rows) : 0);
        t->entries_from[r + 1] = t->entries_from[r] + (comes ? entries : 0);
    }
}

static tamis_status make_room(const sample_trip *t, ml_rows *sample) {
    const int ranks = t->rank->ranks;
    TRY(tamis_allocate_array(t->rows_from[ranks] + 1, what, sample->offsets));
    TRY(tamis_scope_allocate(t->entries_from[ranks], sizeof *t->columns, what, &sample->columns));
    return tamis_scope_allocate(t->entries_from[ranks], tamis_type_size(t->data->value_type), what, &sample->values);
}

/* Gathers an array of `count` elements per rank at rank 0; the elements of rank r begin at index from[r]. */
static tamis_status send(const sample_trip *t, const void *array, int64_t count, size_t size, const int64_t *from,
                         void *to) {
    t->sent[0] = t->received[0] = 0;
    for (int r = 0; r < t->rank->ranks; r++) {
        t->sent[r + 1] = count * (int64_t)size; /* all of it is rank 0's */
        t->received[r + 1] = from[r + 1] * (int64_t)size;
    }
    const tamis_transfer transfer = {
        .send = array, .send_starts = t->sent, .receive = to, .receive_starts = t->received};
    return ml_exchange(t->rank, &transfer);
}

static tamis_status take_sample(const ml_rank *rank, const tamis_sparse *data, ml_rows *sample) {
    sample_trip trip = {.rank = rank, .data = data}, *const t = &trip;
    const int ranks = rank->ranks;
    int64_t rows;
    TRY(find_rows(t->rank, data, &rows));
    t->rows = rows_among(t->rank, t->rank->number, rows);
    t->entries = ml_offset(data, t->rows);
    TRY(tamis_group_share(t->rank->group, take_rows(t), &t->entries, sizeof t->entries));
    place_parts(t, rows);
    TRY(tamis_group_share(t->rank->group, make_room(t, sample), NULL, 0));
    TRY(send(t, t->counts, t->rows, sizeof *t->counts, t->rows_from, sample->offsets + 1));
    TRY(send(t, t->columns, t->entries, sizeof *t->columns, t->entries_from, sample->columns));
    TRY(send(t, data->values, t->entries, tamis_type_size(data->value_type), t->entries_from, sample->values));
    tamis_scope_drop(t->counts); /* choosing needs memory */
    tamis_scope_drop(t->columns);
    sample->offsets[0] = 0;
    for (int64_t i = 0; i < t->rows_from[ranks]; i++) sample->offsets[i + 1] += sample->offsets[i];
    sample->view = (tamis_sparse){.format = TAMIS_CSR,
                                  .rows = t->rows_from[ranks],
                                  .cols = data->cols,
                                  .nnz = t->entries_from[ranks],
                                  .offset_type = TAMIS_I64,
                                  .index_type = TAMIS_I64,
                                  .value_type = data->value_type,
                                  .offsets = sample->offsets,
                                  .columns = sample->columns,
                                  .values = sample->values};
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the fit */

/* Runs the fit, during which the model has only this rank's factors. */
static tamis_status run(joining *j) {
    tamis_model *const model = j->model;
    const bool continues = ml_begun(model);
    model->rank = &j->rank;
    TRY(tamis_group_share(j->rank.group, continues ? ml_group_take_own(model) : TAMIS_OK, NULL, 0));
    TRY(ml_run(model, &j->data, j->held_out));
    return ml_group_take_whole(model);
}

/* Rank 0 chooses, from the sample that one device would take. The requested options are not compared, so rank 0 also
   decides if there is anything to choose. */
static tamis_status choose(joining *j) {
    tamis_group *const group = j->rank.group;
    const tamis_sparse *const data = &j->data;
    tamis_status status = TAMIS_OK;
    ml_rows sample;
    TAMIS_SCOPE;
    ml_choice choice;
    int32_t chooses = ml_chooses(j->model);
    TRY(tamis_group_share(group, TAMIS_OK, &chooses, sizeof chooses));
    memcpy(&chooses, tamis_group_shared(group, 0, sizeof chooses), sizeof chooses);
    ml_choose_nothing(j->model, &choice);
    if (chooses) TRY(take_sample(&j->rank, data, &sample));
    if (chooses && j->rank.number == 0) status = ml_choose(j->model, &sample.view, &choice);
    TRY(tamis_group_share(group, status, &choice, sizeof choice));
    memcpy(&choice, tamis_group_shared(group, 0, sizeof choice), sizeof choice);
    ml_take_choice(j->model, &choice);
    return TAMIS_OK;
}

/* Lets the method transform the values. */
static tamis_status prepare(joining *j) {
    tamis_model *const model = j->model;
    tamis_group *const group = j->rank.group;
    tamis_sparse data = j->data;
    tamis_status status = TAMIS_OK;
    if (model->method->prepare) {
        model->rank = &j->rank;
        status = model->method->prepare(model, &data, true);
        model->rank = NULL;
    }
    return tamis_group_share(group, status, NULL, 0);
}

static tamis_status fit(joining *j) {
    tamis_model *const model = j->model;
    whole_data whole;
    TRY(meet(j, &whole));
    model->renewed = false; /* other data are refused, as without tamis_model_renew */
    TRY(take_data(j, &whole));
    if (!ml_begun(model)) TRY(choose(j));
    TRY(prepare(j));
    TRY(ml_group_columns(&j->rank, &j->data));
    model->stopped = model->converged = false;
    model->last_save = tamis_clock_seconds();
    const tamis_status status = run(j);
    model->rank = NULL;
    if (status == TAMIS_OK) return TAMIS_OK;
    ml_model_empty(model); /* parts of its factors are on other ranks */
    return tamis_group_abort(j->rank.group, status);
}

tamis_status tamis_model_fit_group(tamis_model *model, tamis_group *group, const tamis_sparse *S,
                                   const tamis_held_out *held_out) {
    joining j = {.model = model, .S = S, .held_out = held_out, .rank = {.group = group, .generation = 1}};
    TAMIS_SCOPE;
    tamis_clear_error();
    if (!group) return tamis_fail(TAMIS_ERROR_ARGUMENT, "group is NULL");
    TRY(fit(&j));
    /* only rank 0 writes the checkpoint */
    const tamis_status saved = j.rank.number == 0 ? ml_checkpoint(model, true) : TAMIS_OK;
    TRY(tamis_group_share(group, saved, NULL, 0));
    return model->stopped && ml_unfinished(model) ? ml_stopped(model) : TAMIS_OK;
}
