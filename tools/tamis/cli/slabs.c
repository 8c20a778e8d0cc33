/* Out-of-core execution: a plan of slabs replaces the plan and the copies of the operands. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/exit.h"
#include "cli/slabs.h"

tamis_status tool_slabs_open(const tool_device *device, const tool_problem *problem, const tamis_options *planning,
                             int64_t device_memory, tamis_slab_plan **plan) {
    tamis_slab_options options = TAMIS_SLAB_OPTIONS_INIT;
    options.device_memory = device_memory;
    return tamis_slab_plan_create(device->device, &problem->S, planning, &options, plan);
}

tamis_status tool_slabs_execute(tamis_slab_plan *plan, const tool_problem *problem, double *seconds) {
    tamis_execution execution = TAMIS_EXECUTION_INIT;
    tamis_slab_report report;
    execution.alpha = problem->alpha;
    execution.beta = problem->beta;
    if (problem->operation == TAMIS_OP_SDDMM)
        TOOL_TRY(tamis_slab_plan_sddmm(plan, &problem->A, &problem->B, &problem->output, &execution));
    else if (problem->operation == TAMIS_OP_SPMM)
        TOOL_TRY(tamis_slab_plan_spmm(plan, &problem->B, &problem->output, &execution));
    else
        TOOL_TRY(tamis_slab_plan_fused(plan, &problem->A, &problem->B, &problem->D, &problem->output, &execution));
    TOOL_TRY(tamis_slab_plan_describe(plan, &report));
    *seconds = report.seconds;
    return TAMIS_OK;
}

tamis_status tool_slabs_explain(const tamis_slab_plan *plan) {
    size_t needed = 0;
    TOOL_TRY(tamis_slab_plan_explain(plan, NULL, 0, &needed));
    char *text = tool_allocate(needed, 1);
    const tamis_status status = tamis_slab_plan_explain(plan, text, needed, NULL);
    if (status == TAMIS_OK) puts(text);
    free(text);
    return status;
}
