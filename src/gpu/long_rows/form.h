/* The constants that long_rows_kernels.h is compiled with, and the number of parts of a row. */
#ifndef TAMIS_GPU_LONG_ROWS_FORM_H
#define TAMIS_GPU_LONG_ROWS_FORM_H

#include "gpu/method.h"

enum { TAMIS_LONG_ROWS_GROUP = 128, TAMIS_LONG_ROWS_PARTS = 1024 /* the most */ };

typedef struct tamis_long_rows_form {
    int64_t team, rows, positions, group; /* lanes of a row; rows that share columns; columns at once; work-items */
    int64_t unit;                         /* elements of a vector load */
    int64_t inner_reals, width_reals;     /* a lane's reals of a row of A and B, and of D */
} tamis_long_rows_form;

/* True if registers hold rows of K and L numbers. */
bool tamis_gpu_long_rows_fits(tamis_type type, int64_t inner, int64_t width);

/* Fills the members that are 0, for `alike` rows with the same columns, and reduces those that are too large. `unit`
   divides K and L, or is the largest one. */
void tamis_gpu_long_rows_form(const tamis_gpu_device *device, tamis_type type, int64_t inner, int64_t width,
                              int64_t unit, int64_t alike, tamis_long_rows_form *form);

/* Adds the definitions of the form; call it after the definitions of types, group and team. */
void tamis_gpu_long_rows_define(tamis_gpu_definitions *definitions, const tamis_long_rows_form *form, int64_t inner,
                                int64_t width, bool exact);

/* Number of parts for the columns of each of `blocks` blocks (of all members); the longest has `longest` columns.
   Chosen so that the whole device stays busy until the end. `even`: all blocks have about as many. */
int64_t tamis_gpu_long_rows_parts(const tamis_gpu_device *device, const tamis_long_rows_form *form, tamis_type type,
                                  int64_t blocks, int64_t longest, bool even);

#endif
