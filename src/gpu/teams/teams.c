/* gpu-teams: SpMM and fused in one launch, long rows by several teams of lanes. */
#include <stdio.h>

#include "gpu/methods.h"
#include "gpu/rates.h"
#include "gpu/teams/fused_teams.h"
#include "gpu/teams/spmm_teams.h"
#include "gpu/teams/tasks.h"

static bool also(const tamis_problem *problem, char *reason, size_t bytes) {
    return tamis_gpu_tasks_count(problem, reason, bytes) &&
           (problem->operation == TAMIS_OP_SPMM || tamis_gpu_fused_teams_takes(problem, reason, bytes));
}

static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    int64_t teams = 1;
    prediction->call_seconds = p->operation == TAMIS_OP_SPMM ? tamis_gpu_spmm_teams_seconds(p, &teams)
                                                             : tamis_gpu_fused_teams_seconds(p, &teams);
    prediction->setup_seconds = f->order + (double)p->rows * f->order_row;
    snprintf(prediction->reason, sizeof prediction->reason,
             "one launch, a row by up to %lld teams of lanes as its length asks for: the longest has %lld nonzeros",
             (long long)teams, (long long)p->evidence->profile.max);
}

const tamis_gpu_algorithm tamis_gpu_teams = {
    .common.description =
        {
            .name = "gpu-teams",
            .device = "gpu",
            .operations = TAMIS_GPU_SPMM | TAMIS_GPU_FUSED,
            .source = "ours",
            .needs =
                "a list of tasks, built by the plan on the device: 16 bytes for each; fused: K and L up to 512, fp64 256",
            .when = "SpMM and fused of small and medium matrices, above all of rows of different length",
            .parameters =
                "team (4 to 32): lanes per task; group (32 to 512): work-items; share: nonzeros for which a row has one more team; order: rows of as many teams as they come (0), by falling length in powers of two (1) or quarters of these (2); apart (0, 1): a row's teams take an equal share in a row each (0) or its blocks in turn (1); split (1 to 32): nonzeros side by side in a team, loads (1 to 8): rows of B in flight, slice: columns of C per team, 0 by the model (spmm); batch (4, 8): nonzeros that a team reduces at once (fused)",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SPMM] = &tamis_gpu_spmm_teams, [TAMIS_OP_FUSED] = &tamis_gpu_fused_teams},
    .predict = predict,
    .also = also,
};
