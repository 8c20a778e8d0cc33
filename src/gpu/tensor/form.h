/*
 * The form of tensor-core products on each chip. The kernels of this folder are written once, for two forms
 * (dialect/tensor_cores.h); one table here says what a chip offers.
 */
#ifndef TAMIS_GPU_TENSOR_FORM_H
#define TAMIS_GPU_TENSOR_FORM_H

#include "gpu/method.h"

typedef enum tamis_tensor_form {
    TAMIS_TENSOR_NONE,
    TAMIS_TENSOR_MMA,  /* each warp multiplies its own rows: compute capability 8.0 and up */
    TAMIS_TENSOR_WGMMA /* a warpgroup of four warps: 9.0 only */
} tamis_tensor_form;

typedef struct tamis_tensor_chip {
    tamis_tensor_form form;
    int64_t shared; /* shared memory of a multiprocessor, for all its groups */
} tamis_tensor_chip;

/* By compute capability, 90 for 9.0. A chip newer than the table: as its last row. */
tamis_tensor_chip tamis_tensor_chip_of(int architecture);

/* The device's form; TAMIS_TENSOR_CORES=mma in the environment selects mma on a wgmma chip. */
tamis_tensor_chip tamis_tensor_of(const tamis_gpu_device *device);

/* Shared memory of a group if a multiprocessor has this many. */
int64_t tamis_tensor_group_bytes(tamis_tensor_chip chip, int64_t groups);

/* Seconds of `picoseconds` of wgmma work in the form of the problem's device. */
double tamis_tensor_issue(const tamis_problem *problem, double picoseconds);

/* Adds the definitions of tamis_gpu_define_problem, and the form. */
void tamis_tensor_define(tamis_gpu_definitions *definitions, const tamis_prepared *p, int group);

#endif
