/*
 * Sets up a joint cover. A rank sends each other rank the numbers of partial rows and nonzeros that it requests; then
 * the number of nonzeros in each of these rows, and their columns. All lists of later exchanges follow from these.
 */
#include "group/cover/trade.h"

#include "base/memory.h"
#include "base/scope.h"
#include "group/exchange/lists.h"
#include "group/share.h"
#include "sparse/index.h"

/* State of the exchange. Message to a rank: the number of nonzeros in each partial row, then their columns, counted
   from the receiver's first own row of B. */
typedef struct trade {
    tamis_cover *cover;
    const tamis_division *division;
    tamis_row_exchange *exchange;
    tamis_group_making *m;
    int64_t *out, *in;
    void *offsets, *columns; /* CSR of the kept nonzeros, with S's types */
    int64_t kept;
} trade;

/* ------------------------------------------------------------------------------------------ lists */

/* Which of the two counts. */
typedef enum unit { ROWS, ENTRIES } unit;
static int64_t count_of(const tamis_partial_rows *x, unit of) { return of == ROWS ? x->rows : x->entries; }

/* Makes an exchange like `e`: this rank sends the rows (or entries) that others compute for it, and receives those that
   it computes for them. */
static tamis_status begin_exchange(const tamis_row_exchange *e, const tamis_division *d, unit of, int64_t own_rows,
                                   tamis_row_exchange *x) {
    const tamis_shard_description *const like = tamis_row_lists(e);
    const int ranks = like->ranks;
    int64_t sent = 0, received = 0;
    *x = (tamis_row_exchange){
        .group = e->group, .type = e->type, .batch = e->batch, .threads = e->threads, .in_place = true};
    TRY(tamis_allocate_zeroed(1, sizeof *x->shard, "a shard", (void **)&x->shard));
    tamis_shard *const s = x->shard;
    TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the lists of an exchange", (void **)&x->send_starts));
    TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the lists of an exchange", (void **)&x->receive_starts));
    TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the ranks of rows to send", (void **)&s->send_starts));
    TRY(tamis_allocate(ranks + 1, sizeof(int64_t), "the ranks of rows to receive", (void **)&s->receive_starts));
    s->is = (tamis_shard_description){.rank = like->rank, .ranks = ranks, .own_rows = own_rows};
    for (int r = 0; r <= ranks; r++) {
        s->send_starts[r] = sent;
        s->receive_starts[r] = received;
        if (r == ranks) break;
        const int64_t out = count_of(&d->given[r], of), in = count_of(&d->taken[r], of);
        s->is.targets += out > 0;
        s->is.sources += in > 0;
        sent += out;
        received += in;
    }
    TRY(tamis_allocate(sent + 1, sizeof(int64_t), "the list of rows to send", (void **)&s->sends));
    s->is.send_rows = sent;
    s->is.ghost_rows = received;
    s->is.sends = s->sends;
    s->is.send_starts = s->send_starts;
    s->is.receive_starts = s->receive_starts;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ what is given and kept */

/* Output positions of a rank's next nonzero, row and column. */
typedef struct places {
    int64_t rows, entries, counts, columns, seen;
} places;

static void set_places(const trade *t, places *next) {
    const int ranks = t->exchange->group->transport.ranks;
    places at = {0};
    for (int r = 0; r < ranks; r++) {
        const tamis_partial_rows *const given = &t->division->given[r];
        at.columns = at.counts + given->rows;
        next[r] = at;
        at.rows += given->rows;
        at.entries += given->entries;
        at.counts = at.columns + given->entries;
    }
}

static void give(const trade *t, int64_t row, int64_t entry, int64_t ghost, places *next) {
    const int32_t owner = t->division->owners[ghost];
    places *const at = &next[owner];
    if (at->seen != row + 1) {
        t->cover->rows.shard->sends[at->rows++] = row;
        t->out[at->counts++] = 0;
    }
    at->seen = row + 1;
    t->out[at->counts - 1]++;
    t->out[at->columns++] = tamis_row_lists(t->exchange)->ghosts[ghost] - t->m->column_starts[owner];
    t->cover->values.shard->sends[at->entries++] = entry;
}

static void fill(trade *t, places *next) {
    const tamis_shard_description *const is = tamis_row_lists(t->exchange);
    const tamis_sparse *const S = t->m->S, *const local = &is->local;
    for (int64_t i = 0; i < local->rows; i++) {
        tamis_index_store(t->offsets, S->offset_type, i, t->kept);
        for (int64_t e = tamis_row_start(local, i); e < tamis_row_start(local, i + 1); e++) {
            const int64_t ghost = tamis_ghost_of(is, tamis_index_load(local->columns, local->index_type, e));
            if (ghost >= 0 && !t->division->kept[ghost]) {
                give(t, i, e, ghost, next);
                continue;
            }
            tamis_index_store(t->columns, S->index_type, t->kept,
                              tamis_index_load(S->columns, S->index_type, S->offset_base + e));
            t->cover->entries[t->kept++] = e;
        }
    }
    tamis_index_store(t->offsets, S->offset_type, local->rows, t->kept);
}

static tamis_status divide(trade *t) {
    const tamis_row_exchange *const e = t->exchange;
    const tamis_sparse *const S = t->m->S;
    tamis_cover *const c = t->cover;
    const int64_t ranks = e->group->transport.ranks, kept = S->nnz - t->division->all_given.entries;
    const tamis_partial_rows *const given = &t->division->all_given, *const taken = &t->division->all_taken;
    places *next;
    TRY(begin_exchange(e, t->division, ROWS, S->rows, &c->rows));
    TRY(begin_exchange(e, t->division, ENTRIES, S->nnz, &c->values));
    TRY(tamis_allocate_array(given->rows + given->entries, "what others compute", t->out));
    TRY(tamis_allocate_array(taken->rows + taken->entries, "what is computed for others", t->in));
    TRY(tamis_scope_allocate(S->rows + 1, tamis_index_size(S->offset_type), "the offsets of kept nonzeros",
                             &t->offsets));
    TRY(tamis_scope_allocate(kept, tamis_index_size(S->index_type), "the columns of kept nonzeros", &t->columns));
    TRY(tamis_allocate(kept, sizeof(int64_t), "the kept nonzeros", (void **)&c->entries));
    TRY(tamis_allocate_zeros(ranks, "the places of a cover", next));
    set_places(t, next);
    fill(t, next);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ exchanges */

tamis_status tamis_cover_count(tamis_division *d, const tamis_row_exchange *e) {
    const int ranks = e->group->transport.ranks;
    for (int r = 0; r <= ranks; r++) e->send_starts[r] = e->receive_starts[r] = r * (int64_t)sizeof *d->given;
    const tamis_transfer transfer = {
        .send = d->given, .send_starts = e->send_starts, .receive = d->taken, .receive_starts = e->receive_starts};
    TRY(tamis_group_exchange(e->group, &transfer));
    for (int r = 0; r < ranks; r++) {
        d->all_taken.rows += d->taken[r].rows;
        d->all_taken.entries += d->taken[r].entries;
    }
    return TAMIS_OK;
}

/* Exchanges the nonzeros. */
static tamis_status exchange_entries(const trade *t) {
    tamis_row_exchange *const x = &t->cover->rows;
    const int64_t size = (int64_t)sizeof(int64_t);
    x->send_starts[0] = x->receive_starts[0] = 0;
    for (int r = 0; r < x->group->transport.ranks; r++) {
        const tamis_partial_rows *const given = &t->division->given[r], *const taken = &t->division->taken[r];
        x->send_starts[r + 1] = x->send_starts[r] + (given->rows + given->entries) * size;
        x->receive_starts[r + 1] = x->receive_starts[r] + (taken->rows + taken->entries) * size;
    }
    const tamis_transfer transfer = {
        .send = t->out, .send_starts = x->send_starts, .receive = t->in, .receive_starts = x->receive_starts};
    return tamis_group_exchange(x->group, &transfer);
}

/* Makes the pattern of the partial rows that this rank computes for others, in the order of ranks. */
static tamis_status make_pattern(trade *t) {
    tamis_shard *const s = t->cover->rows.shard;
    const int64_t rows = s->is.ghost_rows, nnz = tamis_row_lists(&t->cover->values)->ghost_rows;
    const int64_t cols = tamis_row_lists(t->exchange)->own_rows;
    const tamis_index_type index_type = tamis_index_spans(TAMIS_I32, cols) ? TAMIS_I32 : TAMIS_I64;
    const tamis_index_type offset_type = tamis_index_holds(TAMIS_I32, nnz) ? TAMIS_I32 : TAMIS_I64;
    int64_t row = 0, entry = 0, end = 0;
    TRY(tamis_allocate(rows + 1, tamis_index_size(offset_type), "the offsets of partial rows", &s->offsets));
    TRY(tamis_allocate(nnz, tamis_index_size(index_type), "the columns of partial rows", &s->columns));
    const int64_t *from = t->in;
    for (int r = 0; r < s->is.ranks; r++) {
        for (int64_t i = 0; i < t->division->taken[r].rows; i++) {
            tamis_index_store(s->offsets, offset_type, row++, end);
            end += *from++;
        }
        for (int64_t i = 0; i < t->division->taken[r].entries; i++)
            tamis_index_store(s->columns, index_type, entry++, *from++);
    }
    tamis_index_store(s->offsets, offset_type, rows, end);
    s->is.local = (tamis_sparse){.format = TAMIS_CSR,
                                 .rows = rows,
                                 .cols = cols,
                                 .nnz = nnz,
                                 .index_type = index_type,
                                 .offset_type = offset_type,
                                 .offsets = s->offsets,
                                 .columns = s->columns};
    return TAMIS_OK;
}

/* Restricts the exchange to the kept nonzeros. Their values are S's, by their indices in S. */
static tamis_status keep_rest(const trade *t) {
    tamis_row_exchange *const e = t->exchange;
    const int64_t needed_rows = e->needed_rows;
    const int needed_sources = e->needed_sources;
    tamis_sparse kept = *t->m->S;
    kept.values = tamis_row_lists(e)->local.values;
    kept.nnz = t->kept;
    kept.offsets = t->offsets;
    kept.columns = t->columns;
    kept.offset_base = 0;
    TRY(tamis_row_exchange_list(e, &kept, t->m));
    e->needed_rows = needed_rows; /* of all nonzeros, as 1d-fetch would need */
    e->needed_sources = needed_sources;
    return TAMIS_OK;
}

tamis_status tamis_cover_trade(tamis_cover *cover, const tamis_division *division, tamis_row_exchange *exchange,
                               tamis_group_making *m) {
    trade t = {.cover = cover, .division = division, .exchange = exchange, .m = m};
    tamis_group *const group = exchange->group;
    TAMIS_SCOPE;
    TRY(tamis_group_share(group, divide(&t), NULL, 0));
    TRY(exchange_entries(&t));
    TRY(tamis_group_share(group, make_pattern(&t), NULL, 0));
    return keep_rest(&t);
}

/* ------------------------------------------------------------------------------------------ buffers */

tamis_status tamis_cover_make_buffers(tamis_cover *c, const tamis_options *o, int64_t own_sums) {
    tamis_row_exchange *const x = &c->rows;
    tamis_row_exchange_set_widths(x, o->operation == TAMIS_OP_FUSED ? o->inner : 0, o->width);
    x->gives = x->apart = true;
    x->own_sums = own_sums;
    return tamis_row_exchange_make_buffers(x, false);
}

tamis_status tamis_cover_make_values(tamis_cover *c, const tamis_sparse *S) {
    tamis_row_exchange *const x = &c->values;
    const int64_t sets = S->batch_stride ? x->batch : 1;
    if (c->kind < 2) return TAMIS_OK;
    x->type = (tamis_type)(c->kind - 2);
    tamis_row_exchange_set_widths(x, 1, 0);
    TRY(tamis_row_exchange_make_buffers(x, false));
    if (x->batch > 1)
        TRY(tamis_group_allocate(x->group, tamis_times(tamis_row_lists(x)->ghost_rows, x->row_bytes),
                                 "values for others", &c->packed));
    const int64_t count = (sets - 1) * S->batch_stride + tamis_row_lists(x)->own_rows;
    return tamis_group_put(x->group, S->values, count * (int64_t)tamis_type_size(x->type), "values for others",
                           &c->own_memory, &c->own);
}

void tamis_cover_destroy(tamis_cover *c) {
    if (c->packed) tamis_group_release(c->values.group, c->packed);
    if (c->own_memory) tamis_group_release(c->values.group, c->own_memory);
    if (c->rows.shard) tamis_row_exchange_destroy(&c->rows);
    if (c->values.shard) tamis_row_exchange_destroy(&c->values);
    tamis_release(c->entries);
}
