/*
 * Host side of study_spmm.simt (Lin, Hsu, Chen: SpMM, SDDMM and SDDMM_SpMM Kernels, s.4), and of the two launches of
 * study-fused-back-to-back (s.6.1).
 */
#include "base/papers.h"
#include "base/status.h"
#include "lab/gpu/methods.h"
#include "lab/gpu/study/study.h"

enum { SPMM, SAMPLE, SOFTMAX }; /* kernels */

typedef struct spmm_state {
    bool swapped; /* rows are along x of the grid */
} spmm_state;

/* A tile is as wide as C, from a warp to 128. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    int64_t block = 32;
    tamis_study_defaults(problem, device, parameters);
    while (block < parameters[TAMIS_STUDY_BLOCK] && block < problem->width) block *= 2;
    parameters[TAMIS_STUDY_BLOCK] = block;
}

static tamis_status add_spmm(tamis_prepared *p, const char *kernel, bool swapped, bool samples) {
    tamis_gpu_definitions definitions = {.used = 0};
    ((spmm_state *)p->state)->swapped = swapped;
    tamis_gpu_define_problem(&definitions, p, (int)p->parameters[TAMIS_STUDY_BLOCK], 1);
    tamis_gpu_define(&definitions, "SWAPPED", swapped);
    tamis_gpu_define(&definitions, "WEIGHTS_REAL", samples);
    return tamis_gpu_add_kernel(p, SPMM, "study_spmm.simt", kernel, &definitions, 0);
}

/* out = alpha * (S with `weights`) dense + beta * out */
static tamis_status multiply(const tamis_prepared *p, void *stream, const tamis_operands *x, tamis_place weights,
                             tamis_place dense, int64_t dense_stride) {
    const tamis_problem *const problem = &p->problem;
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK], tiles = tamis_study_blocks(problem->width, block);
    const bool swapped = ((const spmm_state *)p->state)->swapped;
    const int64_t groups_x = tamis_study_groups(p, 0, swapped ? problem->rows : tiles);
    const int64_t groups_y = tamis_study_groups(p, 1, swapped ? tiles : problem->rows);
    const tamis_gpu_launch launch = {.groups = {groups_x, groups_y}, .group_size = (int)block};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.values = weights;
    common.b = dense;
    common.b_stride = dense_stride;
    return tamis_gpu_launch_kernel(p, stream, SPMM, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("groups_y", groups_y)));
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

static const tamis_gpu_method row = {
    .name = "study-spmm-row",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_row,
    .execute = execute,
    .state_bytes = sizeof(spmm_state),
};

static const tamis_gpu_method shared = {
    .name = "study-spmm-shared",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_shared,
    .execute = execute,
    .state_bytes = sizeof(spmm_state),
};

static const tamis_gpu_method swapped_axes = {
    .name = "study-spmm-shared-swapped",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_swapped,
    .execute = execute,
    .state_bytes = sizeof(spmm_state),
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
    TRY(tamis_gpu_add_split_kernel(p, SAMPLE, "study_nnz_threads.simt", "nnz_threads", &definitions, 0));
    if (p->problem.edge != TAMIS_EDGE_SOFTMAX) return TAMIS_OK;
    return tamis_gpu_add_kernel(p, SOFTMAX, "study_row_softmax.simt", "row_softmax", &definitions, 0);
}

static tamis_status sample(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t block = p->parameters[TAMIS_STUDY_BLOCK];
    const int64_t groups = tamis_study_groups(p, 0, tamis_study_blocks(p->problem.nnz, block));
    const tamis_gpu_launch launch = {.groups = {groups, 1}, .group_size = (int)block};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.out = x->scratch;
    common.alpha = 1;
    common.beta = 0;
    return tamis_gpu_launch_kernel(p, stream, SAMPLE, launch, &common, NULL);
}

static tamis_status normalise(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {tamis_study_groups(p, 0, p->problem.rows), 1},
                                     .group_size = (int)p->parameters[TAMIS_STUDY_BLOCK]};
    return tamis_gpu_launch_kernel(p, stream, SOFTMAX, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_place("scores", x->scratch)));
}

static tamis_status execute_fused(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    if (p->problem.nnz > 0) {
        TRY(sample(p, stream, x));
        if (p->problem.edge == TAMIS_EDGE_SOFTMAX) TRY(normalise(p, stream, x));
    }
    return multiply(p, stream, x, x->scratch, x->d, x->d_stride);
}

static const tamis_gpu_method fused = {
    .name = "study-fused-back-to-back",
    .parameters = {{"block", 16, 1024}},
    .defaults = defaults,
    .prepare = prepare_fused,
    .execute = execute_fused,
    .state_bytes = sizeof(spmm_state),
};

const tamis_gpu_algorithm tamis_study_spmm_row = {
    .common.description =
        {
            .name = "study-spmm-row",
            .device = "gpu",
            .operations = TAMIS_GPU_SPMM,
            .source = PAPER_STUDY ", s.4.1",
            .needs = "nothing",
            .when = "for comparison: one work-item per element of C",
            .parameters = "block (16 to 1024): work-items",
        },
    .methods = {[TAMIS_OP_SPMM] = &row},
    .relative = 2,
};

const tamis_gpu_algorithm tamis_study_spmm_shared = {
    .common.description =
        {
            .name = "study-spmm-shared",
            .device = "gpu",
            .operations = TAMIS_GPU_SPMM,
            .source = PAPER_STUDY ", s.4.2",
            .needs = "shared memory",
            .when = "for comparison: as study-spmm-row, the row of S in shared memory",
            .parameters = "block (16 to 1024): work-items",
        },
    .methods = {[TAMIS_OP_SPMM] = &shared},
    .relative = 1.4,
};

const tamis_gpu_algorithm tamis_study_spmm_shared_swapped = {
    .common.description =
        {
            .name = "study-spmm-shared-swapped",
            .device = "gpu",
            .operations = TAMIS_GPU_SPMM,
            .source = PAPER_STUDY ", s.4.3",
            .needs = "shared memory",
            .when = "for comparison: as study-spmm-shared, the grid's axes swapped",
            .parameters = "block (16 to 1024): work-items",
        },
    .methods = {[TAMIS_OP_SPMM] = &swapped_axes},
    .relative = 1.5,
};

const tamis_gpu_algorithm tamis_study_fused_back_to_back = {
    .common.description =
        {
            .name = "study-fused-back-to-back",
            .device = "gpu",
            .operations = TAMIS_GPU_FUSED,
            .source = PAPER_STUDY ", s.6.1",
            .needs = "scratch for the sampled values",
            .when = "for comparison: the two operations, one after the other",
            .parameters = "block (16 to 1024): work-items",
        },
    .methods = {[TAMIS_OP_FUSED] = &fused},
    .relative = 1.7,
};
