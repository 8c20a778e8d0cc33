/* The predicted time of gpu-nonzeros. */
#ifndef TAMIS_GPU_NONZEROS_PREDICTION_H
#define TAMIS_GPU_NONZEROS_PREDICTION_H

#include "gpu/method.h"

/* The slice of K that a launch of its SDDMM should take, by the cost model: K where rows have no more than so many
   bytes, since slices of fewer gain nothing, as measured. */
enum { TAMIS_GPU_NONZEROS_WIDEST = 2048 };
int64_t tamis_gpu_nonzeros_slice(const tamis_problem *problem);

tamis_gpu_predictor tamis_gpu_predict_nonzeros;

/* `relative` times what gpu-nonzeros takes. */
void tamis_gpu_predict_relative(const tamis_problem *problem, double relative, tamis_prediction *prediction);

#endif
