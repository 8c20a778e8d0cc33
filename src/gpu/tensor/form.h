/*
 * Which chip multiplies cells how. The kernels of this folder are written once, for two forms of products
 * (dialect/tensor_cores.h); what a form needs of a chip is told here, in one table.
 */
#ifndef TAMIS_GPU_TENSOR_FORM_H
#define TAMIS_GPU_TENSOR_FORM_H

#include "gpu/method.h"

typedef enum tamis_tensor_form {
    TAMIS_TENSOR_NONE,
    TAMIS_TENSOR_MMA,  /* each warp its own rows: compute capability 8.0 and up */
    TAMIS_TENSOR_WGMMA /* four warps together: 9.0 alone */
} tamis_tensor_form;

typedef struct tamis_tensor_chip {
    tamis_tensor_form form;
    int64_t shared; /* bytes of a multiprocessor that its groups share */
} tamis_tensor_chip;

/* By compute capability, 90: 9.0. A chip that is newer than the table: mma, and the least that any has. */
tamis_tensor_chip tamis_tensor_chip_of(int architecture);

/* The device's; TAMIS_TENSOR_CORES=mma in the environment asks for that form where the chip has the other. */
tamis_tensor_chip tamis_tensor_of(const tamis_gpu_device *device);

/* Bytes for each of so many groups on a multiprocessor. */
int64_t tamis_tensor_group_bytes(tamis_tensor_chip chip, int64_t groups);

/* What `picoseconds` of a multiprocessor's work by wgmma take by the form of the problem's device. */
double tamis_tensor_issue(const tamis_problem *problem, double picoseconds);

/* The definitions of tamis_gpu_define_problem, and the form. */
void tamis_tensor_define(tamis_gpu_definitions *definitions, const tamis_prepared *p, int group);

#endif
