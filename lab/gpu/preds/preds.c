/*
 * Host side of preds.simt (Yu et al.: Exploiting Online Locality and Reduction Parallelism), with a switch for each of
 * its three techniques.
 */
#include "base/status.h"
#include "gpu/structure/order.h"
#include "lab/gpu/methods.h"

enum { TILE, LANES, VCT, IIR, WMT, COO };
enum { VECTOR = 4, WARPS_MOST = 8 /* warps that share K without WMT, as in the paper's baseline */ };

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)device;
    parameters[TILE] = 16;
    parameters[LANES] = 8;
    parameters[VCT] = parameters[IIR] = parameters[WMT] = 1;
    parameters[COO] = !problem->once;
}

/* Number of teams that share K: one, or without WMT one per slice of K, as far as the group has room for `one` each. */
static int64_t slices_of(const tamis_prepared *p, int64_t one) {
    const int64_t *const v = p->parameters;
    const int64_t most = p->device->limits.group_most, slice = v[LANES] * tamis_gpu_piece(p->problem.type);
    int64_t slices = 1;
    if (v[WMT]) return 1;
    while (slices < WARPS_MOST && slices * slice < p->problem.inner && 2 * slices * one <= most) slices *= 2;
    return slices;
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    void *row_indices = NULL; /* the row of each nonzero, of the index type; NULL: found by binary search */
    tamis_gpu_definitions own = {.used = 0};
    TRY(tamis_gpu_check_powers(p, TILE, LANES));
    if (v[TILE] < VECTOR) v[TILE] = VECTOR;
    const int64_t one = v[TILE] / VECTOR * v[LANES], most = p->device->limits.group_most;
    if (one > most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: ts = %lld with %lld lanes per dot product needs %lld "
                          "work-items, a group of %s has up to %lld",
                          (long long)v[TILE], (long long)v[LANES], (long long)one, p->device->limits.name,
                          (long long)most);
    if (p->problem.once) v[COO] = 0; /* does not pay for a single call */
    if (p->problem.nnz == 0) return TAMIS_OK;
    const int64_t slices = slices_of(p, one);
    const int64_t tiles = tamis_gpu_ceiling(p->problem.nnz, v[TILE]);
    p->launch = (tamis_gpu_launch){.groups = {tamis_gpu_min(tiles, p->device->limits.groups_most[0]), 1},
                                   .group_size = (int)(one * slices)};
    tamis_gpu_define_inner(&own, p, p->problem.inner, (int)v[LANES], 1);
    tamis_gpu_define(&own, "VECTOR", VECTOR);
    tamis_gpu_define(&own, "BATCH", VECTOR);
    tamis_gpu_define(&own, "SLICES", slices);
    TRY(tamis_gpu_prepare_kernel(p, 0, one * slices, v[LANES], &own));
    if (v[COO]) {
        TRY(tamis_gpu_add_kept(p, &row_indices, p->problem.nnz, tamis_index_size(p->problem.index_type),
                               "rows of the nonzeros"));
        TRY(tamis_gpu_expand_rows(p->device, p->problem.stream, &p->problem, row_indices));
    }
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("row_indices", row_indices)));
    return TAMIS_OK;
}

const tamis_gpu_algorithm tamis_preds = {
    TAMIS_LAB_ROW(
        TAMIS_OP_SDDMM, "preds", PAPER_PREDS ", s.III", "nothing, or the row of each nonzero (coo=1)",
        "for comparison: tiles of a few nonzeros, several dot products reduced at once",
        "ts (1 to 1024): nonzeros per tile; scf (1 to 32): lanes per dot product; vct, iir, wmt (0, 1): the paper's three optimisations; coo (0, 1): rows known instead of searched for",
        .kernels = {{"preds.simt", "preds", .split = true}},
        .parameters = {{"ts", 1, 1024}, {"scf", 1, 32}, {"vct", 0, 1}, {"iir", 0, 1}, {"wmt", 0, 1}, {"coo", 0, 1}},
        .defined = {[TILE] = "TS", [VCT] = "VCT", [IIR] = "IIR", [COO] = "COO"}, .defaults = defaults,
        .prepare = prepare, .execute = tamis_gpu_execute_prepared),
    .relative = 1.1,
};
