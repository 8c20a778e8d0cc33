/* The table of file formats. */
#ifndef TAMIS_IO_FORMATS_H
#define TAMIS_IO_FORMATS_H

#include "base/private.h"
#include "io/formats/format.h"

/* Returns the table row of a format, NULL for an unknown number. */
TAMIS_PRIVATE_API const tamis_file_row *tamis_file_row_of(tamis_file_format format);

/* Returns the number of formats, including TAMIS_FILE_AUTO; format numbers are below it. */
int tamis_file_format_count(void);

/* Returns how a file's size is determined: by its name, or by the content of a regular file if the name is unknown or
   of a list. documents: rows are documents, and some endings mean bags of words. */
TAMIS_PRIVATE_API tamis_status tamis_file_shape_of(const char *path, bool documents, tamis_file_shape *shape);

/* Returns the length of a name without the endings of formats and packers. */
TAMIS_PRIVATE_API size_t tamis_file_stem_length(const char *name);

/* Refuses a file with the signature of another format than `format`. */
TAMIS_PRIVATE_API tamis_status tamis_check_signature(const tamis_bounded_text *text, tamis_file_format format);

/* Returns the table row of the file's format, NULL if neither the name nor the content decides. */
const tamis_file_row *tamis_find_format(const tamis_bounded_text *text);

#endif
