/* What exchanges and pieces cost: seconds by the link's and the device's rates. */
#include <tamis/ceilings.h>

#include "group/plan.h"

/*
 * Measured between two H200 of one host, over NVLink: a copy takes 30 us and then 390 GB/s each way; pinned host memory
 * moves at 55 GB/s, and rows that pass through it move twice. A kernel takes 5 us more where there are two of it.
 */
static const double COPY_SECONDS = 30e-6, LINK_BYTES = 390e9, STAGED_BYTES = 27e9, KERNEL_SECONDS = 5e-6;

/* Bytes that two pieces move and one plan does not. SDDMM: entries' numbers, samples out and in again. SpMM and fused:
   the output once more in and out; fused also A once more. */
static double bytes_of_a_second_piece(const tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_sparse *const S = &tamis_shard_is(plan->shard)->local;
    const double size = (double)tamis_type_size(o->type), out = (double)tamis_type_size(o->output_type);
    const double rows = (double)S->rows, batch = (double)o->batch;
    if (o->operation == TAMIS_OP_SDDMM)
        return batch * ((double)S->nnz * (sizeof(int64_t) + 2 * out) + rows * (double)o->inner * size);
    return batch * rows * (2 * (double)o->width * out + (double)o->inner * size);
}

static bool worth_it(const tamis_group_plan *plan) {
    const double bytes = (double)tamis_shard_is(plan->shard)->ghost_rows * (double)plan->report.row_bytes;
    tamis_ceilings ceilings;
    if (tamis_device_ceilings(plan->group->device, &ceilings) != TAMIS_OK || !(ceilings.memory_gbs[1] > 0))
        return false;
    const double exchange = COPY_SECONDS + bytes / (plan->group->direct ? LINK_BYTES : STAGED_BYTES);
    return exchange > KERNEL_SECONDS + bytes_of_a_second_piece(plan) / (1e9 * ceilings.memory_gbs[1]);
}

/* Softmax needs a whole row at once, and a sum of 16 bits would be rounded twice. */
bool tamis_group_overlaps(const tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const bool softmax = o->operation != TAMIS_OP_SPMM && o->edge == TAMIS_EDGE_SOFTMAX;
    const bool rounded = o->operation != TAMIS_OP_SDDMM && tamis_type_size(o->output_type) == 2;
    if (o->overlap == TAMIS_OVERLAP_NEVER || is->ghost_rows == 0 || softmax || rounded || o->no_workspace) return false;
    if (o->overlap == TAMIS_OVERLAP_ALWAYS) return true;
    return tamis_group_on_device(plan->group) && is->own_nnz > 0 && worth_it(plan);
}
