/* In which form long_rows_kernels.h is compiled, and into how many parts rows are cut. */
#ifndef TAMIS_GPU_LONG_ROWS_FORM_H
#define TAMIS_GPU_LONG_ROWS_FORM_H

#include "gpu/method.h"

enum { TAMIS_LONG_ROWS_GROUP = 128, TAMIS_LONG_ROWS_PARTS = 1024 /* the most */ };

typedef struct tamis_long_rows_form {
    int64_t team, rows, positions, group; /* lanes of a row; rows that share columns; columns at once; work-items */
    int64_t unit;                         /* elements that a lane reads at once */
    int64_t inner_reals, width_reals;     /* that a lane has of a row of A and B, and of D */
} tamis_long_rows_form;

/* Whether registers hold rows of K and L numbers. */
bool tamis_gpu_long_rows_fits(tamis_type type, int64_t inner, int64_t width);

/* Sets what is 0 in the form, for `alike` rows with the same columns; reduces what is too much. `unit` divides K and L,
   or is the largest one. */
void tamis_gpu_long_rows_form(const tamis_gpu_device *device, tamis_type type, int64_t inner, int64_t width,
                              int64_t unit, int64_t alike, tamis_long_rows_form *form);

/* The definitions of the form: after those of types, group and team. */
void tamis_gpu_long_rows_define(tamis_gpu_definitions *definitions, const tamis_long_rows_form *form, int64_t inner,
                                int64_t width, bool exact);

/* Into how many parts the columns of each of `blocks` blocks (of all members) are cut, the longest one having
   `longest`: so many that the whole device is at work until the end. `even`: all have about as many. */
int64_t tamis_gpu_long_rows_parts(const tamis_gpu_device *device, const tamis_long_rows_form *form, tamis_type type,
                                  int64_t blocks, int64_t longest, bool even);

#endif
