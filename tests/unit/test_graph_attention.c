/*
 * Attention on graphs against the oracle: with and without e and b, every type, instruction set and number of threads;
 * the oracle's gradients against finite differences; masked entries; which gradients are wanted; the same bits.
 */
#include "message_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_device.h"
#include "support/works.h"

/* Heads and width: less than a vector, whole vectors, vectors and a rest, more heads and wider than kernels take at
   once. */
static const int64_t shapes[][2] = {{1, 1}, {1, 16}, {3, 7}, {2, 64}, {1, 37}, {4, 20}, {16, 64}, {70, 3}, {5, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const int64_t wide[2] = {2, 4100};

/* The matrices of a call, of one type. */
enum { Q, K, V, E, B, D_OUT, OPERANDS };
typedef struct operands {
    matrix all[OPERANDS];
    tamis_graph_attention_options o;
    tamis_graph_attention_matrices m;
} operands;

/* Multiples of 1/16 for q, so that scores are small; `apart`: numbers that are no multiples. */
static void operands_make(operands *x, const graph_case *g, tamis_graph_attention_options o, bool has_e, bool has_b,
                          bool apart) {
    const int64_t all = o.heads * o.width;
    const int64_t rows[] = {g->S.rows, g->S.cols, g->S.cols, g->S.nnz, g->S.nnz, g->S.rows};
    *x = (operands){.o = o};
    for (int i = 0; i < OPERANDS; i++) {
        const int64_t cols = i == B ? o.heads : all;
        x->all[i] = apart ? matrix_apart(rows[i], cols, i + 1) : matrix_make(rows[i], cols, o.type, i + 1, 0);
    }
    for (int64_t i = 0; i < g->S.rows * all && !apart; i++)
        matrix_set(&x->all[Q], i / all, i % all, matrix_get(&x->all[Q], i / all, i % all) / 4);
    x->m = (tamis_graph_attention_matrices){.Q = &x->all[Q].here,
                                            .K = &x->all[K].here,
                                            .V = &x->all[V].here,
                                            .E = has_e ? &x->all[E].here : NULL,
                                            .B = has_b ? &x->all[B].here : NULL};
}

static void operands_free(operands *x) {
    for (int i = 0; i < OPERANDS; i++) matrix_free(&x->all[i]);
}

/* The inputs where the device wants them. */
static tamis_graph_attention_matrices operands_send(operands *x) {
    for (int i = 0; i < OPERANDS; i++) matrix_send(device, &x->all[i]);
    return (tamis_graph_attention_matrices){.Q = &x->all[Q].there,
                                            .K = &x->all[K].there,
                                            .V = &x->all[V].there,
                                            .E = x->m.E ? &x->all[E].there : NULL,
                                            .B = x->m.B ? &x->all[B].there : NULL};
}

/* What a call and its gradients write: out, dq, dk, dv, de, db and log_sums. */
enum { OUT, DQ, DK, DV, DE, DB, SUMS, RESULTS };

static void results_make(matrix r[RESULTS], const graph_case *g, const tamis_graph_attention_options *o) {
    const int64_t all = o->heads * o->width;
    const int64_t rows[] = {g->S.rows, g->S.rows, g->S.cols, g->S.cols, g->S.nnz, g->S.nnz, g->S.rows};
    for (int i = 0; i < RESULTS; i++)
        r[i] = matrix_poisoned(rows[i], i < DB ? all : o->heads,
                               i < SUMS               ? o->type
                               : o->type == TAMIS_F64 ? TAMIS_F64
                                                      : TAMIS_F32);
}

/* Runs a call, and its gradients that `wanted` has a bit for, by number - DQ. */
static void run(const tamis_graph *graph, operands *x, int wanted, matrix r[RESULTS]) {
    const tamis_graph_attention_matrices given = operands_send(x);
    size_t bytes;
    for (int i = 0; i < RESULTS; i++) matrix_send(device, &r[i]);
    works(tamis_graph_attention_workspace_size(graph, &x->o, &bytes));
    twin workspace = twin_make(bytes, 0);
    twin_send(&workspace, device);
    const tamis_graph_attention_matrices to = {.Q = wanted & 1 ? &r[DQ].there : NULL,
                                               .K = wanted & 2 ? &r[DK].there : NULL,
                                               .V = wanted & 4 ? &r[DV].there : NULL,
                                               .E = wanted & 8 && given.E ? &r[DE].there : NULL,
                                               .B = wanted & 16 && given.B ? &r[DB].there : NULL};
    works(tamis_graph_attention(graph, &x->o, &given, &r[OUT].there, &r[SUMS].there, NULL));
    works(tamis_graph_attention_backward(graph, &x->o, &given, &x->all[D_OUT].there, &r[OUT].there, &r[SUMS].there, &to,
                                         wanted & 6 ? twin_there(&workspace) : NULL, NULL));
    for (int i = 0; i < RESULTS; i++) matrix_fetch(&r[i]);
    twin_free(&workspace);
}

/* ------------------------------------------------------------------------------------------ against the oracle */

typedef struct expected {
    double *out, *log_sums;
    tamis_graph_attention_gradients d;
} expected;

static expected expect(const graph_case *g, const operands *x) {
    const int64_t all = x->o.heads * x->o.width;
    expected r = {.out = test_doubles(g->S.rows * all),
                  .log_sums = test_doubles(g->S.rows * x->o.heads),
                  .d = {.q = test_doubles(g->S.rows * all),
                        .k = test_doubles(g->S.cols * all),
                        .v = test_doubles(g->S.cols * all),
                        .e = test_doubles(g->S.nnz * all),
                        .b = test_doubles(g->S.nnz * x->o.heads)}};
    works(tamis_reference_graph_attention(&g->S, &x->o, &x->m, r.out, r.log_sums));
    works(tamis_reference_graph_attention_backward(&g->S, &x->o, &x->m, &x->all[D_OUT].here, &r.d));
    return r;
}

static void forget(expected *r) {
    double *const all[] = {r->out, r->log_sums, r->d.q, r->d.k, r->d.v, r->d.e, r->d.b};
    for (int i = 0; i < 7; i++) free(all[i]);
}

/* The largest error of <dout, out> of a row and head that comes from the rounding of out. */
static double error_of_outer(const operands *x, const matrix *out, const double *wanted) {
    double most = 0;
    for (int64_t i = 0; i < out->here.rows; i++)
        for (int64_t h = 0; h < x->o.heads; h++) {
            double sum = 0;
            for (int64_t k = h * x->o.width; k < (h + 1) * x->o.width; k++)
                sum += matrix_get(&x->all[D_OUT], i, k) * (matrix_get(out, i, k) - wanted[i * out->here.cols + k]);
            most = fabs(sum) > most ? fabs(sum) : most;
        }
    return most;
}

/* The largest errors that rounding can make: |k + e| and |v + e| are at most SUM, |q| at most Q, the others at most
   SUM / 2; a score has width + 4 roundings, and p twice its error and those of an exponential and of a sum. */
typedef struct bounds {
    double score, p, out, d_score, q, k, v, e;
} bounds;

static bounds bounds_of(const graph_case *g, const operands *x, double outer) {
    const double u = x->o.type == TAMIS_F64 ? 0x1p-52 : 0x1p-24, sum = 3.5, q = 0.4375;
    const double width = (double)x->o.width, most = (double)g->most, scale = x->o.scale;
    bounds r = {.score = u * (width + 4) * (scale * width * q * sum + 1.75)};
    r.p = 2 * r.score + u * (most + 16);
    r.out = sum * (r.p + u * (most + 4));
    r.d_score = width * 1.75 * sum * (2 * r.p + u * (2 * width + 8)) + outer;
    r.q = scale * sum * (r.d_score + u * (most + 4) * 2 * width * 1.75 * sum);
    r.e = scale * q * r.d_score + 1.75 * (r.p + 4 * u) + u * 4 * scale * q * width * 1.75 * sum;
    r.k = most * scale * q * (r.d_score + u * (most + 4) * 2 * width * 1.75 * sum);
    r.v = most * 1.75 * (r.p + u * (most + 4));
    return r;
}

static void compare_log_sums(const matrix *found, const double *wanted, double bound) {
    for (int64_t i = 0; i < found->here.rows * found->here.cols; i++) {
        const double x = matrix_get(found, i / found->here.cols, i % found->here.cols);
        if (isinf(wanted[i]))
            assert_true(x == wanted[i]);
        else
            assert_true(fabs(x - wanted[i]) <=
                        bound + (found->here.type == TAMIS_F64 ? 0x1p-50 : 0x1p-22) * fabs(wanted[i]));
    }
}

/* Runs a call and its gradients on matrices of a type, and compares. */
static void compare(const graph_case *g, const tamis_graph *graph, operands *x, const expected *wanted) {
    matrix r[RESULTS];
    results_make(r, g, &x->o);
    run(graph, x, 31, r);
    const bounds b = bounds_of(g, x, error_of_outer(x, &r[OUT], wanted->out));
    matrix_near(&r[OUT], wanted->out, b.out);
    compare_log_sums(&r[SUMS], wanted->log_sums, b.score + b.p);
    matrix_near(&r[DQ], wanted->d.q, b.q);
    matrix_near(&r[DK], wanted->d.k, b.k);
    matrix_near(&r[DV], wanted->d.v, b.v);
    if (x->m.E) matrix_near(&r[DE], wanted->d.e, b.e);
    if (x->m.B) matrix_near(&r[DB], wanted->d.b, b.d_score);
    for (int i = 0; i < RESULTS; i++) matrix_free(&r[i]);
}

/* With one thread, or matrices that cannot be read in vectors; and with several, or matrices that can. */
static tamis_graph *open_graph(const graph_case *g, int turn) {
    matrices_aligned = turn;
    return graph_case_open(device, g, turn ? 3 : 1);
}

static void every_type_of(const graph_case *g, const tamis_graph *graph, int turn, const int64_t of[2], bool has_e,
                          bool has_b) {
    tamis_graph_attention_options o = {.heads = of[0], .width = of[1]};
    expected wanted = {.out = NULL};
    operands x;
    o.scale = 1 / sqrt((double)of[1] + 1);
    for (int type = 0; type < 4; type++) {
        if (!is_drawn((int)g->kind, turn, type)) continue;
        if (!wanted.out) {
            o.type = TAMIS_F64;
            operands_make(&x, g, o, has_e, has_b, false);
            wanted = expect(g, &x);
            operands_free(&x);
        }
        o.type = (tamis_type)type;
        operands_make(&x, g, o, has_e, has_b, false);
        compare(g, graph, &x, &wanted);
        operands_free(&x);
    }
    forget(&wanted);
}

static void every_call_on(const graph_case *g, int first_shape, int last_shape) {
    for (int turn = 0; turn < 2; turn++) {
        tamis_graph *const graph = open_graph(g, turn);
        for (int s = first_shape; s < last_shape; s++)
            for (int given = 0; given < 4; given++) every_type_of(g, graph, turn, shapes[s], given % 2, given / 2);
        graph_case_close(graph);
    }
}

static void small_graphs(void) {
    for (int kind = 0; kind < GRAPH_HUB; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        every_call_on(&g, 0, SHAPES);
        graph_case_free(&g);
    }
}

TEST(every_call) { on_each_instruction_set(small_graphs); }

/* A row of 1300 entries, which threads share, and a column like it; heads wider than the sums of a kernel. */
TEST(hubs) {
    graph_case g = graph_case_make(GRAPH_HUB);
    every_call_on(&g, 1, 5);
    graph_case_free(&g);
    g = graph_case_make(GRAPH_SLICE);
    for (int turn = 0; turn < 2; turn++) {
        tamis_graph *const graph = open_graph(&g, turn);
        every_type_of(&g, graph, turn, wide, true, true);
        graph_case_close(graph);
    }
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ finite differences */

typedef struct differed {
    const graph_case *g;
    const operands *x;
} differed;

static double loss(const void *context) {
    const differed *const by = context;
    const operands *const x = by->x;
    const int64_t count = x->all[D_OUT].here.rows * x->all[D_OUT].here.cols;
    double *const out = test_doubles(count), *const d_out = test_values(&x->all[D_OUT].here, 0), total = 0;
    works(tamis_reference_graph_attention(&by->g->S, &x->o, &x->m, out, NULL));
    for (int64_t i = 0; i < count; i++) total += out[i] * d_out[i];
    free(out);
    free(d_out);
    return total;
}

TEST(finite_differences) {
    graph_case g = graph_case_make(GRAPH_CSR);
    for (int given = 0; given < 4; given++) {
        const tamis_graph_attention_options o = {.type = TAMIS_F64, .heads = 2, .width = 3, .scale = 1.5};
        operands x;
        operands_make(&x, &g, o, given % 2, given / 2, true);
        expected wanted = expect(&g, &x);
        const double *const gradients[] = {wanted.d.q, wanted.d.k, wanted.d.v, wanted.d.e, wanted.d.b};
        for (int m = 0; m < 5; m++)
            if ((m != E || x.m.E) && (m != B || x.m.B))
                matrix_differ(&x.all[m], gradients[m], loss, &(differed){&g, &x});
        forget(&wanted);
        operands_free(&x);
    }
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ what is promised */

/* -infinity leaves entries out, also those of a whole chunk; a row of nothing else gives 0, as an empty row does. */
TEST(masks) {
    enum { ROWS = 3, ENTRIES = 41, WIDTH = 5 };
    int32_t offsets[ROWS + 1] = {0, 40, 40, 41}, columns[ENTRIES];
    for (int t = 0; t < ENTRIES; t++) columns[t] = t;
    const graph_case g = {.S = {.rows = ROWS, .cols = ENTRIES, .nnz = ENTRIES, .offsets = offsets, .columns = columns}};
    const tamis_graph_attention_options o = {.heads = 1, .width = WIDTH};
    operands x;
    matrix r[RESULTS];
    operands_make(&x, &g, o, false, true, false);
    for (int t = 0; t < ENTRIES; t++) matrix_set(&x.all[B], t, 0, t == 33 ? 2 : -(double)INFINITY);
    results_make(r, &g, &o);
    tamis_graph *const graph = graph_case_open(device, &g, 1);
    run(graph, &x, 31, r);
    graph_case_close(graph);
    for (int i = 0; i < WIDTH; i++) {
        assert_true(matrix_get(&r[OUT], 0, i) == matrix_get(&x.all[V], 33, i));
        assert_true(matrix_get(&r[OUT], 1, i) == 0 && matrix_get(&r[OUT], 2, i) == 0);
        assert_true(matrix_get(&r[DV], 33, i) == matrix_get(&x.all[D_OUT], 0, i));
        assert_true(matrix_get(&r[DV], 32, i) == 0 && matrix_get(&r[DV], 40, i) == 0);
        for (int row = 0; row < ROWS; row++) assert_true(matrix_get(&r[DQ], row, i) == 0);
    }
    assert_true(matrix_get(&r[SUMS], 0, 0) == 2);
    for (int row = 1; row < ROWS; row++) assert_true(matrix_get(&r[SUMS], row, 0) == -(double)INFINITY);
    for (int i = 0; i < RESULTS; i++) matrix_free(&r[i]);
    operands_free(&x);
}

/* Any number of threads gives the same bits, and so does any choice of gradients; others are not written. Devices know
   no number of threads, and get a third of the choices. */
TEST(same_bits) {
    graph_case g = graph_case_make(GRAPH_HUB);
    const tamis_graph_attention_options o = {.heads = 3, .width = 24, .scale = 0.3};
    operands x;
    matrix first[RESULTS], next[RESULTS];
    operands_make(&x, &g, o, true, true, false);
    for (int64_t i = 0; i < g.S.nnz * 72; i++) matrix_set(&x.all[E], i / 72, i % 72, sin((double)i));
    for (int n = 0; n < 32; n++) {
        const int wanted = n < 8 ? 31 : n;
        if (is_device() && (n < 8 ? n > 1 : (uint64_t)n % 3 != drawn_by % 3 && !test_whole())) continue;
        tamis_graph *const graph = graph_case_open(device, &g, n % 8 + 1);
        results_make(next, &g, &o);
        matrix untouched[RESULTS];
        results_make(untouched, &g, &o);
        run(graph, &x, wanted, next);
        graph_case_close(graph);
        for (int m = 0; m < RESULTS; m++) {
            const bool written = m == OUT || m == SUMS || wanted & (1 << (m - DQ));
            if (n == 0)
                first[m] = next[m];
            else
                assert_memory_equal(next[m].twin.host, (written ? first : untouched)[m].twin.host, next[m].twin.bytes);
            if (n > 0) matrix_free(&next[m]);
            matrix_free(&untouched[m]);
        }
    }
    for (int m = 0; m < RESULTS; m++) matrix_free(&first[m]);
    operands_free(&x);
    graph_case_free(&g);
}

TEST_RUN() {
    if (!device_is_drawn(argc, argv)) return 77;
    return test_run(NULL, NULL, set_up, tear_down);
}
