/* Edges that are texts, through the calls: the member of a batch, what plans say of them, what is refused. */
#include "support/test.h"

#include <tamis/gradient.h>
#include <tamis/group.h>
#include <tamis/reference.h>
#include <tamis/slabs.h>

#include "cpu_device.h"
#include "support/drawn_expression.h"
#include "support/problem.h"
#include "support/seed.h"

enum { ROWS = 3, COLS = 4, NNZ = 5, BATCH = 3, K = 2 };
static const int32_t offsets[ROWS + 1] = {0, 2, 2, 5}, columns[NNZ] = {3, 0, 1, 2, 3}, row_of[NNZ] = {0, 0, 2, 2, 2};
static const double values[NNZ] = {0.5, -1, 2, 0.25, 1};

typedef struct call_data {
    tamis_sparse S;
    tamis_dense A, B, P;
    double a[BATCH * ROWS * K], b[BATCH * COLS * K], p[BATCH * NNZ];
} call_data;

static void make(call_data *c) {
    *c = (call_data){.S = CSR(ROWS, COLS, offsets, columns, values)};
    for (int k = 0; k < BATCH * ROWS * K; k++) c->a[k] = 0.25 * (k % 7) - 0.5;
    for (int k = 0; k < BATCH * COLS * K; k++) c->b[k] = 0.5 - 0.125 * (k % 5);
    c->A = (tamis_dense){.data = c->a, .rows = ROWS, .cols = K, .type = TAMIS_F64, .batch_stride = ROWS * K};
    c->B = (tamis_dense){.data = c->b, .rows = COLS, .cols = K, .type = TAMIS_F64, .batch_stride = COLS * K};
    c->P = samples_of(&c->S, c->p, TAMIS_F64);
}

static tamis_options with_text(tamis_operation operation, const char *text) {
    tamis_options o = options_for(operation, K, K);
    o.type = o.output_type = TAMIS_F64;
    o.edge = TAMIS_EDGE_TEXT;
    o.edge_text = text;
    return o;
}

static double product(const call_data *c, int member, int t) {
    const double *const a = c->a + (member * ROWS + row_of[t]) * K, *const b = c->b + (member * COLS + columns[t]) * K;
    return a[0] * b[0] + a[1] * b[1];
}

/* All members in one call of the backend, or one after the other where operands are staged. */
TEST(members_know_their_number) {
    call_data c;
    make(&c);
    for (int staged = 0; staged < 2; staged++) {
        double turned[BATCH * COLS * K];
        tamis_options o = with_text(TAMIS_OP_SDDMM, "(h + 1) * x + 10 * i + j * s");
        OWN(tamis_plan) *plan = NULL;
        tamis_dense B = c.B;
        o.batch = BATCH;
        o.b_layout = B.layout = staged ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
        for (int k = 0; k < BATCH * COLS * K && staged; k++)
            turned[k] = c.b[k / (COLS * K) * COLS * K + k % COLS * K + k / COLS % K];
        if (staged) B.data = turned;
        works(tamis_plan_create(device, &c.S, &o, &plan));
        works(tamis_plan_sddmm(plan, &c.A, &B, &c.P, NULL));
        for (int k = 0; k < BATCH * NNZ; k++) {
            const int t = k % NNZ;
            const double want = (k / NNZ + 1) * product(&c, k / NNZ, t) + 10 * row_of[t] + columns[t] * values[t];
            assert_true(fabs(c.p[k] - want) < 1e-12);
        }
    }
}

TEST(gradients_know_members_and_places) {
    call_data c;
    make(&c);
    double ones[BATCH * NNZ], ds[BATCH * NNZ];
    for (int k = 0; k < BATCH * NNZ; k++) ones[k] = 1;
    tamis_options o = with_text(TAMIS_OP_SDDMM, "x * s * (h + 1) + s * s * (i - j)");
    OWN(tamis_gradient) *gradient = NULL;
    const tamis_dense dP = samples_of(&c.S, ones, TAMIS_F64), dS = samples_of(&c.S, ds, TAMIS_F64);
    o.batch = BATCH;
    works(tamis_gradient_create(device, &c.S, &o, &gradient));
    works(tamis_sddmm_backward(gradient, &dP, &c.A, &c.B, NULL, NULL, &dS, NULL));
    for (int k = 0; k < BATCH * NNZ; k++) {
        const int t = k % NNZ;
        const double want = product(&c, k / NNZ, t) * (k / NNZ + 1) + 2 * values[t] * (row_of[t] - columns[t]);
        assert_true(fabs(ds[k] - want) < 1e-12);
    }
}

/* Arrays are read by the row, the column, the entry and the member; gradients are sums over these. */
typedef struct named_data {
    double row[BATCH * ROWS], col[COLS], entry[NNZ], head[BATCH], late;
    double d_row[BATCH * ROWS], d_col[BATCH * COLS], d_entry[BATCH * NNZ], d_head[BATCH], d_late[BATCH];
    tamis_dense views[5], gradients[5];
    tamis_edge_operand operands[5];
    tamis_execution execution;
} named_data;

static void make_named(named_data *n) {
    static const char *const names[] = {"row.r", "col.c", "entry.e", "head.h", "late"};
    double *const at[] = {n->row, n->col, n->entry, n->head, &n->late}, *const by[] = {n->d_row, n->d_col, n->d_entry,
                                                                                       n->d_head, n->d_late};
    const int64_t counts[] = {ROWS, COLS, NNZ, 1, 1}, strides[] = {ROWS, 0, 0, 1, 0};
    for (int k = 0; k < BATCH * ROWS; k++) n->row[k] = 0.5 * k - 1;
    for (int k = 0; k < COLS; k++) n->col[k] = 0.25 * k + 1;
    for (int k = 0; k < NNZ; k++) n->entry[k] = 2 - k;
    for (int k = 0; k < BATCH; k++) n->head[k] = 0.125 * k - 1;
    n->late = 1.5;
    for (int k = 0; k < 5; k++) {
        n->views[k] = n->gradients[k] = (tamis_dense){.rows = counts[k], .cols = 1, .type = TAMIS_F64};
        n->views[k].data = at[k];
        n->views[k].batch_stride = strides[k];
        n->gradients[k].data = by[k];
        n->gradients[k].batch_stride = counts[k];
        n->operands[k] = (tamis_edge_operand){.name = names[k], .values = &n->views[k], .gradient = &n->gradients[k]};
    }
    n->execution = (tamis_execution)TAMIS_EXECUTION_INIT;
    n->execution.edge_operands = n->operands;
    n->execution.edge_operand_count = 5;
}

static const tamis_edge_number of_executions[] = {{"late", (double)NAN}};
static const char all_arrays[] = "x * row.r * late + col.c * entry.e * entry.e + head.h * x";

static tamis_options with_arrays(const char *text) {
    tamis_options o = with_text(TAMIS_OP_SDDMM, text);
    o.edge_numbers = of_executions;
    o.edge_number_count = 1;
    o.batch = BATCH;
    return o;
}

TEST(arrays_have_places_and_gradients) {
    call_data c;
    named_data n;
    make(&c);
    make_named(&n);
    tamis_options o = with_arrays(all_arrays);
    OWN(tamis_plan) *plan = NULL;
    OWN(tamis_gradient) *gradient = NULL;
    double ones[BATCH * NNZ], want_row[BATCH * ROWS] = {0}, want_col[BATCH * COLS] = {0}, want_late[BATCH] = {0},
                                               want_head[BATCH] = {0};
    const tamis_dense dP = samples_of(&c.S, ones, TAMIS_F64);
    for (int k = 0; k < BATCH * NNZ; k++) ones[k] = 1;
    works(tamis_plan_create(device, &c.S, &o, &plan));
    works(tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, &n.execution));
    works(tamis_gradient_create(device, &c.S, &o, &gradient));
    works(tamis_sddmm_backward(gradient, &dP, &c.A, &c.B, NULL, NULL, NULL, &n.execution));
    for (int k = 0; k < BATCH * NNZ; k++) {
        const int m = k / NNZ, t = k % NNZ, i = row_of[t], j = columns[t];
        const double x = product(&c, m, t), r = n.row[m * ROWS + i], e = n.entry[t];
        const double want = x * r * n.late + n.col[j] * e * e + n.head[m] * x;
        assert_true(fabs(c.p[k] - want) < 1e-12);
        want_row[m * ROWS + i] += x * n.late;
        want_col[m * COLS + j] += e * e;
        want_late[m] += x * r;
        want_head[m] += x;
        assert_true(fabs(n.d_entry[k] - 2 * e * n.col[j]) < 1e-12);
    }
    for (int k = 0; k < BATCH * ROWS; k++) assert_true(fabs(n.d_row[k] - want_row[k]) < 1e-12);
    for (int k = 0; k < BATCH * COLS; k++) assert_true(fabs(n.d_col[k] - want_col[k]) < 1e-12);
    for (int m = 0; m < BATCH; m++) assert_true(fabs(n.d_head[m] - want_head[m]) < 1e-12);
    for (int m = 0; m < BATCH; m++) assert_true(fabs(n.d_late[m] - want_late[m]) < 1e-12);
    n.late = -3; /* the same plan */
    works(tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, &n.execution));
    assert_true(fabs(c.p[0] - (product(&c, 0, 0) * n.row[0] * -3 + n.col[3] * 4 + n.head[0] * product(&c, 0, 0))) <
                1e-12);
}

/* A branch that is never taken leaves an array that no step reads: it is given, and has gradients of zeros. */
TEST(arrays_that_no_step_reads) {
    static const char *const texts[] = {"where(0, row.r, x)", "where(1, x, col.c * row.r)",
                                        "x + 0 * where(0, col.c, 1)"};
    for (int k = 0; k < 3; k++) {
        call_data c;
        named_data n;
        make(&c);
        make_named(&n);
        tamis_options o = with_text(TAMIS_OP_SDDMM, texts[k]);
        OWN(tamis_gradient) *gradient = NULL;
        double ones[BATCH * NNZ];
        const tamis_dense dP = samples_of(&c.S, ones, TAMIS_F64);
        tamis_edge_operand *const row = &n.operands[0], *const col = &n.operands[1];
        o.batch = BATCH;
        for (int t = 0; t < BATCH * NNZ; t++) ones[t] = 1;
        if (k == 2) *row = *col;
        n.execution.edge_operand_count = k == 1 ? 2 : 1;
        works(tamis_gradient_create(device, &c.S, &o, &gradient));
        works(tamis_sddmm_backward(gradient, &dP, &c.A, &c.B, NULL, NULL, NULL, &n.execution));
        for (int t = 0; t < COLS && k > 0; t++) assert_true(n.d_col[t] == 0);
        for (int t = 0; t < BATCH * ROWS && k < 2; t++) assert_true(n.d_row[t] == 0);
    }
}

/* A matrix without entries has gradients of zeros, or what was there. */
TEST(arrays_without_entries) {
    call_data c;
    named_data n;
    static const int32_t none[ROWS + 1] = {0};
    make(&c);
    make_named(&n);
    tamis_options o = with_arrays(all_arrays);
    OWN(tamis_gradient) *gradient = NULL;
    c.S.nnz = n.views[2].rows = n.gradients[2].rows = 0;
    c.S.offsets = none;
    const tamis_dense dP = samples_of(&c.S, c.p, TAMIS_F64);
    works(tamis_gradient_create(device, &c.S, &o, &gradient));
    for (int keep = 0; keep < 2; keep++) {
        for (int k = 0; k < BATCH * ROWS; k++) n.d_row[k] = 7;
        for (int k = 0; k < BATCH * COLS; k++) n.d_col[k] = 7;
        for (int k = 0; k < BATCH; k++) n.d_late[k] = 7;
        n.execution.beta = keep;
        works(tamis_sddmm_backward(gradient, &dP, &c.A, &c.B, NULL, NULL, NULL, &n.execution));
        for (int k = 0; k < BATCH * ROWS; k++) assert_true(n.d_row[k] == 7 * keep);
        for (int k = 0; k < BATCH * COLS; k++) assert_true(n.d_col[k] == 7 * keep);
        for (int k = 0; k < BATCH; k++) assert_true(n.d_late[k] == 7 * keep);
    }
}

TEST(arrays_are_refused) {
    call_data c;
    named_data n;
    make(&c);
    make_named(&n);
    tamis_options o = with_arrays(all_arrays);
    OWN(tamis_plan) *plan = NULL, *plain = NULL;
    tamis_oracle *oracle = NULL;
    works(tamis_plan_create(device, &c.S, &o, &plan));
    tamis_execution *const x = &n.execution;
#define REFUSED_CALL(words) REFUSED(ARGUMENT, words, tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x))
    x->edge_operand_count = 4;
    REFUSED_CALL("execution.edge_operands have no 'late', which the edge's text reads: give 1 number");
    x->edge_operand_count = 9;
    REFUSED_CALL("execution.edge_operand_count = 9: expected 0 .. 8");
    x->edge_operand_count = 5;
    x->edge_operands = NULL;
    REFUSED_CALL("execution.edge_operands = NULL, but execution.edge_operand_count = 5");
    x->edge_operands = n.operands;
    SPOILT(n.views[1].rows, COLS + 1, ARGUMENT, "col.c.rows = 5: expected 4",
           tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    SPOILT(n.views[0].type, TAMIS_F32, ARGUMENT, "row.r.type = fp32: expected fp64",
           tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    SPOILT(n.operands[1].name, "row.r", ARGUMENT, "two have the name 'row.r'",
           tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    SPOILT(n.operands[1].name, "col.d", ARGUMENT, "execution.edge_operands[1].name = 'col.d': the edge's text reads no",
           tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    SPOILT(n.operands[1].values, NULL, ARGUMENT, "col.c = NULL", tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    SPOILT(n.operands[1].reserved[2], 1, UNSUPPORTED, "execution.edge_operands.reserved[2]",
           tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    SPOILT(n.views[2].data, c.p, ARGUMENT, "P.data = ", tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, x));
    o.edge = TAMIS_EDGE_MASK;
    o.edge_text = NULL;
    works(tamis_plan_create(device, &c.S, &o, &plain));
    REFUSED(ARGUMENT, "execution.edge_operand_count = 5, but the edge is no text",
            tamis_plan_sddmm(plain, &c.A, &c.B, &c.P, x));
    o = with_text(TAMIS_OP_SDDMM, "x + row.r");
    REFUSED(UNSUPPORTED, "options.edge_text reads row.r, which an execution gives",
            tamis_oracle_create(&c.S, &c.A, &c.B, NULL, &o, 1, &oracle));
    OWN(tamis_plan) *normalised = NULL;
    o = with_text(TAMIS_OP_SDDMM, "softmax(x)");
    works(tamis_plan_create(device, &c.S, &o, &normalised));
    REFUSED(UNSUPPORTED, "the plan's edge is the softmax of a text", tamis_plan_edge(normalised, &c.P, &c.P, NULL));
}

/* The text and its numbers are read when a plan is made. */
/* In fp32 a comparison comes out as in the forward call, also where double would tell numbers apart: the gradient is 1
   where the result is the product. */
TEST(gradients_take_the_branch_of_the_call) {
    static const struct {
        const char *text;
        float s, x;
    } cases[] = {{"where(s == 0.1, x, 0)", 0.1F, 3},
                 {"where(s == w, x, 0)", 0.1F, 3},
                 {"where(floor(s * 10) == 7, x, 0)", 0.7F, 3},
                 {"where(x <= 0.1, x, 0)", 0, 0.1F},
                 {"where(exp(x) < 1e39, x, 0)", 0, 89.5F}};
    static const int32_t start[] = {0, 1}, zero[] = {0};
    static const tamis_edge_number w = {"w", 0.1};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        float a = cases[k].x, b = 1, p = NAN, da = NAN, one = 1, s = cases[k].s;
        tamis_sparse S = csr_of(TAMIS_F32, 1, 1, 1, start, zero, &s);
        const tamis_dense A = {.data = &a, .rows = 1, .cols = 1, .type = TAMIS_F32};
        tamis_dense B = A, P = A, dP = A, dA = A;
        tamis_options o = with_text(TAMIS_OP_SDDMM, cases[k].text);
        OWN(tamis_gradient) *gradient = NULL;
        B.data = &b, P.data = &p, dP.data = &one, dA.data = &da;
        o.type = o.output_type = TAMIS_F32;
        o.inner = 1;
        o.edge_numbers = &w;
        o.edge_number_count = 1;
        works(tamis_sddmm(device, &S, &A, &B, &P, &o, NULL));
        works(tamis_gradient_create(device, &S, &o, &gradient));
        works(tamis_sddmm_backward(gradient, &dP, &A, &B, &dA, NULL, NULL, NULL));
        if ((p == a) != (da == 1)) fail_msg("%s: %g, and its gradient %g", cases[k].text, (double)p, (double)da);
    }
}

TEST(plans_keep_what_they_need) {
    call_data c;
    make(&c);
    char text[] = "tanh(x / cap) * cap", name[] = "cap", explained[4096];
    tamis_edge_number cap = {name, 0.5};
    tamis_options o = with_text(TAMIS_OP_SDDMM, text);
    o.edge_numbers = &cap;
    o.edge_number_count = 1;
    OWN(tamis_plan) *plan = NULL;
    works(tamis_plan_create(device, &c.S, &o, &plan));
    memset(text, '?', sizeof text - 1);
    name[0] = '?';
    cap.value = 1e9;
    works(tamis_plan_sddmm(plan, &c.A, &c.B, &c.P, NULL));
    for (int t = 0; t < NNZ; t++) assert_true(fabs(c.p[t] - tanh(product(&c, 0, t) / 0.5) * 0.5) < 1e-12);
    works(tamis_plan_explain(plan, explained, sizeof explained, NULL));
    assert_true(message_says(explained, "edge tanh(x / cap) * cap, K = 2"));
    assert_string_equal(tamis_edge_name(TAMIS_EDGE_TEXT), "text");
}

TEST(what_is_refused) {
    call_data c;
    make(&c);
    tamis_plan *plan = NULL;
    tamis_gradient *gradient = NULL;
    tamis_slab_plan *slabs = NULL;
    tamis_group *group = NULL;
    tamis_group_plan *group_plan = NULL;
    tamis_edge_number numbers[] = {{"cap", 1}, {"cap", 2}};
    tamis_options o = with_text(TAMIS_OP_SDDMM, "x");
    SPOILT(o.edge_text, NULL, ARGUMENT, "options.edge = text, but options.edge_text is NULL: set it",
           tamis_plan_create(device, &c.S, &o, &plan));
    SPOILT(o.edge, TAMIS_EDGE_MASK, ARGUMENT, "options.edge = mask, but options.edge_text is set",
           tamis_plan_create(device, &c.S, &o, &plan));
    SPOILT(o.edge_text, "x + tahn(x)", ARGUMENT, "^edge:1:5: unknown name 'tahn'; did you mean 'tanh'?$",
           tamis_plan_create(device, &c.S, &o, &plan));
    SPOILT(o.edge_text, "x +", ARGUMENT, "^edge:1:4: ", tamis_gradient_create(device, &c.S, &o, &gradient));
    SPOILT(o.edge_text, "x +", ARGUMENT, "^edge:1:4: ", tamis_sddmm(device, &c.S, &c.A, &c.B, &c.P, &o, NULL));
    SPOILT(o.edge_text, "x +", ARGUMENT, "^edge:1:4: ", tamis_reference_sddmm(&c.S, &c.A, &c.B, &o, NULL, c.p));
    SPOILT(o.edge_number_count, 1, ARGUMENT, "options.edge_numbers = NULL, but options.edge_number_count = 1",
           tamis_plan_create(device, &c.S, &o, &plan));
    SPOILT(o.edge_number_count, -1, ARGUMENT, "options.edge_number_count = -1: expected 0 .. 16",
           tamis_plan_create(device, &c.S, &o, &plan));
    o.edge_numbers = numbers;
    SPOILT(o.edge_number_count, 2, ARGUMENT, "two numbers have the name 'cap'",
           tamis_plan_create(device, &c.S, &o, &plan));
    o.edge_number_count = 1;
    SPOILT(numbers[0].value, (double)INFINITY, ARGUMENT, "the number 'cap' = inf is not finite",
           tamis_plan_create(device, &c.S, &o, &plan));
    SPOILT(o.keep_softmax, true, ARGUMENT, "options.keep_softmax = true needs options.edge = softmax, not text",
           tamis_plan_create(device, &c.S, &o, &plan));
    SPOILT(o.algorithm, "naive", UNSUPPORTED, "only the edges with names, not a text",
           tamis_plan_create(device, &c.S, &o, &plan));
    REFUSED(UNSUPPORTED, "options.edge = text: plans out of core have the edges with names",
            tamis_slab_plan_create(device, &c.S, &o, NULL, &slabs));
    works(tamis_group_open_local(&device, 1, NULL, &group));
    REFUSED(UNSUPPORTED, "options.edge = text: groups have the edges with names",
            tamis_group_plan_create(group, &c.S, COLS, &o, &group_plan));
    tamis_group_close(group);
    o = with_text(TAMIS_OP_FUSED, "where(i > j, x, 0)");
    o.algorithm = "cpu-cells";
    c.S.values = NULL;
    REFUSED(UNSUPPORTED, "the edge's text reads i, j or an array", tamis_plan_create(device, &c.S, &o, &plan));
}

/* Drawn expressions in all types, against the oracle as `tamis check` compares: with values that are not finite, and
   bounds that are not. */
TEST(drawn_expressions_are_right) {
    enum { DRAWN = 24, WIDE = 17 };
    static const tamis_edge_number given[] = {{"a", 0.75}, {"b", -1.25}};
    tamis_random random = tamis_random_start(test_seed(), 6);
    int finite = 0, tried = 0;
    for (int n = test_rounds(400, 60); n > 0; n--) {
        char text[2 * TAMIS_TEXT_MOST];
        const tamis_type type = (tamis_type)(n % 4);
        const tamis_operation operation = n % 3 ? TAMIS_OP_SDDMM : TAMIS_OP_FUSED;
        drawn_expression(&random, drawn_of_edges, 1 + (int)tamis_random_below(&random, 3), text, sizeof text);
        if (n % 5 == 1) { /* its rows' softmax */
            char inner[sizeof text];
            memcpy(inner, text, sizeof text);
            snprintf(text, sizeof text, "softmax(%.*s)", (int)sizeof text - 16, inner);
        }
        if (strlen(text) > TAMIS_TEXT_MOST) continue;
        const problem_options shape = {.rows = DRAWN,
                                       .cols = DRAWN,
                                       .nnz = 6 * DRAWN,
                                       .inner = WIDE,
                                       .width = WIDE,
                                       .batch = 1,
                                       .type = type,
                                       .format = TAMIS_CSR,
                                       .sorted = true,
                                       .distinct = true};
        OWN(problem) p = problem_make(&shape, &random);
        tamis_options o = problem_call(&p, operation, &(tamis_options)TAMIS_OPTIONS_INIT);
        o.edge = TAMIS_EDGE_TEXT;
        o.edge_text = text;
        o.edge_numbers = given;
        o.edge_number_count = 2;
        matrix out = problem_result(&p, operation);
        tamis_comparison compared;
        tamis_oracle *oracle = NULL;
        const tamis_status made = tamis_oracle_create(&p.S, &p.A, &p.B, &p.D, &o, HUGE_VAL, &oracle);
        if (made != TAMIS_OK) { /* more numbers or values than a program may have */
            assert_true(message_says(tamis_last_error(), "shorten it"));
            matrix_free(&out);
            continue;
        }
        works(call_at_once(device, operation, &p.S, &p.A, &p.B, &p.D, &out.here, &o, NULL));
        works(tamis_oracle_compare(oracle, &out.here, 1, 0, NULL, &compared));
        tamis_oracle_free(oracle);
        matrix_free(&out);
        if (!compared.passed)
            fail_msg("%s %s in %s: element %lld, %lld is %g, expected %g; error %g, allowed %g",
                     tamis_operation_name(operation), text, tamis_type_name(type), (long long)compared.row,
                     (long long)compared.col, compared.found, compared.expected, compared.error, compared.tolerance);
        tried++;
        finite += !compared.cannot_tell;
    }
    assert_true(2 * finite > tried);
}

/* SpMM reads no edge. */
TEST(spmm_reads_no_text) {
    call_data c;
    make(&c);
    tamis_options o = with_text(TAMIS_OP_SPMM, "this is no expression");
    OWN(tamis_plan) *plan = NULL;
    works(tamis_plan_create(device, &c.S, &o, &plan));
}

TEST_FIXTURE(set_up, tear_down)
