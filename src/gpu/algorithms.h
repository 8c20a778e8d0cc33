/* The algorithms of both GPU platforms. */
#ifndef TAMIS_GPU_ALGORITHMS_H
#define TAMIS_GPU_ALGORITHMS_H

#include "gpu/method.h"

/* Entries of tamis_backend (src/backend/backend.h). */
const tamis_algorithm *tamis_gpu_catalogue(int number);
bool tamis_gpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes);
void tamis_gpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction);
bool tamis_gpu_unlisted(const tamis_algorithm *algorithm, const tamis_problem *problem);
tamis_call_bytes tamis_gpu_call_bytes(const tamis_problem *problem);
tamis_status tamis_gpu_make(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prepared **prepared);

#endif
