/* Parameters of an algorithm as text: "tile_columns=1024,block_rows=256". */
#ifndef TAMIS_BASE_PARAMETERS_H
#define TAMIS_BASE_PARAMETERS_H

#include <tamis/types.h>

typedef struct tamis_parameter {
    const char *name;
    int64_t least, most;
} tamis_parameter;

/* values[i] is set for each name that occurs in text and left as it is otherwise. A name that does not exist or a value
   out of its range is TAMIS_ERROR_ARGUMENT, naming the algorithm, the parameter, the value and the range. */
tamis_status tamis_parameters_parse(const char *algorithm, const char *text, const tamis_parameter *parameters,
                                    int count, int64_t *values);

#endif
