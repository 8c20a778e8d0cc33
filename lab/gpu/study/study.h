/*
 * Shared by the host sides of the study's methods (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels): their block and
 * slice parameters, and grids that fit any launch.
 */
#ifndef TAMIS_LAB_GPU_STUDY_STUDY_H
#define TAMIS_LAB_GPU_STUDY_STUDY_H

#include "gpu/method.h"

/* Parameters by number: `block`, the work-items of a group, and `slice`, the reals of a row of A in shared memory. */
enum { TAMIS_STUDY_BLOCK, TAMIS_STUDY_SLICE };

/* Sets the defaults: `block` is 128, or, for groups that stay in one row, as wide as the rows of S. */
void tamis_study_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);
void tamis_study_row_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);

/* Limit the parameters to what the device and the problem allow. `held`: reals of shared memory per work-item in
   addition to the slice. Call tamis_study_slice after tamis_study_block. */
tamis_status tamis_study_block(tamis_prepared *p);
void tamis_study_slice(tamis_prepared *p, int64_t held);

/* Adds the definitions of all kernels of the study. A team is one work-item here. */
void tamis_study_define(tamis_gpu_definitions *definitions, const tamis_prepared *p);

/* Groups along an axis (0: x, 1: y) for `count`; kernels stride over what exceeds a launch. */
int64_t tamis_study_groups(const tamis_prepared *p, int axis, int64_t count);

static inline int64_t tamis_study_blocks(int64_t count, int64_t block) { return count / block + (count % block != 0); }

#endif
