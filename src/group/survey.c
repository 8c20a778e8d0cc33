/* Estimates the communication of distributing a whole matrix over a number of ranks. */
#include "base/memory.h"
#include "base/status.h"
#include "group/shard.h"
#include "sparse/check.h"
#include "sparse/structure.h"

typedef struct survey {
    const tamis_sparse *S;
    int ranks;
    const int64_t *first_rows, *column_starts;
    int *seen;      /* by column: 1 + the last rank that needed it */
    int64_t *sends; /* rows that each rank sends */
    int *asked;     /* by rank: 1 + the last rank that needs one of its rows */
    tamis_shard_volume volume;
} survey;

static int owner(const survey *s, int64_t column) {
    int low = 0, high = s->ranks - 1;
    while (low < high) { /* the first rank that ends behind the column */
        const int middle = low + (high - low) / 2;
        if (s->column_starts[middle + 1] > column)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void visit(survey *s, int rank) {
    const tamis_sparse *const S = s->S;
    const int64_t begin = tamis_row_start(S, s->first_rows[rank]), end = tamis_row_start(S, s->first_rows[rank + 1]);
    int64_t ghosts = 0, sources = 0;
    for (int64_t t = begin; t < end; t++) {
        const int64_t column = tamis_index_load(S->columns, S->index_type, t);
        if (s->seen[column] == rank + 1) continue;
        s->seen[column] = rank + 1;
        const int from = owner(s, column);
        if (from == rank) continue;
        ghosts++;
        s->sends[from]++;
        sources += s->asked[from] != rank + 1;
        s->asked[from] = rank + 1;
    }
    tamis_shard_volume *const v = &s->volume;
    v->ghosts += ghosts;
    v->messages += sources;
    if (end - begin > v->nnz_most) v->nnz_most = end - begin;
    if (ghosts > v->ghosts_most) v->ghosts_most = ghosts;
    if (sources > v->sources_most) v->sources_most = sources;
}

/* Distributes rows with equal nonzeros. */
static tamis_status share_rows(const tamis_sparse *S, int ranks, void **memory) {
    TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the rows by rank", memory));
    int64_t *const rows = *memory;
    rows[0] = 0;
    for (int r = 1; r <= ranks; r++)
        rows[r] = tamis_partition_rows_from(S->offsets, S->offset_type, S->rows, S->offset_base, S->nnz, ranks, r);
    return TAMIS_OK;
}

/* Distributes columns in equal numbers. */
static tamis_status share_columns(const tamis_sparse *S, int ranks, void **memory) {
    TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the columns by rank", memory));
    int64_t *const columns = *memory;
    for (int r = 0; r <= ranks; r++) columns[r] = tamis_partition_even(S->cols, ranks, r);
    return TAMIS_OK;
}

/* Makes the starts that the caller did not give. */
static tamis_status take_starts(survey *s, void **rows, void **columns) {
    const bool square = s->S->rows == s->S->cols;
    if (!s->first_rows) {
        TRY(share_rows(s->S, s->ranks, rows));
        s->first_rows = *rows;
    }
    if (s->column_starts) return TAMIS_OK;
    if (!square) TRY(share_columns(s->S, s->ranks, columns));
    s->column_starts = square ? s->first_rows : *columns;
    return TAMIS_OK;
}

static tamis_status run(survey *s) {
    void *seen = NULL, *sends = NULL, *asked = NULL;
    tamis_status status = TAMIS_OK;
    TRY_GOTO(done, tamis_allocate_zeroed(s->S->cols, sizeof(int), "the marks of columns", &seen));
    TRY_GOTO(done, tamis_allocate_zeroed(s->ranks, sizeof(int64_t), "the rows that ranks send", &sends));
    TRY_GOTO(done, tamis_allocate_zeroed(s->ranks, sizeof(int), "the marks of ranks", &asked));
    s->seen = seen;
    s->sends = sends;
    s->asked = asked;
    for (int r = 0; r < s->ranks; r++) visit(s, r);
    for (int r = 0; r < s->ranks; r++)
        if (s->sends[r] > s->volume.sends_most) s->volume.sends_most = s->sends[r];
    const double nnz = (double)s->S->nnz;
    s->volume.imbalance = s->S->nnz > 0 ? (double)s->volume.nnz_most * s->ranks / nnz : 1;
done:
    tamis_release(seen);
    tamis_release(sends);
    tamis_release(asked);
    return status;
}

tamis_status tamis_shard_survey(const tamis_sparse *S, int ranks, const int64_t *first_rows,
                                const int64_t *column_starts, tamis_shard_volume *volume) {
    survey s = {.S = S, .ranks = ranks, .first_rows = first_rows, .column_starts = column_starts};
    void *rows = NULL, *columns = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    if (!volume) return tamis_fail(TAMIS_ERROR_ARGUMENT, "volume = NULL: expected an address for the result");
    if (ranks < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ranks = %d: expected 1 or more", ranks);
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    if (first_rows) TRY(tamis_starts_check("first_rows", first_rows, ranks, "S.rows", S->rows));
    if (column_starts) TRY(tamis_starts_check("column_starts", column_starts, ranks, "S.cols", S->cols));
    TRY_GOTO(done, take_starts(&s, &rows, &columns));
    TRY_GOTO(done, run(&s));
    *volume = s.volume;
done:
    tamis_release(rows);
    tamis_release(columns);
    return status;
}
