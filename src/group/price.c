/* What exchanges and pieces cost: seconds by the link's and the device's rates. */
#include "group/price.h"

#include <tamis/ceilings.h>

#include "group/link.h"

/* A kernel takes so much more where there are two of it. */
static const double KERNEL_SECONDS = 5e-6;

double tamis_group_seconds_of_rows(const tamis_row_exchange *e, int64_t rows, int64_t sums) {
    const double row_bytes = (double)e->row_bytes, back_bytes = (double)e->back_bytes;
    return tamis_group_seconds(e->group, (double)rows * row_bytes, rows > 0 && row_bytes > 0) +
           tamis_group_seconds(e->group, (double)sums * back_bytes, sums > 0 && back_bytes > 0);
}

/* Counts the bytes that two pieces move and one plan does not. SDDMM: entries' numbers, samples out and in again. SpMM
   and fused: the output once more in and out; fused also A once more. */
static double bytes_of_a_second_piece(const tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_sparse *const S = &tamis_row_lists(&plan->exchange)->local;
    const double size = (double)tamis_type_size(o->type), out = (double)tamis_type_size(o->output_type);
    const double rows = (double)S->rows, batch = (double)o->batch;
    if (o->operation == TAMIS_OP_SDDMM)
        return batch * ((double)S->nnz * (sizeof(int64_t) + 2 * out) + rows * (double)o->inner * size);
    return batch * rows * (2 * (double)o->width * out + (double)o->inner * size);
}

static bool worth_it(const tamis_group_plan *plan) {
    const double exchange =
        tamis_group_seconds_of_rows(&plan->exchange, tamis_row_lists(&plan->exchange)->ghost_rows, 0);
    tamis_ceilings ceilings;
    if (tamis_device_ceilings(plan->exchange.group->device, &ceilings) != TAMIS_OK || !(ceilings.memory_gbs[1] > 0))
        return false;
    return exchange > KERNEL_SECONDS + bytes_of_a_second_piece(plan) / (1e9 * ceilings.memory_gbs[1]);
}

/* A plan of S^T does not overlap: what it exchanges comes after the computation. Softmax needs a whole row at once, and
   a sum of 16 bits would be rounded twice. */
bool tamis_group_overlaps(const tamis_group_plan *plan) {
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    const bool rounded = o->operation != TAMIS_OP_SDDMM && tamis_type_size(o->output_type) == 2;
    if (o->transpose || o->overlap == TAMIS_OVERLAP_NEVER || is->ghost_rows == 0 || tamis_is_softmax(o) || rounded ||
        o->no_workspace)
        return false;
    if (o->overlap == TAMIS_OVERLAP_ALWAYS) return true;
    return tamis_group_on_device(plan->exchange.group) && is->own_nnz > 0 && worth_it(plan);
}

bool tamis_group_has_interior(const tamis_group_plan *plan, tamis_interior *interior) {
    const tamis_options *const o = &plan->options;
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    tamis_ceilings ceilings;
    if (o->transpose || o->overlap == TAMIS_OVERLAP_NEVER || is->ghost_rows == 0 || plan->cover.used ||
        o->keep_softmax || o->no_workspace)
        return false;
    *interior = tamis_interior_find(is);
    if (interior->nnz == 0 || 2 * interior->nnz < is->local.nnz) return false;
    if (o->overlap == TAMIS_OVERLAP_ALWAYS) return true;
    if (tamis_device_ceilings(plan->exchange.group->device, &ceilings) != TAMIS_OK || !(ceilings.memory_gbs[1] > 0))
        return false;
    const double copied = 2 * (double)is->own_rows * (double)plan->exchange.row_bytes;
    return copied / (1e9 * ceilings.memory_gbs[1]) > 2 * KERNEL_SECONDS;
}

static double local_seconds(const tamis_plan *plan) {
    tamis_plan_report report;
    if (!plan || tamis_plan_describe(plan, &report) != TAMIS_OK) return 0;
    return report.measured_seconds > 0 ? report.measured_seconds : report.predicted_seconds;
}

tamis_group_price tamis_group_price_of(const tamis_group_plan *plan) {
    const tamis_shard_description *const is = tamis_row_lists(&plan->exchange);
    const double own = local_seconds(plan->pieces[TAMIS_PIECE_FIRST].plan);
    const double ghost = (plan->overlaps ? local_seconds(plan->pieces[TAMIS_PIECE_GHOST].plan) : 0) +
                         (plan->by_rows ? local_seconds(plan->pieces[TAMIS_BEHIND].plan) : 0);
    const double given = plan->cover.used ? local_seconds(plan->pieces[TAMIS_PIECE_GIVEN].plan) : 0;
    tamis_group_price price = {.local = own + ghost + given, .alone = (own + ghost + given) / plan->divided};
    price.exchange = plan->cover.used ? plan->cover.seconds
                                      : tamis_group_seconds_of_rows(&plan->exchange, is->ghost_rows, is->send_rows);
    price.replicated =
        tamis_group_seconds_of_rows(&plan->exchange, plan->report.cols - is->own_rows, is->own_rows * (is->ranks - 1));
    /* Pieces by columns hide too little of an exchange to count on (lab/notes, Groups of devices). */
    price.together =
        plan->by_rows ? (own > price.exchange ? own : price.exchange) + ghost : own + given + ghost + price.exchange;
    return price;
}
