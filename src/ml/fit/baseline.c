/* The baselines: biases by a few rounds of damped means, popularity, and frequencies of words. */
#include <math.h>
#include <tamis/ml.h>
#include <tamis/structure.h>

#include "base/scope.h"
#include "base/status.h"
#include "ml/data/host.h"
#include "ml/methods/method.h"
#include "ml/methods/methods.h"
#include "ml/numbers.h"
#include "ml/serve/popular.h"
#include "ml/serve/unigram.h"
#include "sparse/check.h"

enum { ROUNDS = 5, FIRST = 10 };
static const double DAMPING = 10; /* damping term: shrinks a bias as that many more entries at the mean would */

const char *tamis_baseline_name(tamis_method method) {
    const ml_method *const row = ml_method_of(method);
    static const char *const names[] = {[TAMIS_DATA_RATINGS] = "means and biases",
                                        [TAMIS_DATA_USES] = "the most popular",
                                        [TAMIS_DATA_COUNTS] = "frequencies of words"};
    return names[row ? row->about.data : TAMIS_DATA_RATINGS];
}

/* ------------------------------------------------------------------------------------------ ratings */

typedef struct biases {
    double mean, *rows, *columns;
} biases;

/* Computes damped means of the residuals that the other side's biases leave. */
static tamis_status find_biases(const tamis_sparse *S, const biases *all, bool of_rows) {
    const int64_t size = of_rows ? S->rows : S->cols;
    double *const found = of_rows ? all->rows : all->columns, *const others = of_rows ? all->columns : all->rows;
    double *counts;
    TAMIS_SCOPE;
    TRY(tamis_allocate_zeros(size, "counts of ratings", counts));
    for (int64_t i = 0; i < size; i++) found[i] = 0;
    for (int64_t row = 0; row < S->rows; row++) {
        for (int64_t at = ml_offset(S, row); at < ml_offset(S, row + 1); at++) {
            const int64_t mine = of_rows ? row : ml_column(S, at), other = of_rows ? ml_column(S, at) : row;
            found[mine] += ml_value_or_one(S, at) - all->mean - others[other];
            counts[mine]++;
        }
    }
    for (int64_t i = 0; i < size; i++) found[i] /= counts[i] + DAMPING;
    return TAMIS_OK;
}

static tamis_status biases_error(const tamis_sparse *trained, const tamis_sparse *held, double *metric) {
    biases all = {.mean = 0};
    double sum = 0;
    TRY(tamis_allocate_zeros(trained->rows + trained->cols, "biases", all.rows));
    all.columns = all.rows + trained->rows;
    for (int64_t at = 0; at < trained->nnz; at++) all.mean += ml_value_or_one(trained, at) / (double)trained->nnz;
    for (int i = 0; i < 2 * ROUNDS; i++) TRY(find_biases(trained, &all, i % 2 == 1));
    for (int64_t row = 0; row < held->rows; row++) {
        for (int64_t at = ml_offset(held, row); at < ml_offset(held, row + 1); at++) {
            const double error =
                ml_value_or_one(held, at) - all.mean - all.rows[row] - all.columns[ml_column(held, at)];
            sum += error * error;
        }
    }
    *metric = sqrt(sum / (double)held->nnz);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ implicit data */

/* Counts the held-out uses of a row; zeros and dislikes are not uses (score.c). */
static int64_t relevant_in(const tamis_sparse *held, int64_t row) {
    int64_t relevant = 0;
    for (int64_t at = ml_offset(held, row); at < ml_offset(held, row + 1); at++)
        relevant += ml_value_or_one(held, at) > 0;
    return relevant;
}

/* Counts a row's held-out uses among the first columns of an order, skipping columns that the row already has. */
static int64_t hits_in(const tamis_sparse *trained, const tamis_sparse *held, int64_t row, const int64_t *order) {
    int64_t hits = 0;
    for (int64_t i = 0, listed = 0; i < trained->cols && listed < FIRST; i++) {
        if (ml_entry_at(trained, row, order[i]) >= 0) continue;
        listed++;
        const int64_t at = ml_entry_at(held, row, order[i]);
        hits += at >= 0 && ml_value_or_one(held, at) > 0;
    }
    return hits;
}

/* Computes recall as for models: the mean over rows of the share of held-out uses found. */
static tamis_status popularity_recall(const tamis_sparse *trained, const tamis_sparse *held, double *metric) {
    double *counts;
    int64_t *order, rows = 0;
    double recall = 0;
    TRY(tamis_allocate_zeros(trained->cols, "the popularity of columns", counts));
    for (int64_t at = 0; at < trained->nnz; at++) counts[ml_column(trained, at)]++;
    TRY(ml_order_by_count(counts, trained->cols, &order));
    for (int64_t row = 0; row < held->rows; row++) {
        const int64_t relevant = relevant_in(held, row);
        if (relevant == 0) continue;
        recall += (double)hits_in(trained, held, row, order) / (double)relevant;
        rows++;
    }
    *metric = rows > 0 ? recall / (double)rows : (double)NAN;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ words */

static tamis_status frequencies_perplexity(const tamis_sparse *trained, const tamis_sparse *held, double *metric) {
    double *counts;
    TRY(tamis_allocate_zeros(trained->cols, "counts of words", counts));
    ml_unigram_count(trained, counts);
    *metric = ml_unigram_perplexity(counts, trained->cols, held);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the call */

/* Sets *view to S, or to a sorted copy. */
static tamis_status sort_rows(const tamis_sparse *S, const char *name, tamis_sparse *view) {
    tamis_profile profile;
    TRY(tamis_sparse_check_host(S, name));
    if (S->values && S->value_type != TAMIS_F32 && S->value_type != TAMIS_F64)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s.value_type = %s: expected fp32 or fp64", name,
                          tamis_type_name(S->value_type));
    TRY(tamis_row_profile(S, &profile)); /* which also checks its indices */
    *view = *S;
    if (S->format == TAMIS_CSR && S->offset_base == 0 && profile.sorted) return TAMIS_OK;
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.index_type = TAMIS_I64;
    options.offset_type = TAMIS_I64;
    options.value_type = S->value_type;
    options.sort = true;
    return ml_converted(S, &options, view);
}

tamis_status tamis_baseline(tamis_method method, const tamis_sparse *trained, const tamis_sparse *held_out,
                            double *metric) {
    tamis_sparse known, held;
    TAMIS_SCOPE;
    tamis_clear_error();
    const ml_method *const row = ml_method_of(method);
    if (!row) return tamis_fail(TAMIS_ERROR_ARGUMENT, "method = %d is not a valid tamis_method", (int)method);
    if (!metric) return tamis_fail(TAMIS_ERROR_ARGUMENT, "metric = NULL: expected an address for the result");
    TRY(sort_rows(trained, "trained", &known));
    TRY(sort_rows(held_out, "held_out", &held));
    *metric = (double)NAN;
    if (held.nnz == 0 || known.nnz == 0 || row->about.no_perplexity) return TAMIS_OK;
    const bool counts = row->about.data == TAMIS_DATA_COUNTS; /* whose held-out documents may be others */
    if ((known.rows != held.rows && !counts) || known.cols != held.cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "held_out is %lld x %lld, but trained is %lld x %lld",
                          (long long)held.rows, (long long)held.cols, (long long)known.rows, (long long)known.cols);
    if (counts) return frequencies_perplexity(&known, &held, metric);
    return row->about.data == TAMIS_DATA_USES ? popularity_recall(&known, &held, metric)
                                              : biases_error(&known, &held, metric);
}
