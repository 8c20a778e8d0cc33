/* Makes an exchange: the ranks tell each other which rows they need. */
#include "group/exchange/lists.h"

#include <string.h>

#include "base/memory.h"
#include "group/ghosts.h"
#include "group/share.h"

/* Counts the rows that this rank needs, if it receives more. */
static tamis_status count_needed(tamis_row_exchange *e, const tamis_group_making *m) {
    const int rank = e->group->transport.rank;
    const int64_t *const starts = m->column_starts;
    tamis_ghosts needed;
    int owner = -1;
    TRY(tamis_ghosts_find(m->S, starts[rank], starts[rank + 1], &needed));
    e->needed_rows = needed.count;
    e->needed_sources = 0;
    for (int64_t i = 0, r = 0; i < needed.count; i++) {
        while (needed.columns[i] >= starts[r + 1]) r++;
        e->needed_sources += owner != r;
        owner = (int)r;
    }
    tamis_ghosts_release(&needed);
    return TAMIS_OK;
}

static tamis_status allocate_lists(tamis_row_exchange *e, tamis_group_making *m) {
    const int64_t ranks = e->group->transport.ranks;
    int64_t **const lists[] = {&m->needed, &m->asked, &e->send_starts, &e->receive_starts};
    for (int i = 0; i < 4; i++)
        if (!*lists[i]) TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the lists of an exchange", (void **)lists[i]));
    return TAMIS_OK;
}

static tamis_status make_shard(tamis_row_exchange *e, const tamis_sparse *S, bool trusted, tamis_group_making *m) {
    tamis_shard *const before = e->shard;
    const tamis_transport *const t = &e->group->transport;
    const tamis_shard_options options = {.rank = t->rank,
                                         .ranks = t->ranks,
                                         .column_starts = m->column_starts,
                                         .all_rows = m->options.exchange == TAMIS_EXCHANGE_REPLICATE,
                                         .trust_input = trusted,
                                         .in_order = true};
    TRY(allocate_lists(e, m));
    e->shard = NULL;
    tamis_shard_destroy(before);
    TRY(tamis_shard_create(S, &options, &e->shard));
    const tamis_shard_description *const is = tamis_row_lists(e);
    e->needed_rows = is->ghost_rows;
    e->needed_sources = is->sources;
    if (options.all_rows) TRY(count_needed(e, m));
    for (int r = 0; r < t->ranks; r++) m->needed[r] = is->receive_starts[r + 1] - is->receive_starts[r];
    m->asked[t->rank] = 0;
    return TAMIS_OK;
}

static tamis_status exchange_counts(tamis_row_exchange *e, tamis_group_making *m) {
    for (int r = 0; r <= e->group->transport.ranks; r++)
        e->send_starts[r] = e->receive_starts[r] = r * (int64_t)sizeof(int64_t);
    const tamis_transfer transfer = {
        .send = m->needed, .send_starts = e->send_starts, .receive = m->asked, .receive_starts = e->receive_starts};
    return tamis_group_exchange(e->group, &transfer);
}

static tamis_status make_room_for_requests(tamis_row_exchange *e, tamis_group_making *m) {
    int64_t total = 0;
    e->receive_starts[0] = 0;
    for (int r = 0; r < e->group->transport.ranks; r++) {
        total += m->asked[r];
        e->receive_starts[r + 1] = total * (int64_t)sizeof(int64_t);
    }
    tamis_release(m->asked_rows);
    m->asked_rows = NULL;
    return tamis_allocate(total, sizeof(int64_t), "the numbers of rows to send", (void **)&m->asked_rows);
}

static tamis_status exchange_requests(tamis_row_exchange *e, tamis_group_making *m) {
    const tamis_shard_description *const is = tamis_row_lists(e);
    for (int r = 0; r <= is->ranks; r++) e->send_starts[r] = is->receive_starts[r] * (int64_t)sizeof(int64_t);
    const tamis_transfer transfer = {.send = is->ghosts,
                                     .send_starts = e->send_starts,
                                     .receive = m->asked_rows,
                                     .receive_starts = e->receive_starts};
    return tamis_group_exchange(e->group, &transfer);
}

static tamis_status list(tamis_row_exchange *e, const tamis_sparse *S, bool trusted, tamis_group_making *m) {
    TRY(tamis_group_share(e->group, make_shard(e, S, trusted, m), NULL, 0));
    TRY(exchange_counts(e, m));
    TRY(tamis_group_share(e->group, make_room_for_requests(e, m), NULL, 0));
    return exchange_requests(e, m);
}

tamis_status tamis_row_exchange_create(tamis_row_exchange *e, tamis_group_making *m) {
    e->group = m->group;
    TRY(tamis_group_agree(m));
    e->type = m->options.type;
    e->batch = m->options.batch;
    e->threads = m->options.threads;
    return list(e, m->S, m->options.trust_input, m);
}

tamis_status tamis_row_exchange_list(tamis_row_exchange *e, const tamis_sparse *S, tamis_group_making *m) {
    return list(e, S, true, m);
}

tamis_status tamis_row_exchange_take_requests(tamis_row_exchange *e, const tamis_group_making *m) {
    return tamis_shard_set_requests(e->shard, m->asked, m->asked_rows);
}

tamis_status tamis_row_exchange_finish(tamis_row_exchange *e, tamis_status mine) {
    const int64_t own = mine == TAMIS_OK ? tamis_row_lists(e)->ghost_rows : 0;
    TRY(tamis_group_share(e->group, mine, &own, sizeof own));
    for (int r = 0; r < e->group->transport.ranks; r++) {
        int64_t theirs;
        memcpy(&theirs, tamis_group_shared(e->group, r, sizeof theirs), sizeof theirs);
        e->ghosts += theirs;
    }
    return TAMIS_OK;
}

void tamis_row_exchange_destroy(tamis_row_exchange *e) {
    if (!e->group) return; /* its making has not begun */
    tamis_row_exchange_release_buffers(e);
    tamis_shard_destroy(e->shard);
    tamis_release(e->send_starts);
    tamis_release(e->receive_starts);
}
