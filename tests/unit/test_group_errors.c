/*
 * What goes wrong on one rank of a group: the call ends on all ranks, with the same error, which names the rank; and
 * the next call works. What the ranks disagree on; memory that is short; ranks that leave or never come.
 */
#include "support/test.h"

#include "cpu_device.h"
#include "group_threads.h"
#include "small.h"

enum { RANKS = 3 };

/* A rank's part of a 3 x 6 problem: row r of S with two nonzeros, rows 2 r and 2 r + 1 of B and D. */
typedef struct share {
    int32_t offsets[2], columns[2];
    float values[2], a[SMALL_K], b[2 * SMALL_K], d[2 * SMALL_L], p[2], out[2 * SMALL_L];
    tamis_sparse S;
    tamis_dense A, B, D, P, E;
    int64_t own_rows;
    tamis_options options;
    tamis_execution execution;
} share;

/* It is to lie at `at`. */
static share share_of(int rank, share *at) {
    return (share){.offsets = {0, 2},
                   .columns = {rank, 5 - rank},
                   .values = {1, 2},
                   .a = {1, 2},
                   .b = {1, 2, (float)rank, 4},
                   .d = {3, 2, 1, 0, 1, 2},
                   .S = {.rows = 1,
                         .cols = 6,
                         .nnz = 2,
                         .offsets = at->offsets,
                         .row_indices = at->offsets,
                         .columns = at->columns,
                         .values = at->values},
                   .A = {.data = at->a, .rows = 1, .cols = SMALL_K},
                   .B = {.data = at->b, .rows = 2, .cols = SMALL_K},
                   .D = {.data = at->d, .rows = 2, .cols = SMALL_L},
                   .P = {.data = at->p, .rows = 2, .cols = 1},
                   .E = {.data = at->out, .rows = 1, .cols = SMALL_L},
                   .own_rows = 2,
                   .options = small_options(TAMIS_OP_FUSED),
                   .execution = TAMIS_EXECUTION_INIT};
}

/* What one rank does wrong, and what all are told. */
typedef struct fault {
    size_t at, bytes;
    const void *value;
    bool in_plan; /* making the plan finds it; else executing it */
    tamis_status status;
    const char *message;
} fault;

#define PLAN(field, bad, wanted, words)    FAULT(true, field, bad, wanted, words)
#define EXECUTE(field, bad, wanted, words) FAULT(false, field, bad, wanted, words)
#define FAULT(making, field, bad, wanted, words)                                                                       \
    {                                                                                                                  \
        .at = offsetof(share, field), .bytes = sizeof((share *)0)->field,                                              \
        .value = &(const __typeof__(((share *)0)->field)){bad}, .in_plan = making, .status = TAMIS_ERROR_##wanted,     \
        .message = words                                                                                               \
    }

static const fault faults[] = {
    PLAN(S.offsets, NULL, ARGUMENT, "rank 1: S.offsets = NULL"),
    PLAN(columns[1], 6, PATTERN, "rank 1: columns[1] = 6"),
    PLAN(S.cols, 7, ARGUMENT, "rank 1: S.cols = 7, but 6 on rank 0"),
    PLAN(own_rows, 1, ARGUMENT, "own_rows: all ranks together have 5 rows of B, expected S.cols = 6"),
    PLAN(own_rows, -1, ARGUMENT, "rank 1: own_rows = -1: expected 0 or more"),
    PLAN(S.format, TAMIS_COO, ARGUMENT, "rank 1: S.format = coo: expected csr"),
    PLAN(options.inner, 4, ARGUMENT, "rank 1: options.inner = 4, but 2 on rank 0"),
    PLAN(options.edge, TAMIS_EDGE_MASK, ARGUMENT, "rank 1: options.edge = 1, but 0 on rank 0"),
    PLAN(options.operation, TAMIS_OP_SPMM, ARGUMENT, "rank 1: options.operation = 1, but 2 on rank 0"),
    PLAN(options.edge_slope, 0.5, ARGUMENT, "rank 1: options.edge_slope = 0.5, but 0.01"),
    PLAN(options.batch, 2, ARGUMENT, "rank 1: options.batch = 2, but 1 on rank 0"),
    PLAN(options.transpose, true, ARGUMENT, "rank 1: options.transpose = 1, but 0 on rank 0"),
    PLAN(options.algorithm, "fastest", ARGUMENT, "rank 1: algorithm = \"fastest\" does not exist"),
    PLAN(S.value_type, TAMIS_F64, ARGUMENT, "rank 1: S.value_type = fp64"),
    PLAN(options.math, TAMIS_MATH_TF32, ARGUMENT, "rank 1: options.math = 1, but 0 on rank 0"),
    PLAN(options.any_order, true, ARGUMENT, "rank 1: options.any_order = 1, but 0 on rank 0"),
    PLAN(options.exchange, TAMIS_EXCHANGE_REPLICATE, ARGUMENT, "rank 1: options.exchange = 2, but 0 on rank 0"),
    EXECUTE(execution.alpha, 3, ARGUMENT, "rank 1: execution.alpha = 3, but 1 on rank 0"),
    EXECUTE(execution.beta, 0.5, ARGUMENT, "rank 1: execution.beta = 0.5, but 0 on rank 0"),
    EXECUTE(B.data, NULL, ARGUMENT, "rank 1: B.data = NULL"),
    EXECUTE(B.rows, 3, ARGUMENT, "rank 1: B.rows = 3: expected 2"),
    EXECUTE(B.layout, TAMIS_COLUMN_MAJOR, ARGUMENT,
            "rank 1: B.layout = column-major, but the plan was made for row-major"),
    EXECUTE(D.cols, 2, ARGUMENT, "rank 1: D.cols = 2: expected 3"),
    EXECUTE(A.type, TAMIS_F64, ARGUMENT, "rank 1: A.type = fp64: expected fp32"),
    EXECUTE(E.rows, 2, ARGUMENT, "rank 1: E.rows = 2: expected 1"),
    EXECUTE(execution.alpha, 0.0 / 0.0, ARGUMENT, "rank 1: execution.alpha is not a number"),
    EXECUTE(execution.workspace, (void *)(uintptr_t)4, ARGUMENT, "rank 1: execution.workspace = "),
};

enum { FAULTS = sizeof faults / sizeof *faults };

/* E of a rank, by hand. */
static bool right_result(const share *s) {
    double e[SMALL_L] = {0};
    for (int t = 0; t < 2; t++) {
        const int j = s->columns[t];
        share other = share_of(j / 2, &other);
        double x = 0;
        for (int k = 0; k < SMALL_K; k++) x += (double)s->a[k] * (double)other.b[j % 2 * SMALL_K + k];
        for (int k = 0; k < SMALL_L; k++) e[k] += (double)s->values[t] * x * (double)other.d[j % 2 * SMALL_L + k];
    }
    for (int k = 0; k < SMALL_L; k++)
        if ((double)s->out[k] != e[k]) return false;
    return true;
}

static void one_fault(group_rank *self, const fault *f) {
    share s = share_of(self->rank, &s), good = share_of(self->rank, &good);
    OWN(tamis_group_plan) *plan = (tamis_group_plan *)&s;
    if (self->rank == 1 && f->in_plan) memcpy((char *)&s + f->at, f->value, f->bytes);
    const tamis_status made = tamis_group_plan_create(self->group, &s.S, s.own_rows, &s.options, &plan);
    if (f->in_plan) {
        if (!group_expects(self, made, f->status, f->message)) return;
        if (plan) group_says(self, "%s: the plan is not NULL", f->message);
        if (!group_works(self, tamis_group_plan_create(self->group, &good.S, 2, &good.options, &plan))) return;
    } else {
        if (!group_works(self, made)) return;
        if (self->rank == 1) memcpy((char *)&s + f->at, f->value, f->bytes);
        const tamis_status run = tamis_group_plan_fused(plan, &s.A, &s.B, &s.D, &s.E, &s.execution);
        group_expects(self, run, f->status, f->message);
    }
    if (group_works(self, tamis_group_plan_fused(plan, &good.A, &good.B, &good.D, &good.E, NULL)) &&
        !right_result(&good))
        group_says(self, "%s: the next result is wrong", f->message);
}

static void each_fault(group_rank *self) {
    for (int i = 0; i < FAULTS && !self->failed[0]; i++) one_fault(self, &faults[i]);
}

TEST(one_rank_is_wrong) { group_run_on(device, RANKS, 300, each_fault, NULL); }

/* ------------------------------------------------------------------------------------------ operations, arguments */

static void wrong_calls(group_rank *self) {
    share s = share_of(self->rank, &s);
    tamis_group_plan *plan = NULL;
    tamis_group_report report;
    size_t needed = 0;
    char text[4000];
    static const char *const fetched[] = {"1d-fetch     used: this rank receives 5 words in 1 message;",
                                          "1d-fetch     used: this rank receives 10 words in 2 messages;",
                                          "1d-fetch     used: this rank receives 10 words in 1 message;"};
    RANK_REFUSED(ARGUMENT, "rank 0: plan = NULL", tamis_group_plan_create(self->group, &s.S, 2, &s.options, NULL));
    RANK_REFUSED(ARGUMENT, "rank 0: S = NULL", tamis_group_plan_create(self->group, NULL, 2, &s.options, &plan));
    RANK_REFUSED(ARGUMENT, "rank 0: options = NULL", tamis_group_plan_create(self->group, &s.S, 2, NULL, &plan));
    RANK_REFUSED(ARGUMENT, "group = NULL", tamis_group_plan_create(NULL, &s.S, 2, &s.options, &plan));
    if (!group_works(self, tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan))) return;
    RANK_REFUSED(ARGUMENT, "rank 0: plan was made for fused: it cannot execute sddmm",
                 tamis_group_plan_sddmm(plan, &s.A, &s.B, &s.P, NULL));
    RANK_REFUSED(ARGUMENT, "rank 0: B = NULL", tamis_group_plan_fused(plan, &s.A, NULL, &s.D, &s.E, NULL));
    RANK_REFUSED(ARGUMENT, "plan = NULL", tamis_group_plan_spmm(NULL, &s.B, &s.E, NULL));
    group_works(self, tamis_group_plan_describe(plan, &report));
    if (!(report.exchange_seconds > 0) || !(report.replicated_seconds > report.exchange_seconds) ||
        !(report.together_seconds > report.exchange_seconds) || !(report.alone_seconds > 0))
        group_says(self, "the prices are wrong: %g, %g, %g, %g", report.exchange_seconds, report.replicated_seconds,
                   report.together_seconds, report.alone_seconds);
    if (report.rank != self->rank || report.ranks != RANKS || report.rows != 3 || report.cols != 6 || report.nnz != 6 ||
        report.nnz_here != 2 || report.nnz_most != 2 || report.imbalance != 1 || report.own_rows != 2 ||
        report.ghost_rows != (self->rank == 0 ? 1 : 2) || report.ghosts != 5 || report.ghosts_most != 2 ||
        report.row_bytes != 4 * (SMALL_K + SMALL_L))
        group_says(self, "the report is wrong: %lld ghost rows here, %lld in all", (long long)report.ghost_rows,
                   (long long)report.ghosts);
    group_works(self, tamis_group_plan_explain(plan, NULL, 0, &needed));
    group_works(self, tamis_group_plan_explain(plan, text, sizeof text, NULL));
    if (strlen(text) + 1 != needed || !strstr(text, "of 3, over threads") || !strstr(text, "algorithm") ||
        !strstr(text, fetched[self->rank]) ||
        !strstr(text,
                "static-split not used (Nisa et al.: B is replicated): this rank receives 20 words in 2 messages") ||
        !strstr(text, "joint-cover  not used: this rank receives at least ") ||
        !strstr(text, self->rank == 0
                          ? "chosen       1d-fetch: never more words than static-split; this rank needs 25 %"
                          : "chosen       1d-fetch: never more words than static-split; this rank needs 50 %"))
        group_says(self, "explain: %.200s", text);
    char brief[40];
    group_works(self, tamis_group_plan_explain(plan, brief, sizeof brief, NULL));
    if (strlen(brief) != sizeof brief - 1 || strncmp(brief, text, sizeof brief - 1) != 0)
        group_says(self, "cut: %s", brief);
    if (!tamis_group_plan_local(plan) || tamis_group_plan_local(NULL)) group_says(self, "no local plan");
    tamis_group_plan_destroy(plan);
    /* the static split: all rows that are not this rank's own */
    s.options.exchange = TAMIS_EXCHANGE_REPLICATE;
    if (!group_works(self, tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan))) return;
    group_works(self, tamis_group_plan_describe(plan, &report));
    if (report.ghost_rows != 4 || report.ghosts != 12 || report.sources != 2 ||
        report.exchange_seconds != report.replicated_seconds)
        group_says(self, "static-split has %lld ghost rows", (long long)report.ghost_rows);
    group_works(self, tamis_group_plan_explain(plan, text, sizeof text, NULL));
    if (!strstr(text, "static-split used: this rank receives 20 words in 2 messages;") ||
        !strstr(text, "chosen       static-split, by options.exchange") ||
        !strstr(text, self->rank == 0 ? "1d-fetch     not used: this rank receives 5 words in 1 message;"
                                      : "1d-fetch     not used: this rank receives 10 words in "))
        group_says(self, "explain: %.200s", text);
    group_works(self, tamis_group_plan_fused(plan, &s.A, &s.B, &s.D, &s.E, NULL));
    if (!right_result(&s)) group_says(self, "the result of static-split is wrong");
    tamis_group_plan_destroy(plan);
    /* the same of S^T, whose sums go back to the other two ranks */
    s.options.transpose = true;
    if (!group_works(self, tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan))) return;
    group_works(self, tamis_group_plan_describe(plan, &report));
    if (report.send_rows != 4 || report.exchange_seconds != report.replicated_seconds)
        group_says(self, "static-split of S^T sends %lld rows: %g, %g", (long long)report.send_rows,
                   report.exchange_seconds, report.replicated_seconds);
    tamis_group_plan_destroy(plan);
    s.options.transpose = false;
    tamis_group_plan_destroy(NULL);
    s.options.exchange = (tamis_exchange)4;
    RANK_REFUSED(ARGUMENT, "rank 0: options.exchange = 4",
                 tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan));
}

TEST(all_ranks_are_wrong) { group_run_on(device, RANKS, 300, wrong_calls, NULL); }

TEST(refuses_groups) {
    tamis_device *const devices[2] = {device, NULL};
    tamis_transport_options o = TAMIS_TRANSPORT_OPTIONS_INIT;
    tamis_group *groups[2];
    tamis_group_description about;
    REFUSED(ARGUMENT, "ranks = 0", tamis_group_open_local(devices, 0, NULL, groups));
    REFUSED(ARGUMENT, "devices = NULL", tamis_group_open_local(NULL, 2, NULL, groups));
    REFUSED(ARGUMENT, "devices[1] = NULL", tamis_group_open_local(devices, 2, NULL, groups));
    assert_true(groups[0] == NULL && groups[1] == NULL);
    REFUSED(ARGUMENT, "groups = NULL", tamis_group_open_local(devices, 1, NULL, NULL));
    SPOILT(o.time_limit, 0, ARGUMENT, "options.time_limit = 0", tamis_group_open_local(devices, 1, &o, groups));
    SPOILT(o.reserved[2], 5, UNSUPPORTED, "options.reserved[2] = 0x5", tamis_group_open_local(devices, 1, &o, groups));
    REFUSED(ARGUMENT, "group = NULL", tamis_group_describe(NULL, &about));
    tamis_group_close(NULL);
}

/* Rank r has columns r and 5 - r of S^T's rows: it adds to rows of C that others own, and they to its. */
static void transposed_prices(group_rank *self) {
    share s = share_of(self->rank, &s);
    OWN(tamis_group_plan) *plan = NULL;
    tamis_group_report report;
    char text[2000];
    static const char *const sums[] = {"sums         sends 1 rows of 12 bytes back to their owners, adds 1 to its own",
                                       "sums         sends 2 rows of 12 bytes back to their owners, adds 2 to its own",
                                       "sums         sends 2 rows of 12 bytes back to their owners, adds 2 to its own"};
    s.options.transpose = true;
    if (!group_works(self, tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan))) return;
    group_works(self, tamis_group_plan_describe(plan, &report));
    if (report.row_bytes != 4 * SMALL_K || report.back_bytes != 4 * SMALL_L)
        group_says(self, "a row has %lld bytes, sums %lld", (long long)report.row_bytes, (long long)report.back_bytes);
    group_works(self, tamis_group_plan_explain(plan, text, sizeof text, NULL));
    if (!strstr(text, sums[self->rank]) ||
        !strstr(text, "static-split not used (Nisa et al.: A is replicated, and all"))
        group_says(self, "explain: %.280s", text);
}

TEST(explains_sums) { group_run_on(device, RANKS, 300, transposed_prices, NULL); }

/* ------------------------------------------------------------------------------------------ memory */

static bool transposes; /* S^T with softmax, whose plan has the most buffers */

static void make_and_run(group_rank *self) {
    share s = share_of(self->rank, &s);
    tamis_group_plan *plan;
    if (transposes) { /* A and E have the rows of B, and B and D that of S */
        s.options.transpose = true;
        s.options.edge = TAMIS_EDGE_SOFTMAX;
        s.A.data = s.b;
        s.B.data = s.a;
        s.A.rows = s.E.rows = 2;
        s.B.rows = s.D.rows = 1;
    }
    tamis_status status = tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan);
    if (status == TAMIS_OK) {
        status = tamis_group_plan_fused(plan, &s.A, &s.B, &s.D, &s.E, NULL);
        tamis_group_plan_destroy(plan);
    } else if (plan) {
        group_says(self, "the plan is not NULL");
    }
    ((tamis_status *)self->context)[self->rank] = status;
    if (status != TAMIS_OK && !strstr(tamis_last_error(), "no memory for")) group_says(self, "%s", tamis_last_error());
}

/* The n-th allocation of all ranks together fails, and all after it: all get the same status, and nothing is leaked. */
static void memory_is_short_for(bool transpose) {
    tamis_group *groups[RANKS];
    tamis_status status[RANKS];
    transposes = transpose;
    groups_open(&device, 1, RANKS, 300, groups);
    /* the plan, its lists, its shard, its local plan, its buffers */
    EACH_FAULT_OF(w, .least = (int64_t)RANKS * 15, .elsewhere = true) {
        FAULTY(w, group_run(RANKS, groups, make_and_run, status), status[0]);
        assert_true(status[1] == status[0] && status[2] == status[0]);
    }
    groups_close(groups, RANKS);
}

TEST(memory_is_short) {
    memory_is_short_for(false);
    memory_is_short_for(true);
}

TEST(opening_without_memory) {
    tamis_device *const devices[RANKS] = {device, device, device};
    tamis_group *groups[RANKS];
    EACH_FAULT(w) {
        const tamis_status status = FAULTY(w, tamis_group_open_local(devices, RANKS, NULL, groups));
        for (int r = 0; r < RANKS && status != TAMIS_OK; r++) assert_null(groups[r]);
        groups_close(groups, RANKS);
    }
}

/* ------------------------------------------------------------------------------------------ ranks that are missing */

/* Rank 1 does not make its plan. */
static void rank_is_late(group_rank *self) {
    share s = share_of(self->rank, &s);
    tamis_group_plan *plan;
    if (self->rank == 1) return;
    const double start = test_seconds();
    RANK_REFUSED(DEVICE, "transport threads: after 2 seconds these ranks had not come: 1",
                 tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan));
    if (test_seconds() - start > 200) group_says(self, "it took %g seconds", test_seconds() - start);
    RANK_REFUSED(DEVICE, "the group has failed: transport threads: after 2 seconds",
                 tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan));
}

TEST(waits_for_a_limited_time) { group_run_on(device, RANKS, 2, rank_is_late, NULL); }

/* Rank 1 closes its end after the plan is made; the others wait for it in an execution. */
static void rank_leaves(group_rank *self) {
    share s = share_of(self->rank, &s);
    tamis_group_plan *plan;
    if (!group_works(self, tamis_group_plan_create(self->group, &s.S, 2, &s.options, &plan))) return;
    if (self->rank == 1) {
        ((tamis_group **)self->context)[1] = NULL;
        tamis_group_plan_destroy(plan);
        tamis_group_close(self->group);
        return;
    }
    const double start = test_seconds();
    RANK_REFUSED(DEVICE, "rank 1 has closed its group", tamis_group_plan_fused(plan, &s.A, &s.B, &s.D, &s.E, NULL));
    if (test_seconds() - start > 200) group_says(self, "it took %g seconds", test_seconds() - start);
    tamis_group_plan_destroy(plan);
}

TEST(notices_who_leaves) {
    tamis_group *groups[RANKS];
    groups_open(&device, 1, RANKS, 600, groups);
    group_run(RANKS, groups, rank_leaves, groups);
    groups_close(groups, RANKS);
}

/* ------------------------------------------------------------------------------------------ ranks as threads */

typedef struct together {
    pthread_barrier_t met;
    int calls[RANKS];
    tamis_status status[RANKS];
    const char *message[RANKS];
} together;

/* Comes back only if all ranks run at the same time. */
static tamis_status meet(void *context, int rank) {
    together *const all = context;
    pthread_barrier_wait(&all->met);
    all->calls[rank]++;
    return all->status[rank] == TAMIS_OK ? TAMIS_OK : tamis_transport_fail(all->status[rank], all->message[rank]);
}

TEST(runs_ranks_as_threads) {
    together all = {.calls = {0}};
    assert_int_equal(pthread_barrier_init(&all.met, NULL, RANKS), 0);
    works(tamis_group_run(RANKS, meet, &all));
    for (int r = 0; r < RANKS; r++) assert_int_equal(all.calls[r], 1);
    all.status[0] = TAMIS_ERROR_DEVICE;
    all.message[0] = "the group has failed: rank 1: elsewhere";
    all.status[RANKS - 1] = TAMIS_ERROR_PATTERN;
    all.message[RANKS - 1] = "of its own";
    REFUSED(PATTERN, "^of its own$", tamis_group_run(RANKS, meet, &all));
    all.status[RANKS - 1] = TAMIS_OK;
    REFUSED(DEVICE, "^the group has failed: rank 1: elsewhere$", tamis_group_run(RANKS, meet, &all));
    for (int n = 1; n <= RANKS + 1;
         n++) { /* the memory, and each of the threads: then none is called, or they would wait */
        const int64_t live = tamis_memory_live();
        tamis_memory_fail_at(n);
        assert_int_equal(tamis_group_run(RANKS, meet, &all), TAMIS_ERROR_MEMORY);
        tamis_memory_fail_at(0);
        assert_int_equal(tamis_memory_live(), live);
    }
    for (int r = 0; r < RANKS; r++) assert_int_equal(all.calls[r], 3);
    REFUSED(ARGUMENT, "ranks = 0", tamis_group_run(0, meet, &all));
    assert_int_equal(tamis_group_run(1, NULL, &all), TAMIS_ERROR_ARGUMENT);
    pthread_barrier_destroy(&all.met);
}

TEST_FIXTURE(set_up, tear_down)
