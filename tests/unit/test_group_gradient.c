/*
 * Gradients on groups of threads against the oracle: each case of gradient_case.h is cut into the ranks' rows, and all
 * write their rows of the outputs, which are then compared as a whole. On integers the result has the bits of one
 * device's. test_group_gradient STEP DEVICE DEVICE: every STEP-th case on ranks that take turns with two devices, each
 * with buffers of its own.
 */
#include "support/test.h"

#include <tamis/structure.h>

#include "base/edges.h"
#include "cpu_device.h"
#include "gradient_case.h"
#include "group_threads.h"
#include "sparse/element.h"
#include "support/part.h"

static tamis_random dice;

/* One call on all ranks. */
typedef struct call {
    gradient_case *c;
    int wanted, number;
    bool keep;   /* forward first, which leaves the rows of softmax */
    bool uneven; /* the last rank has all rows of S, the first all of the others */
    tamis_status *statuses;
    tamis_device *const *devices; /* two; NULL: the CPU */
} call;

/* A rank's rows. */
typedef struct share {
    tamis_sparse S;
    tamis_dense in[INS], out[OUTS];
    const tamis_dense *wanted[OUTS];
    int64_t own_rows;
    tamis_options options;
    tamis_execution execution;
    void *rows;                /* of softmax */
    matrix packed[INS + OUTS]; /* on devices */
} share;

static bool take(share *s, const call *x, int rank, int ranks) {
    const gradient_case *const c = x->c;
    const tamis_sparse *const W = &c->S_here;
    const part_rows r = part_rows_of(W, c->options.transpose, x->uneven, rank, ranks);
    s->own_rows = r.own;
    if (tamis_slice(W, r.first, r.rows, 0, 0, &s->S) != TAMIS_OK) return false;
    const int64_t entry = s->S.offset_base - W->offset_base;
    const bool sddmm = c->operation == TAMIS_OP_SDDMM;
    s->in[IN_A] = test_rows_of(&c->in[IN_A].there, r.left, r.left_rows);
    s->in[IN_B] = test_rows_of(&c->in[IN_B].there, r.right, r.right_rows);
    s->in[IN_D] = test_rows_of(&c->in[IN_D].there, r.right, r.right_rows);
    s->in[IN_OUT] = test_rows_of(&c->in[IN_OUT].there, sddmm ? entry : r.left, sddmm ? s->S.nnz : r.left_rows);
    s->out[OUT_A] = test_rows_of(&c->out[OUT_A].there, r.left, r.left_rows);
    s->out[OUT_B] = test_rows_of(&c->out[OUT_B].there, r.right, r.right_rows);
    s->out[OUT_D] = test_rows_of(&c->out[OUT_D].there, r.right, r.right_rows);
    s->out[OUT_S] = test_rows_of(&c->out[OUT_S].there, entry, s->S.nnz);
    for (int k = 0; k < OUTS; k++) s->wanted[k] = x->wanted & 1 << k ? &s->out[k] : NULL;
    s->options = c->options;
    s->options.threads = 1 + rank % 2;
    s->execution = c->there;
    return true;
}

/* ------------------------------------------------------------------------------------------ rows on a device */

static void copy_elements(const tamis_dense *from, const tamis_dense *to, int64_t members) {
    for (int64_t m = 0; m < members; m++)
        for (int64_t i = 0; i < to->rows; i++)
            for (int64_t j = 0; j < to->cols; j++)
                test_store(to->data, to->type, test_position(to, m, i, j),
                           test_load(from->data, from->type, test_position(from, m, i, j)));
}

/* Operands and outputs without gaps to the rank's device, and the outputs back. */
static void send_rows(tamis_device *on, const share *s, share *there, int64_t members) {
    *there = *s;
    for (int i = 0; i < INS + OUTS; i++) {
        const tamis_dense *const from = i < INS ? &s->in[i] : &s->out[i - INS];
        tamis_dense *const to = i < INS ? &there->in[i] : &there->out[i - INS];
        matrix *const x = &there->packed[i];
        *x =
            matrix_room(from->type, from->rows, from->cols, (matrix_place){.layout = from->layout, .members = members});
        copy_elements(from, &x->here, members);
        *to = *matrix_send(on, x);
        if (i >= INS && s->wanted[i - INS]) there->wanted[i - INS] = to;
    }
}

static void fetch_rows(const share *s, share *there, int64_t members) {
    for (int i = 0; i < INS + OUTS; i++) {
        matrix *const x = &there->packed[i];
        matrix_fetch(x);
        if (i >= INS && s->wanted[i - INS]) copy_elements(&x->here, &s->out[i - INS], members);
        matrix_free(x);
    }
}

/* ------------------------------------------------------------------------------------------ a rank's calls */

/* The forward call, for its rows of softmax. */
static tamis_status forward(tamis_group *group, share *s, const call *x) {
    const bool sddmm = x->c->operation == TAMIS_OP_SDDMM;
    const int64_t batch = x->c->shape.batch, count = sddmm ? s->S.nnz : s->S.rows * s->in[IN_D].cols;
    void *const memory = test_doubles(batch * count);
    const tamis_dense out = {.data = memory,
                             .rows = sddmm ? s->S.nnz : s->S.rows,
                             .cols = sddmm ? 1 : s->in[IN_D].cols,
                             .type = x->c->type,
                             .layout = sddmm ? TAMIS_ROW_MAJOR : s->options.output_layout,
                             .batch_stride = count};
    tamis_group_plan *plan = NULL;
    tamis_execution execution = s->execution;
    s->rows = test_doubles(2 * batch * s->S.rows);
    execution.beta = 0;
    execution.softmax_rows = s->rows;
    s->options.keep_softmax = true;
    tamis_status status = tamis_group_plan_create(group, &s->S, s->own_rows, &s->options, &plan);
    if (status == TAMIS_OK && sddmm)
        status = tamis_group_plan_sddmm(plan, &s->in[IN_A], &s->in[IN_B], &out, &execution);
    else if (status == TAMIS_OK)
        status = tamis_group_plan_fused(plan, &s->in[IN_A], &s->in[IN_B], &s->in[IN_D], &out, &execution);
    tamis_group_plan_destroy(plan);
    free(memory);
    s->execution.softmax_rows = s->rows;
    return status;
}

static tamis_status go_back(const tamis_group_gradient *g, tamis_operation operation, const share *s) {
    const tamis_dense *const A = &s->in[IN_A], *const B = &s->in[IN_B], *const D = &s->in[IN_D];
    const tamis_dense *const G = &s->in[IN_OUT], *const *const out = s->wanted;
    const tamis_execution *const e = &s->execution;
    switch (operation) {
    case TAMIS_OP_SDDMM: return tamis_group_sddmm_backward(g, G, A, B, out[OUT_A], out[OUT_B], out[OUT_S], e);
    case TAMIS_OP_SPMM: return tamis_group_spmm_backward(g, G, B, out[OUT_B], out[OUT_S], e);
    case TAMIS_OP_FUSED: break;
    }
    return tamis_group_fused_backward(g, G, A, B, D, out[OUT_A], out[OUT_B], out[OUT_D], out[OUT_S], e);
}

static void run_rank(group_rank *self) {
    const call *const x = self->context;
    tamis_device *const on = x->devices ? x->devices[self->rank % 2] : NULL;
    share host = {.rows = NULL}, device_share, *s = &host;
    tamis_group_gradient *gradient = NULL;
    tamis_status status = TAMIS_OK;
    if (!take(&host, x, self->rank, self->ranks)) abort();
    if (on) {
        send_rows(on, &host, &device_share, x->c->shape.batch);
        s = &device_share;
    }
    if (x->keep) status = forward(self->group, s, x);
    if (status == TAMIS_OK)
        status = tamis_group_gradient_create(self->group, &s->S, s->own_rows, &s->options, &gradient);
    if (status == TAMIS_OK) status = go_back(gradient, x->c->operation, s);
    /* once more into what is there by now */
    if (status == TAMIS_OK && s->execution.beta == 0) status = go_back(gradient, x->c->operation, s);
    if (status != TAMIS_OK) group_says(self, "case %d: %.200s", x->number, tamis_last_error());
    tamis_group_gradient_destroy(gradient);
    if (on) fetch_rows(&host, s, x->c->shape.batch);
    free(s->rows);
}

static gradient_shape draw_shape(tamis_operation operation, int number) {
    gradient_shape s = gradient_draw(operation, number, false, &dice);
    s.slice = tamis_random_below(&dice, 2);
    s.transpose = operation != TAMIS_OP_SDDMM && number % 2;
    s.format = TAMIS_CSR;
    if (number % 9 == 4) s.rows = 1 + number % 4; /* fewer than ranks */
    return s;
}

/* Every step-th of the cases on one group. */
static void run_cases(tamis_group **groups, int ranks, tamis_device *const *devices, int step) {
    static const double betas[] = {0, 1, -0.5};
    int number = 0;
    for (int operation = 0; operation <= TAMIS_OP_FUSED; operation++)
        for (int edge = 0; edge < (operation == TAMIS_OP_SPMM ? 6 : TAMIS_EDGE_COUNT); edge++)
            for (int type = 0; type <= TAMIS_BF16; type++) {
                if (number++ % step != ranks % step) continue;
                const bool spmm = operation == TAMIS_OP_SPMM, softmax = !spmm && edge == TAMIS_EDGE_SOFTMAX;
                gradient_shape shape = draw_shape((tamis_operation)operation, number / step);
                if (softmax) shape.transpose = false;
                call x = {.number = number, .devices = devices};
                if (devices) shape.given_values = false;
                x.c = gradient_case_make(device, (tamis_operation)operation, spmm ? TAMIS_EDGE_SCALE : (tamis_edge)edge,
                                         (tamis_type)type, &shape, betas[tamis_random_below(&dice, 3)], &dice);
                x.uneven = tamis_random_below(&dice, 5) == 0;
                x.keep = softmax && !devices && tamis_random_below(&dice, 2);
                gradient_case_expect(x.c);
                for (int pass = 0; pass < 2; pass++) {
                    x.wanted = gradient_case_outputs(x.c);
                    if (pass == 1) x.wanted &= (int)tamis_random_below(&dice, 16);
                    gradient_case_poison(x.c);
                    group_run(ranks, groups, run_rank, &x);
                    gradient_case_check(x.c, x.wanted, pass ? "some outputs" : "all outputs");
                }
                gradient_case_free(x.c);
            }
}

TEST_TAG(all_cases, "tests") {
    static const int ranks[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < 5; i++) {
        tamis_group *groups[GROUP_RANKS];
        groups_open(&device, 1, ranks[i], 600, groups);
        run_cases(groups, ranks[i], NULL, test_rounds(4, 19));
        groups_close(groups, ranks[i]);
    }
}

/* ------------------------------------------------------------------------------------------ integers */

static void round_all(const matrix *x) {
    const int64_t count = test_extent(&x->here, x->members);
    for (int64_t i = 0; i < count; i++)
        test_store(x->here.data, x->here.type, i, rint(3 * test_load(x->here.data, x->here.type, i)));
}

/* Sums without rounding: the same bits as one device, whoever added. */
TEST_TAG(integers, "tests") {
    static const tamis_edge edges[] = {TAMIS_EDGE_SCALE, TAMIS_EDGE_MASK, TAMIS_EDGE_RESIDUAL};
    tamis_group *groups[5];
    groups_open(&device, 1, 5, 600, groups);
    for (int number = 0; number < 36; number++) {
        const tamis_operation operation = (tamis_operation)(number % 3);
        gradient_shape shape = draw_shape(operation, number);
        shape.with_values = true;
        const tamis_edge edge = operation == TAMIS_OP_SPMM ? TAMIS_EDGE_SCALE : edges[number / 3 % 3];
        call x = {.number = number};
        x.c = gradient_case_make(device, operation, edge, number % 2 ? TAMIS_F32 : TAMIS_F64, &shape, 0, &dice);
        x.c->there.alpha = x.c->here.alpha = 2;
        for (int i = 0; i < INS; i++) round_all(&x.c->in[i]);
        const int64_t values = (int64_t)(x.c->values.bytes / tamis_type_size(x.c->value_type));
        for (int64_t t = 0; t < values; t++)
            tamis_element_store(x.c->values.host, x.c->value_type, t,
                                rint(3 * tamis_element_load(x.c->values.host, x.c->value_type, t)));
        x.wanted = gradient_case_outputs(x.c);
        tamis_gradient *gradient = NULL;
        void *alone[OUTS];
        gradient_case_poison(x.c);
        works(tamis_gradient_create(device, &x.c->S_there, &x.c->options, &gradient));
        works(gradient_case_run(x.c, gradient, x.wanted));
        tamis_gradient_destroy(gradient);
        for (int k = 0; k < OUTS; k++) alone[k] = matrix_copy(&x.c->out[k]);
        gradient_case_poison(x.c);
        group_run(5, groups, run_rank, &x);
        for (int k = 0; k < OUTS; k++) {
            const matrix *const out = &x.c->out[k];
            const int64_t count = (int64_t)(out->twin.bytes / tamis_type_size(out->here.type));
            for (int64_t i = 0; i < count && x.wanted & 1 << k; i++) { /* -0 and 0 are one number, NaN is a gap */
                const double one = tamis_element_load(alone[k], out->here.type, i);
                const double all = tamis_element_load(out->twin.host, out->here.type, i);
                if (one != all && !(isnan(one) && isnan(all)))
                    fail_msg("case %d, output %d, element %lld: %.17g, one device %.17g", number, k, (long long)i, all,
                             one);
            }
            free(alone[k]);
        }
        gradient_case_free(x.c);
    }
    groups_close(groups, 5);
}

/* ------------------------------------------------------------------------------------------ generations */

/* dS of SpMM needs B, dB does not: a generation belongs to the rows that have been exchanged. */
static void keep_rows(group_rank *self) {
    static const struct {
        float b;
        bool ds;
        uint64_t generation;
        float used; /* in dS */
    } runs[] = {{1, true, 3, 1}, {2, true, 3, 1}, {4, false, 4, 0}, {5, true, 4, 5}, {6, true, 0, 6}, {7, true, 4, 7}};
    const int32_t offsets[] = {0, 1}, columns[] = {1 - self->rank};
    const float values[] = {2};
    const tamis_sparse S = CSR(1, 2, offsets, columns, values);
    const tamis_options o = options_for(TAMIS_OP_SPMM, -1, 1);
    OWN(tamis_group_gradient) *gradient = NULL;
    if (!group_works(self, tamis_group_gradient_create(self->group, &S, 1, &o, &gradient))) return;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        float b = runs[i].b, dc = (float)(3 + self->rank), db = -1, ds = 0;
        const tamis_dense B = {.data = &b, .rows = 1, .cols = 1}, dC = {.data = &dc, .rows = 1, .cols = 1};
        const tamis_dense dB = {.data = &db, .rows = 1, .cols = 1}, dS = {.data = &ds, .rows = 1, .cols = 1};
        tamis_execution execution = TAMIS_EXECUTION_INIT;
        execution.generation = runs[i].generation;
        const tamis_status status =
            tamis_group_spmm_backward(gradient, &dC, &B, &dB, runs[i].ds ? &dS : NULL, &execution);
        if (status != TAMIS_OK) group_says(self, "run %zu: %.150s", i, tamis_last_error());
        if (db != (float)(2 * (4 - self->rank))) group_says(self, "run %zu: dB = %g", i, (double)db);
        if (ds != dc * runs[i].used) group_says(self, "run %zu: dS = %g", i, (double)ds);
    }
}

TEST_TAG(rows_are_kept, "tests") { group_run_on(device, 2, 300, keep_rows, NULL); }

/* ------------------------------------------------------------------------------------------ errors */

static void wrong_calls(group_rank *self) {
    const int32_t offsets[] = {0, 1}, columns[] = {1 - self->rank};
    float numbers[8] = {1, 2, 3, 4}, others[8];
    const tamis_sparse S = CSR(1, 2, offsets, columns, numbers);
    const tamis_dense X = {.data = numbers, .rows = 1, .cols = 2}, wide = {.data = numbers, .rows = 1, .cols = 3};
    const tamis_dense dX = {.data = others, .rows = 1, .cols = 2}, dY = {.data = others + 2, .rows = 1, .cols = 2};
    const tamis_dense *const B = self->rank == 1 ? &wide : &X;
    const tamis_dense *const dB = self->rank == 1 ? NULL : &dX;
    tamis_group *const group = self->group;
    tamis_options o = options_for(TAMIS_OP_FUSED, 2, -1);
    OWN(tamis_group_gradient) *g = NULL;
    tamis_group_plan *plan = NULL;
    size_t bytes;
    o.edge = TAMIS_EDGE_SOFTMAX;
    o.transpose = true;
    RANK_REFUSED(UNSUPPORTED, "rank 0: options.transpose = true: groups have no gradient of softmax with it",
                 tamis_group_gradient_create(group, &S, 1, &o, &g));
    o.transpose = self->rank == 1;
    o.edge = TAMIS_EDGE_SCALE;
    RANK_REFUSED(ARGUMENT, "rank 1: options.transpose = 1, but 0 on rank 0",
                 tamis_group_gradient_create(group, &S, 1, &o, &g));
    o.transpose = false;
    RANK_REFUSED(ARGUMENT, "rank 1: a gradient instead of a plan = 1, but 0 on rank 0",
                 self->rank == 1 ? tamis_group_gradient_create(group, &S, 1, &o, &g)
                                 : tamis_group_plan_create(group, &S, 1, &o, &plan));
    RANK_REFUSED(ARGUMENT, "rank 0: gradient = NULL", tamis_group_gradient_create(group, &S, 1, &o, NULL));
    RANK_REFUSED(ARGUMENT, "group = NULL", tamis_group_gradient_create(NULL, &S, 1, &o, &g));
    if (!group_works(self, tamis_group_gradient_create(group, &S, 1, &o, &g))) return;
    RANK_REFUSED(ARGUMENT, "rank 0: gradient was made for fused: it cannot differentiate spmm",
                 tamis_group_spmm_backward(g, &X, &X, &dX, NULL, NULL));
    RANK_REFUSED(ARGUMENT, "rank 1: B.cols = 3: expected 2",
                 tamis_group_fused_backward(g, &X, &X, B, &X, NULL, &dX, NULL, NULL, NULL));
    RANK_REFUSED(ARGUMENT, "rank 1: asks for other gradients of distributed matrices than rank 0",
                 tamis_group_fused_backward(g, &X, &X, &X, &X, NULL, dB, &dY, NULL, NULL));
    RANK_REFUSED(ARGUMENT, "gradient = NULL",
                 tamis_group_fused_backward(NULL, &X, &X, &X, &X, NULL, &dX, NULL, NULL, NULL));
    RANK_REFUSED(ARGUMENT, "gradient = NULL", tamis_group_gradient_workspace_size(NULL, &bytes));
    group_works(self, tamis_group_gradient_workspace_size(g, &bytes));
    if (bytes == 0) group_says(self, "the workspace has no bytes");
    group_works(self, tamis_group_fused_backward(g, &X, &X, &X, &X, NULL, &dX, &dY, NULL, NULL));
    tamis_group_gradient_destroy(NULL);
}

TEST_TAG(ranks_are_wrong, "tests") { group_run_on(device, 2, 300, wrong_calls, NULL); }

/* The n-th allocation of all ranks together fails, and all after it: all get an error, and nothing is leaked. */
static void short_of_memory(group_rank *self) {
    const call *const x = self->context;
    share s = {.rows = NULL};
    OWN(tamis_group_gradient) *gradient = NULL;
    if (!take(&s, x, self->rank, self->ranks)) abort();
    tamis_status status = tamis_group_gradient_create(self->group, &s.S, s.own_rows, &s.options, &gradient);
    if (status == TAMIS_OK) status = go_back(gradient, x->c->operation, &s);
    x->statuses[self->rank] = status;
    if (status != TAMIS_OK && !strstr(tamis_last_error(), "no memory for")) group_says(self, "%s", tamis_last_error());
}

TEST_TAG(memory_is_short, "tests") {
    gradient_shape shape = draw_shape(TAMIS_OP_FUSED, 0);
    shape.rows = shape.cols = 12;
    shape.nnz = 60;
    shape.layouts = 0;
    call x = {.c = gradient_case_make(device, TAMIS_OP_FUSED, TAMIS_EDGE_EXP, TAMIS_F32, &shape, 0, &dice)};
    x.wanted = gradient_case_outputs(x.c);
    tamis_group *groups[2];
    tamis_status statuses[2];
    groups_open(&device, 1, 2, 300, groups);
    x.statuses = statuses;
    /* the shard, the gradient's patterns and plans, the lists and buffers of sums */
    EACH_FAULT_OF(w, .least = 2 * 25, .elsewhere = true) {
        FAULTY(w, group_run(2, groups, short_of_memory, &x), statuses[0]);
        assert_int_equal(statuses[0], statuses[1]);
    }
    groups_close(groups, 2);
    gradient_case_free(x.c);
}

/* ------------------------------------------------------------------------------------------ devices */

static char **names;

TEST_TAG(cases_on_devices, "on_devices") {
    tamis_device *two[2];
    for (int d = 0; d < 2; d++) works(tamis_device_open(names[2 + d], &two[d]));
    for (int ranks = 2; ranks <= 3; ranks++) {
        tamis_group *groups[GROUP_RANKS];
        groups_open(two, 2, ranks, 300, groups); /* kernels are compiled meanwhile */
        run_cases(groups, ranks, two, atoi(names[1]));
        groups_close(groups, ranks);
    }
    for (int d = 0; d < 2; d++) tamis_device_close(two[d]);
}

static int close_device(void **state) {
    tamis_device_close(device);
    return 0;
}

TEST_RUN() {
    dice = tamis_random_start(17, 4);
    names = argv;
    return argc > 3 ? test_run(NULL, "on_devices", set_up, close_device) : test_run(NULL, "tests", set_up, tear_down);
}
