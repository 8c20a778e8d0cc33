/* The cost model of the GPU: bytes moved over measured rates. */
#ifndef TAMIS_GPU_PREDICT_H
#define TAMIS_GPU_PREDICT_H

#include "backend/backend.h"

typedef void tamis_gpu_predictor(const tamis_problem *problem, tamis_prediction *prediction);

tamis_gpu_predictor tamis_gpu_predict_nonzeros, tamis_gpu_predict_panels, tamis_gpu_predict_tensor,
    tamis_gpu_predict_rows, tamis_gpu_predict_whole_rows, tamis_gpu_predict_two_steps;

/* `relative` times what gpu-nonzeros takes. */
void tamis_gpu_predict_relative(const tamis_problem *problem, double relative, tamis_prediction *prediction);

#endif
