/* Estimates the communication of distributing a whole matrix over a number of ranks. */
#include "base/scope.h"
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

/* Makes the starts that the caller did not give: rows with equal nonzeros, and equal numbers of columns. */
static tamis_status take_starts(survey *s) {
    const tamis_sparse *const S = s->S;
    int64_t *rows, *columns;
    if (!s->first_rows) {
        TRY(tamis_allocate_array(s->ranks + 1, "the rows by rank", rows));
        for (int r = 0; r <= s->ranks; r++)
            rows[r] = r == 0 ? 0
                             : tamis_partition_rows_from(S->offsets, S->offset_type, S->rows, S->offset_base, S->nnz,
                                                         s->ranks, r);
        s->first_rows = rows;
    }
    if (!s->column_starts && S->rows == S->cols) s->column_starts = s->first_rows;
    if (s->column_starts) return TAMIS_OK;
    TRY(tamis_allocate_array(s->ranks + 1, "the columns by rank", columns));
    for (int r = 0; r <= s->ranks; r++) columns[r] = tamis_partition_even(S->cols, s->ranks, r);
    s->column_starts = columns;
    return TAMIS_OK;
}

static tamis_status run(survey *s) {
    TRY(tamis_allocate_zeros(s->S->cols, "the marks of columns", s->seen));
    TRY(tamis_allocate_zeros(s->ranks, "the rows that ranks send", s->sends));
    TRY(tamis_allocate_zeros(s->ranks, "the marks of ranks", s->asked));
    for (int r = 0; r < s->ranks; r++) visit(s, r);
    for (int r = 0; r < s->ranks; r++)
        if (s->sends[r] > s->volume.sends_most) s->volume.sends_most = s->sends[r];
    const double nnz = (double)s->S->nnz;
    s->volume.imbalance = s->S->nnz > 0 ? (double)s->volume.nnz_most * s->ranks / nnz : 1;
    return TAMIS_OK;
}

tamis_status tamis_shard_survey(const tamis_sparse *S, int ranks, const int64_t *first_rows,
                                const int64_t *column_starts, tamis_shard_volume *volume) {
    survey s = {.S = S, .ranks = ranks, .first_rows = first_rows, .column_starts = column_starts};
    TAMIS_SCOPE;
    tamis_clear_error();
    if (!volume) return tamis_fail(TAMIS_ERROR_ARGUMENT, "volume = NULL: expected an address for the result");
    if (ranks < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ranks = %d: expected 1 or more", ranks);
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    if (first_rows) TRY(tamis_starts_check("first_rows", first_rows, ranks, "S.rows", S->rows));
    if (column_starts) TRY(tamis_starts_check("column_starts", column_starts, ranks, "S.cols", S->cols));
    TRY(take_starts(&s));
    TRY(run(&s));
    *volume = s.volume;
    return TAMIS_OK;
}
