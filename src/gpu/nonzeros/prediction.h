/* Predicted time of gpu-nonzeros. */
#ifndef TAMIS_GPU_NONZEROS_PREDICTION_H
#define TAMIS_GPU_NONZEROS_PREDICTION_H

#include "gpu/method.h"

/* Best slice of K for a launch of its SDDMM, by the cost model. Rows of up to TAMIS_GPU_NONZEROS_WIDEST bytes are not
   sliced, since measurements show no gain. */
enum { TAMIS_GPU_NONZEROS_WIDEST = 2048 };
int64_t tamis_gpu_nonzeros_slice(const tamis_problem *problem);

tamis_gpu_predictor tamis_gpu_predict_nonzeros;

/* Predicts `relative` times the time of gpu-nonzeros. */
void tamis_gpu_predict_relative(const tamis_problem *problem, double relative, tamis_prediction *prediction);

#endif
