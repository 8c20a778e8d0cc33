/* SDDMM with softmax: any method computes the scores; the kernels of softmax.simt normalise the rows. */
#ifndef TAMIS_GPU_SOFTMAX_SOFTMAX_H
#define TAMIS_GPU_SOFTMAX_SOFTMAX_H

#include "gpu/method.h"

tamis_status tamis_gpu_softmax_prepare(tamis_prepared *p);
/* Bytes of scratch per nonzero, in addition to the method's. */
int64_t tamis_gpu_softmax_entry_bytes(const tamis_problem *problem);
tamis_status tamis_gpu_softmax_execute(const tamis_prepared *p, void *stream, const tamis_operands *operands);

#endif
