/* Ghost rows: what the ranks agree on, packing the rows that others need and, in front of the ghost rows, the own. */
#include <string.h>

#include "group/move.h"
#include "sparse/check.h"

static int64_t element_bytes(const tamis_group_plan *plan) { return (int64_t)tamis_type_size(plan->options.type); }

/* ------------------------------------------------------------------------------------------ layout */

void tamis_fetch_lay_out(tamis_fetch *f, int64_t first_members, int64_t second_members) {
    f->members[0] = first_members;
    f->members[1] = second_members;
    f->row_bytes = (first_members * f->cols[0] + second_members * f->cols[1]) * element_bytes(f->plan);
}

tamis_dense tamis_fetch_view(const tamis_fetch *f, int which, int64_t *skip) {
    const tamis_group_plan *const plan = f->plan;
    const int64_t members = f->members[f->members[1] == 0 ? 0 : which];
    *skip = which == 1 && f->members[1] > 0 ? f->members[0] * f->cols[0] : 0;
    return (tamis_dense){.data = plan->rows,
                         .rows = tamis_group_own_rows_of_x(plan) + tamis_shard_is(plan->shard)->ghost_rows,
                         .cols = f->cols[which],
                         .stride = f->row_bytes / element_bytes(plan),
                         .type = plan->options.type,
                         .location = plan->group->device->backend->location,
                         .batch_stride = members > 1 ? f->cols[which] : 0};
}

/* ------------------------------------------------------------------------------------------ agreeing */

/* What a rank tells the others of an execution. */
typedef struct wish {
    int64_t members[TAMIS_TRADED]; /* a rank without rows leaves it to the others */
    int32_t changed;               /* its matrices may have changed */
    int32_t needs;
    uint64_t wanted;
    double alpha, beta;
} wish;

static int64_t members_of(const tamis_fetch *f, int which) {
    return f->given[which]->batch_stride ? f->plan->options.batch : 1;
}

static wish wish_of(const tamis_fetch *f, uint64_t generation, bool needs) {
    wish mine = {{1, 0}, generation == 0 || generation != f->plan->generation, needs, f->wanted, f->alpha, f->beta};
    if (tamis_shard_is(f->plan->shard)->own_rows == 0 || !f->given[0]) return mine;
    mine.members[0] = members_of(f, 0);
    if (f->given[1] && !tamis_dense_same(f->given[0], f->given[1])) mine.members[1] = members_of(f, 1);
    return mine;
}

static tamis_status compare_scalar(const char *name, double theirs, double first, int rank) {
    if (theirs == first) return TAMIS_OK;
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "rank %d: execution.%s = %.17g, but %.17g on rank 0", rank, name, theirs,
                      first);
}

tamis_status tamis_fetch_agree(tamis_fetch *f, tamis_status status, uint64_t generation, bool needs) {
    tamis_group_plan *const plan = f->plan;
    wish all = status == TAMIS_OK ? wish_of(f, generation, needs) : (wish){.members = {1, 0}, .changed = 1};
    TRY(tamis_group_share(plan->group, status, &all, sizeof all));
    for (int rank = 0; rank < plan->group->transport.ranks; rank++) {
        wish theirs;
        memcpy(&theirs, tamis_group_shared(plan->group, rank, sizeof theirs), sizeof theirs);
        if (rank == 0) {
            all.wanted = theirs.wanted;
            all.alpha = theirs.alpha;
            all.beta = theirs.beta;
        }
        TRY(compare_scalar("alpha", theirs.alpha, all.alpha, rank));
        TRY(compare_scalar("beta", theirs.beta, all.beta, rank));
        if (theirs.wanted != all.wanted)
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "rank %d: asks for other gradients of distributed matrices than rank 0", rank);
        for (int i = 0; i < TAMIS_TRADED; i++)
            if (theirs.members[i] > all.members[i]) all.members[i] = theirs.members[i];
        all.changed |= theirs.changed;
        all.needs |= theirs.needs;
    }
    tamis_fetch_lay_out(f, all.members[0], all.members[1]);
    f->needs = all.needs;
    const bool kept = !all.changed && all.members[0] == plan->kept[0] && all.members[1] == plan->kept[1];
    f->exchanges = plan->report.ghosts > 0 && all.needs && !kept;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ packing */

/* Rows of all members of a matrix, `skip` bytes behind the start of X's or the sent rows. */
static tamis_status gather(const tamis_fetch *f, void *stream, int which, const void *rows, int64_t count, void *to,
                           int64_t skip) {
    const tamis_device *const device = f->plan->group->device;
    const tamis_dense *const X = f->given[which];
    const int64_t size = element_bytes(f->plan);
    for (int64_t m = 0; m < f->members[which]; m++) {
        const tamis_gathering g = {.type = X->type,
                                   .threads = f->plan->options.threads,
                                   .layout = X->layout,
                                   .from = {X->data, m * X->batch_stride * size},
                                   .to = {to, skip + m * X->cols * size},
                                   .stride = tamis_dense_stride(X),
                                   .to_stride = f->row_bytes / size,
                                   .cols = X->cols,
                                   .count = count,
                                   .rows = rows};
        TRY(device->backend->gather(device->handle, stream, &g));
    }
    return TAMIS_OK;
}

static tamis_status pack(const tamis_fetch *f, void *stream, const void *rows, int64_t count, void *to) {
    if (count == 0) return TAMIS_OK;
    TRY(gather(f, stream, 0, rows, count, to, 0));
    if (f->members[1] == 0) return TAMIS_OK;
    return gather(f, stream, 1, rows, count, to, f->members[0] * f->cols[0] * element_bytes(f->plan));
}

static tamis_status pack_sends(const tamis_fetch *f) {
    const tamis_group_plan *const plan = f->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    return pack(f, plan->stream, plan->sends ? plan->sends : is->sends, is->send_rows, plan->send);
}

/* In the caller's stream, which has read X before: the others wait only for what is sent. */
static tamis_status pack_own(const tamis_fetch *f) {
    if (tamis_group_in_place(f->plan)) return TAMIS_OK;
    return pack(f, f->stream, NULL, tamis_shard_is(f->plan->shard)->own_rows, f->plan->rows);
}

/* ------------------------------------------------------------------------------------------ the exchange */

tamis_status tamis_fetch_begin(tamis_fetch *f) {
    tamis_group_plan *const plan = f->plan;
    const tamis_shard_description *const is = tamis_shard_is(plan->shard);
    const bool on_device = tamis_group_on_device(plan->group);
    f->move = (tamis_move){.plan = plan,
                           .stream = f->stream,
                           .send = plan->send,
                           .receive = plan->rows,
                           .receive_first = tamis_group_own_rows_of_x(plan) * f->row_bytes,
                           .send_starts = is->send_starts,
                           .receive_starts = is->receive_starts,
                           .row_bytes = f->row_bytes};
    plan->generation = 0;
    TRY(tamis_move_follow(&f->move)); /* which has written the matrices, and read X */
    TRY(pack_sends(f));
    if (on_device) TRY(pack_own(f));
    TRY(tamis_move_begin(&f->move));
    return on_device ? TAMIS_OK : pack_own(f);
}

tamis_status tamis_fetch_arrive(const tamis_fetch *f) { return tamis_move_arrive(&f->move); }
tamis_status tamis_fetch_end(const tamis_fetch *f) { return tamis_move_end(&f->move); }

void tamis_fetch_keep(const tamis_fetch *f, uint64_t generation) {
    if (!f->needs) return;
    f->plan->generation = generation;
    for (int i = 0; i < TAMIS_TRADED; i++) f->plan->kept[i] = f->members[i];
}
