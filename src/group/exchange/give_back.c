/* Sends partial sums back to the owners of their rows. */
#include "group/exchange/exchange.h"

#include "sparse/check.h"

static int64_t element_bytes(const tamis_row_exchange *e) { return (int64_t)tamis_type_size(tamis_sum_type(e->type)); }

/* Returns the columns of one output; 0 if it is not requested. */
static int64_t cols_of(const tamis_giving *g, int which) {
    return which < g->count && g->to[which].given.view ? g->to[which].given.cols : 0;
}

/* Return the offset in a row of an output, and of the softmax pairs. */
static int64_t first_of(const tamis_giving *g, int which) {
    return which == 1 ? g->exchange->batch * cols_of(g, 0) : 0;
}
static int64_t pairs_at(const tamis_giving *g) { return g->exchange->batch * (cols_of(g, 0) + cols_of(g, 1)); }

static int64_t row_elements(const tamis_giving *g) { return pairs_at(g) + (g->weighted ? 2 * g->exchange->batch : 0); }

void tamis_give_back_lay_out(tamis_giving *g) {
    const tamis_row_exchange *const e = g->exchange;
    const tamis_shard_description *const is = tamis_row_lists(e);
    for (int i = 0; i < g->count; i++) {
        const tamis_shared_rows *const x = &g->to[i];
        if (!x->given.view || !x->local) continue;
        g->held[i] = (tamis_dense){.data = e->partial,
                                   .rows = e->apart ? is->ghost_rows : e->own_sums + is->ghost_rows,
                                   .cols = x->given.cols,
                                   .stride = row_elements(g),
                                   .type = tamis_sum_type(e->type),
                                   .location = e->group->device->backend->location,
                                   .batch_stride = e->batch > 1 ? x->given.cols : 0};
        *x->local = &g->held[i];
        *x->skip = first_of(g, i) + (e->apart ? e->own_sums * row_elements(g) : 0);
    }
}

/* Copies the pairs of each row, which the local plan has written member by member, to the end of the row. */
static tamis_status pack_pairs(const tamis_giving *g) {
    const tamis_row_exchange *const e = g->exchange;
    const tamis_device *const device = e->group->device;
    const tamis_shard_description *const is = tamis_row_lists(e);
    const int64_t rows = e->own_sums + is->ghost_rows, size = element_bytes(e);
    for (int64_t m = 0; g->weighted && m < e->batch; m++) {
        const tamis_gathering pairs = {.type = tamis_sum_type(e->type),
                                       .threads = e->threads,
                                       .layout = TAMIS_ROW_MAJOR,
                                       .from = {e->pairs, 2 * m * rows * size},
                                       .to = {e->partial, (pairs_at(g) + 2 * m) * size},
                                       .stride = 2,
                                       .to_stride = row_elements(g),
                                       .cols = 2,
                                       .count = rows};
        TRY(device->backend->gather(device->handle, g->stream, &pairs));
    }
    return TAMIS_OK;
}

/* Adds the members of one output. */
static tamis_status add_output(const tamis_giving *g, int which) {
    const tamis_row_exchange *const e = g->exchange;
    const tamis_device *const device = e->group->device;
    const tamis_dense *const to = g->to[which].given.view;
    const int64_t own_rows = tamis_row_lists(e)->own_rows, size = element_bytes(e);
    const int64_t before = e->apart ? 0 : tamis_row_lists(e)->ghosts_before;
    for (int64_t m = 0; m < e->batch; m++) {
        const int64_t first = first_of(g, which) + m * to->cols;
        tamis_row_sum sum = {
            .type = to->type,
            .threads = e->threads,
            .layout = to->layout,
            .own = {e->own_sums > 0 || own_rows == 0 ? e->partial : NULL, (before * row_elements(g) + first) * size},
            .others = {e->received, first * size},
            .to = {to->data, m * to->batch_stride * (int64_t)tamis_type_size(to->type)},
            .part_stride = row_elements(g),
            .stride = tamis_dense_stride(to),
            .cols = to->cols,
            .count = own_rows,
            .starts = e->sum_starts,
            .places = e->sum_places,
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
    for (int i = 0; i < g->count; i++)
        if (g->to[i].given.view) TRY(add_output(g, i));
    return TAMIS_OK;
}

tamis_status tamis_give_back(tamis_giving *g) {
    tamis_row_exchange *const e = g->exchange;
    const tamis_shard_description *const is = tamis_row_lists(e);
    const int64_t row_bytes = row_elements(g) * element_bytes(e);
    tamis_move m = {.exchange = e,
                    .stream = g->stream,
                    .send = e->partial,
                    .receive = e->received,
                    .send_first = e->apart ? e->own_sums * row_bytes : 0,
                    .send_gap = e->apart ? 0 : e->own_sums * row_bytes,
                    .send_starts = is->receive_starts,
                    .receive_starts = is->send_starts,
                    .row_bytes = row_bytes};
    if (e->gives) TRY(pack_pairs(g));
    TRY(tamis_move_follow(&m));
    TRY(tamis_move_begin(&m));
    tamis_status status = tamis_move_arrive(&m);
    if (status == TAMIS_OK && e->gives) status = add(g);
    TRY(tamis_move_end(&m, status));
    return tamis_move_lead(&m); /* later work in the caller's stream may overwrite e->partial: others have read it */
}
