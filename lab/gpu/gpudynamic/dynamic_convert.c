/*
 * Host side of dynamic_convert.simt: converts CSR to COO at every call, then gives each work-item equally many nonzeros
 * (Costa et al.: Efficient SDDMM Algorithms on GPU, s.5).
 */
#include "base/papers.h"
#include "base/status.h"
#include "gpu/structure/order.h"
#include "lab/gpu/gpudynamic/gpudynamic.h"
#include "lab/gpu/methods.h"

enum { BLOCK, GRID, BATCH };

typedef struct convert_state {
    int64_t share; /* nonzeros per work-item */
} convert_state;

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    const int64_t threads = device->limits.threads_most > 0 ? device->limits.threads_most : 2048;
    parameters[BLOCK] = device->limits.is_cpu ? 32 : 128;
    parameters[GRID] = 0; /* 0: one step per work-item */
    /* the paper's four costs more work-items than it saves loads of A; one if there are few nonzeros */
    parameters[BATCH] = problem->nnz < device->limits.multiprocessors * threads ? 1 : 2;
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const tamis_problem *const problem = &p->problem;
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(tamis_gpu_check_powers(p, BLOCK, BLOCK));
    TRY(tamis_gpu_check_powers(p, BATCH, BATCH));
    if (v[BLOCK] > p->device->limits.group_most) v[BLOCK] = p->device->limits.group_most;
    const int64_t most = p->device->limits.groups_most[0], grid = v[GRID] && v[GRID] < most ? v[GRID] : most;
    const int64_t each =
        (problem->nnz - 1) / (grid * v[BLOCK]) + 1; /* a batch, unless the number of groups is limited */
    ((convert_state *)p->state)->share = problem->nnz > 0 ? (each + v[BATCH] - 1) / v[BATCH] * v[BATCH] : v[BATCH];
    p->scratch_bytes = (size_t)problem->nnz * tamis_index_size(problem->index_type);
    if (problem->nnz == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, (int)v[BLOCK], 1);
    tamis_gpu_define_inner(&definitions, p, problem->inner, 1, 1);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "BOTH_WIDTHS", tamis_gpu_compiles_fast(p));
    TRY(tamis_gpu_add_kernel(p, 0, "dynamic_convert.simt", "dynamic_convert", &definitions, 0));
    return tamis_gpu_expand_rows_ready(p->device, problem);
}

/* Every call converts into scratch. */
static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t share = ((const convert_state *)p->state)->share, each = share * p->parameters[BLOCK];
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {(p->problem.nnz + each - 1) / each, 1},
                                     .group_size = (int)p->parameters[BLOCK]};
    TRY(tamis_gpu_expand_rows_at(p->device, stream, &p->problem, x->scratch));
    return tamis_gpu_launch_kernel(
        p, stream, 0, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_place("row_indices", x->scratch), tamis_gpu_integer("share", share)));
}

const tamis_gpu_method tamis_gpudynamic_convert_method = {
    .name = "gpudynamic-convert",
    .parameters = {{"block", 32, 1024}, {"grid", 0, 1 << 30}, {"batch", 1, 4}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(convert_state),
};

const tamis_gpu_algorithm tamis_gpudynamic_convert = {
    .common.description =
        {
            .name = "gpudynamic-convert",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_GPU_DYNAMIC ", s.5",
            .needs = "row indices written by every call",
            .when = "for comparison: equal numbers of nonzeros per work-item",
            .parameters =
                "block (32 to 1024): work-items; grid: groups, 0 by the device; batch (1 to 4): nonzeros that a work-item takes at once",
        },
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpudynamic_convert_method},
    .relative = 3,
};
