/* gpu-tensor by cells: the host sides of sddmm_wgmma.cu, spmm_wgmma.cu and the fused kernels, in both forms
   (form.h). */
#ifndef TAMIS_GPU_TENSOR_WGMMA_H
#define TAMIS_GPU_TENSOR_WGMMA_H

#include "backend/gradient.h"
#include "gpu/method.h"
#include "gpu/tensor/cells.h"

/* State of a plan of SDDMM. */
typedef struct tamis_wgmma {
    tamis_gpu_tensor_cells cells;
    int64_t groups, sharing, shared_bytes; /* groups in all; resident per multiprocessor */
    int64_t runs;                          /* runs of cells */
    int group;                             /* threads */
} tamis_wgmma;

/* True if these kernels can take the problem: columns must be sorted within rows; for SpMM and fused also without
   duplicates, since a cell has one place for each. */
bool tamis_wgmma_takes(const tamis_problem *problem, const tamis_profile *profile);

/* The cells that SDDMM uses, and their predicted seconds. */
typedef struct tamis_wgmma_cells {
    int side; /* rows and columns of a cell */
    double count, seconds;
} tamis_wgmma_cells;
tamis_wgmma_cells tamis_wgmma_predict(const tamis_problem *problem);

/* Predicted seconds of a call: SpMM with `cells` cells of 128 x 128, and fused with cells of its own. */
double tamis_spmm_wgmma_seconds(const tamis_problem *problem, double cells);
double tamis_fused_wgmma_cells(const tamis_problem *problem); /* of 64 x 64, as gradients have them */
double tamis_gpu_text_ps(const tamis_problem *problem);       /* of a text's instructions in one of these; 0: none */
double tamis_fused_wgmma_seconds(const tamis_problem *problem, double *cells);

tamis_status tamis_wgmma_prepare(tamis_prepared *p, tamis_wgmma *state);
tamis_status tamis_wgmma_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                 const tamis_wgmma *state);

extern const tamis_gpu_method tamis_spmm_wgmma;

/* Fused with softmax, K and L up to 128 (by wgmma 256 for 16 bits without values of S); needs columns without
   duplicates. */
bool tamis_fused_wgmma_takes(const tamis_problem *problem);
extern const tamis_gpu_method tamis_fused_wgmma;

/* Gradients of fused with softmax, K and L up to 64 (128 for 16 bits); by wgmma twice that. */
extern const tamis_backward_functions tamis_backward_wgmma;

#endif
