/*
 * Host side of the launches over the dense grid of S: study_dense_grid.simt and study_fused_grid.simt (Lin, Hsu, Chen:
 * SpMM, SDDMM and SDDMM_SpMM Kernels, s.5.5 and 6.2).
 */
#include "base/papers.h"
#include "base/status.h"
#include "lab/gpu/methods.h"
#include "lab/gpu/study/study.h"

/* Blocks have 128 columns: narrower ones would have even fewer nonzeros. */
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
    return tamis_gpu_add_split_kernel(p, 0, "study_dense_grid.simt", "dense_grid", &definitions, 0);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t groups_y = grid_y(p);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {grid_x(p), groups_y},
                                     .group_size = (int)p->parameters[TAMIS_STUDY_BLOCK]};
    return tamis_gpu_launch_kernel(p, stream, 0, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("groups_y", groups_y)));
}

static const tamis_gpu_method method = {
    .name = "study-dense-grid",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_defaults,
    .prepare = prepare,
    .execute = execute,
};

/* ------------------------------------------------------------------------------------------ fused */

enum { FUSE, START, FINISH }; /* kernels */

/* Sums are reals: in E if E holds reals, else in scratch. */
static bool in_place(const tamis_prepared *p) { return tamis_type_size(p->problem.type) >= sizeof(float); }

static tamis_status prepare_fused(tamis_prepared *p) {
    static const char *const file = "study_fused_grid.simt";
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_study_block(p));
    tamis_study_slice(p, 3); /* a sample, and an index that may take two reals */
    if (!in_place(p)) p->scratch_bytes = (size_t)(p->problem.rows * p->problem.width) * sizeof(float);
    if (p->problem.rows == 0 || p->problem.width == 0) return TAMIS_OK;
    tamis_study_define(&definitions, p);
    tamis_gpu_define(&definitions, "SLICE", p->parameters[TAMIS_STUDY_SLICE]);
    if (p->problem.nnz > 0) TRY(tamis_gpu_add_split_kernel(p, FUSE, file, "fused_grid", &definitions, 0));
    return in_place(p) ? tamis_gpu_add_kernel(p, START, file, "start_sums", &definitions, 0)
                       : tamis_gpu_add_kernel(p, FINISH, file, "finish_sums", &definitions, 0);
}

/* Launches a kernel over the elements of E. */
static tamis_status over_output(const tamis_prepared *p, void *stream, int kernel, const tamis_gpu_common *common,
                                const tamis_gpu_named *own) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_blocks(p->problem.rows * p->problem.width, block);
    const tamis_gpu_launch launch = {.groups = {tamis_study_groups(p, 0, groups), 1}, .group_size = (int)block};
    return tamis_gpu_launch_kernel(p, stream, kernel, launch, common, own);
}

static tamis_status execute_fused(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const bool here = in_place(p);
    const int64_t groups_y = grid_y(p);
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_named sums = tamis_gpu_place("sums", here ? x->out : x->scratch);
    const tamis_gpu_named stride = tamis_gpu_integer("sums_stride", here ? x->out_stride : p->problem.width);
    const tamis_gpu_launch launch = {.groups = {grid_x(p), groups_y},
                                     .group_size = (int)p->parameters[TAMIS_STUDY_BLOCK]};
    if (here)
        TRY(over_output(p, stream, START, &common, TAMIS_GPU_ARGUMENTS(sums, stride)));
    else
        TRY(p->device->runtime->fill(p->device, stream, x->scratch, 0, p->scratch_bytes));
    if (p->problem.nnz > 0)
        TRY(tamis_gpu_launch_kernel(p, stream, FUSE, launch, &common,
                                    TAMIS_GPU_ARGUMENTS(sums, stride, tamis_gpu_real("factor", here ? x->alpha : 1),
                                                        tamis_gpu_integer("groups_y", groups_y))));
    return here ? TAMIS_OK : over_output(p, stream, FINISH, &common, TAMIS_GPU_ARGUMENTS(sums));
}

static const tamis_gpu_method fused = {
    .name = "study-fused-dense-grid",
    .parameters = {{"block", 16, 1024}, {"slice", 8, 4096}},
    .defaults = tamis_study_defaults,
    .prepare = prepare_fused,
    .execute = execute_fused,
};

const tamis_gpu_algorithm tamis_study_dense_grid = {
    .common.description =
        {
            .name = "study-dense-grid",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_STUDY ", s.5.5",
            .needs = "sorted columns, which is ours: the authors' blocks take a row's nonzeros packed to the left",
            .when =
                "for comparison: a grid over all M x N, empty blocks return; each block searches the row for its columns",
            .parameters = "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
        },
    .methods = {[TAMIS_OP_SDDMM] = &method},
    .relative = 70,
    .sorted = true,
};

const tamis_gpu_algorithm tamis_study_fused_dense_grid = {
    .common.description =
        {
            .name = "study-fused-dense-grid",
            .device = "gpu",
            .operations = TAMIS_GPU_FUSED,
            .source = PAPER_STUDY ", s.6.2",
            .needs = "sorted columns; atomic adds; shared memory; scratch of rows x L reals for 16-bit types",
            .when = "for comparison: one launch over blocks of S",
            .parameters = "block (16 to 1024): work-items; slice (8 to 4096): elements of A in shared memory",
            .any_order = true,
        },
    .methods = {[TAMIS_OP_FUSED] = &fused},
    .relative = 27,
    .sorted = true,
    .no_softmax = true,
};
