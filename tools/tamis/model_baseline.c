/* The baselines: biases by a few rounds of damped means, and popularity. */
#include "model_baseline.h"

#include <math.h>
#include <stdlib.h>

#include "exit.h"
#include "model_data.h"
#include "operands.h"

enum { ROUNDS = 5, FIRST = 10 };
static const double DAMPING = 10; /* a bias counts as if it had so many more entries at the mean */

const char *tool_baseline_name(tamis_method method) {
    return method == TAMIS_IMPLICIT_ALS ? "the most popular" : "means and biases";
}

static int64_t offset(const tamis_sparse *S, int64_t row) { return tool_index_get(S->offsets, S->offset_type, row); }
static int64_t column(const tamis_sparse *S, int64_t at) { return tool_index_get(S->columns, S->index_type, at); }
static double value(const tamis_sparse *S, int64_t at) {
    return S->values ? tool_element_get(S->values, S->value_type, at) : 1;
}

/* ------------------------------------------------------------------------------------------ ratings */

typedef struct biases {
    double mean, *rows, *columns;
} biases;

/* The mean of what the other side leaves over, damped. */
static void find_biases(const tamis_sparse *S, const biases *all, bool of_rows) {
    const int64_t size = of_rows ? S->rows : S->cols;
    double *const found = of_rows ? all->rows : all->columns, *const others = of_rows ? all->columns : all->rows;
    double *const counts = tool_allocate((size_t)size, sizeof *counts);
    for (int64_t i = 0; i < size; i++) found[i] = 0;
    for (int64_t row = 0; row < S->rows; row++) {
        for (int64_t at = offset(S, row); at < offset(S, row + 1); at++) {
            const int64_t mine = of_rows ? row : column(S, at), other = of_rows ? column(S, at) : row;
            found[mine] += value(S, at) - all->mean - others[other];
            counts[mine]++;
        }
    }
    for (int64_t i = 0; i < size; i++) found[i] /= counts[i] + DAMPING;
    free(counts);
}

static double biases_error(const tamis_sparse *trained, const tamis_sparse *held) {
    biases all = {.rows = tool_allocate((size_t)trained->rows, sizeof(double)),
                  .columns = tool_allocate((size_t)trained->cols, sizeof(double))};
    for (int64_t at = 0; at < trained->nnz; at++) all.mean += value(trained, at) / (double)trained->nnz;
    for (int i = 0; i < 2 * ROUNDS; i++) find_biases(trained, &all, i % 2 == 1);
    double sum = 0;
    for (int64_t row = 0; row < held->rows; row++) {
        for (int64_t at = offset(held, row); at < offset(held, row + 1); at++) {
            const double error = value(held, at) - all.mean - all.rows[row] - all.columns[column(held, at)];
            sum += error * error;
        }
    }
    free(all.rows);
    free(all.columns);
    return sqrt(sum / (double)held->nnz);
}

/* ------------------------------------------------------------------------------------------ implicit data */

typedef struct popular {
    int64_t column, count;
} popular;

static int by_count(const void *a, const void *b) {
    const popular *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return (x->column > y->column) - (x->column < y->column);
}

static bool has_column(const tamis_sparse *S, int64_t row, int64_t wanted) {
    int64_t low = offset(S, row), high = offset(S, row + 1);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2, found = column(S, middle);
        if (found == wanted) return true;
        if (found < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static double popularity_recall(const tamis_sparse *trained, const tamis_sparse *held) {
    popular *const order = tool_allocate((size_t)trained->cols, sizeof *order);
    for (int64_t i = 0; i < trained->cols; i++) order[i].column = i;
    for (int64_t at = 0; at < trained->nnz; at++) order[column(trained, at)].count++;
    qsort(order, (size_t)trained->cols, sizeof *order, by_count);
    int64_t hits = 0;
    for (int64_t row = 0; row < held->rows; row++) {
        if (offset(held, row) == offset(held, row + 1)) continue;
        for (int64_t i = 0, listed = 0; i < trained->cols && listed < FIRST; i++) {
            if (has_column(trained, row, order[i].column)) continue;
            listed++;
            hits += has_column(held, row, order[i].column);
        }
    }
    free(order);
    return (double)hits / (double)held->nnz;
}

double tool_baseline_metric(tamis_method method, const tamis_sparse *trained, const tamis_sparse *held) {
    if (tool_method_of_documents(method) || held->nnz == 0 || trained->nnz == 0) return (double)NAN;
    return method == TAMIS_IMPLICIT_ALS ? popularity_recall(trained, held) : biases_error(trained, held);
}
