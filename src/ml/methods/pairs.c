/* See pairs.h. No array of all pairs is made: a thread has the sums of one column at a time, and keeps their largest.
 */
#include "ml/methods/pairs.h"

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/fit/place.h"
#include "ml/methods/items.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"

enum { BLOCK = 256, COLUMNS_A_THREAD = 16 };

tamis_status ml_pairs_make(const tamis_sparse *data, ml_pairs *pairs) {
    if (data->rows > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "S.rows = %lld, sums over pairs of columns take at most %d rows",
                          (long long)data->rows, INT32_MAX);
    *pairs = (ml_pairs){.rows = data->rows, .cols = data->cols, .offsets = data->offsets};
    TRY(tamis_allocate_array(data->nnz, "entries", pairs->columns));
    TRY(tamis_allocate_array(data->nnz, "entries", pairs->rows_of));
    TRY(tamis_allocate_array(data->nnz, "entries", pairs->values));
    TRY(tamis_allocate_array(data->nnz, "entries of columns", pairs->where));
    TRY(tamis_allocate_zeros(data->cols + 2, "entries of columns", pairs->begin));
    for (int64_t i = 0; i < data->rows; i++)
        for (int64_t t = ml_offset(data, i); t < ml_offset(data, i + 1); t++) {
            pairs->columns[t] = (int32_t)ml_column(data, t);
            pairs->rows_of[t] = (int32_t)i;
            pairs->values[t] = ml_value(data, t);
        }
    return TAMIS_OK;
}

tamis_status ml_pairs_turn(ml_pairs *pairs) {
    const int64_t nnz = pairs->offsets[pairs->rows];
    for (int64_t t = 0; t < nnz; t++) pairs->begin[pairs->columns[t] + 2]++;
    for (int64_t j = 0; j <= pairs->cols; j++) pairs->begin[j + 1] += pairs->begin[j];
    for (int64_t t = 0; t < nnz; t++) pairs->where[pairs->begin[pairs->columns[t] + 1]++] = t;
    return TAMIS_OK;
}

void ml_pairs_products(const ml_pairs *pairs, ml_pair_sums *sums) {
    for (int64_t k = pairs->begin[sums->column]; k < pairs->begin[sums->column + 1]; k++) {
        const int64_t row = pairs->rows_of[pairs->where[k]];
        const double r = pairs->values[pairs->where[k]];
        for (int64_t t = pairs->offsets[row]; t < pairs->offsets[row + 1]; t++)
            ml_pair_add(sums, pairs->columns[t], r * pairs->values[t]);
    }
}

/* Each thread has sums, and room for the largest weights of a column. */
typedef struct keeper {
    const ml_pairs *pairs;
    ml_pairs_visit *visit;
    ml_pairs_weigh *weigh;
    const void *context;
    int64_t at, end; /* the columns of this block */
    int n;
    const tamis_model *model;
    double *sums;
    int32_t *met, *seen;
    int64_t *best;
    double *scores;
    void *lines; /* of this block */
} keeper;

static void keep_columns(void *given, int share, int shares) {
    const keeper *const k = given;
    const int64_t cols = k->pairs->cols;
    ml_pair_sums s = {.sums = k->sums + share * cols, .met = k->met + share * cols, .seen = k->seen + share * cols};
    for (int64_t j = k->at + share; j < k->end; j += shares) { /* neighbours in number may all be popular */
        ml_best best = {.columns = k->best + share * k->n, .scores = k->scores + share * k->n, .n = k->n};
        double total = 0;
        s.column = (int32_t)j;
        s.count = 0;
        k->visit(k->pairs, &s);
        for (int64_t m = 0; m < s.count; m++) total += s.sums[s.met[m]];
        for (int64_t m = 0; m < s.count; m++) {
            const double weight = k->weigh(k->context, &s, s.met[m], total);
            if (weight > 0) ml_best_offer_any(&best, s.met[m], weight);
        }
        ml_best_finish(&best);
        ml_items_put_list(k->model, k->lines, j - k->at, best.kept, best.columns, best.scores);
    }
}

tamis_status ml_pairs_keep(tamis_model *model, const ml_pairs *pairs, ml_pairs_visit *visit, ml_pairs_weigh *weigh,
                           const void *context) {
    const int64_t cols = pairs->cols, n = model->options.neighbours, width = 2 * n;
    const size_t line = (size_t)width * tamis_type_size(model->options.type);
    keeper k = {.pairs = pairs, .visit = visit, .weigh = weigh, .context = context, .n = (int)n, .model = model};
    int most;
    TAMIS_SCOPE;
    TRY(ml_host_threads(model, &most));
    if (most < 1) most = 1;
    TRY(tamis_allocate_array(tamis_times(most, cols), "sums of pairs", k.sums));
    TRY(tamis_allocate_array(tamis_times(most, cols), "columns of pairs", k.met));
    TRY(tamis_allocate_zeros(tamis_times(most, cols), "columns of pairs", k.seen));
    TRY(tamis_allocate_array(tamis_times(most, n), "largest weights", k.best));
    TRY(tamis_allocate_array(tamis_times(most, n), "largest weights", k.scores));
    TRY(tamis_scope_allocate(tamis_times(cols < BLOCK ? cols : BLOCK, width), tamis_type_size(model->options.type),
                             "weights of pairs", &k.lines));
    for (k.at = 0; k.at < cols; k.at = k.end) {
        k.end = k.at + BLOCK < cols ? k.at + BLOCK : cols;
        const int64_t shares = 1 + (k.end - k.at) / COLUMNS_A_THREAD;
        tamis_threads_run((int)(shares < most ? shares : most), keep_columns, &k);
        TRY(tamis_device_upload(model->device, NULL, model->column_factors.data, (size_t)k.at * line, k.lines,
                                (size_t)(k.end - k.at) * line));
        TRY(ml_items_go_on(model, k.end, cols));
    }
    return TAMIS_OK;
}
