/*
 * Host side of dynamic_convert.simt: converts CSR to COO at every call, then gives each work-item equally many nonzeros
 * (Costa et al.: Efficient SDDMM Algorithms on GPU, s.5).
 */
#include "base/status.h"
#include "gpu/structure/order.h"
#include "lab/gpu/methods.h"

enum { BLOCK, GRID, BATCH };

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
    tamis_gpu_definitions own = {.used = 0};
    TRY(tamis_gpu_check_powers(p, BLOCK, BLOCK));
    TRY(tamis_gpu_check_powers(p, BATCH, BATCH));
    v[BLOCK] = tamis_gpu_min(v[BLOCK], p->device->limits.group_most);
    p->scratch_bytes = (size_t)problem->nnz * tamis_index_size(problem->index_type);
    if (problem->nnz == 0) return TAMIS_OK;
    const int64_t most = p->device->limits.groups_most[0], grid = v[GRID] ? tamis_gpu_min(v[GRID], most) : most;
    /* nonzeros per work-item: a batch, unless the number of groups is limited */
    const int64_t share = tamis_gpu_round_up((problem->nnz - 1) / (grid * v[BLOCK]) + 1, v[BATCH]);
    p->launch = (tamis_gpu_launch){.groups = {tamis_gpu_ceiling(problem->nnz, share * v[BLOCK]), 1},
                                   .group_size = (int)v[BLOCK]};
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("share", share)));
    tamis_gpu_define_inner(&own, p, problem->inner, 1, 1);
    tamis_gpu_define(&own, "BOTH_WIDTHS", tamis_gpu_compiles_fast(p));
    TRY(tamis_gpu_prepare_kernel(p, 0, v[BLOCK], 1, &own));
    return tamis_gpu_expand_rows_ready(p->device, problem);
}

/* Every call converts into scratch. */
static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    TRY(tamis_gpu_expand_rows_at(p->device, stream, &p->problem, x->scratch));
    return tamis_gpu_launch_prepared(p, stream, &common,
                                     TAMIS_GPU_ARGUMENTS(tamis_gpu_place("row_indices", x->scratch)));
}

const tamis_gpu_algorithm tamis_gpudynamic_convert = {
    TAMIS_LAB_ROW(
        TAMIS_OP_SDDMM, "gpudynamic-convert", PAPER_GPU_DYNAMIC ", s.5", "row indices written by every call",
        "for comparison: equal numbers of nonzeros per work-item",
        "block (32 to 1024): work-items; grid: groups, 0 by the device; batch (1 to 4): nonzeros that a work-item takes at once",
        .kernels = {{"dynamic_convert.simt", "dynamic_convert"}},
        .parameters = {{"block", 32, 1024}, {"grid", 0, 1 << 30}, {"batch", 1, 4}}, .defined = {[BATCH] = "BATCH"},
        .defaults = defaults, .prepare = prepare, .execute = execute),
    .relative = 3,
};
