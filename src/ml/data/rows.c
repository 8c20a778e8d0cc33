/* See rows.h. */
#include "ml/data/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/status.h"
#include "ml/numbers.h"

void ml_rows_drop(const ml_rows *copied) {
    tamis_scope_drop(copied->offsets);
    tamis_scope_drop(copied->columns);
    tamis_scope_drop(copied->values);
}

tamis_status ml_rows_copy(const tamis_sparse *S, const int64_t *rows, int64_t first, int64_t count, const char *what,
                          ml_rows *copied) {
    const size_t index = tamis_index_size(S->index_type), size = tamis_type_size(S->value_type);
    int64_t nnz = 0;
    *copied = (ml_rows){0};
    TRY(tamis_allocate_array(count + 1, what, copied->offsets));
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = rows ? rows[first + i] : first + i;
        copied->offsets[i] = nnz;
        if (__builtin_add_overflow(nnz, ml_offset(S, row + 1) - ml_offset(S, row), &nnz))
            return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: more than 2^63 entries", what);
    }
    copied->offsets[count] = nnz;
    TRY(tamis_scope_allocate(nnz, index, what, &copied->columns));
    if (S->values) TRY(tamis_scope_allocate(nnz, size, what, &copied->values));
    for (int64_t i = 0; i < count; i++) {
        const size_t from = (size_t)ml_offset(S, rows ? rows[first + i] : first + i), to = (size_t)copied->offsets[i];
        const size_t length = (size_t)copied->offsets[i + 1] - to;
        if (length == 0) continue;
        memcpy((char *)copied->columns + to * index, (const char *)S->columns + from * index, length * index);
        if (S->values) memcpy((char *)copied->values + to * size, (const char *)S->values + from * size, length * size);
    }
    copied->view = *S;
    copied->view.rows = count;
    copied->view.nnz = nnz;
    copied->view.offsets = copied->offsets;
    copied->view.offset_type = TAMIS_I64;
    copied->view.offset_base = 0; /* that of a slice */
    copied->view.columns = copied->columns;
    copied->view.values = copied->values;
    return TAMIS_OK;
}

static int by_value(const void *a, const void *b) {
    const ml_place *x = a, *y = b;
    if (x->value < y->value || x->value > y->value) return x->value < y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

int64_t ml_sort_row(const tamis_sparse *data, int64_t row, ml_place *places) {
    const int64_t begin = ml_offset(data, row), count = ml_offset(data, row + 1) - begin;
    for (int64_t k = 0; k < count; k++) places[k] = (ml_place){ml_value(data, begin + k), begin + k};
    if (count > 1) qsort(places, (size_t)count, sizeof *places, by_value);
    return count;
}
