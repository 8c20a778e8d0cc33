/* Makes a shard: owners of columns, S's columns renumbered locally, and the lists of an exchange. */
#include "group/shard.h"

#include "base/memory.h"
#include "base/reserved.h"
#include "group/ghosts.h"
#include "sparse/check.h"
#include "sparse/structure.h"

/* ------------------------------------------------------------------------------------------ checks */

tamis_status tamis_starts_check(const char *name, const int64_t *starts, int ranks, const char *end_name, int64_t end) {
    if (!starts) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected %d numbers", name, ranks + 1);
    if (starts[0] != 0) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s[0] = %lld: expected 0", name, (long long)starts[0]);
    for (int r = 0; r < ranks; r++)
        if (starts[r + 1] < starts[r])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s[%d] = %lld is less than %s[%d] = %lld", name, r + 1,
                              (long long)starts[r + 1], name, r, (long long)starts[r]);
    if (starts[ranks] != end)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s[%d] = %lld: expected %s = %lld", name, ranks,
                          (long long)starts[ranks], end_name, (long long)end);
    return TAMIS_OK;
}

static tamis_status check(const tamis_sparse *S, const tamis_shard_options *options) {
    if (!options)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options = NULL: expected rank, ranks and column_starts in it");
    TRY(TAMIS_RESERVED(options, "options"));
    if (options->ranks < 1)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.ranks = %d: expected 1 or more", options->ranks);
    if (options->rank < 0 || options->rank >= options->ranks)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "options.rank = %d is not in 0 .. %d", options->rank,
                          options->ranks - 1);
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    TRY(tamis_starts_check("options.column_starts", options->column_starts, options->ranks, "S.cols", S->cols));
    return options->trust_input ? TAMIS_OK : tamis_validate_threads(S, 0);
}

/* ------------------------------------------------------------------------------------------ making */

static tamis_status count_sources(tamis_shard *shard, const int64_t *column_starts) {
    tamis_shard_description *const is = &shard->is;
    void *starts = NULL;
    TRY(tamis_allocate(is->ranks + 1, sizeof(int64_t), "the ranks of the ghost rows", &starts));
    shard->receive_starts = starts;
    int64_t at = 0;
    for (int r = 0; r <= is->ranks; r++) {
        while (at < is->ghost_rows && (r == is->ranks || shard->ghosts[at] < column_starts[r])) at++;
        shard->receive_starts[r] = at;
        if (r > 0 && at > shard->receive_starts[r - 1]) is->sources++;
    }
    is->ghosts = shard->ghosts;
    is->receive_starts = shard->receive_starts;
    return TAMIS_OK;
}

static const void *values_of(const tamis_sparse *S) {
    return S->values ? (const char *)S->values + S->offset_base * (int64_t)tamis_type_size(S->value_type) : NULL;
}

/* Copies S over [own rows | ghost rows], with offsets from 0 and the narrowest types. */
static tamis_status renumber(tamis_shard *shard, const tamis_sparse *S, const tamis_ghosts *ghosts) {
    tamis_shard_description *const is = &shard->is;
    const int64_t cols = is->own_rows + is->ghost_rows, end = is->first_own + is->own_rows;
    const tamis_index_type index_type = tamis_index_spans(TAMIS_I32, cols) ? TAMIS_I32 : TAMIS_I64;
    const tamis_index_type offset_type = tamis_index_holds(TAMIS_I32, S->nnz) ? TAMIS_I32 : TAMIS_I64;
    TRY(tamis_allocate(S->rows + 1, tamis_index_size(offset_type), "the offsets of a shard", &shard->offsets));
    TRY(tamis_allocate(S->nnz, tamis_index_size(index_type), "the columns of a shard", &shard->columns));
    for (int64_t i = 0; i <= S->rows; i++)
        tamis_index_store(shard->offsets, offset_type, i, tamis_row_start(S, i) - S->offset_base);
    for (int64_t t = 0; t < S->nnz; t++) {
        const int64_t column = tamis_index_load(S->columns, S->index_type, S->offset_base + t);
        const bool own = column >= is->first_own && column < end;
        is->own_nnz += own;
        const int64_t ghost = own ? 0 : tamis_ghosts_number(ghosts, column);
        tamis_index_store(shard->columns, index_type, t,
                          own                         ? is->ghosts_before + column - is->first_own
                          : ghost < is->ghosts_before ? ghost
                                                      : is->own_rows + ghost);
    }
    is->local = (tamis_sparse){.format = TAMIS_CSR,
                               .rows = S->rows,
                               .cols = cols,
                               .nnz = S->nnz,
                               .index_type = index_type,
                               .offset_type = offset_type,
                               .value_type = S->value_type,
                               .offsets = shard->offsets,
                               .columns = shard->columns,
                               .values = values_of(S),
                               .batch_stride = S->batch_stride};
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ own and ghost part */

/* Each part is a CSR with its entries' indices in the whole. */
enum { OFFSETS, COLUMNS, ENTRIES, ARRAYS };

static tamis_status allocate_part(const tamis_shard_description *is, int64_t nnz, void **arrays) {
    const tamis_sparse *const S = &is->local;
    TRY(tamis_allocate(S->rows + 1, tamis_index_size(S->offset_type), "the offsets of a part", &arrays[OFFSETS]));
    TRY(tamis_allocate(nnz, tamis_index_size(S->index_type), "the columns of a part", &arrays[COLUMNS]));
    return tamis_allocate(nnz, sizeof(int64_t), "the entries of a part", &arrays[ENTRIES]);
}

/* Returns the index of a column in its part, from the first own or the first ghost row. */
static int64_t number_of(const tamis_shard_description *is, int64_t column, bool *own) {
    const int64_t from = column - is->ghosts_before;
    *own = from >= 0 && from < is->own_rows;
    return *own ? from : from < 0 ? column : column - is->own_rows;
}

/* Fills a part with the entries with own columns, or with the others. */
static tamis_sparse fill(const tamis_shard_description *is, bool own, int64_t cols, int64_t nnz, void *const *arrays) {
    const tamis_sparse *const S = &is->local;
    int64_t *const entries = arrays[ENTRIES];
    int64_t count = 0;
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t end = tamis_row_start(S, i + 1);
        tamis_index_store(arrays[OFFSETS], S->offset_type, i, count);
        for (int64_t t = tamis_row_start(S, i); t < end; t++) {
            bool is_own;
            const int64_t column = number_of(is, tamis_index_load(S->columns, S->index_type, t), &is_own);
            if (is_own != own) continue;
            tamis_index_store(arrays[COLUMNS], S->index_type, count, column);
            entries[count++] = t;
        }
    }
    tamis_index_store(arrays[OFFSETS], S->offset_type, S->rows, count);
    tamis_sparse part = *S;
    part.cols = cols;
    part.nnz = nnz;
    part.offsets = arrays[OFFSETS];
    part.columns = arrays[COLUMNS];
    part.values = NULL;
    part.batch_stride = 0;
    return part;
}

tamis_status tamis_shard_split(tamis_shard *shard) {
    tamis_shard_description *const is = &shard->is;
    void **const own = shard->parts, **const ghost = shard->parts + ARRAYS;
    const int64_t ghost_nnz = is->local.nnz - is->own_nnz;
    TRY(allocate_part(is, is->own_nnz, own));
    TRY(allocate_part(is, ghost_nnz, ghost));
    is->own = fill(is, true, is->own_rows, is->own_nnz, own);
    is->ghost = fill(is, false, is->ghost_rows, ghost_nnz, ghost);
    is->own_entries = own[ENTRIES];
    is->ghost_entries = ghost[ENTRIES];
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the whole */

static tamis_status make(tamis_shard *shard, const tamis_sparse *S, const tamis_shard_options *options) {
    tamis_shard_description *const is = &shard->is;
    tamis_status status = TAMIS_OK;
    tamis_ghosts ghosts = {.columns = NULL};
    is->rank = options->rank;
    is->ranks = options->ranks;
    is->first_own = options->column_starts[options->rank];
    is->own_rows = options->column_starts[options->rank + 1] - is->first_own;
    const int64_t end = is->first_own + is->own_rows;
    TRY(options->all_rows ? tamis_ghosts_all(S->cols, is->first_own, end, &ghosts)
                          : tamis_ghosts_find(S, is->first_own, end, &ghosts));
    is->ghost_rows = ghosts.count;
    while (options->in_order && is->ghosts_before < ghosts.count && ghosts.columns[is->ghosts_before] < is->first_own)
        is->ghosts_before++;
    status = renumber(shard, S, &ghosts);
    shard->ghosts = ghosts.columns;
    ghosts.columns = NULL;
    tamis_ghosts_release(&ghosts);
    TRY(status);
    TRY(count_sources(shard, options->column_starts));
    return options->split ? tamis_shard_split(shard) : TAMIS_OK;
}

tamis_status tamis_shard_create(const tamis_sparse *S, const tamis_shard_options *options, tamis_shard **shard) {
    tamis_shard *made;
    tamis_clear_error();
    if (!shard) return tamis_fail(TAMIS_ERROR_ARGUMENT, "shard = NULL: expected an address for the result");
    *shard = NULL;
    TRY(check(S, options));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a shard", (void **)&made));
    const tamis_status status = make(made, S, options);
    if (status == TAMIS_OK)
        *shard = made;
    else
        tamis_shard_destroy(made);
    return status;
}

void tamis_shard_destroy(tamis_shard *shard) {
    if (!shard) return;
    void *const memory[] = {shard->offsets,        shard->columns, shard->ghosts,
                            shard->receive_starts, shard->sends,   shard->send_starts};
    for (int i = 0; i < 6; i++) tamis_release(memory[i]);
    for (int i = 0; i < TAMIS_SPLIT_ARRAYS; i++) tamis_release(shard->parts[i]);
    tamis_release(shard);
}

/* ------------------------------------------------------------------------------------------ requests */

static tamis_status check_requests(const tamis_shard_description *is, const int64_t *counts, const int64_t *rows,
                                   int64_t *total) {
    if (!counts) return tamis_fail(TAMIS_ERROR_ARGUMENT, "counts = NULL: expected %d numbers", is->ranks);
    for (int r = 0; r < is->ranks; r++) {
        if (counts[r] < 0 || (r == is->rank && counts[r] != 0))
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "counts[%d] = %lld: expected %s", r, (long long)counts[r],
                              r == is->rank ? "0, for a rank needs nothing of itself" : "0 or more");
        if (__builtin_add_overflow(*total, counts[r], total))
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "counts[%d] = %lld: the sum does not fit 64 bits", r,
                              (long long)counts[r]);
    }
    if (*total > 0 && !rows)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = NULL: expected %lld numbers", (long long)*total);
    for (int64_t r = 0, t = 0; r < is->ranks; r++)
        for (const int64_t end = t + counts[r]; t < end; t++)
            if (rows[t] < is->first_own || rows[t] >= is->first_own + is->own_rows)
                return tamis_fail(TAMIS_ERROR_ARGUMENT,
                                  "rows[%lld] = %lld, for rank %lld, is not one of the rows %lld .. %lld of rank %d",
                                  (long long)t, (long long)rows[t], (long long)r, (long long)is->first_own,
                                  (long long)(is->first_own + is->own_rows - 1), is->rank);
    return TAMIS_OK;
}

tamis_status tamis_shard_set_requests(tamis_shard *shard, const int64_t *counts, const int64_t *rows) {
    int64_t total = 0;
    void *sends = NULL, *starts = NULL;
    tamis_status status = TAMIS_OK;
    tamis_clear_error();
    if (!shard) return tamis_fail(TAMIS_ERROR_ARGUMENT, "shard = NULL: make one with tamis_shard_create");
    tamis_shard_description *const is = &shard->is;
    TRY(check_requests(is, counts, rows, &total));
    /* allocated even if empty, as NULL means that no list was set */
    TRY(tamis_allocate(total > 0 ? total : 1, sizeof(int64_t), "the list of rows to send", &sends));
    TRY_GOTO(failed, tamis_allocate(is->ranks + 1, sizeof(int64_t), "the ranks of rows to send", &starts));
    tamis_release(shard->sends);
    tamis_release(shard->send_starts);
    is->sends = shard->sends = sends;
    is->send_starts = shard->send_starts = starts;
    is->send_rows = total;
    is->targets = 0;
    shard->send_starts[0] = 0;
    for (int r = 0; r < is->ranks; r++) {
        shard->send_starts[r + 1] = shard->send_starts[r] + counts[r];
        is->targets += counts[r] > 0;
    }
    for (int64_t t = 0; t < total; t++) shard->sends[t] = rows[t] - is->first_own;
    return TAMIS_OK;
failed:
    tamis_release(sends);
    return status;
}

tamis_status tamis_shard_describe(const tamis_shard *shard, tamis_shard_description *description) {
    tamis_clear_error();
    if (!shard) return tamis_fail(TAMIS_ERROR_ARGUMENT, "shard = NULL: make one with tamis_shard_create");
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: expected an address for the result");
    *description = shard->is;
    return TAMIS_OK;
}
