/* Methods prepared for one problem, and their execution. */
#ifndef TAMIS_GPU_PLAN_H
#define TAMIS_GPU_PLAN_H

#include "gpu/method.h"

/* The method made ready: parameters, softmax, kernels, memory. */
tamis_status tamis_gpu_prepare(const tamis_gpu_method *method, const tamis_problem *problem, tamis_prepared **prepared);
/* Two methods at once: what both compile is compiled side by side. If it fails, there is neither. */
tamis_status tamis_gpu_prepare_two(const tamis_gpu_method *const methods[2], const tamis_problem *const problems[2],
                                   tamis_prepared *prepared[2]);
void tamis_gpu_prepared_release(tamis_prepared *prepared);
void tamis_gpu_sizes(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
tamis_status tamis_gpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);

/* The most that a single call by one of these algorithms takes; those that need preparation are passed over. */
tamis_call_bytes tamis_gpu_call_bytes_of(const tamis_gpu_algorithm *const *algorithms, size_t count,
                                         const tamis_problem *problem);

#endif
