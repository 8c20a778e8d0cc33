/* Partial sums on their way to the owners of their rows, which add them. */
#include "group/move.h"
#include "sparse/check.h"

static int64_t element_bytes(const tamis_group_plan *plan) {
    return (int64_t)tamis_type_size(tamis_sum_type(plan->options.type));
}

/* Elements of a row before the pairs of a softmax. */
static int64_t pairs_at(const tamis_giving *g) { return g->plan->options.batch * (g->cols[0] + g->cols[1]); }

static int64_t row_elements(const tamis_giving *g) {
    return pairs_at(g) + (g->weighted ? 2 * g->plan->options.batch : 0);
}

tamis_dense tamis_giving_view(const tamis_giving *g, int which, int64_t *skip) {
    const tamis_group_plan *const plan = g->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const bool many = plan->options.batch > 1;
    *skip = which == 1 ? plan->options.batch * g->cols[0] : 0;
    return (tamis_dense){.data = plan->partial,
                         .rows = is->own_rows + is->ghost_rows,
                         .cols = g->cols[which],
                         .stride = row_elements(g),
                         .type = tamis_sum_type(plan->options.type),
                         .location = plan->group->device->backend->location,
                         .batch_stride = many ? g->cols[which] : 0};
}

/* The pairs of each row that the local plan has written, member by member, to the end of the row. */
static tamis_status pack_pairs(const tamis_giving *g) {
    const tamis_group_plan *const plan = g->plan;
    const tamis_device *const device = plan->group->device;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const int64_t rows = is->own_rows + is->ghost_rows, size = element_bytes(plan);
    for (int64_t m = 0; g->weighted && m < plan->options.batch; m++) {
        const tamis_gathering pairs = {.type = tamis_sum_type(plan->options.type),
                                       .threads = plan->options.threads,
                                       .layout = TAMIS_ROW_MAJOR,
                                       .from = {plan->pairs, 2 * m * rows * size},
                                       .to = {plan->partial, (pairs_at(g) + 2 * m) * size},
                                       .stride = 2,
                                       .to_stride = row_elements(g),
                                       .cols = 2,
                                       .count = rows};
        TRY(device->backend->gather(device->handle, g->stream, &pairs));
    }
    return TAMIS_OK;
}

/* Members of one output. */
static tamis_status add_output(const tamis_giving *g, int which) {
    const tamis_group_plan *const plan = g->plan;
    const tamis_device *const device = plan->group->device;
    const tamis_dense *const to = g->to[which];
    const int64_t own_rows = tamis_shard_is(plan->shard)->own_rows, size = element_bytes(plan);
    int64_t skip;
    (void)tamis_giving_view(g, which, &skip);
    for (int64_t m = 0; m < plan->options.batch; m++) {
        const int64_t first = skip + m * g->cols[which];
        tamis_row_sum sum = {.type = to->type,
                             .threads = plan->options.threads,
                             .layout = to->layout,
                             .own = {plan->partial, first * size},
                             .others = {plan->received, first * size},
                             .to = {to->data, m * to->batch_stride * (int64_t)tamis_type_size(to->type)},
                             .part_stride = row_elements(g),
                             .stride = tamis_dense_stride(to),
                             .cols = g->cols[which],
                             .count = own_rows,
                             .starts = plan->sum_starts,
                             .places = plan->sum_places,
                             .factor = g->factor,
                             .keep = g->keep};
        if (g->weighted) {
            sum.weighted = true;
            sum.pair = pairs_at(g) + 2 * m - first;
            if (g->softmax_rows) sum.merged = (tamis_place){g->softmax_rows, 2 * m * own_rows * size};
        }
        TRY(device->backend->add_rows(device->handle, g->stream, &sum));
    }
    return TAMIS_OK;
}

static tamis_status add(const tamis_giving *g) {
    for (int i = 0; i < TAMIS_TRADED; i++)
        if (g->to[i]) TRY(add_output(g, i));
    return TAMIS_OK;
}

tamis_status tamis_give(tamis_giving *g) {
    tamis_group_plan *const plan = g->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const int64_t row_bytes = row_elements(g) * element_bytes(plan);
    tamis_move m = {.plan = plan,
                    .stream = g->stream,
                    .send = plan->partial,
                    .receive = plan->received,
                    .send_first = is->own_rows * row_bytes,
                    .send_starts = is->receive_starts,
                    .receive_starts = is->send_starts,
                    .row_bytes = row_bytes};
    tamis_message kept;
    if (tamis_group_gives(plan)) TRY(pack_pairs(g));
    TRY(tamis_move_follow(&m));
    TRY(tamis_move_begin(&m));
    tamis_status status = tamis_move_arrive(&m);
    if (status == TAMIS_OK && tamis_group_gives(plan)) status = add(g);
    tamis_message_keep(&kept);
    tamis_status ended = tamis_move_end(&m);
    /* what comes behind this in the caller's stream may write plan->partial, which others have read */
    if (ended == TAMIS_OK) ended = tamis_move_lead(&m);
    if (status == TAMIS_OK) return ended;
    tamis_message_restore(&kept);
    return status;
}
