/* Shared by the host sides of the study's methods (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels). */
#include "base/status.h"
#include "lab/gpu/study/study.h"

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

tamis_status tamis_study_limit(tamis_prepared *p, int64_t held) {
    int64_t *const block = &p->parameters[TAMIS_STUDY_BLOCK], *const slice = &p->parameters[TAMIS_STUDY_SLICE];
    TRY(tamis_gpu_check_powers(p, TAMIS_STUDY_BLOCK, TAMIS_STUDY_BLOCK));
    while (*block > p->device->limits.group_most) *block /= 2;
    if (!p->method->defined[TAMIS_STUDY_SLICE]) return TAMIS_OK;
    const int64_t reals = p->device->limits.shared_most / (int64_t)tamis_gpu_real_size(p->problem.type);
    const int64_t most = tamis_gpu_min(reals - held * *block, tamis_gpu_round_up(p->problem.inner, SLICE_STEP));
    *slice = tamis_gpu_max(tamis_gpu_min(*slice, most) / SLICE_STEP * SLICE_STEP, SLICE_STEP);
    return TAMIS_OK;
}

tamis_status tamis_study_kernel(tamis_prepared *p, int number) {
    return tamis_gpu_prepare_kernel(p, number, p->parameters[TAMIS_STUDY_BLOCK], 1, NULL);
}

tamis_status tamis_study_prepare(tamis_prepared *p) {
    TRY(tamis_study_limit(p, 0));
    return p->problem.nnz > 0 ? tamis_study_kernel(p, 0) : TAMIS_OK;
}

tamis_gpu_launch tamis_study_grid(const tamis_prepared *p, int64_t groups_x, int64_t groups_y) {
    const int64_t *const most = p->device->limits.groups_most;
    return (tamis_gpu_launch){.groups = {tamis_gpu_min(groups_x, most[0]), tamis_gpu_min(groups_y, most[1])},
                              .group_size = (int)p->parameters[TAMIS_STUDY_BLOCK]};
}
