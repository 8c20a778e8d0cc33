/* Fetches rows: the ranks agree on what is exchanged, and pack it. */
#include "group/exchange/exchange.h"

#include <string.h>

#include "group/share.h"
#include "sparse/check.h"

static int64_t element_bytes(const tamis_fetch *f) { return (int64_t)tamis_type_size(f->exchange->type); }

/* ------------------------------------------------------------------------------------------ layout */

static tamis_dense in_x(const tamis_fetch *f, int which) {
    const tamis_row_exchange *const e = f->exchange;
    const int64_t members = f->members[f->members[1] == 0 ? 0 : which];
    return (tamis_dense){.data = e->rows,
                         .rows = tamis_own_rows_of_x(e) + tamis_row_lists(e)->ghost_rows,
                         .cols = f->from[which].given.cols,
                         .stride = f->row_bytes / element_bytes(f),
                         .type = e->type,
                         .location = e->group->device->backend->location,
                         .batch_stride = members > 1 ? f->from[which].given.cols : 0};
}

void tamis_fetch_lay_out(tamis_fetch *f, int64_t first_members, int64_t second_members) {
    f->members[0] = first_members;
    f->members[1] = second_members;
    f->row_bytes = (first_members * f->from[0].given.cols + second_members * f->from[1].given.cols) * element_bytes(f);
    for (int i = 0; i < f->count; i++) {
        const tamis_shared_rows *const x = &f->from[i];
        if (!x->local) continue;
        f->held[i] = in_x(f, i);
        *x->local = &f->held[i];
        *x->skip = i == 1 && second_members > 0 ? first_members * f->from[0].given.cols : 0;
    }
}

/* ------------------------------------------------------------------------------------------ agreeing */

/* Records that a rank shares: of one fetch, and of a call. */
typedef struct wish {
    int64_t members[TAMIS_EXCHANGED]; /* a rank without rows follows the others */
    int32_t changed;                  /* its matrices may have changed */
    int32_t needs;
} wish;
typedef struct wishes {
    wish of[TAMIS_FETCHES];
    tamis_agreed agreed;
} wishes;

static int64_t members_of(const tamis_fetch *f, int which) {
    return f->from[which].given.view->batch_stride ? f->exchange->batch : 1;
}

static wish wish_of(const tamis_fetch *f, uint64_t generation) {
    const tamis_row_exchange *const e = f->exchange;
    wish mine = {{1, 0}, generation == 0 || generation != e->generation, f->needs};
    if (tamis_row_lists(e)->own_rows == 0 || f->count == 0) return mine;
    mine.members[0] = members_of(f, 0);
    if (f->count > 1 && !tamis_dense_same(f->from[0].given.view, f->from[1].given.view))
        mine.members[1] = members_of(f, 1);
    return mine;
}

static tamis_status compare_scalar(const char *name, double theirs, double first, int rank) {
    if (theirs == first) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: execution.%s = %.17g, but %.17g on rank 0", rank, name, theirs,
                      first);
}

static tamis_status compare(const tamis_agreed *theirs, const tamis_agreed *first, int rank) {
    TRY(compare_scalar("alpha", theirs->alpha, first->alpha, rank));
    TRY(compare_scalar("beta", theirs->beta, first->beta, rank));
    if (theirs->requested == first->requested) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: asks for other gradients of distributed matrices than rank 0",
                      rank);
}

static void add_wish(wish *all, const wish *theirs) {
    for (int i = 0; i < TAMIS_EXCHANGED; i++)
        if (theirs->members[i] > all->members[i]) all->members[i] = theirs->members[i];
    all->changed |= theirs->changed;
    all->needs |= theirs->needs;
}

static void lay_out_agreed(tamis_fetch *f, const wish *all) {
    const tamis_row_exchange *const e = f->exchange;
    tamis_fetch_lay_out(f, all->members[0], all->members[1]);
    f->needs = all->needs;
    const bool kept = !all->changed && all->members[0] == e->kept[0] && all->members[1] == e->kept[1];
    f->exchanges = e->ghosts > 0 && all->needs && !kept;
}

tamis_status tamis_fetch_agree(tamis_fetch *fetches, int count, tamis_status status, uint64_t generation,
                               const tamis_agreed *agreed) {
    tamis_group *const group = fetches->exchange->group;
    wishes all = {.agreed = *agreed};
    for (int i = 0; i < count; i++)
        all.of[i] = status == TAMIS_OK ? wish_of(&fetches[i], i == 0 ? generation : 0)
                                       : (wish){.members = {1, 0}, .changed = 1};
    TRY(tamis_group_share(group, status, &all, sizeof all));
    for (int rank = 0; rank < group->transport.ranks; rank++) {
        wishes theirs;
        memcpy(&theirs, tamis_group_shared(group, rank, sizeof theirs), sizeof theirs);
        if (rank == 0) all.agreed = theirs.agreed;
        TRY(compare(&theirs.agreed, &all.agreed, rank));
        for (int i = 0; i < count; i++) add_wish(&all.of[i], &theirs.of[i]);
    }
    for (int i = 0; i < count; i++) lay_out_agreed(&fetches[i], &all.of[i]);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ packing */

/* Rows of a matrix to be copied: `count` of a list, or from `first` on. */
typedef struct rows_of {
    const void *list;
    int64_t first, count;
} rows_of;

/* Gathers rows of all members of a matrix. */
static tamis_status gather(const tamis_fetch *f, void *stream, int which, rows_of rows, tamis_place to) {
    const tamis_device *const device = f->exchange->group->device;
    const tamis_dense *const X = f->from[which].given.view;
    const int64_t size = element_bytes(f);
    const int64_t before = rows.first * (X->layout == TAMIS_ROW_MAJOR ? tamis_dense_stride(X) : 1);
    const int64_t skip = f->from[which].given.skip + before;
    for (int64_t m = 0; m < f->members[which]; m++) {
        const tamis_gathering g = {.type = X->type,
                                   .threads = f->exchange->threads,
                                   .layout = X->layout,
                                   .from = {X->data, (skip + m * X->batch_stride) * size},
                                   .to = {to.base, to.bytes + m * X->cols * size},
                                   .stride = tamis_dense_stride(X),
                                   .to_stride = f->row_bytes / size,
                                   .cols = X->cols,
                                   .count = rows.count,
                                   .rows = rows.list};
        TRY(device->backend->gather(device->handle, stream, &g));
    }
    return TAMIS_OK;
}

static tamis_status pack(const tamis_fetch *f, void *stream, rows_of rows, tamis_place to) {
    if (rows.count == 0) return TAMIS_OK;
    TRY(gather(f, stream, 0, rows, to));
    to.bytes += f->members[0] * f->from[0].given.cols * element_bytes(f);
    return f->members[1] == 0 ? TAMIS_OK : gather(f, stream, 1, rows, to);
}

static tamis_status pack_sends(const tamis_fetch *f) {
    const tamis_row_exchange *const e = f->exchange;
    const tamis_shard_description *const is = tamis_row_lists(e);
    const rows_of rows = {.list = e->sends ? e->sends : is->sends, .count = is->send_rows};
    return pack(f, e->stream, rows, (tamis_place){e->send, 0});
}

/* Copies own rows to X in the caller's stream, which has read X before; other ranks wait only for the rows sent. */
static tamis_status pack_own(const tamis_fetch *f) {
    const tamis_row_exchange *const e = f->exchange;
    const tamis_shard_description *const is = tamis_row_lists(e);
    for (int i = 0; i < 2 && !e->in_place; i++) {
        const rows_of rows = {.first = e->copied[i][0], .count = e->copied[i][1] - e->copied[i][0]};
        TRY(pack(f, f->stream, rows, (tamis_place){e->rows, (is->ghosts_before + rows.first) * f->row_bytes}));
    }
    return TAMIS_OK;
}

tamis_status tamis_fetch_begin(tamis_fetch *f) {
    tamis_row_exchange *const e = f->exchange;
    const tamis_shard_description *const is = tamis_row_lists(e);
    const bool on_device = tamis_group_on_device(e->group);
    f->move = (tamis_move){.exchange = e,
                           .stream = f->stream,
                           .send = e->send,
                           .receive = e->rows,
                           .receive_gap = tamis_own_rows_of_x(e) * f->row_bytes,
                           .send_starts = is->send_starts,
                           .receive_starts = is->receive_starts,
                           .row_bytes = f->row_bytes};
    e->generation = 0;
    TRY(tamis_move_follow(&f->move)); /* the caller's stream has written the matrices, and read X */
    TRY(pack_sends(f));
    if (on_device) TRY(pack_own(f));
    TRY(tamis_move_begin(&f->move));
    return on_device ? TAMIS_OK : pack_own(f);
}

void tamis_fetch_keep(const tamis_fetch *f, uint64_t generation) {
    if (!f->needs) return;
    f->exchange->generation = generation;
    memcpy(f->exchange->kept, f->members, sizeof f->members);
}
