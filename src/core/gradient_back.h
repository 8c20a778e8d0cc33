/* Backward calls for groups of devices. */
#ifndef TAMIS_CORE_GRADIENT_BACK_H
#define TAMIS_CORE_GRADIENT_BACK_H

#include <tamis/gradient.h>

#include "core/back_views.h"
#include "core/execute.h"

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
