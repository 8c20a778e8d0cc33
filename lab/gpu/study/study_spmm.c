/*
 * Host side of study_spmm.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.4), and of the two launches of
 * study-fused-back-to-back (s.6.1).
 */
#include "base/status.h"
#include "lab/gpu/study/study.h"

enum { SPMM, SAMPLE, SOFTMAX }; /* kernels */

/* A tile is as wide as C, from a warp to 128. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    int64_t block = 32;
    tamis_study_defaults(problem, device, parameters);
    while (block < parameters[TAMIS_STUDY_BLOCK] && block < problem->width) block *= 2;
    parameters[TAMIS_STUDY_BLOCK] = block;
}

/* `swapped`: rows are along x of the grid. */
static tamis_status prepare_spmm(tamis_prepared *p, bool swapped) {
    const int64_t rows = p->problem.rows;
    TRY(tamis_study_limit(p, 0));
    const int64_t tiles = tamis_study_blocks(p, p->problem.width);
    p->launch = tamis_study_grid(p, swapped ? rows : tiles, swapped ? tiles : rows);
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("groups_y", p->launch.groups[1])));
    return rows == 0 || p->problem.width == 0 ? TAMIS_OK : tamis_study_kernel(p, SPMM);
}

static tamis_status prepare(tamis_prepared *p) { return prepare_spmm(p, false); }
static tamis_status prepare_swapped(tamis_prepared *p) { return prepare_spmm(p, true); }

/* The row of an SpMM by a kernel of study_spmm.simt, with or without the axes swapped. */
#define SPMM_ROW(name, section, needs, when, kernel, swapped, prepare_)                                                \
    TAMIS_LAB_ROW(TAMIS_OP_SPMM, name, PAPER_STUDY section, needs, when, TAMIS_STUDY_BLOCK_TEXT,                       \
                  .parameters = {{"block", 16, 1024}}, .defaults = defaults, .prepare = prepare_,                      \
                  .execute = tamis_gpu_execute_prepared,                                                               \
                  .kernels = {{"study_spmm.simt", kernel, false, {{"SWAPPED", swapped}, {"WEIGHTS_REAL", 0}}}})

const tamis_gpu_algorithm tamis_study_spmm_row = {
    SPMM_ROW("study-spmm-row", ", s.4.1", "nothing", "for comparison: one work-item per element of C", "spmm_row", 0,
             prepare),
    .relative = 2,
};

const tamis_gpu_algorithm tamis_study_spmm_shared = {
    SPMM_ROW("study-spmm-shared", ", s.4.2", "shared memory",
             "for comparison: as study-spmm-row, the row of S in shared memory", "spmm_shared", 0, prepare),
    .relative = 1.4,
};

const tamis_gpu_algorithm tamis_study_spmm_shared_swapped = {
    SPMM_ROW("study-spmm-shared-swapped", ", s.4.3", "shared memory",
             "for comparison: as study-spmm-shared, the grid's axes swapped", "spmm_shared", 1, prepare_swapped),
    .relative = 1.5,
};

/* ------------------------------------------------------------------------------------------ fused, two launches */

/* Scratch: the samples, as reals. */
static tamis_status prepare_fused(tamis_prepared *p) {
    TRY(prepare_spmm(p, true));
    p->scratch_bytes = tamis_gpu_sample_bytes(&p->problem);
    if (p->scratch_bytes == 0 || p->problem.width == 0) return TAMIS_OK;
    TRY(tamis_study_kernel(p, SAMPLE));
    return p->problem.edge == TAMIS_EDGE_SOFTMAX ? tamis_study_kernel(p, SOFTMAX) : TAMIS_OK;
}

static tamis_status execute_fused(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_gpu_common common = tamis_gpu_common_of(p, x), samples = common;
    const tamis_gpu_launch over_samples = tamis_study_grid(p, tamis_study_blocks(p, p->problem.nnz), 1);
    samples.out = common.values = x->scratch;
    samples.alpha = 1;
    samples.beta = 0;
    common.b = x->d.at;
    common.b_stride = x->d.stride;
    if (p->problem.nnz > 0) TRY(tamis_gpu_launch_kernel(p, stream, SAMPLE, over_samples, &samples, NULL));
    if (p->problem.nnz > 0 && p->problem.edge == TAMIS_EDGE_SOFTMAX)
        TRY(tamis_gpu_launch_kernel(p, stream, SOFTMAX, tamis_study_grid(p, p->problem.rows, 1), &common,
                                    TAMIS_GPU_ARGUMENTS(tamis_gpu_place("scores", x->scratch))));
    return tamis_gpu_launch_prepared(p, stream, &common, NULL);
}

const tamis_gpu_algorithm tamis_study_fused_back_to_back = {
    TAMIS_LAB_ROW(TAMIS_OP_FUSED, "study-fused-back-to-back", PAPER_STUDY ", s.6.1", "scratch for the sampled values",
                  "for comparison: the two operations, one after the other", TAMIS_STUDY_BLOCK_TEXT,
                  .parameters = {{"block", 16, 1024}}, .defaults = defaults, .prepare = prepare_fused,
                  .execute = execute_fused,
                  .kernels = {[SPMM] = {"study_spmm.simt", "spmm_shared", false, {{"SWAPPED", 1}, {"WEIGHTS_REAL", 1}}},
                              [SAMPLE] = {"study_nnz_threads.simt", "nnz_threads", true, {{"KEEP_REALS", 1}}},
                              [SOFTMAX] = {"study_row_softmax.simt", "row_softmax"}}),
    .relative = 1.7,
};
