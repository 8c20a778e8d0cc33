/* gpu-tensor on compute capability 9.0: the host side of sddmm_wgmma.cu, split_rows.cu and cell_entries.cu. */
#ifndef TAMIS_GPU_TENSOR_WGMMA_H
#define TAMIS_GPU_TENSOR_WGMMA_H

#include "gpu/method.h"

/* What a plan knows. Memory is the plan's, of the layouts that cell_entries.cu tells. */
typedef struct tamis_wgmma {
    bool aligned; /* cells are 128 neighbouring columns, which no list names */
    int64_t cells, groups, shared_bytes;
    void *records, *row_offsets, *entries;
    void *lists; /* index: columns of the cells; NULL if aligned */
} tamis_wgmma;

/* Whether this kernel takes the problem, whose columns rise within rows or not. */
bool tamis_wgmma_takes(const tamis_problem *problem, bool sorted);

/* What a call takes for so many cells of 128 x 128. */
double tamis_wgmma_seconds(const tamis_problem *problem, double cells);

tamis_status tamis_wgmma_prepare(tamis_prepared *p, tamis_wgmma *state);
tamis_status tamis_wgmma_execute(const tamis_prepared *p, void *stream, const tamis_operands *x,
                                 const tamis_wgmma *state);

#endif
