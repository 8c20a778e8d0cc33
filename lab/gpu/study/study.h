/*
 * Shared by the host sides of the study's methods (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels): their block and
 * slice parameters, and grids that fit any launch.
 */
#ifndef TAMIS_LAB_GPU_STUDY_STUDY_H
#define TAMIS_LAB_GPU_STUDY_STUDY_H

#include "lab/gpu/methods.h"

/* Parameters by number: `block`, the work-items of a group, and `slice`, the reals of a row of A in shared memory. */
enum { TAMIS_STUDY_BLOCK, TAMIS_STUDY_SLICE };
#define TAMIS_STUDY_BLOCK_TEXT "block (16 to 1024): work-items"
#define TAMIS_STUDY_SLICE_TEXT TAMIS_STUDY_BLOCK_TEXT "; slice (8 to 4096): elements of A in shared memory"

/* Fields of methods with a slice. */
#define TAMIS_STUDY_SLICED                                                                                             \
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}}, .defined = {[TAMIS_STUDY_SLICE] = "SLICE"}

/* Sets the defaults: `block` is 128, or, for groups that stay in one row, as wide as the rows of S. */
void tamis_study_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);
void tamis_study_row_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);

/* Limits the parameters to what the device and the problem allow. `held`: reals of shared memory per work-item in
   addition to the slice. */
tamis_status tamis_study_limit(tamis_prepared *p, int64_t held);

/* Adds kernel `number` of the method. A team is one work-item here. */
tamis_status tamis_study_kernel(tamis_prepared *p, int number);

/* Limits the parameters, and adds kernel 0 of a problem with nonzeros. */
tamis_status tamis_study_prepare(tamis_prepared *p);

/* Groups of `block` along x and y; kernels stride over what exceeds a launch. */
tamis_gpu_launch tamis_study_grid(const tamis_prepared *p, int64_t groups_x, int64_t groups_y);

/* Blocks for `count` work-items. */
static inline int64_t tamis_study_blocks(const tamis_prepared *p, int64_t count) {
    return tamis_gpu_ceiling(count, p->parameters[TAMIS_STUDY_BLOCK]);
}

#endif
