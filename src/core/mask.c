/* Attention masks as patterns in device memory: checks, then the backend builds them. */
#include <tamis/mask.h>

#include "base/memory.h"
#include "base/reserved.h"
#include "base/status.h"
#include "core/device.h"
#include "core/unlisted.h"
#include "sparse/check.h"
#include "sparse/mask_runs.h"
#include "sparse/matrix.h"

static const int64_t most = TAMIS_SIZE_MOST;

/* ------------------------------------------------------------------------------------------ sizes */

static tamis_status check_ranges(const tamis_mask *m) {
    const tamis_range ranges[] = {{"rows", m->rows, 0, most},
                                  {"cols", m->cols, 0, most},
                                  {"offset", m->offset, -most, most},
                                  {"left", m->left, -1, most},
                                  {"right", m->right, -1, most},
                                  {"dilation", m->dilation, 1, most},
                                  {"every", m->every, 0, most},
                                  {"globals", m->globals, 0, most},
                                  {"global_count", m->global_count, 0, m->cols},
                                  {"block", m->block, m->blocks ? 1 : 0, most},
                                  {"members", m->members, 0, most},
                                  {"global_type", m->global_type, 0, TAMIS_I64},
                                  {"length_type", m->length_type, 0, TAMIS_I64}};
    TRY(tamis_ranges_check("mask", ranges, sizeof ranges / sizeof *ranges));
    if (m->global_count > 0 && !m->global_list)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "mask.global_list = NULL: expected %lld places, as many as global_count",
                          (long long)m->global_count);
    return TAMIS_OK;
}

static tamis_status check_blocks(const tamis_device *device, const tamis_mask *m) {
    const tamis_sparse *const b = m->blocks;
    if (!b) return TAMIS_OK;
    const int64_t rows = (m->rows + m->block - 1) / m->block, cols = (m->cols + m->block - 1) / m->block;
    TRY(tamis_sparse_check(b, "mask.blocks"));
    TRY(tamis_device_check_location(device, b->location, "mask.blocks"));
    if (b->format != TAMIS_CSR || b->offset_base != 0)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "mask.blocks is %s: expected a CSR whose offsets begin with 0",
                          b->format != TAMIS_CSR ? "COO" : "a slice of rows");
    if (b->rows == rows && b->cols == cols) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT,
                      "mask.blocks is %lld x %lld: expected %lld x %lld, the blocks of %lld that cover %lld x %lld",
                      (long long)b->rows, (long long)b->cols, (long long)rows, (long long)cols, (long long)m->block,
                      (long long)m->rows, (long long)m->cols);
}

/* Checks the mask, and sets rows and columns of the pattern. */
static tamis_status check_mask(const tamis_device *device, const void *stream, const tamis_mask *m, int64_t *rows,
                               int64_t *cols) {
    *rows = *cols = 0;
    TRY(tamis_device_check_stream(device, stream));
    if (!m) return tamis_fail(TAMIS_ERROR_ARGUMENT, "mask = NULL: expected a mask");
    TRY(TAMIS_RESERVED(m, "mask"));
    TRY(check_ranges(m));
    if (__builtin_mul_overflow(m->members, m->rows, rows) || __builtin_mul_overflow(m->members, m->cols, cols) ||
        *rows > most || *cols > most)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "mask.members = %lld of %lld x %lld: more than %lld rows or columns",
                          (long long)m->members, (long long)m->rows, (long long)m->cols, (long long)most);
    return check_blocks(device, m);
}

static tamis_status check_offsets(const tamis_mask *m, tamis_index_type type, const void *offsets) {
    if ((unsigned)type > TAMIS_I64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "offset_type = %d: expected 0 .. %d", (int)type, (int)TAMIS_I64);
    if (!offsets) return tamis_fail(TAMIS_ERROR_ARGUMENT, "offsets = NULL: expected members * rows + 1 of them");
    if (tamis_index_holds(type, m->cols)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW, "mask.cols = %lld: expected offsets of int64", (long long)m->cols);
}

/* If nobody asks for nnz, checks that the offset type can hold any possible nnz. */
static tamis_status check_bound(const tamis_mask *m, tamis_index_type type, int64_t rows) {
    int64_t cells;
    if (!__builtin_mul_overflow(rows, m->cols, &cells) && tamis_index_holds(type, cells)) return TAMIS_OK;
    if (type == TAMIS_I64) return TAMIS_OK; /* no memory holds more entries than int64 can count */
    return tamis_fail(TAMIS_ERROR_OVERFLOW,
                      "nnz = NULL: %lld x %lld may keep more than offsets of int32 hold; ask for nnz, or take int64",
                      (long long)rows, (long long)m->cols);
}

static tamis_status check_index(tamis_index_type type, int64_t cols) {
    if ((unsigned)type > TAMIS_I64)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "index_type = %d: expected 0 .. %d", (int)type, (int)TAMIS_I64);
    if (tamis_index_spans(type, cols)) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_OVERFLOW,
                      "mask: an index_type of %s cannot hold 0 .. %lld, of members * cols columns",
                      tamis_index_type_name(type), (long long)(cols - 1));
}

/* ------------------------------------------------------------------------------------------ what is in arrays */

/* A list of the mask, readable by the host: the list itself, or a copy. */
typedef struct list {
    const void *numbers;
    tamis_index_type type;
    void *copy;
} list;

static tamis_status bring(const tamis_device *device, void *stream, const void *from, tamis_index_type type,
                          int64_t count, const char *what, list *to) {
    const size_t size = tamis_index_size(type);
    *to = (list){.numbers = from, .type = type};
    if (count == 0) return TAMIS_OK;
    if (!from) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected %lld numbers", what, (long long)count);
    TRY(tamis_device_check_place(device, from, what));
    if (device->backend->location == TAMIS_HOST) return TAMIS_OK;
    TRY(tamis_allocate(count, size, what, &to->copy));
    to->numbers = to->copy;
    return device->backend->copy_out(device->handle, stream, to->copy, tamis_place_at(from, 0), (size_t)count * size);
}

/* Checks that the lengths of a mask are 0 .. last. */
static tamis_status check_lengths(const tamis_device *device, void *stream, const tamis_mask *m, const void *lengths,
                                  int64_t last, const char *name) {
    tamis_status status = TAMIS_OK;
    list x = {.copy = NULL};
    if (!lengths) return TAMIS_OK;
    TRY_GOTO(done, bring(device, stream, lengths, m->length_type, m->members, name, &x));
    for (int64_t b = 0; b < m->members && status == TAMIS_OK; b++) {
        const int64_t length = tamis_index_load(x.numbers, x.type, b);
        if (length < 0 || length > last)
            status = tamis_fail(TAMIS_ERROR_PATTERN, "%s[%lld] = %lld: expected 0 .. %lld", name, (long long)b,
                                (long long)length, (long long)last);
    }
done:
    tamis_release(x.copy);
    return status;
}

/* Checks that entries begin .. end - 1 are sorted and within 0 .. last. */
static tamis_status check_rising(const list *x, int64_t begin, int64_t end, int64_t last, const char *name) {
    for (int64_t t = begin; t < end; t++) {
        const int64_t now = tamis_index_load(x->numbers, x->type, t);
        if (now < 0 || now > last)
            return tamis_fail(TAMIS_ERROR_PATTERN, "%s[%lld] = %lld: expected 0 .. %lld", name, (long long)t,
                              (long long)now, (long long)last);
        const int64_t before = t > begin ? tamis_index_load(x->numbers, x->type, t - 1) : -1;
        if (now <= before)
            return tamis_fail(TAMIS_ERROR_PATTERN, "%s[%lld] = %lld after %lld: expected increasing numbers", name,
                              (long long)t, (long long)now, (long long)before);
    }
    return TAMIS_OK;
}

static tamis_status check_list(const tamis_device *device, void *stream, const tamis_mask *m) {
    tamis_status status = TAMIS_OK;
    list x = {.copy = NULL};
    TRY_GOTO(done, bring(device, stream, m->global_list, m->global_type, m->global_count, "mask.global_list", &x));
    TRY_GOTO(done, check_rising(&x, 0, m->global_count, m->cols - 1, "mask.global_list"));
done:
    tamis_release(x.copy);
    return status;
}

static tamis_status check_block_rows(const tamis_sparse *S, const list *offsets, const list *columns) {
    int64_t end = tamis_index_load(offsets->numbers, offsets->type, 0);
    if (end != 0) return tamis_fail(TAMIS_ERROR_PATTERN, "mask.blocks.offsets[0] = %lld: expected 0", (long long)end);
    for (int64_t i = 1; i <= S->rows; i++) {
        const int64_t begin = end, least = i < S->rows ? begin : S->nnz;
        end = tamis_index_load(offsets->numbers, offsets->type, i);
        if (end < least || end > S->nnz)
            return tamis_fail(TAMIS_ERROR_PATTERN, "mask.blocks.offsets[%lld] = %lld: expected %lld .. %lld",
                              (long long)i, (long long)end, (long long)least, (long long)S->nnz);
        TRY(check_rising(columns, begin, end, S->cols - 1, "mask.blocks.columns"));
    }
    return TAMIS_OK;
}

static tamis_status check_block_list(const tamis_device *device, void *stream, const tamis_sparse *S) {
    tamis_status status = TAMIS_OK;
    list offsets = {.copy = NULL}, columns = {.copy = NULL};
    if (!S) return TAMIS_OK;
    TRY_GOTO(done, bring(device, stream, S->offsets, S->offset_type, S->rows + 1, "mask.blocks.offsets", &offsets));
    TRY_GOTO(done, bring(device, stream, S->columns, S->index_type, S->nnz, "mask.blocks.columns", &columns));
    TRY_GOTO(done, check_block_rows(S, &offsets, &columns));
done:
    tamis_release(offsets.copy);
    tamis_release(columns.copy);
    return status;
}

static tamis_status check_arrays(const tamis_device *device, void *stream, const tamis_mask *m) {
    if (m->trust_input) return TAMIS_OK;
    TRY(check_lengths(device, stream, m, m->lengths, m->cols, "mask.lengths"));
    TRY(check_lengths(device, stream, m, m->row_lengths, m->rows, "mask.row_lengths"));
    TRY(check_list(device, stream, m));
    return check_block_list(device, stream, m->blocks);
}

/* ------------------------------------------------------------------------------------------ making */

tamis_status tamis_mask_offsets(tamis_device *device, void *stream, const tamis_mask *mask,
                                tamis_index_type offset_type, void *offsets, int64_t *nnz) {
    int64_t rows, cols;
    tamis_clear_error();
    TRY(check_mask(device, stream, mask, &rows, &cols));
    TRY(check_offsets(mask, offset_type, offsets));
    if (!nnz) TRY(check_bound(mask, offset_type, rows));
    TRY(check_arrays(device, stream, mask));
    return device->backend->mask_offsets(device->handle, stream, device->description.threads, mask, offset_type,
                                         offsets, nnz);
}

tamis_status tamis_mask_columns(tamis_device *device, void *stream, const tamis_mask *mask,
                                tamis_index_type offset_type, const void *offsets, tamis_index_type index_type,
                                void *columns) {
    int64_t rows, cols;
    tamis_clear_error();
    TRY(check_mask(device, stream, mask, &rows, &cols));
    TRY(check_offsets(mask, offset_type, offsets));
    TRY(check_index(index_type, cols));
    if (!columns) return tamis_fail(TAMIS_ERROR_ARGUMENT, "columns = NULL: expected an array of nnz");
    return device->backend->mask_columns(device->handle, stream, device->description.threads, mask, offset_type,
                                         offsets, index_type, columns);
}

/* Releases an array of such a matrix. */
static void release(const tamis_owned_sparse *matrix, void *memory) {
    const tamis_backend *const backend = matrix->owner;
    if (memory) backend->release_memory(matrix->device, TAMIS_ALL_STREAMS, memory);
}

static tamis_status make(tamis_device *device, void *stream, const tamis_mask *mask, tamis_owned_sparse *made) {
    const tamis_backend *const backend = device->backend;
    tamis_sparse *const view = &made->view;
    const int threads = device->description.threads;
    TRY(backend->allocate(device->handle, TAMIS_ALL_STREAMS,
                          tamis_bytes(view->rows + 1, tamis_index_size(view->offset_type)), "the offsets of a mask",
                          &made->offsets));
    view->offsets = made->offsets;
    TRY(backend->mask_offsets(device->handle, stream, threads, mask, view->offset_type, made->offsets, &view->nnz));
    if (view->nnz == 0) return TAMIS_OK;
    if (view->nnz > most)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "mask: %lld columns are kept, more than there is memory for",
                          (long long)view->nnz);
    TRY(backend->allocate(device->handle, TAMIS_ALL_STREAMS, tamis_bytes(view->nnz, tamis_index_size(view->index_type)),
                          "the columns of a mask", &made->columns));
    view->columns = made->columns;
    return backend->mask_columns(device->handle, stream, threads, mask, view->offset_type, made->offsets,
                                 view->index_type, made->columns);
}

tamis_status tamis_mask_create(tamis_device *device, void *stream, const tamis_mask *mask, tamis_index_type offset_type,
                               tamis_index_type index_type, tamis_owned_sparse **matrix) {
    tamis_status status = TAMIS_OK;
    int64_t rows, cols;
    tamis_owned_sparse *made = NULL;
    tamis_clear_error();
    if (!matrix) return tamis_fail(TAMIS_ERROR_ARGUMENT, "matrix = NULL: expected an address for the result");
    *matrix = NULL;
    TRY(check_mask(device, stream, mask, &rows, &cols));
    TRY(check_offsets(mask, offset_type, mask));
    TRY(check_index(index_type, cols));
    TRY(check_arrays(device, stream, mask));
    TRY(tamis_allocate_zeroed(1, sizeof *made, "a mask", (void **)&made));
    made->owner = device->backend;
    made->device = device->handle;
    made->release = release;
    made->view = (tamis_sparse){.format = TAMIS_CSR,
                                .location = device->backend->location,
                                .rows = rows,
                                .cols = cols,
                                .offset_type = offset_type,
                                .index_type = index_type};
    TRY_GOTO(failed, make(device, stream, mask, made));
    *matrix = made;
    return TAMIS_OK;
failed:
    tamis_owned_sparse_free(made);
    return status;
}

/* ------------------------------------------------------------------------------------------ patterns without a list */

tamis_status tamis_unlisted_check(const tamis_device *device, void *stream, const tamis_sparse *S, bool trusted) {
    int64_t rows, cols;
    tamis_mask mask = *S->mask;
    mask.trust_input |= trusted;
    TRY(check_mask(device, stream, &mask, &rows, &cols));
    if (S->offset_base != 0 || S->rows != rows || S->cols != cols)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "S is %s%lld x %lld without columns: expected its mask's %lld x %lld",
                          S->offset_base ? "a slice of rows, " : "", (long long)S->rows, (long long)S->cols,
                          (long long)rows, (long long)cols);
    return check_arrays(device, stream, &mask);
}

/* Where the first row is whose offset differs; -1: nowhere. */
static int64_t first_other(tamis_index_type type, int64_t rows, const void *a, const void *b) {
    for (int64_t i = 0; i <= rows; i++)
        if (tamis_index_load(a, type, i) != tamis_index_load(b, type, i)) return i;
    return -1;
}

tamis_status tamis_unlisted_check_offsets(const tamis_device *device, void *stream, const tamis_sparse *S) {
    tamis_status status = TAMIS_OK;
    const tamis_backend *const backend = device->backend;
    const size_t bytes = tamis_bytes(S->rows + 1, tamis_index_size(S->offset_type));
    void *counted = NULL, *both = NULL;
    int64_t nnz, other;
    TRY_GOTO(done, backend->allocate(device->handle, stream, bytes, "the offsets of a mask", &counted));
    TRY_GOTO(done, backend->mask_offsets(device->handle, stream, device->description.threads, S->mask, S->offset_type,
                                         counted, &nnz));
    if (nnz != S->nnz) {
        status =
            tamis_fail(TAMIS_ERROR_PATTERN, "S.nnz = %lld, but S.mask keeps %lld", (long long)S->nnz, (long long)nnz);
        goto done;
    }
    TRY_GOTO(done, tamis_allocate_zeroed(2, bytes, "the offsets of a mask", &both));
    TRY_GOTO(done, backend->copy_out(device->handle, stream, both, (tamis_place){counted, 0}, bytes));
    TRY_GOTO(done, backend->copy_out(device->handle, stream, (char *)both + bytes,
                                     (tamis_place){(void *)(uintptr_t)S->offsets, 0}, bytes));
    other = first_other(S->offset_type, S->rows, both, (char *)both + bytes);
    if (other >= 0)
        status = tamis_fail(TAMIS_ERROR_PATTERN, "S.offsets[%lld] = %lld: expected the %lld of S.mask",
                            (long long)other, (long long)tamis_index_load((char *)both + bytes, S->offset_type, other),
                            (long long)tamis_index_load(both, S->offset_type, other));
done:
    if (counted) backend->release_memory(device->handle, stream, counted);
    tamis_release(both);
    return status;
}

tamis_status tamis_unlisted_list(const tamis_device *device, void *stream, void *kept, int threads, tamis_sparse *S,
                                 void **columns) {
    const tamis_backend *const backend = device->backend;
    TRY(backend->allocate(device->handle, kept, tamis_bytes(S->nnz, tamis_index_size(S->index_type)),
                          "the columns of a mask", columns));
    TRY(backend->mask_columns(device->handle, stream, threads, S->mask, S->offset_type, S->offsets, S->index_type,
                              *columns));
    S->columns = *columns;
    return TAMIS_OK;
}
