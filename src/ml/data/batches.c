/*
 * Reads a file in mini-batches. Formats that list rows in order are read in bounded memory (io/rows/row_batches.h).
 * Other files are read whole and then sliced, without copies of columns and values.
 */
#include <tamis/data.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/text_buffer.h"
#include "io/rows/row_batches.h"

struct tamis_batches {
    int64_t rows; /* of a batch */
    char *path;
    bool streamed; /* else it is read whole */
    tamis_row_batches stream;

    tamis_owned_sparse *whole;
    int64_t next;     /* the first row not yet in a batch of the pass */
    int64_t *offsets; /* offsets of the current batch */
    int64_t room;
    tamis_sparse view;
};

static tamis_status open_batches(tamis_batches *batches, const char *path) {
    TRY(tamis_text_copy(path, "a file's name", &batches->path));
    TRY(tamis_row_batches_open(batches->path, &batches->stream, &batches->streamed));
    if (batches->streamed) return TAMIS_OK;
    tamis_read_options options = TAMIS_READ_OPTIONS_INIT;
    options.offset_type = TAMIS_I64;
    options.values = TAMIS_VALUES_ONES;
    return tamis_read_sparse(path, &options, &batches->whole);
}

static tamis_status next_of_whole(tamis_batches *batches, const tamis_sparse **batch) {
    const tamis_sparse *const S = tamis_owned_sparse_view(batches->whole);
    const int64_t left = S->rows - batches->next, rows = left < batches->rows ? left : batches->rows;
    const int64_t *const offsets = (const int64_t *)S->offsets + batches->next;
    if (rows > batches->room) {
        TRY(tamis_reallocate(0, rows + 1, sizeof *batches->offsets, "a batch's offsets", (void **)&batches->offsets));
        batches->room = rows;
    }
    *batch = rows > 0 ? &batches->view : NULL;
    batches->next = rows > 0 ? batches->next + rows : 0;
    if (rows == 0) return TAMIS_OK;
    for (int64_t i = 0; i <= rows; i++) batches->offsets[i] = offsets[i] - offsets[0];
    batches->view = *S;
    batches->view.rows = rows;
    batches->view.nnz = batches->offsets[rows];
    batches->view.offsets = batches->offsets;
    if (S->nnz == 0) return TAMIS_OK;
    batches->view.columns = (const int32_t *)S->columns + offsets[0];
    batches->view.values = (const float *)S->values + offsets[0];
    return TAMIS_OK;
}

/* ---- public */

tamis_status tamis_batches_open(const char *path, int64_t rows, tamis_batches **batches) {
    tamis_clear_error();
    if (!path) return tamis_fail(TAMIS_ERROR_ARGUMENT, "path = NULL: expected the name of a file");
    if (rows < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = %lld, expected 1 or more", (long long)rows);
    if (!batches) return tamis_fail(TAMIS_ERROR_ARGUMENT, "batches = NULL: expected an address for the batches");
    tamis_batches *made;
    TRY(tamis_allocate_zeroed(1, sizeof *made, "batches of a file", (void **)&made));
    made->rows = rows;
    const tamis_status status = open_batches(made, path);
    if (status != TAMIS_OK) {
        tamis_batches_close(made);
        return status;
    }
    tamis_clear_error(); /* errors from trying other formats */
    *batches = made;
    return TAMIS_OK;
}

void tamis_batches_close(tamis_batches *batches) {
    if (!batches) return;
    tamis_row_batches_close(&batches->stream);
    tamis_owned_sparse_free(batches->whole);
    tamis_release(batches->offsets);
    tamis_release(batches->path);
    tamis_release(batches);
}

int64_t tamis_batches_columns(const tamis_batches *batches) {
    if (!batches) return 0;
    return batches->streamed ? batches->stream.window.cols : tamis_owned_sparse_view(batches->whole)->cols;
}

tamis_status tamis_batches_next(void *batches, const tamis_sparse **batch) {
    tamis_clear_error();
    if (!batches) return tamis_fail(TAMIS_ERROR_ARGUMENT, "batches = NULL: expected batches of a file");
    if (!batch) return tamis_fail(TAMIS_ERROR_ARGUMENT, "batch = NULL: expected an address for the batch");
    tamis_batches *const opened = batches;
    return opened->streamed ? tamis_row_batches_next(&opened->stream, opened->rows, batch)
                            : next_of_whole(opened, batch);
}
