/*
 * Host side of study_spmm.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.4), and of the two launches of
 * study-fused-back-to-back (s.6.1).
 */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/papers/study/study.h"

enum { SPMM, SAMPLE, SOFTMAX }; /* kernels */
enum { SWAPPED };               /* number: whether rows lie along x of the grid */

/* A tile as wide as C, from a warp to 128. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    int64_t block = 32;
    tamis_study_defaults(problem, device, parameters);
    while (block < parameters[TAMIS_STUDY_BLOCK] && block < problem->width) block *= 2;
    parameters[TAMIS_STUDY_BLOCK] = block;
}

static tamis_status add_spmm(tamis_prepared *p, const char *kernel, bool swapped, bool samples) {
    tamis_gpu_definitions definitions = {.used = 0};
    p->numbers[SWAPPED] = swapped;
    tamis_gpu_define_problem(&definitions, p, (int)p->parameters[TAMIS_STUDY_BLOCK], 1);
    tamis_gpu_define(&definitions, "SWAPPED", swapped);
    tamis_gpu_define(&definitions, "WEIGHTS_REAL", samples);
    return tamis_gpu_add_kernel(p, SPMM, "study_spmm.simt", kernel, &definitions, 0);
}

/* out = alpha * (weights on S) dense + beta * out */
static tamis_status multiply(const tamis_prepared *p, void *stream, const tamis_operands *x, tamis_place weights,
                             tamis_place dense, int64_t dense_stride) {
    const tamis_problem *const problem = &p->problem;
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], tiles = tamis_study_blocks(problem->width, block);
    const bool swapped = p->numbers[SWAPPED] != 0;
    const int64_t groups_x = tamis_study_groups(p, 0, swapped ? problem->rows : tiles);
    const int64_t groups_y = tamis_study_groups(p, 1, swapped ? tiles : problem->rows);
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, problem->rows);
    tamis_gpu_add_memory(&call, problem->offsets);
    tamis_gpu_add_memory(&call, problem->columns);
    tamis_gpu_add_place(&call, weights);
    tamis_gpu_add_int32(&call, problem->has_values);
    tamis_gpu_add_place(&call, dense);
    tamis_gpu_add_int64(&call, dense_stride);
    tamis_gpu_add_int64(&call, problem->width);
    tamis_gpu_add_place(&call, x->out);
    tamis_gpu_add_int64(&call, x->out_stride);
    tamis_gpu_add_real(&call, problem->type, x->alpha);
    tamis_gpu_add_real(&call, problem->type, x->beta);
    tamis_gpu_add_int64(&call, groups_y);
    return tamis_gpu_launch_kernel(p, stream, SPMM, groups_x, groups_y, (int)block, 0, &call);
}

static bool nothing(const tamis_prepared *p) { return p->problem.rows == 0 || p->problem.width == 0; }

/* ------------------------------------------------------------------------------------------ SpMM */

static tamis_status prepare_spmm(tamis_prepared *p, const char *kernel, bool swapped) {
    TRY(tamis_study_block(p));
    return nothing(p) ? TAMIS_OK : add_spmm(p, kernel, swapped, false);
}

static tamis_status prepare_row(tamis_prepared *p) { return prepare_spmm(p, "spmm_row", false); }
static tamis_status prepare_shared(tamis_prepared *p) { return prepare_spmm(p, "spmm_shared", false); }
static tamis_status prepare_swapped(tamis_prepared *p) { return prepare_spmm(p, "spmm_shared", true); }

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    return multiply(p, stream, x, x->values, x->b, x->b_stride);
}

const tamis_gpu_method tamis_gpu_spmm_row = {
    .name = "study-spmm-row",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_row,
    .execute = execute,
};

const tamis_gpu_method tamis_gpu_spmm_shared = {
    .name = "study-spmm-shared",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_shared,
    .execute = execute,
};

const tamis_gpu_method tamis_gpu_spmm_shared_swapped = {
    .name = "study-spmm-shared-swapped",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_swapped,
    .execute = execute,
};

/* ------------------------------------------------------------------------------------------ fused, two launches */

/* Scratch: the samples, as reals. */
static tamis_status prepare_fused(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    p->scratch_bytes = (size_t)p->problem.nnz * tamis_gpu_real_size(p->problem.type);
    if (nothing(p)) return TAMIS_OK;
    TRY(add_spmm(p, "spmm_shared", true, true));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "KEEP_REALS", 1);
    TRY(tamis_gpu_add_kernel(p, SAMPLE, "study_nnz_threads.simt", "nnz_threads", &definitions, 0));
    if (p->problem.edge != TAMIS_EDGE_SOFTMAX) return TAMIS_OK;
    return tamis_gpu_add_kernel(p, SOFTMAX, "study_row_softmax.simt", "row_softmax", &definitions, 0);
}

static tamis_status sample(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_groups(p, 0, tamis_study_blocks(p->problem.nnz, block));
    tamis_operands samples = *x;
    tamis_gpu_call call = {.count = 0};
    samples.out = x->scratch;
    samples.alpha = 1;
    samples.beta = 0;
    tamis_gpu_sddmm_arguments(p, &samples, &call);
    return tamis_gpu_launch_kernel(p, stream, SAMPLE, groups, 1, (int)block, 0, &call);
}

static tamis_status normalise(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, p->problem.rows);
    tamis_gpu_add_memory(&call, p->problem.offsets);
    tamis_gpu_add_place(&call, x->scratch);
    return tamis_gpu_launch_kernel(p, stream, SOFTMAX, tamis_study_groups(p, 0, p->problem.rows), 1,
                                   (int)p->parameters[TAMIS_STUDY_BLOCK], 0, &call);
}

static tamis_status execute_fused(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    if (p->problem.nnz > 0) {
        TRY(sample(p, stream, x));
        if (p->problem.edge == TAMIS_EDGE_SOFTMAX) TRY(normalise(p, stream, x));
    }
    return multiply(p, stream, x, x->scratch, x->d, x->d_stride);
}

const tamis_gpu_method tamis_gpu_fused_back_to_back = {
    .name = "study-fused-back-to-back",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_fused,
    .execute = execute_fused,
};
