/* Gradients for groups of devices, whose ranks have a part of the matrix and partial sums as outputs. */
#ifndef TAMIS_CORE_BACKWARD_H
#define TAMIS_CORE_BACKWARD_H

#include <tamis/gradient.h>

#include "core/execute.h"

/*
 * As tamis_gradient_create. With `partial`, the gradients of the matrices that have a row for each of S's columns (B
 * and D; with the transpose A) are partial sums that the caller completes: they are overwritten, whatever
 * execution.beta is, and have the accumulator type.
 */
tamis_status tamis_gradient_make(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                 bool partial, tamis_gradient **gradient);

/* The operands of a backward call. NULL: the operation has no such operand, or the output is not wanted. For SpMM, dE
   is dC. */
typedef struct tamis_back_views {
    const tamis_dense *dP, *dE, *A, *B, *D;
    const tamis_dense *dA, *dB, *dD, *dS;
    /* elements to skip before each, and before the execution's values */
    int64_t skip_e, skip_a, skip_b, skip_d, skip_dd, skip_values;
    bool checked; /* tamis_gradient_check_run has accepted them */
} tamis_back_views;

/* Requirements for the operands of a backward call with an op(S) of these sizes. */
typedef struct tamis_back_operands {
    tamis_operand a, b, d, e, da, db, dd;
} tamis_back_operands;
tamis_back_operands tamis_back_operands_of(const tamis_options *options, int64_t rows, int64_t cols,
                                           const tamis_back_views *views);

/* Checks that a gradient with these options differentiates this operation. */
tamis_status tamis_gradient_check_operation(const tamis_options *options, tamis_operation operation);

/* Runs a backward call; or only makes its checks. */
tamis_status tamis_gradient_run(const tamis_gradient *gradient, tamis_operation operation,
                                const tamis_back_views *views, const tamis_execution *execution);
tamis_status tamis_gradient_check_run(const tamis_gradient *gradient, tamis_operation operation,
                                      const tamis_back_views *views, const tamis_execution *execution);

#endif
