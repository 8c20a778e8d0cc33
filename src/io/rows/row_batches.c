/* Repeated passes over the rows of a file. */
#include "io/rows/row_batches.h"

#include <sys/stat.h>

#include "base/memory.h"
#include "io/formats/formats.h"
#include "sparse/order.h"

#ifndef TAMIS_READ_WINDOW
#define TAMIS_READ_WINDOW (2 << 20) /* the fuzz build makes it a few bytes */
#endif

static const tamis_progress silent = {.high = 1};

/* Removes the rows in memory, but keeps the arrays. */
static tamis_status start_batch(tamis_row_window *window) {
    tamis_rows *const list = &window->list;
    if (window->row_room == 0) {
        TRY(tamis_allocate(2, sizeof(int64_t), "a batch's offsets", &list->offsets));
        window->row_room = 1;
    }
    list->rows = list->count = 0;
    window->falls = false;
    tamis_rows_set_offset(list, 0, 0);
    return TAMIS_OK;
}

static tamis_status end_row(tamis_row_window *window) {
    tamis_rows *const list = &window->list;
    window->next++;
    if (++list->rows > window->row_room) {
        const int64_t room = 2 * list->rows;
        TRY(tamis_reallocate(window->row_room + 1, room + 1, sizeof(int64_t), "a batch's offsets", &list->offsets));
        window->row_room = room;
    }
    tamis_rows_set_offset(list, list->rows, list->count);
    return TAMIS_OK;
}

/* Goes back to the first row. */
static tamis_status begin_pass(tamis_row_batches *batches, bool rewind) {
    tamis_row_window *const window = &batches->window;
    if (rewind) TRY(tamis_input_rewind(&window->input));
    window->at = window->input.text.begin;
    window->next = window->taken = 0;
    window->ahead = -1;
    window->stated_rows = window->stated_count = -1;
    if (batches->format->begin_rows) TRY(batches->format->begin_rows(window));
    batches->begun = true;
    return TAMIS_OK;
}

/* Finds the number of columns by a pass that stores nothing, for formats that do not state it. */
static tamis_status find_columns(tamis_row_batches *batches) {
    tamis_row_window *const window = &batches->window;
    bool ended = false;
    while (!ended) {
        TRY(start_batch(window));
        TRY(batches->format->take_row(window, &ended));
    }
    window->cols = window->list.cols;
    return TAMIS_OK;
}

static tamis_status begin(tamis_row_batches *batches) {
    TRY(tamis_input_fill(&batches->window.input));
    TRY(begin_pass(batches, false));
    if (batches->window.cols < 0) TRY(find_columns(batches));
    batches->begun = false;
    return TAMIS_OK;
}

tamis_status tamis_row_batches_open(const char *path, tamis_row_batches *batches, bool *opened) {
    struct stat state;
    *batches = (tamis_row_batches){
        .window = {.cols = -1, .list = {.offset_type = TAMIS_I64, .index_type = TAMIS_I32, .value_type = TAMIS_F32}}};
    *opened = false;
    if (stat(path, &state) == 0 && !S_ISREG(state.st_mode)) return TAMIS_OK;
    tamis_input *const input = &batches->window.input;
    TRY(tamis_input_open_again(path, TAMIS_READ_WINDOW, &silent, input));
    batches->format = tamis_find_format(&input->text);
    *opened = batches->format && batches->format->take_row;
    tamis_status status = *opened ? tamis_check_signature(&input->text, batches->format->format) : TAMIS_OK;
    if (status == TAMIS_OK && *opened) status = begin(batches);
    if (status != TAMIS_OK || !*opened) tamis_row_batches_close(batches);
    return status;
}

void tamis_row_batches_close(tamis_row_batches *batches) {
    tamis_input_close(&batches->window.input);
    tamis_rows_free(&batches->window.list);
    *batches = (tamis_row_batches){0};
}

static tamis_status take_rows(tamis_row_batches *batches, int64_t most) {
    tamis_row_window *const window = &batches->window;
    tamis_rows *const list = &window->list;
    TRY(start_batch(window));
    while (list->rows < most) {
        bool ended = false;
        TRY(batches->format->take_row(window, &ended));
        if (ended) break;
        TRY(end_row(window));
    }
    list->cols = window->cols;
    batches->view = tamis_rows_view(list);
    return window->falls ? tamis_sort_rows(&batches->view, 1, &(tamis_reordered){list->columns, list->values, NULL})
                         : TAMIS_OK;
}

tamis_status tamis_row_batches_next(tamis_row_batches *batches, int64_t most, const tamis_sparse **batch) {
    tamis_status status = batches->begun ? TAMIS_OK : begin_pass(batches, true);
    if (status == TAMIS_OK) status = take_rows(batches, most);
    batches->begun = status == TAMIS_OK && batches->view.rows > 0;
    *batch = batches->begun ? &batches->view : NULL;
    return status;
}
