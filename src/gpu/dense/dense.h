/* The dense companions on a GPU. */
#ifndef TAMIS_GPU_DENSE_DENSE_H
#define TAMIS_GPU_DENSE_DENSE_H

#include "backend/dense.h"

extern const tamis_dense_functions tamis_gpu_dense_functions;

/* job->workspace gets X^T Y of each of job->chunks chunks of rows, or these are added to it; `inner`: columns of X. */
tamis_status tamis_gpu_dense_cross(const tamis_dense_job *job, bool first);

#endif
