/* Moves a window of rows through a file, and allocates room for their entries. */
#include "io/rows/row_window.h"

#include "base/memory.h"

tamis_status tamis_row_window_line(tamis_row_window *window, const char **line) {
    tamis_input *const input = &window->input;
    for (;;) {
        window->at = tamis_skip_comments(&input->text, window->at, "");
        *line = window->at < input->text.end ? window->at : NULL;
        if (*line || input->ended) return TAMIS_OK;
        TRY(tamis_input_next(input));
        window->at = input->text.begin;
    }
}

tamis_status tamis_row_window_reserve(tamis_row_window *window, int64_t more) {
    enum { FIRST = 4096 };
    tamis_rows *const list = &window->list;
    if (more <= window->entry_room - list->count) return TAMIS_OK;
    int64_t room = window->entry_room > 0 ? 2 * window->entry_room : FIRST;
    if (room - list->count < more) room = list->count + more;
    TRY(tamis_reallocate(window->entry_room, room, sizeof(int32_t), "a batch's columns", &list->columns));
    /* after an error arrays may be larger than the recorded room, but never smaller */
    TRY(tamis_reallocate(window->entry_room, room, sizeof(float), "a batch's values", &list->values));
    window->entry_room = room;
    return TAMIS_OK;
}

int64_t tamis_row_window_column_most(const tamis_row_window *window) {
    return window->cols >= 0 ? window->cols - 1 : INT32_MAX;
}
