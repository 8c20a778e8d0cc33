/*
 * Host side of the launches over the dense grid of S: study_dense_grid.simt and study_fused_grid.simt (Lin, Hsu, Chen:
 * SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.5 and 6.2).
 */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/papers/study/study.h"

/* Blocks as wide as 128 columns: a narrower one would be emptier still. */
static int64_t grid_x(const tamis_prepared *p) {
    return tamis_study_groups(p, 0, tamis_study_blocks(p->problem.cols, p->parameters[TAMIS_STUDY_BLOCK]));
}

static int64_t grid_y(const tamis_prepared *p) { return tamis_study_groups(p, 1, p->problem.rows); }

/* ------------------------------------------------------------------------------------------ SDDMM */

static tamis_status prepare(tamis_prepared *p) {
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    tamis_study_slice(p, 0);
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "SLICE", p->parameters[TAMIS_STUDY_SLICE]);
    return tamis_gpu_add_kernel(p, 0, "study_dense_grid.simt", "dense_grid", &definitions, 0);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t groups_y = grid_y(p);
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_sddmm_arguments(p, x, &call);
    tamis_gpu_add_int64(&call, groups_y);
    return tamis_gpu_launch_kernel(p, stream, 0, grid_x(p), groups_y, (int)p->parameters[TAMIS_STUDY_BLOCK], 0, &call);
}

const tamis_gpu_method tamis_gpu_dense_grid = {
    .name = "study-dense-grid",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_defaults,
    .prepare = prepare,
    .execute = execute,
};

/* ------------------------------------------------------------------------------------------ fused */

enum { FUSE, START, FINISH }; /* kernels */

/* Sums are reals: in E itself where that holds reals, else in scratch. */
static bool in_place(const tamis_prepared *p) { return tamis_type_size(p->problem.type) >= sizeof(float); }

static tamis_status prepare_fused(tamis_prepared *p) {
    static const char *const file = "study_fused_grid.simt";
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    tamis_study_slice(p, 3); /* a sample, and an index of up to two reals */
    if (!in_place(p)) p->scratch_bytes = (size_t)(p->problem.rows * p->problem.width) * sizeof(float);
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "SLICE", p->parameters[TAMIS_STUDY_SLICE]);
    if (p->problem.nnz > 0) TRY(tamis_gpu_add_kernel(p, FUSE, file, "fused_grid", &definitions, 0));
    return in_place(p) ? tamis_gpu_add_kernel(p, START, file, "start_sums", &definitions, 0)
                       : tamis_gpu_add_kernel(p, FINISH, file, "finish_sums", &definitions, 0);
}

/* A kernel over the elements of E. */
static tamis_status over_output(const tamis_prepared *p, void *stream, int kernel, const tamis_gpu_call *call) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_blocks(p->problem.rows * p->problem.width, block);
    return tamis_gpu_launch_kernel(p, stream, kernel, tamis_study_groups(p, 0, groups), 1, (int)block, 0, call);
}

static tamis_status start(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_gpu_call call = {.count = 0};
    if (!in_place(p)) return p->device->runtime->fill(p->device, stream, x->scratch, 0, p->scratch_bytes);
    tamis_gpu_add_int64(&call, p->problem.rows);
    tamis_gpu_add_int64(&call, p->problem.width);
    tamis_gpu_add_place(&call, x->out);
    tamis_gpu_add_int64(&call, x->out_stride);
    tamis_gpu_add_real(&call, p->problem.type, x->beta);
    return over_output(p, stream, START, &call);
}

static tamis_status fuse(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const int64_t groups_y = grid_y(p);
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, problem->rows);
    tamis_gpu_add_int64(&call, problem->cols);
    tamis_gpu_add_memory(&call, problem->offsets);
    tamis_gpu_add_memory(&call, problem->columns);
    tamis_gpu_add_place(&call, x->values);
    tamis_gpu_add_place(&call, x->a);
    tamis_gpu_add_int64(&call, x->a_stride);
    tamis_gpu_add_place(&call, x->b);
    tamis_gpu_add_int64(&call, x->b_stride);
    tamis_gpu_add_int64(&call, problem->inner);
    tamis_gpu_add_place(&call, x->d);
    tamis_gpu_add_int64(&call, x->d_stride);
    tamis_gpu_add_int64(&call, problem->width);
    tamis_gpu_add_place(&call, in_place(p) ? x->out : x->scratch);
    tamis_gpu_add_int64(&call, in_place(p) ? x->out_stride : problem->width);
    tamis_gpu_add_real(&call, problem->type, in_place(p) ? x->alpha : 1);
    tamis_gpu_add_edge(p, x, &call);
    tamis_gpu_add_int32(&call, tamis_gpu_wide(p, x));
    tamis_gpu_add_int64(&call, groups_y);
    return tamis_gpu_launch_kernel(p, stream, FUSE, grid_x(p), groups_y, (int)p->parameters[TAMIS_STUDY_BLOCK], 0,
                                   &call);
}

static tamis_status finish(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, p->problem.rows);
    tamis_gpu_add_int64(&call, p->problem.width);
    tamis_gpu_add_place(&call, x->scratch);
    tamis_gpu_add_place(&call, x->out);
    tamis_gpu_add_int64(&call, x->out_stride);
    tamis_gpu_add_real(&call, p->problem.type, x->alpha);
    tamis_gpu_add_real(&call, p->problem.type, x->beta);
    return over_output(p, stream, FINISH, &call);
}

static tamis_status execute_fused(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    TRY(start(p, stream, x));
    if (p->problem.nnz > 0) TRY(fuse(p, stream, x));
    return in_place(p) ? TAMIS_OK : finish(p, stream, x);
}

const tamis_gpu_method tamis_gpu_fused_dense_grid = {
    .name = "study-fused-dense-grid",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_defaults,
    .prepare = prepare_fused,
    .execute = execute_fused,
};
