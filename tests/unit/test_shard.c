/* Shards against a plain restatement of what they are, for all ranks of a distribution at a time. */
#include <tamis/structure.h>

#include "test_sparse_support.h"

enum { RANKS_MOST = 13 };

/* A matrix, its distribution, and the shard of each rank. */
typedef struct spread {
    const sample *s;
    int ranks;
    int64_t first_rows[RANKS_MOST + 1], column_starts[RANKS_MOST + 1];
    tamis_sparse slices[RANKS_MOST];
    tamis_shard *shards[RANKS_MOST];
    tamis_shard_description is[RANKS_MOST];
    bool all_rows; /* every row is a ghost row of all other ranks */
    bool in_order;
} spread;

/* The ways to cut 0 .. total - 1 that a distribution may have. */
typedef enum cut { CUT_EVEN, CUT_ALL_LAST, CUT_RANDOM, CUTS } cut;

static int by_size(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void make_starts(cut how, int64_t total, int ranks, tamis_random *random, int64_t *starts) {
    for (int r = 0; r <= ranks; r++)
        starts[r] = how == CUT_EVEN     ? r * total / ranks
                    : how == CUT_RANDOM ? tamis_random_below(random, total + 1)
                    : r < ranks         ? 0
                                        : total;
    qsort(starts, (size_t)ranks + 1, sizeof *starts, by_size);
    starts[0] = 0;
    starts[ranks] = total;
}

static bool is_own(const spread *d, int rank, int64_t column) {
    return column >= d->column_starts[rank] && column < d->column_starts[rank + 1];
}

/* The ghost rows of a rank: those columns of its entries that are not its own, ascending, each once; with all_rows, of
   all columns. */
static int64_t restate_ghosts(const spread *d, int rank, int64_t *ghosts) {
    OWN(bool) *const needed = room_for(d->s->cols, sizeof *needed);
    int64_t count = 0;
    for (int64_t t = 0; t < d->s->nnz; t++) {
        const entry *const e = &d->s->entries[t];
        if (e->row >= d->first_rows[rank] && e->row < d->first_rows[rank + 1]) needed[e->column] = true;
    }
    for (int64_t j = 0; j < d->s->cols; j++)
        if ((d->all_rows || needed[j]) && !is_own(d, rank, j)) ghosts[count++] = j;
    return count;
}

/* The global column of a local one. */
static int64_t global_of(const tamis_shard_description *is, int64_t local) {
    const int64_t from = local - is->ghosts_before;
    if (from < 0) return is->ghosts[local];
    return from < is->own_rows ? is->first_own + from : is->ghosts[local - is->own_rows];
}

static void expect_local(const spread *d, int rank) {
    const tamis_shard_description *const is = &d->is[rank];
    const tamis_sparse *const L = &is->local, *const S = &d->slices[rank];
    assert_int_equal(L->rows, S->rows);
    assert_int_equal(L->nnz, S->nnz);
    assert_int_equal(L->cols, is->own_rows + is->ghost_rows);
    assert_int_equal(L->offset_base, 0);
    assert_int_equal(L->index_type, TAMIS_I32);
    works(tamis_validate(L));
    for (int64_t i = 0; i <= L->rows; i++)
        assert_int_equal(tamis_index_load(L->offsets, L->offset_type, i),
                         tamis_index_load(S->offsets, S->offset_type, i) - S->offset_base);
    for (int64_t t = 0; t < L->nnz; t++) {
        assert_int_equal(global_of(is, tamis_index_load(L->columns, L->index_type, t)),
                         tamis_index_load(S->columns, S->index_type, S->offset_base + t));
        if (S->values)
            assert_true(tamis_element_load(L->values, L->value_type, t) ==
                        tamis_element_load(S->values, S->value_type, S->offset_base + t));
    }
}

/* Each entry is in one of the parts, in its row, in S's order, with its column. */
static void expect_parts(const tamis_shard_description *is) {
    const tamis_sparse *const L = &is->local, *const parts[] = {&is->own, &is->ghost};
    const int64_t *const entries[] = {is->own_entries, is->ghost_entries};
    OWN(bool) *const seen = room_for(L->nnz, sizeof *seen);
    assert_int_equal(is->own.nnz, is->own_nnz);
    assert_int_equal(is->own.nnz + is->ghost.nnz, L->nnz);
    assert_int_equal(is->own.cols, is->own_rows);
    assert_int_equal(is->ghost.cols, is->ghost_rows);
    for (int p = 0; p < 2; p++) {
        works(tamis_validate(parts[p]));
        for (int64_t i = 0; i < L->rows; i++)
            for (int64_t t = tamis_index_load(parts[p]->offsets, parts[p]->offset_type, i), before = -1;
                 t < tamis_index_load(parts[p]->offsets, parts[p]->offset_type, i + 1); t++) {
                const int64_t e = entries[p][t];
                assert_true(e > before && e >= tamis_index_load(L->offsets, L->offset_type, i) &&
                            e < tamis_index_load(L->offsets, L->offset_type, i + 1));
                const int64_t column = tamis_index_load(parts[p]->columns, parts[p]->index_type, t);
                assert_int_equal(p == 0 ? is->first_own + column : is->ghosts[column],
                                 global_of(is, tamis_index_load(L->columns, L->index_type, e)));
                assert_false(seen[e]);
                seen[e] = true;
                before = e;
            }
    }
}

/* What rank r gets from rank q is what q sends it, and is q's. */
static void expect_lists(const spread *d) {
    for (int r = 0; r < d->ranks; r++) {
        const tamis_shard_description *const to = &d->is[r];
        int sources = 0, targets = 0;
        assert_int_equal(to->receive_starts[0], 0);
        assert_int_equal(to->receive_starts[d->ranks], to->ghost_rows);
        assert_int_equal(to->send_starts[d->ranks], to->send_rows);
        for (int q = 0; q < d->ranks; q++) {
            const tamis_shard_description *const from = &d->is[q];
            const int64_t first = to->receive_starts[q], count = to->receive_starts[q + 1] - first;
            assert_int_equal(from->send_starts[r + 1] - from->send_starts[r], count);
            for (int64_t t = 0; t < count; t++) {
                assert_true(is_own(d, q, to->ghosts[first + t]));
                assert_int_equal(from->sends[from->send_starts[r] + t] + from->first_own, to->ghosts[first + t]);
            }
            sources += count > 0;
            targets += to->send_starts[q + 1] > to->send_starts[q];
        }
        assert_int_equal(to->sources, sources);
        assert_int_equal(to->targets, targets);
    }
}

static void expect_survey(const spread *d) {
    tamis_shard_volume want = {.imbalance = 1}, found;
    int64_t nnz = 0;
    for (int r = 0; r < d->ranks; r++) {
        const tamis_shard_description *const is = &d->is[r];
        if (is->local.nnz > want.nnz_most) want.nnz_most = is->local.nnz;
        if (is->ghost_rows > want.ghosts_most) want.ghosts_most = is->ghost_rows;
        if (is->send_rows > want.sends_most) want.sends_most = is->send_rows;
        if (is->sources > want.sources_most) want.sources_most = is->sources;
        want.ghosts += is->ghost_rows;
        want.messages += is->sources;
        nnz += is->local.nnz;
    }
    if (nnz > 0) want.imbalance = (double)want.nnz_most * d->ranks / (double)nnz;
    works(tamis_shard_survey(&d->s->view, d->ranks, d->first_rows, d->column_starts, &found));
    assert_memory_equal(&found, &want, sizeof want);
}

/* The two all-to-alls of a set-up, done by hand. */
static void exchange_requests(spread *d) {
    for (int q = 0; q < d->ranks; q++) {
        int64_t counts[RANKS_MOST], total = 0;
        OWN(int64_t) *const rows = room_for(d->s->cols * d->ranks, sizeof *rows);
        for (int r = 0; r < d->ranks; r++) {
            const int64_t first = d->is[r].receive_starts[q];
            counts[r] = d->is[r].receive_starts[q + 1] - first;
            if (counts[r] > 0) memcpy(rows + total, d->is[r].ghosts + first, (size_t)counts[r] * sizeof *rows);
            total += counts[r];
        }
        assert_null(d->is[q].sends);
        works(tamis_shard_set_requests(d->shards[q], counts, total > 0 ? rows : NULL));
        works(tamis_shard_describe(d->shards[q], &d->is[q]));
        assert_non_null(d->is[q].sends);
    }
}

static void expect_spread(spread *d) {
    OWN(int64_t) *const ghosts = room_for(d->s->cols, sizeof *ghosts);
    for (int r = 0; r < d->ranks; r++) {
        const tamis_shard_options o = {.rank = r,
                                       .ranks = d->ranks,
                                       .column_starts = d->column_starts,
                                       .split = true,
                                       .all_rows = d->all_rows,
                                       .in_order = d->in_order};
        works(tamis_slice(&d->s->view, d->first_rows[r], d->first_rows[r + 1] - d->first_rows[r], 0, 0, &d->slices[r]));
        works(tamis_shard_create(&d->slices[r], &o, &d->shards[r]));
        works(tamis_shard_describe(d->shards[r], &d->is[r]));
        const tamis_shard_description *const is = &d->is[r];
        assert_int_equal(is->rank, r);
        assert_int_equal(is->ranks, d->ranks);
        assert_int_equal(is->first_own, d->column_starts[r]);
        assert_int_equal(is->own_rows, d->column_starts[r + 1] - d->column_starts[r]);
        assert_int_equal(is->ghost_rows, restate_ghosts(d, r, ghosts));
        if (is->ghost_rows > 0) assert_memory_equal(is->ghosts, ghosts, (size_t)is->ghost_rows * sizeof *ghosts);
        for (int64_t j = 1; j < is->local.cols && d->in_order; j++)
            assert_true(global_of(is, j) > global_of(is, j - 1));
        expect_local(d, r);
        expect_parts(is);
    }
    exchange_requests(d);
    expect_lists(d);
    if (!d->all_rows) expect_survey(d);
    for (int r = 0; r < d->ranks; r++) tamis_shard_destroy(d->shards[r]);
}

TEST(restates_all_distributions) {
    static const int ranks[] = {1, 2, 3, 5, 7, 8, RANKS_MOST};
    tamis_random random = tamis_random_start(19, 0);
    for (int shape = 0; shape < SAMPLE_SHAPES - 1; shape++)
        for (int p = 0; p < 7; p++) {
            spread d = {.ranks = ranks[p]};
            OWN(sample) s = sample_draw((uint64_t)(shape * 7 + p), sample_shapes[shape].rows, sample_shapes[shape].cols,
                                        sample_shapes[shape].nnz);
            order_entries(&s, p % 2 ? by_row : by_both);
            sample_build(&s, TAMIS_CSR, (tamis_index_type)(p % 2), (tamis_index_type)(p / 2 % 2), (tamis_type)(p % 4),
                         p != 3);
            d.s = &s;
            for (int how = 0; how < CUTS; how++) {
                make_starts((cut)how, s.cols, d.ranks, &random, d.column_starts);
                make_starts((cut)((how + p) % CUTS), s.rows, d.ranks, &random, d.first_rows);
                expect_spread(&d);
                d.all_rows = true;
                expect_spread(&d);
                d.in_order = true;
                expect_spread(&d);
                d.all_rows = false;
                expect_spread(&d);
                d.in_order = false;
                works(tamis_partition(&s.view, d.ranks, d.first_rows));
                expect_spread(&d);
            }
        }
}

/* More columns than 32 bits number, most of them nobody's neighbours: memory follows the nonzeros. */
TEST(numbers_columns_beyond_32_bits) {
    const int64_t giga = (int64_t)1 << 30, starts[] = {0, 1000 * giga, 1000 * giga + 5, 4000 * giga};
    const int64_t offsets[] = {0, 3, 3, 6},
                  columns[] = {3999 * giga, 1000 * giga + 4, 7, 1000 * giga, 1000 * giga - 1, 3999 * giga};
    const int32_t local[] = {7, 4, 5, 0, 6, 7};
    const tamis_sparse S = CSR(3, 4000 * giga, offsets, columns, NULL);
    const tamis_shard_options o = {.rank = 1, .ranks = 3, .column_starts = starts};
    const int64_t counts[] = {1, 0, 2}, rows[] = {1000 * giga + 3, 1000 * giga, 1000 * giga + 3};
    OWN(tamis_shard) *shard;
    tamis_shard_description is;
    works(tamis_shard_create(&S, &o, &shard));
    works(tamis_shard_set_requests(shard, counts, rows));
    works(tamis_shard_describe(shard, &is));
    assert_int_equal(is.ghost_rows, 3);
    assert_true(is.ghosts[0] == 7 && is.ghosts[1] == 1000 * giga - 1 && is.ghosts[2] == 3999 * giga);
    assert_int_equal(is.receive_starts[1], 2);
    assert_int_equal(is.receive_starts[2], 2);
    assert_int_equal(is.local.index_type, TAMIS_I32);
    assert_memory_equal(is.local.columns, local, sizeof local);
    assert_true(is.sends[0] == 3 && is.sends[1] == 0 && is.sends[2] == 3);
    assert_null(is.own_entries);
}

/* What the survey chooses where it is not told: equal nonzeros; a square matrix's columns like its rows. */
TEST(surveys_by_itself) {
    static const struct { int64_t rows, cols; } shapes[] = {{300, 300}, {300, 80}};
    for (int i = 0; i < 2; i++) {
        OWN(sample) s = sample_draw(5, shapes[i].rows, shapes[i].cols, 4000);
        int64_t first_rows[6], column_starts[6];
        tamis_shard_volume want, found;
        order_entries(&s, by_row);
        sample_build(&s, TAMIS_CSR, TAMIS_I32, TAMIS_I32, TAMIS_F32, false);
        works(tamis_partition(&s.view, 5, first_rows));
        for (int r = 0; r <= 5; r++) column_starts[r] = i == 0 ? first_rows[r] : r * s.cols / 5;
        works(tamis_shard_survey(&s.view, 5, first_rows, column_starts, &want));
        works(tamis_shard_survey(&s.view, 5, NULL, NULL, &found));
        assert_memory_equal(&found, &want, sizeof want);
        assert_true(found.ghosts > 0 && found.imbalance >= 1);
    }
}
