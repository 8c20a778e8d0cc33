/* Files of symmetric matrices, which store one triangle: is an entry also stored at its mirror image? */
#ifndef TAMIS_IO_TRIANGLES_H
#define TAMIS_IO_TRIANGLES_H

#include "io/rows/entries.h"
#include "io/rows/rows.h"

typedef struct tamis_triangle_entry {
    int64_t row, column, line;
    int64_t mirrored; /* how often it was met as the mirror image of another entry */
} tamis_triangle_entry;

/* Zero at first. The entries of the triangle in which the first one lies need no memory: most files have no others. */
typedef struct tamis_triangles {
    int side; /* of the first entry off the diagonal: -1 below it, 1 above it; 0: none was met yet */
    tamis_triangle_entry *others;
    int64_t count, room;
    const char *begin, *at; /* the line that was counted last, of the window that begins there */
    int64_t line;
} tamis_triangles;

/* Takes the file's entries in their order, with the line that `at` is in. */
tamis_status tamis_triangles_note(tamis_triangles *triangles, const tamis_bounded_text *text, const char *at,
                                  int64_t row, int64_t column);

/* Refuses what stands in both triangles. The entries are those of the file, or with their mirror images; the rows have
   them. */
tamis_status tamis_triangles_check_entries(tamis_triangles *triangles, const char *name, const tamis_entries *entries,
                                           bool with_images);
tamis_status tamis_triangles_check_rows(tamis_triangles *triangles, const char *name, const tamis_rows *rows);

void tamis_triangles_free(tamis_triangles *triangles);

#endif
