/*
 * Distributed transpose: from entries distributed by rows to entries distributed by columns. Each rank transposes its
 * own rows and sends each column's entries to the rank that owns the column. A column's entries are concatenated in the
 * order of ranks, so their rows ascend.
 */
#include "ml/fit/group_columns.h"

#include <string.h>

#include "base/scope.h"
#include "base/sizes.h"
#include "ml/data/host.h"
#include "ml/fit/group.h"
#include "ml/numbers.h"

typedef struct columns_trip {
    ml_rank *rank;
    const tamis_sparse *data;
    tamis_sparse transposed;   /* of this rank's rows */
    int64_t *counts;           /* entries of each column in this rank's rows */
    int64_t own;               /* columns of this rank */
    tamis_index_type row_type; /* of global row numbers */
    int64_t *theirs;           /* by rank: the counts of this rank's columns */
    int64_t *send_starts, *receive_starts;
    void *rows, *came_rows, *came_values;
    double *totals;
} columns_trip;

static const char what[] = "ratings by columns";

/* ------------------------------------------------------------------------------------------ whose columns */

static tamis_status count_columns(columns_trip *t) {
    const tamis_sparse *const data = t->data;
    TRY(tamis_allocate_zeros(data->cols, "ratings of each column", t->totals));
    for (int64_t e = 0; e < data->nnz; e++) t->totals[ml_column(data, e)] += 1;
    return TAMIS_OK;
}

/* Partitions the columns. Rank r begins where r / ranks of all entries lie before it, as nearly as columns allow;
   without entries the columns are counted instead. */
static void share_columns(const columns_trip *t) {
    const int ranks = t->rank->ranks;
    const int64_t cols = t->data->cols;
    double all = 0, before = 0;
    int64_t column = 0;
    for (int64_t j = 0; j < cols; j++) all += t->totals[j];
    t->rank->column_starts[0] = 0;
    for (int r = 1; r < ranks; r++) {
        const double requested = all * r / ranks;
        while (all > 0 && column < cols && before + t->totals[column] / 2 < requested) before += t->totals[column++];
        t->rank->column_starts[r] = all > 0 ? column : (int64_t)((double)cols * r / ranks);
    }
    t->rank->column_starts[ranks] = cols;
}

/* ------------------------------------------------------------------------------------------ sending */

/* Transposes the entries; row numbers become global. */
static tamis_status transpose(columns_trip *t) {
    const ml_rank *const rank = t->rank;
    const int64_t first = rank->row_starts[rank->number];
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = TAMIS_CSR;
    options.index_type = t->data->index_type;
    options.offset_type = TAMIS_I64;
    options.value_type = t->data->value_type;
    options.transpose = true;
    TRY(ml_converted(t->data, &options, &t->transposed));
    const tamis_sparse *const S = &t->transposed;
    const int64_t *const offsets = S->offsets;
    TRY(tamis_scope_allocate(S->nnz, tamis_index_size(t->row_type), what, &t->rows));
    TRY(tamis_allocate_array(S->rows, what, t->counts));
    TRY(tamis_allocate_array(tamis_times(rank->ranks, t->own), what, t->theirs));
    TRY(tamis_allocate_array(rank->ranks + 1, what, t->send_starts));
    TRY(tamis_allocate_array(rank->ranks + 1, what, t->receive_starts));
    for (int64_t e = 0; e < S->nnz; e++) tamis_index_store(t->rows, t->row_type, e, first + ml_column(S, e));
    for (int64_t j = 0; j < S->rows; j++) t->counts[j] = offsets[j + 1] - offsets[j];
    return TAMIS_OK;
}

/* Exchanges an array that has an element for each entry, or for each column. */
static tamis_status exchange(const columns_trip *t, const void *send, void *receive, bool entries, size_t size) {
    const ml_rank *const rank = t->rank;
    const int64_t *const offsets = t->transposed.offsets;
    int64_t came = 0;
    t->receive_starts[0] = 0;
    for (int r = 0; r < rank->ranks; r++) {
        if (!entries) came += t->own;
        for (int64_t j = 0; entries && j < t->own; j++) came += t->theirs[r * t->own + j];
        t->receive_starts[r + 1] = came * (int64_t)size;
    }
    for (int r = 0; r <= rank->ranks; r++) {
        const int64_t column = rank->column_starts[r];
        t->send_starts[r] = (entries ? offsets[column] : column) * (int64_t)size;
    }
    const tamis_transfer transfer = {
        .send = send, .send_starts = t->send_starts, .receive = receive, .receive_starts = t->receive_starts};
    return ml_exchange(rank, &transfer);
}

static tamis_status make_room(columns_trip *t) {
    ml_rank *const rank = t->rank;
    const size_t size = tamis_type_size(t->data->value_type), row_size = tamis_index_size(t->row_type);
    int64_t *offsets, nnz = 0;
    TRY(tamis_allocate(t->own + 1, sizeof *offsets, what, &rank->offsets));
    offsets = rank->offsets;
    offsets[0] = 0;
    for (int64_t j = 0; j < t->own; j++) {
        for (int r = 0; r < rank->ranks; r++) nnz += t->theirs[r * t->own + j];
        offsets[j + 1] = nnz;
    }
    TRY(tamis_scope_allocate(nnz, row_size, what, &t->came_rows));
    TRY(tamis_scope_allocate(nnz, size, what, &t->came_values));
    TRY(tamis_allocate(nnz, row_size, what, &rank->rows));
    return tamis_allocate(nnz, size, what, &rank->values);
}

/* Concatenates each column's entries. Data from each rank are in the order of columns. */
static void merge(const columns_trip *t) {
    ml_rank *const rank = t->rank;
    const int64_t *const offsets = rank->offsets;
    const size_t size = tamis_type_size(t->data->value_type), row_size = tamis_index_size(t->row_type);
    char *const rows = rank->rows;
    int64_t *const next = t->counts; /* next place of each column; reuses the counts, which have been sent */
    int64_t at = 0;
    for (int64_t j = 0; j < t->own; j++) next[j] = offsets[j];
    for (int r = 0; r < rank->ranks; r++)
        for (int64_t j = 0; j < t->own; j++) {
            const int64_t count = t->theirs[r * t->own + j];
            if (count == 0) continue;
            memcpy(rows + (size_t)next[j] * row_size, (const char *)t->came_rows + (size_t)at * row_size,
                   (size_t)count * row_size);
            memcpy((char *)rank->values + (size_t)next[j] * size, (const char *)t->came_values + (size_t)at * size,
                   (size_t)count * size);
            next[j] += count;
            at += count;
        }
    rank->by_columns = (tamis_sparse){.format = TAMIS_CSR,
                                      .rows = t->own,
                                      .cols = rank->row_starts[rank->ranks],
                                      .nnz = offsets[t->own],
                                      .offset_type = TAMIS_I64,
                                      .index_type = t->row_type,
                                      .value_type = t->data->value_type,
                                      .offsets = rank->offsets,
                                      .columns = rank->rows,
                                      .values = rank->values};
}

tamis_status ml_group_columns(ml_rank *rank, const tamis_sparse *data) {
    columns_trip t = {.rank = rank, .data = data};
    TAMIS_SCOPE;
    t.row_type = tamis_index_spans(TAMIS_I32, rank->row_starts[rank->ranks]) ? TAMIS_I32 : TAMIS_I64;
    TRY(tamis_group_share(rank->group, count_columns(&t), NULL, 0));
    TRY(tamis_group_sum(rank->group, t.totals, data->cols));
    share_columns(&t);
    t.own = rank->column_starts[rank->number + 1] - rank->column_starts[rank->number];
    TRY(tamis_group_share(rank->group, transpose(&t), NULL, 0));
    TRY(exchange(&t, t.counts, t.theirs, false, sizeof *t.counts));
    TRY(tamis_group_share(rank->group, make_room(&t), NULL, 0));
    TRY(exchange(&t, t.rows, t.came_rows, true, tamis_index_size(t.row_type)));
    TRY(exchange(&t, t.transposed.values, t.came_values, true, tamis_type_size(data->value_type)));
    merge(&t);
    return TAMIS_OK;
}
