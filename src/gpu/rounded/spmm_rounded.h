/* Second step of gpu-rounded's SpMM, on the fp16 rows that halves.simt writes. */
#ifndef TAMIS_GPU_ROUNDED_SPMM_ROUNDED_H
#define TAMIS_GPU_ROUNDED_SPMM_ROUNDED_H

#include "gpu/method.h"

/* Its problem has fp16 operands, but values and results of fp32. Operands: `a` is the factor that undoes the scaling,
   `b` the rows of fp16, `d` B itself. */
extern const tamis_gpu_method tamis_gpu_spmm_rounded;

#endif
