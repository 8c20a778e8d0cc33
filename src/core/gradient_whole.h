/* The gradient of attention in one piece, if the backend has it and it is predicted to be faster than the steps. */
#ifndef TAMIS_CORE_GRADIENT_WHOLE_H
#define TAMIS_CORE_GRADIENT_WHOLE_H

#include "backend/gradient.h"
#include "core/back_views.h"
#include "core/device.h"

/* Inputs of the choice: the CSR of op(S) and of its transpose, and the options with defaults filled in. */
typedef struct tamis_whole_request {
    const tamis_device *device;
    const tamis_options *options;
    const tamis_sparse *T, *U;
    bool has_values, partial;
    const char *algorithm; /* from the options, or NULL */
} tamis_whole_request;

/* Sets *whole to NULL if the gradient uses the steps: by name ("steps"), by prediction, or because nothing else is
   supported. */
tamis_status tamis_whole_gradient_make(const tamis_whole_request *request, tamis_prepared_backward **whole);

/* Runs a backward call of fused whose operands have been checked; `given` has the workspace. */
tamis_status tamis_whole_gradient_run(const tamis_device *device, const tamis_prepared_backward *whole,
                                      const tamis_back_views *views, const tamis_execution *given);

#endif
