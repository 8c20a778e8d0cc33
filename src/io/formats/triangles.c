/* Detects entries in both triangles of a symmetric file. Only entries on the other side of the diagonal than the first
   one are recorded, with their lines; at the end each is searched among the mirror images of the others. */
#include "io/formats/triangles.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

static int64_t line_of(tamis_triangles *triangles, const tamis_bounded_text *text, const char *at) {
    if (triangles->begin != text->begin || at < triangles->at) {
        triangles->begin = triangles->at = text->begin;
        triangles->line = text->lines_before + 1;
    }
    for (const char *p = triangles->at; p < at; p++) triangles->line += *p == '\n';
    triangles->at = at;
    return triangles->line;
}

tamis_status tamis_triangles_note(tamis_triangles *triangles, const tamis_bounded_text *text, const char *at,
                                  int64_t row, int64_t column) {
    enum { FIRST = 64 };
    const int side = row == column ? 0 : column < row ? -1 : 1;
    if (triangles->side == 0) triangles->side = side;
    if (side == 0 || side == triangles->side) return TAMIS_OK;
    if (triangles->count == triangles->room) {
        const int64_t room = triangles->room > 0 ? triangles->room * 2 : FIRST;
        void *others = triangles->others;
        TRY(tamis_reallocate(triangles->room, room, sizeof *triangles->others, "the other triangle", &others));
        triangles->others = others;
        triangles->room = room;
    }
    triangles->others[triangles->count++] =
        (tamis_triangle_entry){.row = row, .column = column, .line = line_of(triangles, text, at)};
    return TAMIS_OK;
}

static int compare(const void *left, const void *right) {
    const tamis_triangle_entry *const a = left, *const b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Finds the first recorded entry at that position; NULL if there is none. */
static tamis_triangle_entry *find(const tamis_triangles *triangles, int64_t row, int64_t column) {
    int64_t low = 0, high = triangles->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const tamis_triangle_entry *const at = &triangles->others[middle];
        if (at->row < row || (at->row == row && at->column < column))
            low = middle + 1;
        else
            high = middle;
    }
    tamis_triangle_entry *const found = low < triangles->count ? &triangles->others[low] : NULL;
    return found && found->row == row && found->column == column ? found : NULL;
}

static void meet(const tamis_triangles *triangles, int64_t row, int64_t column) {
    tamis_triangle_entry *const met = find(triangles, row, column);
    if (met) met->mirrored++;
}

/* Finds the first entry in the file that is stored in both triangles, and reports it. own: the recorded entries met
   themselves, too. */
static tamis_status judge(const tamis_triangles *triangles, const char *name, bool own) {
    const tamis_triangle_entry *bad = NULL;
    for (int64_t i = 0, next; i < triangles->count; i = next) {
        const tamis_triangle_entry *const at = &triangles->others[i];
        for (next = i + 1; next < triangles->count && triangles->others[next].row == at->row &&
                           triangles->others[next].column == at->column;)
            next++;
        if (at->mirrored > (own ? next - i : 0) && (!bad || at->line < bad->line)) bad = at;
    }
    if (!bad) return TAMIS_OK;
    return tamis_fail(
        TAMIS_ERROR_FORMAT,
        "%s:%lld: the entry (%lld, %lld) stands in the file of a symmetric matrix that also has (%lld, %lld): "
        "expected one of the two, or a matrix that is declared general",
        name, (long long)bad->line, (long long)bad->row + 1, (long long)bad->column + 1, (long long)bad->column + 1,
        (long long)bad->row + 1);
}

static void sort(const tamis_triangles *triangles) {
    qsort(triangles->others, (size_t)triangles->count, sizeof *triangles->others, compare);
}

tamis_status tamis_triangles_check_entries(tamis_triangles *triangles, const char *name, const tamis_entries *entries,
                                           bool with_images) {
    if (triangles->count == 0) return TAMIS_OK;
    sort(triangles);
    for (int64_t t = 0; t < entries->count; t++) {
        const int64_t row = tamis_index_load(entries->row_indices, entries->index_type, t);
        const int64_t column = tamis_index_load(entries->columns, entries->index_type, t);
        if (with_images)
            meet(triangles, row, column);
        else
            meet(triangles, column, row);
    }
    return judge(triangles, name, with_images);
}

tamis_status tamis_triangles_check_rows(tamis_triangles *triangles, const char *name, const tamis_rows *rows) {
    if (triangles->count == 0) return TAMIS_OK;
    sort(triangles);
    for (int64_t row = 0; row < rows->rows; row++)
        for (int64_t t = tamis_rows_offset(rows, row); t < tamis_rows_offset(rows, row + 1); t++)
            meet(triangles, row, tamis_index_load(rows->columns, rows->index_type, t));
    return judge(triangles, name, true);
}

void tamis_triangles_free(tamis_triangles *triangles) {
    tamis_release(triangles->others);
    *triangles = (tamis_triangles){0};
}
