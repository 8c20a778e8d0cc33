/*
 * Ranks the columns that follow soon after what a row had last. A row's entries are in the order of their values, their
 * positions in time. The weight that column i gives to column j is the share of j among all that stands near i in the
 * rows:
 *
 *   w_ij = c_ij / (FEW + sum over j of c_ij),   c_ij = sum over rows of  1 / d where j comes d places after i, d <=
 * NEAR, BEFORE / d where it comes d places before i
 *
 * and a row's score of j is the sum over its entries i of w_ij / (1 + the number of its entries after i): a Markov
 * chain of first order with skipped steps (as in Garcin, Dimitrakakis, Faltings, "Personalized news recommendation with
 * context trees", RecSys 2013, and the "SR" of Ludewig, Jannach, "Evaluation of session-based recommendation
 * algorithms", 2018), with a memory that fades. What comes before counts, less, since the order is partly chance.
 *
 * One thread finds the weights of one column from the rows that have it: no array of pairs is made, and sums have one
 * order for all numbers of threads. For each column the model keeps the `neighbours` largest weights (serve/lists.h).
 */
#include <math.h>
#include <stdlib.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/factors.h"
#include "ml/fit/place.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/lists.h"
#include "ml/serve/popular.h"

enum { NEIGHBOURS = 100, NEAR = 10, BLOCK = 4096, COLUMNS_A_THREAD = 64, EXACT = 1 << 24 };
static const double BEFORE = 0.5, FEW = 10; /* of a column with few neighbours little is known */

/* The rows in the order of their positions. */
typedef struct transitions {
    int64_t *columns;       /* by place: the columns of row 0 in order, then of row 1, ... */
    int64_t *first, *last;  /* by place: the places of its row, and one past them */
    int64_t *begin, *where; /* the places of column j are where[begin[j]] .. where[begin[j + 1] - 1] */
    double *kept;
    int64_t at, end; /* the columns of this block */
    int64_t cols, most;
    int n;
    double *sums;      /* by thread and column: c_ij, 0 between two columns */
    int64_t *met;      /* by thread: the columns with a sum */
    int64_t *best;     /* by thread: n columns */
    double *best_sums; /* by thread: their weights */
} transitions;

static void defaults(tamis_model_options *options) {
    options->factors = 1;
    options->iterations = 1;
    options->neighbours = NEIGHBOURS;
}

static tamis_status check(const tamis_model_options *options) { return ml_lists_check_option(options, 1); }

/* ------------------------------------------------------------------------------------------ positions */

typedef struct entry {
    double position;
    int64_t at; /* in the data, whose columns rise within a row: equal positions are in the order of columns */
} entry;

static int by_position(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->position < y->position || x->position > y->position) return x->position < y->position ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorts the entries of a row. Returns their number. */
static int64_t sort_row(const tamis_sparse *data, int64_t row, entry *entries) {
    const int64_t begin = ml_offset(data, row), count = ml_offset(data, row + 1) - begin;
    for (int64_t k = 0; k < count; k++) entries[k] = (entry){ml_value(data, begin + k), begin + k};
    qsort(entries, (size_t)count, sizeof *entries, by_position);
    return count;
}

/* Refuses times, which fp32 would round so that their order is lost. */
static tamis_status check_positions(const tamis_model *model, const tamis_sparse *data) {
    if (model->options.type == TAMIS_F64) return TAMIS_OK;
    for (int64_t t = 0; t < data->nnz; t++)
        if (fabs(ml_value(data, t)) > EXACT)
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "S has the value %g in column %lld: expected positions in the row, 1, 2, 3, ..., up to "
                              "%d; times of this size need type fp64",
                              ml_value(data, t), (long long)ml_column(data, t), EXACT);
    return TAMIS_OK;
}

/* Makes weights of the positions of new rows: 1 / (1 + the number of later entries). Equal positions weigh alike. */
static void fade(tamis_sparse *data, entry *entries) {
    for (int64_t row = 0; row < data->rows; row++) {
        const int64_t count = sort_row(data, row, entries);
        int64_t later = 0;
        for (int64_t k = count - 1; k >= 0; k--) {
            if (k < count - 1 && entries[k].position < entries[k + 1].position) later = count - 1 - k;
            ml_put_number((void *)(uintptr_t)data->values, data->value_type, entries[k].at, 1 / (1 + (double)later));
        }
    }
}

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    entry *entries;
    TAMIS_SCOPE;
    TRY(check_positions(model, data));
    if (fit) return ml_popular_learn(model, data);
    TRY(tamis_allocate_array(ml_longest_row(data), "a row", entries));
    fade(data, entries);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ fitting */

static tamis_status put_in_order(const tamis_sparse *data, transitions *work) {
    const int64_t nnz = data->nnz;
    entry *entries;
    TRY(tamis_allocate_array(nnz, "entries in order", work->columns));
    TRY(tamis_allocate_array(nnz, "entries in order", work->first));
    TRY(tamis_allocate_array(nnz, "entries in order", work->last));
    TRY(tamis_allocate_array(nnz, "places of columns", work->where));
    TRY(tamis_allocate_zeros(data->cols + 2, "places of columns", work->begin));
    TRY(tamis_allocate_array(ml_longest_row(data), "a row", entries));
    for (int64_t row = 0; row < data->rows; row++) {
        const int64_t first = ml_offset(data, row), count = sort_row(data, row, entries);
        for (int64_t k = 0; k < count; k++) {
            work->columns[first + k] = ml_column(data, entries[k].at);
            work->first[first + k] = first;
            work->last[first + k] = first + count;
        }
    }
    for (int64_t t = 0; t < nnz; t++) work->begin[work->columns[t] + 2]++;
    for (int64_t j = 0; j <= data->cols; j++) work->begin[j + 1] += work->begin[j];
    for (int64_t t = 0; t < nnz; t++) work->where[work->begin[work->columns[t] + 1]++] = t;
    tamis_scope_drop(entries);
    return TAMIS_OK;
}

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    transitions *work;
    int asked;
    TRY(ml_items_admit_lists(model, data->cols));
    TRY(tamis_allocate_zeros(1, "the work of transitions", work));
    model->work = work;
    TRY(ml_items_factors(model, data->cols, ml_items_lists_width(&model->options, data->cols)));
    TRY(put_in_order(data, work));
    TRY(ml_host_threads(model, &asked));
    work->cols = data->cols;
    work->n = model->options.neighbours;
    work->most = asked < 1 ? 1 : asked;
    TRY(tamis_allocate_zeros(tamis_times(work->most, data->cols), "sums of pairs", work->sums));
    TRY(tamis_allocate_array(tamis_times(work->most, data->cols), "columns of pairs", work->met));
    TRY(tamis_allocate_array(tamis_times(work->most, work->n), "largest weights", work->best));
    TRY(tamis_allocate_array(tamis_times(work->most, work->n), "largest weights", work->best_sums));
    return tamis_scope_allocate(tamis_times(data->cols, 2 * (int64_t)work->n), sizeof(double), "weights of pairs",
                                (void **)&work->kept);
}

TAMIS_INLINE int64_t add_pair(double *sums, int64_t *met, int64_t count, int64_t column, double part) {
    if (sums[column] == 0) met[count++] = column;
    sums[column] += part;
    return count;
}

/* Keeps the largest weights of a column. sums, met: of this thread. */
static void find_column(const transitions *work, int64_t column, double *sums, int64_t *met, ml_best best) {
    int64_t count = 0;
    double total = 0;
    for (int64_t t = work->begin[column]; t < work->begin[column + 1]; t++) {
        const int64_t place = work->where[t];
        for (int64_t d = 1; d <= NEAR && place + d < work->last[place]; d++)
            count = add_pair(sums, met, count, work->columns[place + d], 1 / (double)d);
        for (int64_t d = 1; d <= NEAR && place - d >= work->first[place]; d++)
            count = add_pair(sums, met, count, work->columns[place - d], BEFORE / (double)d);
    }
    for (int64_t k = 0; k < count; k++) total += sums[met[k]];
    for (int64_t k = 0; k < count; k++) {
        ml_best_offer_any(&best, met[k], sums[met[k]] / (FEW + total));
        sums[met[k]] = 0;
    }
    ml_items_keep_list(&best, work->kept + column * 2 * work->n);
}

static void find_columns(void *given, int share, int shares) {
    const transitions *const work = given;
    const int64_t count = work->end - work->at, n = work->n;
    const ml_best best = {.columns = work->best + share * n, .scores = work->best_sums + share * n, .n = work->n};
    for (int64_t k = share; k < count; k += shares) /* neighbours in number may all be popular */
        find_column(work, work->at + k, work->sums + share * work->cols, work->met + share * work->cols, best);
}

static tamis_status iterate(tamis_model *model) {
    transitions *const work = model->work;
    for (work->at = 0; work->at < work->cols; work->at = work->end) {
        work->end = work->at + BLOCK < work->cols ? work->at + BLOCK : work->cols;
        const int64_t shares = 1 + (work->end - work->at) / COLUMNS_A_THREAD;
        tamis_threads_run((int)(shares < work->most ? shares : work->most), find_columns, work);
        TRY(ml_items_go_on(model, work->end, work->cols));
    }
    return ml_dense_write_doubles(model, &model->column_factors, work->kept);
}

static const tamis_method_option own_options[] = {{"neighbours", "columns that follow it to keep for each item"},
                                                  {NULL, NULL}};

const ml_method ml_transitions = {
    .about = {.method = TAMIS_TRANSITIONS,
              .data = TAMIS_DATA_USES,
              .name = "transitions",
              .summary = "uses in time: what follows soon after what a user had last",
              .options = own_options,
              .pairs = true,
              .ordered = true},
    .defaults = defaults,
    .check = check,
    .states = {[ML_POPULARITY] = ML_POPULARITY_STATE},
    .check_kept = ml_items_check_lists,
    .lists = ml_items_give_lists,
    .column_width = ml_items_lists_width,
    .prepare = prepare,
    .admits = ml_items_admit_lists,
    .begin = begin,
    .iterate = iterate,
    .transform = ml_lists_transform,
    .operands = ml_items_operands,
};
