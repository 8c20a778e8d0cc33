/* One table row a file format. */
#ifndef TAMIS_IO_FORMATS_H
#define TAMIS_IO_FORMATS_H

#include "io/reading.h"

typedef struct tamis_file_row {
    tamis_file_format format;
    bool signature; /* what `sniff` knows is of no other format */
    bool lines;     /* the reader takes one window of lines after the other */
    const char *name;
    const char *endings;
    tamis_sniffer *sniff;
    tamis_reader *read; /* NULL: no sparse matrices in it */
} tamis_file_row;

/* NULL for a number that is no format. */
const tamis_file_row *tamis_file_row_of(tamis_file_format format);

/* Refuses to read as `format` what has the signature of another one. */
TAMIS_PRIVATE_API tamis_status tamis_check_signature(const tamis_bounded_text *text, tamis_file_format format);

/* The row of the file's format, NULL where neither the name nor the content tells. */
const tamis_file_row *tamis_find_format(const tamis_bounded_text *text);

#endif
