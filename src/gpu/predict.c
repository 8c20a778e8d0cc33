/* The cost model of the GPU. */
#include "gpu/predict.h"

#include <stdio.h>

void tamis_gpu_predict_nonzeros(const tamis_problem *problem, tamis_prediction *prediction) {
    const double row = (double)(problem->inner + problem->width) * (double)tamis_type_size(problem->type);
    prediction->call_seconds = (double)problem->nnz * row / 4e12 + 4e-6;
    snprintf(prediction->reason, sizeof prediction->reason, "a row of B a nonzero");
}

void tamis_gpu_predict_panels(const tamis_problem *problem, tamis_prediction *prediction) {
    tamis_gpu_predict_nonzeros(problem, prediction);
    prediction->call_seconds *= 1.1;
}
