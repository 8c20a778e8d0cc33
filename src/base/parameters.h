/* Parameters of an algorithm as text: "tile_columns=1024,block_rows=256". */
#ifndef TAMIS_BASE_PARAMETERS_H
#define TAMIS_BASE_PARAMETERS_H

#include <tamis/types.h>

typedef struct tamis_parameter {
    const char *name;
    int64_t least, most;
} tamis_parameter;

/* Sets values[i] for each name that occurs in the text, and leaves the others. An unknown name or a value out of its
   range is TAMIS_ERROR_ARGUMENT; the message names the algorithm, the parameter, the value and the range. */
tamis_status tamis_parameters_parse(const char *algorithm, const char *text, const tamis_parameter *parameters,
                                    int count, int64_t *values);

#endif
