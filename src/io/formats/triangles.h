/* Detects entries of symmetric files that are stored in both triangles; such files must store one triangle. */
#ifndef TAMIS_IO_TRIANGLES_H
#define TAMIS_IO_TRIANGLES_H

#include "io/rows/entries.h"
#include "io/rows/rows.h"

typedef struct tamis_triangle_entry {
    int64_t row, column, line;
    int64_t mirrored; /* number of entries whose mirror image it is */
} tamis_triangle_entry;

/* Initialised with zeros. Stores only entries outside the triangle of the first entry: most files have none. */
typedef struct tamis_triangles {
    int side; /* triangle of the first off-diagonal entry: -1 lower, 1 upper; 0: none met yet */
    tamis_triangle_entry *others;
    int64_t count, room;
    const char *begin, *at; /* begin of the window, and the position up to which its lines are counted */
    int64_t line;
} tamis_triangles;

/* Records an entry of the file, in file order; `at` points into its line. */
tamis_status tamis_triangles_note(tamis_triangles *triangles, const tamis_bounded_text *text, const char *at,
                                  int64_t row, int64_t column);

/* Refuse entries that are stored in both triangles. with_images: `entries` includes the mirrored entries; `rows` always
   does. */
tamis_status tamis_triangles_check_entries(tamis_triangles *triangles, const char *name, const tamis_entries *entries,
                                           bool with_images);
tamis_status tamis_triangles_check_rows(tamis_triangles *triangles, const char *name, const tamis_rows *rows);

void tamis_triangles_free(tamis_triangles *triangles);

#endif
