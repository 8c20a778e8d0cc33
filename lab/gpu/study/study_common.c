/* Shared by the host sides of the study's methods (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels). */
#include "lab/gpu/study/study.h"

#include "base/status.h"

enum { USUAL_BLOCK = 128, LEAST_BLOCK = 32, CPU_BLOCK = 64, USUAL_SLICE = 1024, SLICE_STEP = 8 };

void tamis_study_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)problem;
    parameters[TAMIS_STUDY_BLOCK] = device->limits.is_cpu ? CPU_BLOCK : USUAL_BLOCK;
    parameters[TAMIS_STUDY_SLICE] = USUAL_SLICE;
}

/* Blocks are no wider than the mean row, to save padding, but at least a warp. */
void tamis_study_row_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    int64_t block = LEAST_BLOCK;
    tamis_study_defaults(problem, device, parameters);
    while (block < parameters[TAMIS_STUDY_BLOCK] && (double)block < problem->evidence->profile.mean) block *= 2;
    parameters[TAMIS_STUDY_BLOCK] = block;
}

tamis_status tamis_study_block(tamis_prepared *p) {
    int64_t *const block = &p->parameters[TAMIS_STUDY_BLOCK];
    TRY(tamis_gpu_check_powers(p, TAMIS_STUDY_BLOCK, TAMIS_STUDY_BLOCK));
    while (*block > p->device->limits.group_most) *block /= 2;
    return TAMIS_OK;
}

void tamis_study_slice(tamis_prepared *p, int64_t held) {
    int64_t *const slice = &p->parameters[TAMIS_STUDY_SLICE];
    const int64_t reals = p->device->limits.shared_most / (int64_t)tamis_gpu_real_size(p->problem.type);
    const int64_t room = reals - held * p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t whole = tamis_study_blocks(p->problem.inner, SLICE_STEP) * SLICE_STEP;
    if (*slice > room) *slice = room;
    if (*slice > whole) *slice = whole;
    *slice = *slice / SLICE_STEP * SLICE_STEP;
    if (*slice < SLICE_STEP) *slice = SLICE_STEP;
}

void tamis_study_define(tamis_gpu_definitions *definitions, const tamis_prepared *p) {
    tamis_gpu_define_problem(definitions, p, (int)p->parameters[TAMIS_STUDY_BLOCK], 1);
}

int64_t tamis_study_groups(const tamis_prepared *p, int axis, int64_t count) {
    const int64_t most = p->device->limits.groups_most[axis];
    return count < most ? count : most;
}
