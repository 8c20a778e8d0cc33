/* Gradients as groups of devices use them: a rank has a part of the matrix, and its outputs are parts of sums. */
#ifndef TAMIS_CORE_GRADIENT_H
#define TAMIS_CORE_GRADIENT_H

#include <tamis/gradient.h>

#include "core/back_views.h"
#include "core/execute.h"

/*
 * Does what tamis_gradient_create does. With `partial`, the gradients of the matrices that have a row for each of S's
 * columns (B and D; with the transpose A) are parts of sums that the caller completes: they are overwritten, whatever
 * execution.beta is, and have the type of sums.
 */
tamis_status tamis_gradient_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                 bool partial, tamis_gradient **gradient);

/* What is expected of the operands of a backward call with an op(S) of so many rows and columns. */
typedef struct tamis_back_operands {
    tamis_operand a, b, d, e, da, db, dd;
} tamis_back_operands;
tamis_back_operands tamis_back_operands_of(const tamis_options *options, int64_t rows, int64_t cols,
                                           const tamis_back_views *views);

/* Run a backward call; make its checks alone. */
tamis_status tamis_gradient_run(const tamis_gradient *gradient, tamis_operation operation,
                                const tamis_back_views *views, const tamis_execution *execution);
tamis_status tamis_gradient_check_run(const tamis_gradient *gradient, tamis_operation operation,
                                      const tamis_back_views *views, const tamis_execution *execution);

#endif
