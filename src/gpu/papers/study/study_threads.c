/*
 * Host side of the methods that give every nonzero a work-item by its number alone (Lin, Hsu, Chen: SpMM, SDDMM and
 * SDDMM_SpMM Kernels, s.5.1, 5.3), and of the one that starts a kernel a row (s.5.6).
 */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/papers/study/study.h"

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_groups(p, 0, tamis_study_blocks(p->problem.nnz, block));
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_sddmm_arguments(p, x, &call);
    return tamis_gpu_launch_kernel(p, stream, 0, groups, 1, (int)block, 0, &call);
}

/* ------------------------------------------------------------------------------------------ study-nnz-threads */

static tamis_status prepare_plain(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "KEEP_REALS", 0);
    return tamis_gpu_add_kernel(p, 0, "study_nnz_threads.simt", "nnz_threads", &definitions, 0);
}

const tamis_gpu_method tamis_gpu_nnz_threads = {
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
    return tamis_gpu_add_kernel(p, 0, "study_nnz_shared.simt", "nnz_threads_shared", &definitions, 0);
}

const tamis_gpu_method tamis_gpu_nnz_threads_shared = {
    .name = "study-nnz-threads-shared",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_defaults,
    .prepare = prepare_shared,
    .execute = execute,
};

/* ------------------------------------------------------------------------------------------ study-child-kernels */

enum { WAVE = 1 };       /* parameter: rows a launch of the parent */
enum { PENDING = 2048 }; /* launches that a device keeps pending unless it is told otherwise */

static void child_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    tamis_study_row_defaults(problem, device, parameters);
    parameters[WAVE] = PENDING;
}

static tamis_status prepare_children(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    return tamis_gpu_kernel_get(p->device, "child_kernels.cu", definitions.text, true, "child_kernels", 0,
                                &p->kernels[0]);
}

/* A parent ends when its children have: waves do not overlap, and so never have more than a wave's launches pending. */
static tamis_status execute_children(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], wave = p->parameters[WAVE], rows = p->problem.rows;
    for (int64_t first = 0; first < rows; first += wave) {
        const int64_t last = first + wave < rows ? first + wave : rows;
        tamis_gpu_call call = {.count = 0};
        tamis_gpu_sddmm_arguments(p, x, &call);
        tamis_gpu_add_int64(&call, first);
        tamis_gpu_add_int64(&call, last);
        TRY(tamis_gpu_launch_kernel(p, stream, 0, tamis_study_blocks(last - first, block), 1, (int)block, 0, &call));
    }
    return TAMIS_OK;
}

const tamis_gpu_method tamis_gpu_child_kernels = {
    .name = "study-child-kernels",
    .parameters = {{"block", 16, 1024}, {"wave", 1, 1 << 20}},
    .defaults = child_defaults,
    .prepare = prepare_children,
    .execute = execute_children,
};
