/* Host side of spmm_rounded.simt: gpu-rows' parameters, tasks and merging. */
#include "gpu/rounded/spmm_rounded.h"
#include "base/sizes.h"
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/rows/cuts.h"
#include "gpu/rows/lanes.h"

enum {
    GROUP = TAMIS_LANES_GROUP,
    TEAM_LANES = TAMIS_LANES_TEAM,
    LIMIT = TAMIS_LANES_OWN,
    ORDERED
};                    /* as in gpu-rows */
enum { SUMS, MERGE }; /* kernels */

typedef struct rounded_state {
    int64_t slices;
    tamis_gpu_cuts cuts;
} rounded_state;

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    tamis_gpu_rows.methods[TAMIS_OP_SPMM]->defaults(problem, device, parameters);
}

static tamis_status compile_sums(tamis_prepared *p, const rounded_state *state) {
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_lanes(&definitions, p, state->slices);
    tamis_gpu_define(&definitions, "WIDE", 1); /* rows begin at multiples of 16 bytes */
    tamis_gpu_define(&definitions, "ORDERED", p->parameters[ORDERED]);
    return tamis_gpu_add_kernel(p, SUMS, "spmm_rounded.simt", "spmm_rounded", &definitions, 0);
}

static tamis_status prepare(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    rounded_state *const state = p->state;
    TRY(tamis_gpu_lanes_check(p, v[TAMIS_LANES_SLICE], &state->slices));
    if (p->device->limits.subgroup != 32) v[GROUP] = v[TEAM_LANES]; /* ONE_TEAM of simt.h */
    if (tamis_gpu_cuts_any(p, v[LIMIT]))
        p->scratch_bytes =
            tamis_bytes(tamis_times(tamis_gpu_cuts_pieces_most(p, v[LIMIT]), p->problem.width), sizeof(float));
    if (p->problem.rows == 0) return TAMIS_OK;
    TRY(compile_sums(p, state)); /* compiles while the lists are built */
    TRY(tamis_gpu_cuts_make(p, v[LIMIT], v[ORDERED], &state->cuts));
    return tamis_gpu_cuts_add_merge(p, MERGE, &state->cuts, false, 0);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const rounded_state *const state = p->state;
    const tamis_gpu_cuts *const cuts = &state->cuts;
    const int64_t teams = p->parameters[GROUP] / p->parameters[TEAM_LANES];
    const int64_t groups = tamis_gpu_ceiling(cuts->pieces + p->problem.rows, teams);
    const tamis_gpu_launch launch = {.groups = {tamis_gpu_min(groups, p->device->limits.groups_most[0]), state->slices},
                                     .group_size = (int)p->parameters[GROUP]};
    tamis_gpu_common common = tamis_gpu_common_of(p, x);
    common.wide = 1 | tamis_gpu_lanes_whole(p, x);
    TRY(tamis_gpu_launch_kernel(
        p, stream, SUMS, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("pieces", cuts->pieces), tamis_gpu_integer("limit", p->parameters[LIMIT]),
                            tamis_gpu_memory("piece_rows", cuts->piece_rows), tamis_gpu_memory("order", cuts->order),
                            tamis_gpu_integer("slice", p->parameters[TAMIS_LANES_SLICE]),
                            tamis_gpu_place("back", x->a.at), tamis_gpu_place("partials", x->scratch))));
    return tamis_gpu_cuts_merge(p, stream, MERGE, &common, cuts, x->scratch);
}

const tamis_gpu_method tamis_gpu_spmm_rounded = {
    .name = "gpu-rounded",
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(rounded_state),
    .batches = true,
    .widens = true,
};
