/* The cells of sddmm_panels.simt, built on the device. */
#ifndef TAMIS_GPU_PANELS_PANELS_BUILD_H
#define TAMIS_GPU_PANELS_PANELS_BUILD_H

#include "gpu/plan.h"

/* Whether gpu-panels, gpu-tensor can serve the problem; else the reason. */
bool tamis_gpu_panels_accept(const tamis_problem *problem, char *reason, size_t bytes);
bool tamis_gpu_tensor_accept(const tamis_problem *problem, char *reason, size_t bytes);

/* Nonzeros that a part should have: few enough for two or three rounds of parts on every multiprocessor, and enough to
   be worth gathering their rows of B. */
int64_t tamis_gpu_panel_part(int64_t nnz, int multiprocessors);

/* The cells, kept by a plan as its memories 0 .. 4: panel_rows and columns_most of at most 65536, part_most nonzeros a
   part. *parts is how many groups there are to launch. On failure nothing is left. */
tamis_status tamis_gpu_panels_keep(tamis_prepared *p, int64_t panel_rows, int64_t columns_most, int64_t part_most,
                                   int64_t *parts);

/* What a kernel over kept panels takes after the arguments of every SDDMM kernel. */
void tamis_gpu_panels_arguments(const tamis_prepared *p, int64_t panel_rows, tamis_gpu_call *call);

#endif
