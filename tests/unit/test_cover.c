/* Joint covers: the cheapest vertex cover against all covers, what a group's plan moves, and its results. */
#include "support/test.h"

#include <tamis/matrix.h>
#include <tamis/structure.h>

#include "base/random.h"
#include "cpu_device.h"
#include "group/cover/vertex_cover.h"
#include "group_case.h"
#include "group_threads.h"
#include "support/shared_data.h"

/* ------------------------------------------------------------------------------------------ vertex covers */

enum { SIDE = 7, EDGES = 40 };

typedef struct graph {
    tamis_bipartite g;
    int64_t starts[SIDE + 1];
    int32_t ends[EDGES];
} graph;

static graph draw(tamis_random *random) {
    graph x = {.g = {.left = (int32_t)tamis_random_below(random, SIDE + 1),
                     .right = (int32_t)tamis_random_below(random, SIDE + 1),
                     .left_price = 1 + (int32_t)tamis_random_below(random, 4),
                     .right_price = 1 + (int32_t)tamis_random_below(random, 4)}};
    const int64_t share = 1 + tamis_random_below(random, 10);
    int64_t count = 0;
    for (int32_t u = 0; u < x.g.left; u++) {
        for (int32_t v = 0; v < x.g.right && count < EDGES; v++)
            if (tamis_random_below(random, 10) < share) x.ends[count++] = v;
        x.starts[u + 1] = count;
    }
    return x;
}

/* What a choice of left vertices costs, with the right ones that it needs. */
static int32_t price_of(const graph *x, unsigned left) {
    unsigned right = 0;
    int32_t price = 0;
    for (int32_t u = 0; u < x->g.left; u++) {
        price += left >> u & 1 ? x->g.left_price : 0;
        for (int64_t t = x->starts[u]; t < x->starts[u + 1] && !(left >> u & 1); t++) right |= 1u << x->ends[t];
    }
    for (int32_t v = 0; v < x->g.right; v++) price += right >> v & 1 ? x->g.right_price : 0;
    return price;
}

TEST(covers_are_cheapest) {
    tamis_random random = tamis_random_start(31, 0);
    for (int round = 0; round < 20000; round++) {
        graph x = draw(&random);
        bool covers[SIDE] = {false};
        unsigned chosen = 0;
        int32_t best = INT32_MAX;
        x.g.starts = x.starts;
        x.g.ends = x.ends;
        works(tamis_vertex_cover(&x.g, covers));
        for (int32_t u = 0; u < x.g.left; u++) chosen |= (unsigned)covers[u] << u;
        for (unsigned left = 0; left < 1u << x.g.left; left++)
            if (price_of(&x, left) < best) best = price_of(&x, left);
        if (price_of(&x, chosen) != best) fail_msg("round %d: %d instead of %d", round, price_of(&x, chosen), best);
        for (unsigned left = 0; left < 1u << x.g.left; left++) /* no other has more left vertices */
            if (price_of(&x, left) == best) assert_int_equal(left & ~chosen, 0);
    }
}

/* ------------------------------------------------------------------------------------------ results */

static void run_cases(group_rank *self) {
    const int *const step = self->context;
    const char *const failed = group_case_run_all(self->group, self->ranks, *step);
    if (failed) group_says(self, "%.250s", failed);
}

TEST(all_cases) {
    int step = test_whole() ? 2 : test_rounds(5, 17); /* test_group has covers of every third, too */
    group_case_exchange = TAMIS_EXCHANGE_COVER;
    for (int ranks = 1; ranks <= 8; ranks++) group_run_on(device, ranks, 600, run_cases, &step);
}

/* ------------------------------------------------------------------------------------------ what moves */

typedef struct moving {
    tamis_sparse S;
    const int64_t *first;
    tamis_exchange exchange;
    tamis_group_report report; /* of rank 0 */
} moving;

static void plan_spmm(group_rank *self) {
    moving *const x = self->context;
    const int64_t first = x->first[self->rank], rows = x->first[self->rank + 1] - first;
    tamis_options o = options_for(TAMIS_OP_SPMM, 0, 64);
    OWN(tamis_group_plan) *plan = NULL;
    tamis_group_report report;
    tamis_sparse S;
    o.exchange = x->exchange;
    if (tamis_slice(&x->S, first, rows, 0, 0, &S) != TAMIS_OK ||
        tamis_group_plan_create(self->group, &S, rows, &o, &plan) != TAMIS_OK ||
        tamis_group_plan_describe(plan, &report) != TAMIS_OK)
        group_says(self, "%.200s", tamis_last_error());
    else if (self->rank == 0)
        x->report = report;
}

static int64_t moved(const tamis_sparse *S, tamis_exchange exchange) {
    enum { RANKS = 8 };
    int64_t first[RANKS + 1];
    moving x = {.S = *S, .first = first, .exchange = exchange};
    works(tamis_partition(S, RANKS, first));
    group_run_on(device, RANKS, 0, plan_spmm, &x);
    return x.report.ghosts;
}

/* A hub is a column that all ranks need, and a row that needs all of them. */
TEST(hubs_move_little) {
    enum { ROWS = 400 };
    int32_t offsets[ROWS + 1], columns[3 * ROWS];
    int32_t count = 0;
    for (int32_t i = 0; i < ROWS; i++) {
        offsets[i] = count;
        for (int32_t j = 0; j < ROWS; j++)
            if (i == j || i == 17 || j == 17) columns[count++] = j;
    }
    offsets[ROWS] = count;
    const tamis_sparse S = {.rows = ROWS, .cols = ROWS, .nnz = count, .offsets = offsets, .columns = columns};
    const int64_t fetched = moved(&S, TAMIS_EXCHANGE_FETCH), covered = moved(&S, TAMIS_EXCHANGE_COVER);
    assert_true(fetched > 200);
    assert_int_equal(covered, 6 + 6); /* the hub's row of B to each other rank with rows, and a partial row from each */
}

/* ------------------------------------------------------------------------------------------ memory */

enum { SHORT_RANKS = 3, SHORT_ROWS = 30, SHORT_WIDTH = 4 };

typedef struct trial {
    tamis_sparse S;
    tamis_exchange exchange;
    tamis_status status[SHORT_RANKS];
} trial;

static void make_and_run(group_rank *self) {
    enum { OWN = SHORT_ROWS / SHORT_RANKS };
    trial *const x = self->context;
    float b[OWN * SHORT_WIDTH] = {1}, c[OWN * SHORT_WIDTH];
    const tamis_dense B = {.data = b, .rows = OWN, .cols = SHORT_WIDTH};
    const tamis_dense C = {.data = c, .rows = OWN, .cols = SHORT_WIDTH};
    tamis_options o = options_for(TAMIS_OP_SPMM, 0, SHORT_WIDTH);
    tamis_group_plan *plan = NULL;
    tamis_sparse S;
    o.exchange = x->exchange;
    o.overlap = x->exchange == TAMIS_EXCHANGE_COVER ? TAMIS_OVERLAP_NEVER : TAMIS_OVERLAP_ALWAYS;
    tamis_status status = tamis_slice(&x->S, (int64_t)self->rank * OWN, OWN, 0, 0, &S);
    if (status == TAMIS_OK) status = tamis_group_plan_create(self->group, &S, OWN, &o, &plan);
    if (status == TAMIS_OK) status = tamis_group_plan_spmm(plan, &B, &C, NULL);
    tamis_group_plan_destroy(plan);
    x->status[self->rank] = status;
    if (status != TAMIS_OK && !strstr(tamis_last_error(), "no memory for")) group_says(self, "%s", tamis_last_error());
}

/* The n-th allocation of all ranks together fails, and all after it: all get the same status, and nothing is leaked. */
static void memory_is_short_for(bool hubs) {
    int32_t offsets[SHORT_ROWS + 1], columns[SHORT_ROWS * SHORT_ROWS], count = 0;
    float values[SHORT_ROWS * SHORT_ROWS] = {1};
    tamis_group *groups[SHORT_RANKS];
    for (int32_t i = 0; i < SHORT_ROWS; i++) {
        offsets[i] = count;
        for (int32_t j = 0; j < SHORT_ROWS; j++)
            if (hubs ? i == j || i == 7 || j == 7 : abs(i - j) < 2) columns[count++] = j;
    }
    offsets[SHORT_ROWS] = count;
    trial x = {.S = {.rows = SHORT_ROWS,
                     .cols = SHORT_ROWS,
                     .nnz = count,
                     .offsets = offsets,
                     .columns = columns,
                     .values = values},
               .exchange = hubs ? TAMIS_EXCHANGE_COVER : TAMIS_EXCHANGE_FETCH};
    groups_open(&device, 1, SHORT_RANKS, 0, groups);
    EACH_FAULT_OF(w, .least = (int64_t)SHORT_RANKS * (hubs ? 40 : 20), .elsewhere = true) {
        FAULTY(w, group_run(SHORT_RANKS, groups, make_and_run, &x), x.status[0]);
        assert_true(x.status[1] == x.status[0] && x.status[2] == x.status[0]);
    }
    groups_close(groups, SHORT_RANKS);
}

TEST(memory_is_short) {
    memory_is_short_for(true);
    memory_is_short_for(false);
}

/* Real patterns, where they are. */
TEST(real_patterns) {
    static const struct {
        const char *file;
        bool edges;
        double least; /* times fewer rows */
    } files[] = {{"snap/email-Enron.txt.gz", true, 2.5},
                 {"snap/facebook_combined.txt.gz", true, 1.85},
                 {"gnn/pubmed.graph.mtx.xz", false, 1.35},
                 {"snap/ca-CondMat.mtx.xz", false, 1.25}};
    if (!shared_data_folder()) skip_because("no collection of real matrices (TAMIS_SHARED_DATA)");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        OWN(tamis_owned_sparse) *const real = shared_graph(files[i].file, files[i].edges);
        if (!real) continue;
        const tamis_sparse *const S = tamis_owned_sparse_view(real);
        const int64_t fetched = moved(S, TAMIS_EXCHANGE_FETCH), covered = moved(S, TAMIS_EXCHANGE_COVER);
        printf("    %-28s %lld rows instead of %lld, %.2f times fewer\n", files[i].file, (long long)covered,
               (long long)fetched, (double)fetched / (double)covered);
        assert_true((double)fetched >= files[i].least * (double)covered);
    }
}

TEST_FIXTURE(set_up, tear_down)
