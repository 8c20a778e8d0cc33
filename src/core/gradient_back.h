/* Backward calls as groups of devices make them. */
#ifndef TAMIS_CORE_GRADIENT_BACK_H
#define TAMIS_CORE_GRADIENT_BACK_H

#include <tamis/gradient.h>

#include "core/back_views.h"
#include "core/execute.h"

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
