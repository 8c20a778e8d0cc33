/*
 * Sends the first rows of the whole data to rank 0. Their number follows from the numbers of entries before each
 * candidate end (choose.h), which are sums over ranks.
 */
#include "ml/fit/group_sample.h"

#include <string.h>

#include "ml/fit/choose.h"
#include "ml/numbers.h"

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

static tamis_status allocate(int64_t count, size_t size, void **memory) {
    return tamis_allocate(count, size, "the rows that a choice is made by", memory);
}

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
    TRY(allocate(4 * lists, sizeof *t->starts, (void **)&t->starts));
    t->rows_from = t->starts;
    t->entries_from = t->starts + lists;
    t->sent = t->starts + 2 * lists;
    t->received = t->starts + 3 * lists;
    TRY(allocate(t->rows, sizeof *t->counts, (void **)&t->counts));
    TRY(allocate(t->entries, sizeof *t->columns, (void **)&t->columns));
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
    TRY(allocate(t->rows_from[ranks] + 1, sizeof *sample->offsets, (void **)&sample->offsets));
    TRY(allocate(t->entries_from[ranks], sizeof *t->columns, &sample->columns));
    return allocate(t->entries_from[ranks], tamis_type_size(t->data->value_type), &sample->values);
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

static tamis_status travel(sample_trip *t, ml_rows *sample) {
    const tamis_sparse *const data = t->data;
    const int ranks = t->rank->ranks;
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

tamis_status ml_group_sample(const ml_rank *rank, const tamis_sparse *data, ml_rows *sample) {
    sample_trip t = {.rank = rank, .data = data};
    *sample = (ml_rows){0};
    const tamis_status status = travel(&t, sample);
    tamis_release(t.starts);
    tamis_release(t.counts);
    tamis_release(t.columns);
    return status;
}
