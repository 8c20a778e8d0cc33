/* See popular.h. */
#include "ml/serve/popular.h"

#include <math.h>
#include <stdlib.h>

#include "base/scope.h"
#include "ml/factors.h"
#include "ml/fit/group.h"
#include "ml/fit/place.h"
#include "ml/numbers.h"
#include "ml/serve/predict.h"

tamis_status ml_popular_learn(tamis_model *model, const tamis_sparse *data) {
    const bool ratings = model->method->about.data == TAMIS_DATA_RATINGS;
    double *counts;
    bool fresh;
    TAMIS_SCOPE;
    TRY(ml_model_state(model, ML_POPULARITY, &fresh));
    TRY(tamis_allocate_zeros(data->cols, "the popularity of columns", counts));
    for (int64_t t = 0; t < data->nnz; t++) counts[ml_column(data, t)] += ratings || ml_value(data, t) > 0;
    TRY(ml_add_ranks(model, counts, data->cols));
    return ml_dense_write_doubles(model, &model->states[ML_POPULARITY], counts);
}

typedef struct popular {
    int64_t column;
    double count;
} popular;

static int by_count(const void *a, const void *b) {
    const popular *x = a, *y = b;
    if (x->count > y->count || x->count < y->count) return x->count < y->count ? 1 : -1;
    return (x->column > y->column) - (x->column < y->column);
}

tamis_status ml_order_by_count(const double *counts, int64_t cols, int64_t **order) {
    popular *ranked;
    TRY(tamis_allocate_array(cols, "the popularity of columns", *order));
    TAMIS_SCOPE;
    TRY(tamis_allocate_array(cols, "the popularity of columns", ranked));
    for (int64_t j = 0; j < cols; j++) ranked[j] = (popular){j, counts[j]};
    qsort(ranked, (size_t)cols, sizeof *ranked, by_count);
    for (int64_t j = 0; j < cols; j++) (*order)[j] = ranked[j].column;
    return TAMIS_OK;
}

tamis_status ml_popular_order(const tamis_model *model, int64_t **order) {
    double *counts;
    *order = NULL;
    TRY(ml_state_read(model, ML_POPULARITY, &counts));
    if (!counts) return TAMIS_OK;
    TRY(ml_order_by_count(counts, model->cols, order));
    tamis_scope_drop(counts);
    return TAMIS_OK;
}

static bool is_zero(const tamis_dense *A, int64_t row) {
    for (int64_t k = 0; k < A->cols; k++)
        if (ml_element(A, row, k) != 0) return false;
    return true;
}

static bool has_seen(const ml_seen *seen, int64_t row, int64_t column) {
    if (!seen) return false;
    const int64_t end = seen->offsets[row + 1];
    const int64_t at = tamis_index_first(seen->columns, TAMIS_I64, seen->offsets[row], end, column);
    return at < end && seen->columns[at] == column;
}

/* Finds which of the row's n places have columns that tie at 0: all places for a line of zeros, else the places with
   score 0. */
static void places_to_fill(const ml_operands *operands, int64_t row, int n, const double *scores, int *from, int *to) {
    *from = 0;
    *to = operands->direct ? 0 : is_zero(&operands->A.host, row) ? n : 0;
    if (!operands->direct) return;
    while (*from < n && scores[*from] > 0) ++*from;
    for (*to = *from; *to < n && scores[*to] == 0;) ++*to;
}

tamis_status ml_popular_fill(const tamis_model *model, const ml_operands *operands, const ml_seen *seen,
                             const bool *allowed, int n, int64_t *columns, double *scores) {
    const tamis_dense *const A = &operands->A.host;
    const bool known = model->states[ML_POPULARITY].cols > 0;
    int64_t *order = NULL;
    if (model->method->about.data != TAMIS_DATA_USES || !known || operands->plain) return TAMIS_OK;
    for (int64_t i = 0; i < A->rows; i++) {
        int at, end;
        places_to_fill(operands, i, n, scores + i * n, &at, &end);
        if (at == end) continue;
        if (!order) TRY(ml_popular_order(model, &order));
        if (!order) break; /* it has no counts */
        for (int64_t k = 0; k < model->cols && at < end; k++) {
            const int64_t column = order[k];
            if ((allowed && !allowed[column]) || has_seen(seen, i, column)) continue;
            if (operands->direct && ml_element(A, i, column) != 0) continue;
            columns[i * n + at] = column;
            scores[i * n + at++] = ml_expectation(operands, 0);
        }
    }
    return TAMIS_OK;
}
