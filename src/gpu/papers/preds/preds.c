/*
 * Host side of preds.simt (Yu et al.: Exploiting Online Locality and Reduction Parallelism), with a switch for each of
 * its three techniques.
 */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/structure/order.h"

enum { TILE, LANES, VCT, IIR, WMT, COO };
enum { ROWS = 0 }; /* kept memory: the row of each nonzero */
enum { VECTOR = 4, WARP = 32, WARPS_MOST = 8 /* that share K without WMT, as in the paper's baseline */ };
enum { TEAM_LANES = 0, GROUP = 1 }; /* numbers */

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)device;
    parameters[TILE] = 16;
    parameters[LANES] = 8;
    parameters[VCT] = parameters[IIR] = parameters[WMT] = 1;
    parameters[COO] = !problem->once;
}

/* Teams that share K: one, or without WMT as many as K has slices, while the group has room for them. */
static int64_t slices_of(const tamis_prepared *p, int64_t slice) {
    const int64_t *const v = p->parameters;
    const int64_t one = p->numbers[GROUP], most = p->device->limits.group_most;
    int64_t slices = 1;
    if (v[WMT]) return 1;
    while (slices < WARPS_MOST && slices * slice < p->problem.inner && 2 * slices * one <= most) slices *= 2;
    return slices;
}

static tamis_status check(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_check_powers(p, TILE, LANES));
    if (!v[VCT]) v[TILE] = 1;
    if (!v[IIR]) v[LANES] = WARP;
    if (v[VCT] && v[TILE] < VECTOR) v[TILE] = VECTOR;
    const int64_t teams = v[VCT] ? v[TILE] / VECTOR : 1, most = p->device->limits.group_most;
    if (teams * v[LANES] > most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: ts = %lld with %lld lanes a dot product needs %lld "
                          "work-items, a group of %s has up to %lld",
                          (long long)v[TILE], (long long)v[LANES], (long long)(teams * v[LANES]),
                          p->device->limits.name, (long long)most);
    p->numbers[TEAM_LANES] = v[LANES];
    p->numbers[GROUP] = teams * v[LANES];
    return TAMIS_OK;
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(check(p));
    const int64_t piece = v[VCT] ? 16 / (int64_t)tamis_type_size(p->problem.type) : 1;
    const int64_t slices = slices_of(p, v[LANES] * piece);
    p->numbers[GROUP] *= slices;
    if (p->problem.once) v[COO] = 0; /* rows that one call would use */
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, (int)p->numbers[GROUP], (int)v[LANES]);
    tamis_gpu_define_inner(&definitions, p, p->problem.inner, (int)v[LANES], 1);
    tamis_gpu_define(&definitions, "TS", v[TILE]);
    tamis_gpu_define(&definitions, "VECTOR", v[VCT] ? VECTOR : 1);
    tamis_gpu_define(&definitions, "BATCH", v[VCT] ? VECTOR : 1);
    tamis_gpu_define(&definitions, "VCT", v[VCT]);
    tamis_gpu_define(&definitions, "IIR", v[IIR]);
    tamis_gpu_define(&definitions, "SLICES", slices);
    tamis_gpu_define(&definitions, "COO", v[COO]);
    TRY(tamis_gpu_add_kernel(p, 0, "preds.simt", "preds", &definitions, 0));
    if (!v[COO]) return TAMIS_OK;
    TRY(tamis_gpu_add_kept(p, ROWS, p->problem.nnz, tamis_index_size(p->problem.index_type), "rows of the nonzeros"));
    return tamis_gpu_expand_rows(p->device, p->problem.stream, &p->problem, p->memories[ROWS]);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t tile = p->parameters[TILE], tiles = (p->problem.nnz + tile - 1) / tile;
    const int64_t most = p->device->limits.groups_most[0];
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_sddmm_arguments(p, x, &call);
    tamis_gpu_add_memory(&call, p->memories[ROWS]);
    return tamis_gpu_launch_kernel(p, stream, 0, tiles < most ? tiles : most, 1, (int)p->numbers[GROUP], 0, &call);
}

const tamis_gpu_method tamis_gpu_preds = {
    .name = "preds",
    .parameters = {{"ts", 1, 1024}, {"scf", 1, 32}, {"vct", 0, 1}, {"iir", 0, 1}, {"wmt", 0, 1}, {"coo", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
};
