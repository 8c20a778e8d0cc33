/* The columns that must not be recommended, for the requested rows only: the work depends on the request, not on the
   size of the training data. */
#include "ml/serve/seen.h"

#include <stdlib.h>

#include "base/scope.h"
#include "base/status.h"
#include "ml/data/host.h"
#include "sparse/index.h"

static tamis_status bad_entry(const char *what, int64_t at, int64_t value, int64_t low, int64_t high) {
    return tamis_fail(TAMIS_ERROR_PATTERN, "seen.%s[%lld] = %lld: expected %lld .. %lld", what, (long long)at,
                      (long long)value, (long long)low, (long long)high);
}

tamis_status ml_seen_row(const tamis_sparse *seen, int64_t row, int64_t *begin, int64_t *end) {
    *begin = tamis_index_load(seen->offsets, seen->offset_type, row);
    *end = tamis_index_load(seen->offsets, seen->offset_type, row + 1);
    const int64_t first = seen->offset_base, last = first + seen->nnz; /* of a slice */
    if (*begin < first || *begin > last) return bad_entry("offsets", row, *begin, first, last);
    if (*end < *begin || *end > last) return bad_entry("offsets", row + 1, *end, *begin, last);
    for (int64_t t = *begin; t < *end; t++) {
        const int64_t column = tamis_index_load(seen->columns, seen->index_type, t);
        if (column < 0 || column >= seen->cols) return bad_entry("columns", t, column, 0, seen->cols - 1);
    }
    return TAMIS_OK;
}

static int64_t row_at(const int64_t *rows, int64_t i) { return rows ? rows[i] : i; }

static tamis_status sum_up(const tamis_sparse *seen, const int64_t *rows, int64_t count, int64_t *offsets) {
    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t begin, end;
        TRY(ml_seen_row(seen, row_at(rows, i), &begin, &end));
        if (__builtin_add_overflow(offsets[i], end - begin, &offsets[i + 1]))
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "more than 2^63 entries of `seen` belong to the requested rows");
    }
    return TAMIS_OK;
}

static int by_column(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Copies rows of a CSR, sorted; nearly always they already are. */
static tamis_status gather(const tamis_sparse *seen, const int64_t *rows, int64_t count, ml_seen *sorted) {
    TRY(tamis_allocate_array(count + 1, "what was seen", sorted->offsets));
    TRY(sum_up(seen, rows, count, sorted->offsets));
    const int64_t *const offsets = sorted->offsets;
    TRY(tamis_allocate_array(offsets[count], "what was seen", sorted->columns));
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = tamis_index_load(seen->offsets, seen->offset_type, row_at(rows, i));
        bool in_order = true;
        for (int64_t t = offsets[i]; t < offsets[i + 1]; t++) {
            sorted->columns[t] = tamis_index_load(seen->columns, seen->index_type, begin + t - offsets[i]);
            in_order = in_order && (t == offsets[i] || sorted->columns[t - 1] <= sorted->columns[t]);
        }
        if (!in_order)
            qsort(sorted->columns + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), sizeof *sorted->columns,
                  by_column);
    }
    return TAMIS_OK;
}

/* Checks every entry of a COO matrix. */
static tamis_status check_entries(const tamis_sparse *seen) {
    for (int64_t t = 0; t < seen->nnz; t++) {
        const int64_t row = tamis_index_load(seen->row_indices, seen->index_type, t);
        const int64_t column = tamis_index_load(seen->columns, seen->index_type, t);
        if (row < 0 || row >= seen->rows) return bad_entry("row_indices", t, row, 0, seen->rows - 1);
        if (column < 0 || column >= seen->cols) return bad_entry("columns", t, column, 0, seen->cols - 1);
    }
    return TAMIS_OK;
}

tamis_status ml_seen_make(const tamis_sparse *seen, const int64_t *rows, int64_t count, ml_seen *sorted) {
    *sorted = (ml_seen){0};
    if (seen->format == TAMIS_CSR) return gather(seen, rows, count, sorted);
    tamis_sparse by_rows;
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.index_type = options.offset_type = TAMIS_I64;
    options.values = TAMIS_VALUES_NONE;
    TRY(check_entries(seen));
    TRY(ml_converted(seen, &options, &by_rows));
    return gather(&by_rows, rows, count, sorted);
}
