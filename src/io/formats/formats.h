/* The table of file formats. */
#ifndef TAMIS_IO_FORMATS_H
#define TAMIS_IO_FORMATS_H

#include "base/private.h"
#include "io/formats/format.h"

/* Returns the row of a format, NULL for a number that is none. */
TAMIS_PRIVATE_API const tamis_file_row *tamis_file_row_of(tamis_file_format format);

/* Returns how many formats there are, with TAMIS_FILE_AUTO: their numbers are below it. */
int tamis_file_format_count(void);

/* Tells how a file says what its rows and columns are: by its name, and where that is of no format or of lists, by the
   content of a regular file. If rows are documents, some endings mean bags of words. */
TAMIS_PRIVATE_API tamis_status tamis_file_shape_of(const char *path, bool documents, tamis_file_shape *shape);

/* Returns the length of a name without the endings of formats and packers. */
TAMIS_PRIVATE_API size_t tamis_file_stem_length(const char *name);

/* Refuses to read as `format` what has the signature of another one. */
TAMIS_PRIVATE_API tamis_status tamis_check_signature(const tamis_bounded_text *text, tamis_file_format format);

/* Returns the row of the file's format, NULL if neither the name nor the content tells. */
const tamis_file_row *tamis_find_format(const tamis_bounded_text *text);

#endif
