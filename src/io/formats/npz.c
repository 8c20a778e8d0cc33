/* .npz archives as SciPy's save_npz writes them: format, shape and data beside indptr and indices (csr, csc) or row and
   col (coo). */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "io/formats/format.h"
#include "io/formats/npy.h"
#include "io/pack/zip.h"
#include "io/rows/entries.h"
#include "io/rows/rows.h"

enum { NAME_BYTES = 512, HEAD_BYTES = 4096, LIST_BYTES = 160 };

/* One array of the archive. */
typedef struct archive_array {
    char name[NAME_BYTES]; /* "FILE(data.npy)" */
    bool found;
    tamis_zip_member member;
    tamis_npy npy;
} archive_array;

typedef struct sparse_archive {
    int64_t rows, cols, nnz;
    archive_array data, first, second; /* indices and indptr, or col and row */
} sparse_archive;

static bool sniff_npz(const tamis_bounded_text *text) {
    return text->end - text->begin >= 4 &&
           (memcmp(text->begin, "PK\3\4", 4) == 0 || memcmp(text->begin, "PK\5\6", 4) == 0);
}

/* Reads only the header: its sizes are checked before anything large is unpacked. */
static tamis_status look_at_array(const tamis_bounded_text *archive, const char *member, archive_array *array) {
    unsigned char head[HEAD_BYTES];
    int64_t bytes = 0;
    snprintf(array->name, sizeof array->name, "%.*s(%s)", NAME_BYTES - 32, archive->name, member);
    TRY(tamis_zip_peek(archive, member, head, HEAD_BYTES, &array->found, &bytes));
    if (!array->found) {
        char names[LIST_BYTES];
        tamis_zip_list(archive, names, sizeof names);
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found no %s%s%s, expected what scipy.sparse.save_npz writes",
                          archive->name, member, names[0] ? " but " : "", names);
    }
    TRY(tamis_npy_open(array->name, head, bytes < HEAD_BYTES ? bytes : HEAD_BYTES, bytes, &array->npy));
    if (array->npy.behind == 0) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld bytes behind the elements", array->name,
                      (long long)array->npy.behind);
}

static void close_array(void *array) { tamis_zip_release(&((archive_array *)array)->member); }

/* Unpacks the array, which the scope closes unless that is done before. */
static tamis_status load_array(const tamis_bounded_text *archive, const char *member, archive_array *array) {
    TRY(tamis_scope_own(close_array, array));
    TRY(tamis_zip_read(archive, member, &array->found, &array->member));
    return tamis_npy_open(array->name, array->member.data, array->member.bytes, array->member.bytes, &array->npy);
}

/* Reads format.npy: b'csr' or 'csr', a scalar. */
static tamis_status take_format(const tamis_bounded_text *archive, char format[8]) {
    archive_array array = {0};
    TAMIS_SCOPE;
    memset(format, 0, 8);
    TRY(look_at_array(archive, "format.npy", &array));
    const tamis_npy *const npy = &array.npy;
    if ((npy->kind != 'S' && npy->kind != 'U') || npy->count != 1 || npy->size > 7)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: expected a short word", array.name);
    TRY(load_array(archive, "format.npy", &array));
    const int step = npy->kind == 'U' ? 4 : 1, low = npy->kind == 'U' && npy->swapped ? 3 : 0;
    for (int i = 0; i < 7 && i < npy->size; i++) {
        const unsigned char c = npy->data[i * step + low];
        format[i] = (char)(c >= 0x20 && c < 0x7f ? c : '\0');
    }
    return TAMIS_OK;
}

static tamis_status take_shape(const tamis_bounded_text *archive, sparse_archive *sparse) {
    archive_array array = {0};
    TAMIS_SCOPE;
    TRY(look_at_array(archive, "shape.npy", &array));
    TRY(tamis_npy_need_integer(&array.npy));
    if (array.npy.count != 2)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld sizes, expected rows and columns", array.name,
                          (long long)array.npy.count);
    TRY(load_array(archive, "shape.npy", &array));
    sparse->rows = tamis_npy_integer(&array.npy, 0);
    sparse->cols = tamis_npy_integer(&array.npy, 1);
    if (sparse->rows < 0 || sparse->cols < 0 || sparse->rows > TAMIS_SIZE_MOST || sparse->cols > TAMIS_SIZE_MOST)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld x %lld, expected sizes of 0 or more", array.name,
                          (long long)sparse->rows, (long long)sparse->cols);
    return TAMIS_OK;
}

static tamis_status look_at_indices(const tamis_bounded_text *archive, const char *member, archive_array *array) {
    TRY(look_at_array(archive, member, array));
    TRY(tamis_npy_need_integer(&array->npy));
    if (array->npy.dimensions != 1)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %d dimensions, expected 1", array->name,
                          array->npy.dimensions);
    return TAMIS_OK;
}

/* Reads all headers; data's length is the number of entries. lines: the second array has lines + 1 elements; -1: as
   many as entries. */
static tamis_status look_at_arrays(const tamis_bounded_text *archive, const char *first, const char *second,
                                   int64_t lines, sparse_archive *sparse) {
    TRY(look_at_array(archive, "data.npy", &sparse->data));
    TRY(tamis_npy_need_number(&sparse->data.npy));
    TRY(look_at_indices(archive, first, &sparse->first));
    TRY(look_at_indices(archive, second, &sparse->second));
    sparse->nnz = sparse->data.npy.count;
    if (sparse->data.npy.dimensions != 1)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %d dimensions, expected 1", sparse->data.name,
                          sparse->data.npy.dimensions);
    if (sparse->first.npy.count != sparse->nnz)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld indices, expected one for each of %lld values",
                          sparse->first.name, (long long)sparse->first.npy.count, (long long)sparse->nnz);
    if (lines < 0 && sparse->second.npy.count != sparse->nnz)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld indices, expected one for each of %lld values",
                          sparse->second.name, (long long)sparse->second.npy.count, (long long)sparse->nnz);
    if (lines >= 0 && sparse->second.npy.count != lines + 1)
        return tamis_fail(TAMIS_ERROR_FORMAT, "%s: found %lld offsets, expected %lld", sparse->second.name,
                          (long long)sparse->second.npy.count, (long long)lines + 1);
    return TAMIS_OK;
}

static tamis_status take_index(const archive_array *array, int64_t at, int64_t low, int64_t high, int64_t *index) {
    *index = tamis_npy_integer(&array->npy, at);
    if (*index >= low && *index <= high) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_FORMAT, "%s: element %lld is %lld, expected %lld to %lld", array->name, (long long)at,
                      (long long)*index, (long long)low, (long long)high);
}

/* ------------------------------------------------------------------------------------------- one array after the other
 */

/* Moves the unpacked array to *to without a copy, if its element type is the required one. */
static bool take_over(archive_array *array, char kind, size_t size, int64_t count, void **to) {
    tamis_npy *const npy = &array->npy;
    if (!array->member.owned || npy->kind != kind || (size_t)npy->size != size || npy->swapped) return false;
    memmove(array->member.owned, npy->data, (size_t)count * size);
    tamis_release(*to);
    npy->data = *to = array->member.owned;
    array->member.owned = NULL;
    return true;
}

/* Reads the offsets of `lines` rows (csr) or columns (csc), and sets nnz to the last. */
static tamis_status take_offsets(const tamis_bounded_text *archive, sparse_archive *sparse, int64_t lines,
                                 tamis_index_type type, void **offsets) {
    archive_array *const indptr = &sparse->second;
    int64_t before = 0;
    TRY(load_array(archive, "indptr.npy", indptr));
    const bool taken = take_over(indptr, 'i', tamis_index_size(type), lines + 1, offsets);
    for (int64_t i = 0; i <= lines; i++) {
        TRY(take_index(indptr, i, before, i == 0 ? 0 : sparse->nnz, &before));
        if (!taken) tamis_index_store(*offsets, type, i, before);
    }
    sparse->nnz = before;
    close_array(indptr);
    return TAMIS_OK;
}

/* Reads indices below `size`. */
static tamis_status take_indices(const tamis_bounded_text *archive, const char *member, archive_array *array,
                                 int64_t count, int64_t size, tamis_index_type type, void **to) {
    TRY(load_array(archive, member, array));
    const bool taken = take_over(array, 'i', tamis_index_size(type), count, to);
    for (int64_t t = 0; t < count; t++) {
        int64_t index = 0;
        TRY(take_index(array, t, 0, size - 1, &index));
        if (!taken) tamis_index_store(*to, type, t, index);
    }
    close_array(array);
    return TAMIS_OK;
}

static tamis_status take_values(const tamis_reading *reading, sparse_archive *sparse, tamis_type type, void **to) {
    if (!*to) return TAMIS_OK;
    TRY(load_array(&reading->text, "data.npy", &sparse->data));
    if (reading->options.report) reading->options.report->inexact = tamis_npy_inexact(&sparse->data.npy, sparse->nnz);
    const bool taken = take_over(&sparse->data, 'f', tamis_type_size(type), sparse->nnz, to);
    for (int64_t t = 0; t < sparse->nnz && !taken; t++)
        tamis_element_store(*to, type, t, tamis_npy_real(&sparse->data.npy, t));
    close_array(&sparse->data);
    return TAMIS_OK;
}

static tamis_status read_csr(const tamis_reading *reading, sparse_archive *sparse, tamis_owned_sparse **matrix) {
    const tamis_bounded_text *const archive = &reading->text;
    tamis_rows list;
    TAMIS_SCOPE;
    TRY(look_at_arrays(archive, "indices.npy", "indptr.npy", sparse->rows, sparse));
    TRY(tamis_rows_create(reading, sparse->rows, sparse->nnz, tamis_needs_wide(sparse->cols),
                          tamis_wants_values(reading), &list));
    list.cols = sparse->cols;
    TRY(take_offsets(archive, sparse, sparse->rows, list.offset_type, &list.offsets));
    list.count = sparse->nnz;
    TRY(take_indices(archive, "indices.npy", &sparse->first, list.count, list.cols, list.index_type, &list.columns));
    TRY(take_values(reading, sparse, list.value_type, &list.values));
    return tamis_rows_finish(reading, &list, matrix);
}

static tamis_status create_entries(const tamis_reading *reading, const sparse_archive *sparse, tamis_entries *entries) {
    const bool wide = tamis_needs_wide(sparse->rows) || tamis_needs_wide(sparse->cols);
    TRY(tamis_entries_create(reading, sparse->nnz, wide, tamis_wants_values(reading), entries));
    entries->rows = sparse->rows;
    entries->cols = sparse->cols;
    entries->count = sparse->nnz;
    return TAMIS_OK;
}

static tamis_status read_coo(const tamis_reading *reading, sparse_archive *sparse, tamis_owned_sparse **matrix) {
    const tamis_bounded_text *const archive = &reading->text;
    tamis_entries entries;
    TAMIS_SCOPE;
    TRY(look_at_arrays(archive, "col.npy", "row.npy", -1, sparse));
    TRY(create_entries(reading, sparse, &entries));
    TRY(take_indices(archive, "row.npy", &sparse->second, sparse->nnz, sparse->rows, entries.index_type,
                     &entries.row_indices));
    TRY(take_indices(archive, "col.npy", &sparse->first, sparse->nnz, sparse->cols, entries.index_type,
                     &entries.columns));
    TRY(take_values(reading, sparse, entries.value_type, &entries.values));
    return tamis_entries_finish(reading, &entries, matrix);
}

/* Computes the column of each entry from the offsets of the columns. */
static tamis_status take_columns(const tamis_bounded_text *archive, sparse_archive *sparse, tamis_entries *entries) {
    tamis_status status = TAMIS_OK;
    void *memory = NULL;
    TRY(tamis_allocate(sparse->cols + 1, sizeof(int64_t), "the column offsets", &memory));
    TRY_GOTO(end, take_offsets(archive, sparse, sparse->cols, TAMIS_I64, &memory));
    const int64_t *const offsets = memory;
    for (int64_t column = 0; column < sparse->cols; column++)
        for (int64_t t = offsets[column]; t < offsets[column + 1]; t++)
            tamis_index_store(entries->columns, entries->index_type, t, column);
    entries->count = sparse->nnz;
end:
    tamis_release(memory);
    return status;
}

static tamis_status read_csc(const tamis_reading *reading, sparse_archive *sparse, tamis_owned_sparse **matrix) {
    const tamis_bounded_text *const archive = &reading->text;
    tamis_entries entries;
    TAMIS_SCOPE;
    TRY(look_at_arrays(archive, "indices.npy", "indptr.npy", sparse->cols, sparse));
    TRY(create_entries(reading, sparse, &entries));
    TRY(take_columns(archive, sparse, &entries));
    TRY(take_indices(archive, "indices.npy", &sparse->first, sparse->nnz, sparse->rows, entries.index_type,
                     &entries.row_indices));
    TRY(take_values(reading, sparse, entries.value_type, &entries.values));
    return tamis_entries_finish(reading, &entries, matrix);
}

static tamis_status read_npz(const tamis_reading *reading, tamis_owned_sparse **matrix) {
    static const struct {
        const char *name;
        tamis_status (*read)(const tamis_reading *, sparse_archive *, tamis_owned_sparse **);
    } formats[] = {{"csr", read_csr}, {"coo", read_coo}, {"csc", read_csc}};
    char format[8];
    sparse_archive sparse = {0};
    TRY(take_format(&reading->text, format));
    TRY(take_shape(&reading->text, &sparse));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format, formats[i].name) == 0) return formats[i].read(reading, &sparse, matrix);
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s: found the format '%s', expected csr, csc or coo",
                      reading->text.name, format);
}

const tamis_file_row tamis_npz_file = {
    .format = TAMIS_FILE_NPZ,
    .signature = true,
    .name = "npz",
    .endings = ".npz",
    .sniff = sniff_npz,
    .read = read_npz,
};
