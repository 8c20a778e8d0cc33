/*
 * See lists.h. Serving goes by the columns that a row has: for each it needs the columns to which that one gives a
 * weight. item-knn keeps these lists; ease keeps, for each column, the columns that give it one: a
 * fixed number, while a popular column gives weights to very many. So the lists are made once, for all calls.
 */
#include "ml/serve/lists.h"

#include <math.h>
#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "base/threads.h"
#include "ml/fit/place.h"
#include "ml/numbers.h"
#include "ml/serve/best.h"
#include "ml/serve/kept.h"
#include "ml/serve/popular.h"

enum { ROWS_A_THREAD = 16 };

/* ------------------------------------------------------------------------------------------ lines and lists */

tamis_status ml_lists_check_option(const tamis_model_options *options, int least) {
    if (options->neighbours >= least && options->neighbours <= ML_LISTS_MOST) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "neighbours = %d, expected %d to %d", options->neighbours, least,
                      ML_LISTS_MOST);
}

tamis_status ml_lists_check(const char *path, const tamis_dense *kept) {
    const int64_t n = kept->cols / 2;
    for (int64_t j = 0; j < kept->rows; j++)
        for (int64_t k = 0; k < n; k++) {
            const double number = ml_element(kept, j, k), weight = ml_element(kept, j, n + k);
            if (!(number >= -1 && number < (double)kept->rows && number == floor(number)))
                return tamis_fail(TAMIS_ERROR_FORMAT,
                                  "%s: neighbour %lld of column %lld is %g, expected -1 or a column of 0 to %lld", path,
                                  (long long)k, (long long)j, number, (long long)kept->rows - 1);
            if (!isfinite(weight))
                return tamis_fail(TAMIS_ERROR_FORMAT,
                                  "%s: the weight of neighbour %lld of column %lld is %g, expected a finite number",
                                  path, (long long)k, (long long)j, weight);
        }
    return TAMIS_OK;
}

/* Counts what each column gives, as offsets. */
static void count(const tamis_dense *kept, bool turned, int64_t *offsets) {
    const int64_t n = kept->cols / 2;
    for (int64_t j = 0; j < kept->rows; j++)
        for (int64_t k = 0; k < n && ml_element(kept, j, k) >= 0; k++)
            offsets[(turned ? (int64_t)ml_element(kept, j, k) : j) + 1]++;
    for (int64_t j = 0; j < kept->rows; j++) offsets[j + 1] += offsets[j];
}

/* Fills the lists, and leaves each offset at the end of its list. */
static void fill(const tamis_dense *kept, bool turned, ml_lists *lists) {
    const int64_t n = kept->cols / 2;
    for (int64_t j = 0; j < kept->rows; j++)
        for (int64_t k = 0; k < n && ml_element(kept, j, k) >= 0; k++) {
            const int64_t other = (int64_t)ml_element(kept, j, k), at = lists->offsets[turned ? other : j]++;
            lists->columns[at] = (int32_t)(turned ? j : other);
            ml_put_number(lists->weights, lists->type, at, ml_element(kept, j, n + k));
        }
}

/* Makes the lists in one block of memory, which tamis_release frees. */
static tamis_status make(const tamis_dense *kept, bool turned, ml_lists **made) {
    const int64_t cols = kept->rows, size = (int64_t)tamis_type_size(kept->type);
    const int64_t ends = (int64_t)sizeof(ml_lists) + tamis_times(cols + 1, (int64_t)sizeof(int64_t));
    int64_t *offsets;
    TRY(tamis_allocate_zeros(cols + 1, "lists of neighbours", offsets));
    count(kept, turned, offsets);
    const int64_t entries = offsets[cols];
    const int64_t bytes = tamis_times(entries, size + (int64_t)sizeof(int32_t));
    TRY(tamis_allocate(ends + bytes, 1, "lists of neighbours", (void **)made));
    ml_lists *const lists = *made;
    *lists = (ml_lists){.cols = cols, .type = kept->type};
    lists->offsets = (int64_t *)(lists + 1);
    lists->weights = (char *)lists + ends;
    lists->columns = (int32_t *)(void *)((char *)lists + ends + entries * size);
    memcpy(lists->offsets, offsets, (size_t)(cols + 1) * sizeof *offsets);
    fill(kept, turned, lists);
    memcpy(lists->offsets, offsets, (size_t)(cols + 1) * sizeof *offsets);
    return TAMIS_OK;
}

tamis_status ml_kept_lists(const tamis_model *model, const ml_lists **lists) {
    _Atomic(void *) *const place = &model->kept->lists;
    const bool turned = model->method->lists(&model->options) == ML_LISTS_TAKEN;
    tamis_dense kept;
    ml_lists *made;
    *lists = atomic_load(place);
    if (*lists) return TAMIS_OK;
    TAMIS_SCOPE;
    TRY(ml_dense_here(model, &model->column_factors, &kept));
    TRY(make(&kept, turned, &made));
    *lists = ml_kept_publish(place, made);
    if (*lists != made) tamis_release(made);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ all scores */

/* Scores rows on the host: a row has few entries, and each of them gives few weights. */
tamis_status ml_lists_transform(tamis_model *model, const tamis_sparse *data, const tamis_dense *W) {
    const int64_t cols = model->cols;
    const ml_lists *lists;
    double *scores;
    TRY(ml_kept_lists(model, &lists));
    TRY(tamis_allocate_zeros(tamis_times(data->rows, cols), "scores", scores));
    for (int64_t i = 0; i < data->rows; i++)
        for (int64_t t = ml_offset(data, i); t < ml_offset(data, i + 1); t++) {
            const int64_t column = ml_column(data, t);
            const double r = ml_value(data, t);
            for (int64_t k = lists->offsets[column]; k < lists->offsets[column + 1]; k++)
                scores[i * cols + lists->columns[k]] += r * ml_number(lists->weights, lists->type, k);
        }
    return ml_dense_write_doubles(model, W, scores);
}

/* ------------------------------------------------------------------------------------------ the best of few scores */

/* Each thread has its own scores, which are 0 for all columns between two rows. */
typedef struct finder {
    const ml_lists *lists;
    const tamis_sparse *data;
    const bool *allowed;
    int64_t *order; /* order of columns that tie at 0, or NULL */
    int n;
    int64_t *columns;
    double *scores;
    double *sums; /* by thread and column; NaN: not a candidate */
    int64_t *met; /* by thread: the columns with a score */
    int64_t met_most;
    bool *is_short; /* rows whose list includes columns with score 0 */
    bool filling;   /* only those rows are done */
} finder;

TAMIS_INLINE int64_t add_scores(const finder *f, int64_t row, double *sums, int64_t *met, tamis_type type) {
    const ml_lists *const lists = f->lists;
    const int64_t end = ml_offset(f->data, row + 1);
    int64_t count = 0;
    for (int64_t t = ml_offset(f->data, row); t < end; t++) {
        const int64_t given = ml_column(f->data, t);
        const double r = ml_number(f->data->values, type, t);
        for (int64_t k = lists->offsets[given]; k < lists->offsets[given + 1]; k++) {
            const int64_t column = lists->columns[k];
            if (sums[column] == 0) met[count++] = column;
            sums[column] += r * ml_number(lists->weights, type, k);
        }
    }
    return count;
}

/* Offers columns that tie at 0, the most popular first, until one is not kept. */
static void fill_up(const finder *f, ml_best *best, const double *sums) {
    int kept = best->kept, at = 0;
    while (at < kept && best->scores[at] > 0) at++;
    for (int64_t k = 0; k < f->data->cols && at < best->n; k++) {
        const int64_t column = f->order ? f->order[k] : k;
        if (sums[column] != 0 || (f->allowed && !f->allowed[column])) continue;
        for (int i = kept < best->n ? kept++ : kept - 1; i > at; i--) {
            best->columns[i] = best->columns[i - 1];
            best->scores[i] = best->scores[i - 1];
        }
        best->columns[at] = column;
        best->scores[at++] = 0;
    }
    best->kept = kept;
}

static void best_of_row(const finder *f, int64_t row, double *sums, int64_t *met) {
    const int64_t begin = ml_offset(f->data, row), end = ml_offset(f->data, row + 1);
    const bool wide = f->lists->type == TAMIS_F64;
    ml_best best = {.columns = f->columns + row * f->n, .scores = f->scores + row * f->n, .n = f->n};
    for (int64_t t = begin; t < end; t++) sums[ml_column(f->data, t)] = NAN;
    const int64_t count = wide ? add_scores(f, row, sums, met, TAMIS_F64) : add_scores(f, row, sums, met, TAMIS_F32);
    for (int64_t i = 0; i < count; i++) {
        double *const sum = &sums[met[i]];
        if (!wide) *sum = (double)(float)*sum; /* as transform stores it */
        if (*sum == 0 || (f->allowed && !f->allowed[met[i]])) continue;
        ml_best_offer_any(&best, met[i], *sum);
        *sum = NAN; /* it may be listed twice, if its sum was 0 in between */
    }
    ml_best_finish(&best);
    if (f->filling)
        fill_up(f, &best, sums);
    else
        f->is_short[row] = best.kept < f->n || best.scores[f->n - 1] < 0;
    for (int64_t i = 0; i < count; i++) sums[met[i]] = 0;
    for (int64_t t = begin; t < end; t++) sums[ml_column(f->data, t)] = 0;
}

static void find_rows(void *given, int share, int shares) {
    const finder *const f = given;
    const int64_t rows = f->data->rows, from = rows * share / shares, to = rows * (share + 1) / shares;
    for (int64_t i = from; i < to; i++)
        if (!f->filling || f->is_short[i])
            best_of_row(f, i, f->sums + share * f->data->cols, f->met + share * f->met_most);
}

static bool any_short(const finder *f) {
    for (int64_t i = 0; i < f->data->rows; i++)
        if (f->is_short[i]) return true;
    return false;
}

/* Returns the most weights that the columns of a row give; a column may be met as often. */
static int64_t most_given(const ml_lists *lists, const tamis_sparse *data) {
    int64_t most = 0;
    for (int64_t i = 0; i < data->rows; i++) {
        int64_t given = 0;
        for (int64_t t = ml_offset(data, i); t < ml_offset(data, i + 1); t++)
            given += lists->offsets[ml_column(data, t) + 1] - lists->offsets[ml_column(data, t)];
        if (given > most) most = given;
    }
    return most;
}

tamis_status ml_lists_best(tamis_model *model, const tamis_sparse *data, const bool *allowed, int n, int64_t *columns,
                           double *scores) {
    finder f = {.data = data, .allowed = allowed, .n = n, .columns = columns, .scores = scores};
    int asked;
    TRY(ml_host_threads(model, &asked));
    const int shares = asked < 1 || data->rows < (int64_t)asked * ROWS_A_THREAD ? 1 : asked;
    TRY(ml_kept_lists(model, &f.lists));
    f.met_most = most_given(f.lists, data);
    TRY(tamis_allocate_zeros(tamis_times(shares, data->cols), "scores", f.sums));
    TRY(tamis_allocate_array(tamis_times(shares, f.met_most), "columns with scores", f.met));
    TRY(tamis_allocate_array(data->rows, "rows", f.is_short));
    tamis_threads_run(shares, find_rows, &f);
    if (!any_short(&f)) return TAMIS_OK;
    TRY(ml_popular_order(model, &f.order));
    f.filling = true;
    tamis_threads_run(shares, find_rows, &f);
    return TAMIS_OK;
}

void ml_lists_similar(const ml_lists *lists, int64_t column, ml_best *best) {
    for (int64_t k = lists->offsets[column]; k < lists->offsets[column + 1]; k++) {
        const double weight = ml_number(lists->weights, lists->type, k);
        if (weight != 0) ml_best_offer_any(best, lists->columns[k], weight);
    }
    ml_best_finish(best);
}
