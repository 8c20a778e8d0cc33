/* Methods prepared for one problem, and their execution. */
#ifndef TAMIS_GPU_PLAN_H
#define TAMIS_GPU_PLAN_H

#include "gpu/method.h"

/* Prepares a method: parameters, softmax, kernels, memory. */
tamis_status tamis_gpu_prepare(const tamis_gpu_method *method, const tamis_problem *problem, tamis_prepared **prepared);
/* Prepares two methods and compiles their kernels in parallel. On failure there is neither. */
tamis_status tamis_gpu_prepare_two(const tamis_gpu_method *const methods[2], const tamis_problem *const problems[2],
                                   tamis_prepared *prepared[2]);
void tamis_gpu_prepared_release(tamis_prepared *prepared);
void tamis_gpu_sizes(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
tamis_status tamis_gpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);

/* Upper bound of the memory of a single call by one of these algorithms; those that need preparation are skipped. */
tamis_call_bytes tamis_gpu_call_bytes_of(const tamis_gpu_algorithm *const *algorithms, size_t count,
                                         const tamis_problem *problem);

#endif
