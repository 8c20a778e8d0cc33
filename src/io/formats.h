/* The table of file formats. */
#ifndef TAMIS_IO_FORMATS_H
#define TAMIS_IO_FORMATS_H

#include "base/private.h"
#include "io/format.h"

/* NULL for a number that is no format. */
TAMIS_PRIVATE_API const tamis_file_row *tamis_file_row_of(tamis_file_format format);

/* The numbers of formats are below it; 0 is TAMIS_FILE_AUTO. */
int tamis_file_format_count(void);

/* How the name of a file says what its rows and columns are; of documents some endings mean bags of words. */
TAMIS_PRIVATE_API tamis_file_shape tamis_file_shape_by_name(const char *path, bool documents);

/* The length of what remains of a name without the endings of formats and packers. */
TAMIS_PRIVATE_API size_t tamis_file_stem_length(const char *name);

/* Refuses to read as `format` what has the signature of another one. */
TAMIS_PRIVATE_API tamis_status tamis_check_signature(const tamis_bounded_text *text, tamis_file_format format);

/* The row of the file's format, NULL where neither the name nor the content tells. */
const tamis_file_row *tamis_find_format(const tamis_bounded_text *text);

#endif
