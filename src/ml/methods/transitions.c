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
 * One thread finds the weights of one column from the rows that have it (pairs.h). For each column the model keeps the
 * `neighbours` largest weights (serve/lists.h).
 */
#include <math.h>

#include "base/scope.h"
#include "ml/data/rows.h"
#include "ml/methods/items.h"
#include "ml/methods/method.h"
#include "ml/methods/pairs.h"
#include "ml/model.h"
#include "ml/numbers.h"
#include "ml/serve/lists.h"
#include "ml/serve/popular.h"

enum { NEIGHBOURS = 100, NEAR = 10 };
static const double BEFORE = 0.5, FEW = 10; /* of a column with few neighbours little is known */

static void defaults(tamis_model_options *options) {
    options->factors = 1;
    options->iterations = 1;
    options->neighbours = NEIGHBOURS;
}

static tamis_status check(const tamis_model_options *options) { return ml_lists_check_option(options, 1); }

/* ------------------------------------------------------------------------------------------ positions */

/* Makes weights of the positions of new rows: 1 / (1 + the number of later entries). Equal positions weigh alike. */
static void fade(tamis_sparse *data, ml_place *places) {
    for (int64_t row = 0; row < data->rows; row++) {
        const int64_t count = ml_sort_row(data, row, places);
        int64_t later = 0;
        for (int64_t k = count - 1; k >= 0; k--) {
            if (k < count - 1 && places[k].value < places[k + 1].value) later = count - 1 - k;
            ml_put_number((void *)(uintptr_t)data->values, data->value_type, places[k].at, 1 / (1 + (double)later));
        }
    }
}

static tamis_status prepare(tamis_model *model, tamis_sparse *data, bool fit) {
    ml_place *places;
    TAMIS_SCOPE;
    if (fit) return ml_popular_learn(model, data);
    TRY(tamis_allocate_array(ml_longest_row(data), "a row", places));
    fade(data, places);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ fitting */

static tamis_status begin(tamis_model *model, const tamis_sparse *data) {
    ml_pairs *work;
    ml_place *places;
    TRY(ml_items_begin_lists(model, data->cols));
    TRY(tamis_allocate_zeros(1, "the work of transitions", work));
    model->work = work;
    TRY(ml_pairs_make(data, work));
    TRY(tamis_allocate_array(ml_longest_row(data), "a row", places));
    for (int64_t row = 0; row < data->rows; row++) {
        const int64_t first = ml_offset(data, row), count = ml_sort_row(data, row, places);
        for (int64_t k = 0; k < count; k++) work->columns[first + k] = (int32_t)ml_column(data, places[k].at);
    }
    tamis_scope_drop(places);
    return ml_pairs_turn(work);
}

static void visit(const ml_pairs *pairs, ml_pair_sums *sums) {
    for (int64_t k = pairs->begin[sums->column]; k < pairs->begin[sums->column + 1]; k++) {
        const int64_t place = pairs->where[k], row = pairs->rows_of[place];
        const int64_t first = pairs->offsets[row], last = pairs->offsets[row + 1];
        for (int64_t d = 1; d <= NEAR && place + d < last; d++)
            ml_pair_add(sums, pairs->columns[place + d], 1 / (double)d);
        for (int64_t d = 1; d <= NEAR && place - d >= first; d++)
            ml_pair_add(sums, pairs->columns[place - d], BEFORE / (double)d);
    }
}

static double weigh(const void *context, const ml_pair_sums *sums, int32_t other, double total) {
    (void)context;
    return sums->sums[other] / (FEW + total);
}

static tamis_status iterate(tamis_model *model) { return ml_pairs_keep(model, model->work, visit, weigh, NULL); }

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
