/*
 * Host side of the launches over the dense grid of S: study_dense_grid.simt and study_fused_grid.simt (Lin, Hsu, Chen:
 * SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.5 and 6.2).
 */
#include "base/status.h"
#include "lab/gpu/study/study.h"

/* Blocks have 128 columns: narrower ones would have even fewer nonzeros. */
static void set_grid(tamis_prepared *p) {
    p->launch = tamis_study_grid(p, tamis_study_blocks(p, p->problem.cols), p->problem.rows);
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("groups_y", p->launch.groups[1])));
}

static tamis_status prepare(tamis_prepared *p) {
    TRY(tamis_study_prepare(p));
    set_grid(p);
    return TAMIS_OK;
}

const tamis_gpu_algorithm tamis_study_dense_grid = {
    TAMIS_LAB_ROW(
        TAMIS_OP_SDDMM, "study-dense-grid", PAPER_STUDY ", s.5.5",
        "sorted columns, which is ours: the authors' blocks take a row's nonzeros packed to the left",
        "for comparison: a grid over all M x N, empty blocks return; each block searches the row for its columns",
        TAMIS_STUDY_SLICE_TEXT, TAMIS_STUDY_SLICED, .defaults = tamis_study_defaults, .prepare = prepare,
        .execute = tamis_gpu_execute_prepared, .kernels = {{"study_dense_grid.simt", "dense_grid", .split = true}}),
    .relative = 70,
    .sorted = true,
};

/* ------------------------------------------------------------------------------------------ fused */

enum { FUSE, START, FINISH }; /* kernels */

/* Sums are reals: in E if E holds reals, else in scratch. */
static bool in_place(const tamis_prepared *p) { return tamis_type_size(p->problem.type) >= sizeof(float); }

static tamis_status prepare_fused(tamis_prepared *p) {
    TRY(tamis_study_limit(p, 3)); /* a sample, and an index that may take two reals */
    if (!in_place(p)) p->scratch_bytes = (size_t)(p->problem.rows * p->problem.width) * sizeof(float);
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    set_grid(p);
    if (p->problem.nnz > 0) TRY(tamis_study_kernel(p, FUSE));
    return tamis_study_kernel(p, in_place(p) ? START : FINISH);
}

/* Launches a kernel over the elements of E. */
static tamis_status over_output(const tamis_prepared *p, void *stream, int kernel, const tamis_gpu_common *common,
                                const tamis_gpu_named *own) {
    const int64_t groups = tamis_study_blocks(p, p->problem.rows * p->problem.width);
    return tamis_gpu_launch_kernel(p, stream, kernel, tamis_study_grid(p, groups, 1), common, own);
}

static tamis_status execute_fused(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const bool here = in_place(p);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_named sums = tamis_gpu_place("sums", here ? x->out.at : x->scratch);
    const tamis_gpu_named stride = tamis_gpu_integer("sums_stride", here ? x->out.stride : p->problem.width);
    if (here)
        TRY(over_output(p, stream, START, &common, TAMIS_GPU_ARGUMENTS(sums, stride)));
    else
        TRY(p->device->runtime->fill(p->device, stream, x->scratch, 0, p->scratch_bytes));
    if (p->problem.nnz > 0)
        TRY(tamis_gpu_launch_prepared(
            p, stream, &common, TAMIS_GPU_ARGUMENTS(sums, stride, tamis_gpu_real("factor", here ? x->alpha : 1))));
    return here ? TAMIS_OK : over_output(p, stream, FINISH, &common, TAMIS_GPU_ARGUMENTS(sums));
}

#define FUSED_FILE "study_fused_grid.simt"

const tamis_gpu_algorithm tamis_study_fused_dense_grid = {
    TAMIS_LAB_ROW(TAMIS_OP_FUSED, "study-fused-dense-grid", PAPER_STUDY ", s.6.2",
                  "sorted columns; atomic adds; shared memory; scratch of rows x L reals for 16-bit types",
                  "for comparison: one launch over blocks of S", TAMIS_STUDY_SLICE_TEXT, TAMIS_STUDY_SLICED,
                  .defaults = tamis_study_defaults, .prepare = prepare_fused, .execute = execute_fused,
                  .kernels = {[FUSE] = {FUSED_FILE, "fused_grid", .split = true},
                              [START] = {FUSED_FILE, "start_sums"},
                              [FINISH] = {FUSED_FILE, "finish_sums"}}),
    .common.description.any_order = true,
    .relative = 27,
    .sorted = true,
    .no_softmax = true,
};
