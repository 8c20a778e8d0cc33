/*
 * Host side of the methods with one work-item per nonzero (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.1,
 * 5.3), and of the one that launches a kernel per row (s.5.6).
 */
#include "base/status.h"
#include "lab/gpu/study/study.h"

static tamis_status prepare(tamis_prepared *p) {
    TRY(tamis_study_prepare(p));
    p->launch = tamis_study_grid(p, tamis_study_blocks(p, p->problem.nnz), 1);
    return TAMIS_OK;
}

const tamis_gpu_algorithm tamis_study_nnz_threads = {
    TAMIS_LAB_ROW(TAMIS_OP_SDDMM, "study-nnz-threads", PAPER_STUDY ", s.5.1", "nothing",
                  "for comparison: one work-item per nonzero, its row searched for", TAMIS_STUDY_BLOCK_TEXT,
                  .parameters = {{"block", 16, 1024}}, .defaults = tamis_study_defaults, .prepare = prepare,
                  .execute = tamis_gpu_execute_prepared,
                  .kernels = {{"study_nnz_threads.simt", "nnz_threads", true, {{"KEEP_REALS", 0}}}}),
    .relative = 2.8,
};

const tamis_gpu_algorithm tamis_study_nnz_threads_shared = {
    TAMIS_LAB_ROW(TAMIS_OP_SDDMM, "study-nnz-threads-shared", PAPER_STUDY ", s.5.3", "shared memory",
                  "for comparison: as study-nnz-threads, A shared where a group has one row", TAMIS_STUDY_SLICE_TEXT,
                  TAMIS_STUDY_SLICED, .defaults = tamis_study_defaults, .prepare = prepare,
                  .execute = tamis_gpu_execute_prepared,
                  .kernels = {{"study_nnz_shared.simt", "nnz_threads_shared", .split = true}}),
    .relative = 2.8,
};

/* ------------------------------------------------------------------------------------------ study-child-kernels */

enum { WAVE = 1 };       /* the parameter: rows per launch of the parent */
enum { PENDING = 2048 }; /* default limit of a device's pending launches */

static void child_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    tamis_study_row_defaults(problem, device, parameters);
    parameters[WAVE] = PENDING;
}

/* A parent ends after its children. So waves do not overlap, and at most one wave's launches are pending. */
static tamis_status execute_children(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], wave = p->parameters[WAVE], rows = p->problem.rows;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    for (int64_t first = 0; first < rows; first += wave) {
        const int64_t last = tamis_gpu_min(first + wave, rows);
        const tamis_gpu_launch launch = {.groups = {tamis_study_blocks(p, last - first), 1}, .group_size = (int)block};
        TRY(tamis_gpu_launch_kernel(
            p, stream, 0, launch, &common,
            TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("first", first), tamis_gpu_integer("last", last))));
    }
    return TAMIS_OK;
}

const tamis_gpu_algorithm tamis_study_child_kernels = {
    TAMIS_LAB_ROW(TAMIS_OP_SDDMM, "study-child-kernels", PAPER_STUDY ", s.5.6",
                  "CUDA; libcudadevrt.a beside NVRTC or in a toolkit", "for comparison: a kernel launched for each row",
                  TAMIS_STUDY_BLOCK_TEXT "; wave (1 to 1048576): rows per launch of the parent",
                  .parameters = {{"block", 16, 1024}, {"wave", 1, 1 << 20}}, .defaults = child_defaults,
                  .prepare = tamis_study_prepare, .execute = execute_children,
                  .kernels = {{"child_kernels.cu", "child_kernels"}}),
    .relative = 60,
    .cuda_only = "kernels that launch kernels exist on CUDA only, not in OpenCL 1.2",
};
