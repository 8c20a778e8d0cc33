/*
 * Host side of the methods with one work-item per nonzero (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.1,
 * 5.3), and of the one that launches a kernel per row (s.5.6).
 */
#include "base/papers.h"
#include "base/status.h"
#include "lab/gpu/methods.h"
#include "lab/gpu/study/study.h"

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_groups(p, 0, tamis_study_blocks(p->problem.nnz, block));
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {groups, 1}, .group_size = (int)block};
    return tamis_gpu_launch_kernel(p, stream, 0, launch, &common, NULL);
}

/* ------------------------------------------------------------------------------------------ study-nnz-threads */

static tamis_status prepare_plain(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "KEEP_REALS", 0);
    return tamis_gpu_add_split_kernel(p, 0, "study_nnz_threads.simt", "nnz_threads", &definitions, 0);
}

static const tamis_gpu_method plain = {
    .name = "study-nnz-threads",
    .parameters = {{"block", 16, 1024}},
    .defaults = tamis_study_defaults,
    .prepare = prepare_plain,
    .execute = execute,
};

/* ------------------------------------------------------------------------------------------ study-nnz-threads-shared
 */

static tamis_status prepare_shared(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    tamis_study_slice(p, 0);
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "SLICE", p->parameters[TAMIS_STUDY_SLICE]);
    return tamis_gpu_add_split_kernel(p, 0, "study_nnz_shared.simt", "nnz_threads_shared", &definitions, 0);
}

static const tamis_gpu_method shared = {
    .name = "study-nnz-threads-shared",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_defaults,
    .prepare = prepare_shared,
    .execute = execute,
};

/* ------------------------------------------------------------------------------------------ study-child-kernels */

enum { WAVE = 1 };       /* the parameter: rows per launch of the parent */
enum { PENDING = 2048 }; /* default limit of a device's pending launches */

static void child_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    tamis_study_row_defaults(problem, device, parameters);
    parameters[WAVE] = PENDING;
}

static tamis_status prepare_children(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    return tamis_gpu_add_kernel(p, 0, "child_kernels.cu", "child_kernels", &definitions, 0);
}

/* A parent ends after its children. So waves do not overlap, and at most one wave's launches are pending. */
static tamis_status execute_children(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], wave = p->parameters[WAVE], rows = p->problem.rows;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    for (int64_t first = 0; first < rows; first += wave) {
        const int64_t last = first + wave < rows ? first + wave : rows;
        const tamis_gpu_launch launch = {.groups = {tamis_study_blocks(last - first, block), 1},
                                         .group_size = (int)block};
        TRY(tamis_gpu_launch_kernel(
            p, stream, 0, launch, &common,
            TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("first", first), tamis_gpu_integer("last", last))));
    }
    return TAMIS_OK;
}

static const tamis_gpu_method children = {
    .name = "study-child-kernels",
    .parameters = {{"block", 16, 1024}, {"wave", 1, 1 << 20}},
    .defaults = child_defaults,
    .prepare = prepare_children,
    .execute = execute_children,
};

const tamis_gpu_algorithm tamis_study_nnz_threads = {
    .common.description =
        {
            .name = "study-nnz-threads",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_STUDY ", s.5.1",
            .needs = "nothing",
            .when = "for comparison: one work-item per nonzero, its row searched for",
            .parameters = "block (16 to 1024): work-items",
        },
    .methods = {[TAMIS_OP_SDDMM] = &plain},
    .relative = 2.8,
};

const tamis_gpu_algorithm tamis_study_nnz_threads_shared = {
    .common.description =
        {
            .name = "study-nnz-threads-shared",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_STUDY ", s.5.3",
            .needs = "shared memory",
            .when = "for comparison: as study-nnz-threads, A shared where a group has one row",
            .parameters = "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
        },
    .methods = {[TAMIS_OP_SDDMM] = &shared},
    .relative = 2.8,
};

const tamis_gpu_algorithm tamis_study_child_kernels = {
    .common.description =
        {
            .name = "study-child-kernels",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_STUDY ", s.5.6",
            .needs = "CUDA; libcudadevrt.a beside NVRTC or in a toolkit",
            .when = "for comparison: a kernel launched for each row",
            .parameters = "block (16 to 1024): work-items; wave (1 to 1048576): rows per launch of the parent",
        },
    .methods = {[TAMIS_OP_SDDMM] = &children},
    .relative = 60,
    .cuda_only = "kernels that launch kernels exist on CUDA only, not in OpenCL 1.2",
};
