/* Decides on a joint cover; cover/trade.c then sets it up. */
#include "group/cover/cover.h"

#include <string.h>
#include <tamis/ceilings.h>

#include "base/scope.h"
#include "group/share.h"

/* A GPU launches two more kernels. */
static const double KERNELS_SECONDS = 10e-6;

/* ------------------------------------------------------------------------------------------ deciding */

/* Returns why a joint cover is impossible for all ranks, by their common arguments; NULL: it is possible. */
static const char *reason_of(const tamis_group_making *m) {
    const tamis_options *const o = &m->options;
    if (o->operation == TAMIS_OP_SDDMM) return "not possible (a sample is no sum)";
    if (o->operation == TAMIS_OP_FUSED && o->edge == TAMIS_EDGE_SOFTMAX)
        return "not possible (softmax needs a whole row at once)";
    if (o->transpose) return "not done with S transposed";
    if (o->exchange == TAMIS_EXCHANGE_FETCH || o->exchange == TAMIS_EXCHANGE_REPLICATE) return "not counted";
    if (m->group->transport.ranks == 1) return "nothing to fetch";
    return o->width == 0 ? "nothing to add" : NULL;
}

/* Estimates a rank's seconds for `nnz` nonzeros from the rate of random reads of rows of B. */
static double compute_seconds(const tamis_row_exchange *e, const tamis_cover_price *price, double nnz) {
    const tamis_shard_description *const is = tamis_row_lists(e);
    const double table = (double)(is->own_rows + is->ghost_rows) * (double)price->fetched;
    tamis_ceilings c;
    if (tamis_device_ceilings(e->group->device, &c) != TAMIS_OK) return 0;
    double rate = c.memory_gbs[1];
    for (int i = 5; i >= 0; i--)
        if (c.gather_gbs[1][i] > 0 && (double)c.gather_bytes[i] >= table) rate = c.gather_gbs[1][i];
    return rate > 0 ? nnz * (double)price->fetched * e->group->sharing / (1e9 * rate) : 0;
}

static tamis_cover_price price_of(const tamis_options *o) {
    const bool fused = o->operation == TAMIS_OP_FUSED;
    const int64_t size = (int64_t)tamis_type_size(o->type), sum = (int64_t)tamis_type_size(tamis_sum_type(o->type));
    const int64_t inner = fused ? o->inner : 0;
    return (tamis_cover_price){.fetched = o->batch * size * (fused && o->d_is_b ? inner : inner + o->width),
                               .sum = o->batch * (o->width * sum + inner * size)};
}

/* Record that ranks exchange. Index 0: cost of 1d-fetch; index 1: cost of a joint cover, or a lower bound of it. */
typedef struct offer {
    int32_t unable; /* options.no_workspace */
    int32_t values; /* see tamis_cover.kind; 0: no nonzeros */
    double bytes[2];
    double link[2], seconds[2]; /* link: to receive the bytes; seconds: with the computation. 0: not known */
    int64_t rows;               /* partial rows */
} offer;

static int32_t values_of(const tamis_group_making *m) {
    const tamis_sparse *const S = m->S;
    if (!tamis_needs_values(m->options.operation, m->options.edge) || S->nnz == 0) return 0;
    return S->values ? 2 + (int32_t)S->value_type : 1;
}

static void set_seconds(const tamis_row_exchange *e, const tamis_group_making *m, int64_t steps, double nnz,
                        offer *mine) {
    const tamis_cover_price price = price_of(&m->options);
    mine->link[1] = tamis_group_seconds(m->group, mine->bytes[1], steps);
    mine->seconds[1] = mine->link[1] > 0 ? mine->link[1] + compute_seconds(e, &price, nnz) : 0;
}

/* Fills in the cost of this division. Rows of A and values are counted at the sender: every rank is assumed to receive
   as many as it sends. */
static void fill_offer(const tamis_row_exchange *e, const tamis_group_making *m, const tamis_division *d, offer *mine) {
    const tamis_options *const o = &m->options;
    const tamis_cover_price price = price_of(o);
    const bool values = values_of(m) > 1, given = d->all_given.rows > 0;
    const int64_t steps = given ? 1 + (o->operation == TAMIS_OP_FUSED) + values : 0;
    const double value =
        values ? (double)tamis_type_size(m->S->value_type) * (m->S->batch_stride ? (double)o->batch : 1) : 0;
    mine->rows = d->all_given.rows;
    mine->bytes[1] = (double)d->all_fetched * (double)price.fetched + (double)d->all_given.rows * (double)price.sum +
                     (double)d->all_given.entries * value;
    const int64_t nnz = m->S->nnz - d->all_given.entries + d->all_taken.entries;
    set_seconds(e, m, (d->all_fetched > 0) + steps, (double)nnz, mine);
    if (given && mine->link[1] > 0 && tamis_group_on_device(m->group)) mine->seconds[1] += KERNELS_SECONDS;
}

static void raise_to(double *most, double value) {
    if (value > *most) *most = value;
}

/* Shares the offers: *all has the maximum of bytes and seconds over ranks (0 if a rank does not know), and the sum of
   partial rows. Ranks with values must have the same kind. */
static tamis_status share(tamis_group *group, tamis_status status, const offer *mine, offer *all) {
    bool known = true;
    *all = (offer){.unable = 0};
    TRY(tamis_group_share(group, status, mine, sizeof *mine));
    for (int r = 0; r < group->transport.ranks; r++) {
        offer theirs;
        memcpy(&theirs, tamis_group_shared(group, r, sizeof theirs), sizeof theirs);
        all->unable |= theirs.unable || (theirs.values && all->values && theirs.values != all->values);
        if (theirs.values) all->values = theirs.values;
        all->rows += theirs.rows;
        for (int i = 0; i < 2; i++) {
            raise_to(&all->bytes[i], theirs.bytes[i]);
            raise_to(&all->link[i], theirs.link[i]);
            raise_to(&all->seconds[i], theirs.seconds[i]);
        }
        known = known && (theirs.link[0] > 0 || theirs.bytes[0] == 0);
    }
    if (!known) all->link[0] = all->link[1] = all->seconds[0] = all->seconds[1] = 0;
    return TAMIS_OK;
}

/* Returns true if the saving exceeds the overhead: 10 % in time, or 25 % in bytes where times are not known. */
static bool cheaper(const offer *all) {
    return all->seconds[0] > 0 ? 1.1 * all->seconds[1] < all->seconds[0] : 1.25 * all->bytes[1] < all->bytes[0];
}

static tamis_status offer_bound(const tamis_row_exchange *e, const tamis_group_making *m, tamis_division *d,
                                offer *mine) {
    const tamis_cover_price price = price_of(&m->options);
    *mine = (offer){.unable = m->options.no_workspace, .values = values_of(m)};
    TRY(tamis_division_create(tamis_row_lists(e), d));
    fill_offer(e, m, d, mine);
    mine->bytes[0] = mine->bytes[1];
    mine->link[0] = mine->link[1];
    mine->seconds[0] = mine->seconds[1];
    TRY(tamis_division_bound(tamis_row_lists(e), d, &price, &mine->bytes[1]));
    set_seconds(e, m, mine->bytes[1] > 0, (double)m->nnz / m->group->transport.ranks, mine);
    return TAMIS_OK;
}

/* Decides on a division, together with the other ranks. */
static tamis_status decide(tamis_cover *c, const tamis_row_exchange *e, const tamis_group_making *m,
                           tamis_division *d) {
    const tamis_cover_price price = price_of(&m->options);
    const bool named = m->options.exchange == TAMIS_EXCHANGE_COVER;
    offer mine, all;
    TRY(share(m->group, offer_bound(e, m, d, &mine), &mine, &all));
    c->bytes = mine.bytes[1];
    c->seconds = all.link[1];
    if (all.unable) c->declined = "not done with options.no_workspace, nor where ranks have other kinds of values";
    if (all.unable || (!named && !cheaper(&all))) return TAMIS_OK;
    TRY(tamis_group_share(m->group, tamis_division_cover(tamis_row_lists(e), &price, d), NULL, 0));
    TRY(tamis_cover_count(d, e));
    fill_offer(e, m, d, &mine);
    TRY(share(m->group, TAMIS_OK, &mine, &all));
    c->counted = true;
    c->fetched = d->all_fetched;
    c->sums = d->all_given.rows;
    c->bytes = mine.bytes[1];
    c->seconds = all.link[1];
    for (int r = 0; r < m->group->transport.ranks; r++) c->messages += (d->fetched[r] > 0) + (d->given[r].rows > 0);
    c->used = all.rows > 0 && (named || cheaper(&all));
    c->kind = all.values;
    return TAMIS_OK;
}

tamis_status tamis_cover_make(tamis_cover *c, tamis_row_exchange *e, tamis_group_making *m) {
    tamis_division d;
    TAMIS_SCOPE;
    c->declined = reason_of(m);
    if (c->declined) return TAMIS_OK;
    TRY(decide(c, e, m, &d));
    return c->used ? tamis_cover_trade(c, &d, e, m) : TAMIS_OK;
}
