/*
 * Host side of preds.simt (Yu et al.: Exploiting Online Locality and Reduction Parallelism), with a switch for each of
 * its three techniques.
 */
#include "base/papers.h"
#include "base/status.h"
#include "gpu/structure/order.h"
#include "lab/gpu/methods.h"

enum { TILE, LANES, VCT, IIR, WMT, COO };
enum { VECTOR = 4, WARPS_MOST = 8 /* warps that share K without WMT, as in the paper's baseline */ };

typedef struct preds_state {
    int64_t group;     /* work-items */
    void *row_indices; /* the row of each nonzero, of the index type; NULL: found by binary search */
} preds_state;

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)device;
    parameters[TILE] = 16;
    parameters[LANES] = 8;
    parameters[VCT] = parameters[IIR] = parameters[WMT] = 1;
    parameters[COO] = !problem->once;
}

/* Number of teams that share K: one, or without WMT one per slice of K, as far as the group has room. */
static int64_t slices_of(const tamis_prepared *p, int64_t slice) {
    const int64_t *const v = p->parameters;
    const int64_t one = ((const preds_state *)p->state)->group, most = p->device->limits.group_most;
    int64_t slices = 1;
    if (v[WMT]) return 1;
    while (slices < WARPS_MOST && slices * slice < p->problem.inner && 2 * slices * one <= most) slices *= 2;
    return slices;
}

static tamis_status check(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_check_powers(p, TILE, LANES));
    if (v[TILE] < VECTOR) v[TILE] = VECTOR;
    const int64_t teams = v[TILE] / VECTOR, most = p->device->limits.group_most;
    if (teams * v[LANES] > most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: ts = %lld with %lld lanes per dot product needs %lld "
                          "work-items, a group of %s has up to %lld",
                          (long long)v[TILE], (long long)v[LANES], (long long)(teams * v[LANES]),
                          p->device->limits.name, (long long)most);
    ((preds_state *)p->state)->group = teams * v[LANES];
    return TAMIS_OK;
}

static tamis_status prepare(tamis_prepared *p) {
    preds_state *const s = p->state;
    int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(check(p));
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type);
    const int64_t slices = slices_of(p, v[LANES] * piece);
    s->group *= slices;
    if (p->problem.once) v[COO] = 0; /* does not pay for a single call */
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, (int)s->group, (int)v[LANES]);
    tamis_gpu_define_inner(&definitions, p, p->problem.inner, (int)v[LANES], 1);
    tamis_gpu_define(&definitions, "TS", v[TILE]);
    tamis_gpu_define(&definitions, "VECTOR", VECTOR);
    tamis_gpu_define(&definitions, "BATCH", VECTOR);
    tamis_gpu_define(&definitions, "VCT", v[VCT]);
    tamis_gpu_define(&definitions, "IIR", v[IIR]);
    tamis_gpu_define(&definitions, "SLICES", slices);
    tamis_gpu_define(&definitions, "COO", v[COO]);
    TRY(tamis_gpu_add_split_kernel(p, 0, "preds.simt", "preds", &definitions, 0));
    if (!v[COO]) return TAMIS_OK;
    TRY(tamis_gpu_add_kept(p, &s->row_indices, p->problem.nnz, tamis_index_size(p->problem.index_type),
                           "rows of the nonzeros"));
    return tamis_gpu_expand_rows(p->device, p->problem.stream, &p->problem, s->row_indices);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const preds_state *const s = p->state;
    const int64_t tile = p->parameters[TILE], tiles = (p->problem.nnz + tile - 1) / tile;
    const int64_t most = p->device->limits.groups_most[0];
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {tiles < most ? tiles : most, 1}, .group_size = (int)s->group};
    return tamis_gpu_launch_kernel(p, stream, 0, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("row_indices", s->row_indices)));
}

static const tamis_gpu_method method = {
    .name = "preds",
    .parameters = {{"ts", 1, 1024}, {"scf", 1, 32}, {"vct", 0, 1}, {"iir", 0, 1}, {"wmt", 0, 1}, {"coo", 0, 1}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(preds_state),
};

const tamis_gpu_algorithm tamis_preds = {
    .common.description =
        {
            .name = "preds",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_PREDS ", s.III",
            .needs = "nothing, or the row of each nonzero (coo=1)",
            .when = "for comparison: tiles of a few nonzeros, several dot products reduced at once",
            .parameters =
                "ts (1 to 1024): nonzeros per tile; scf (1 to 32): lanes per dot product; vct, iir, wmt (0, 1): the paper's three optimisations; coo (0, 1): rows known instead of searched for",
        },
    .methods = {[TAMIS_OP_SDDMM] = &method},
    .relative = 1.1,
};
