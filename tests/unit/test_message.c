/*
 * Message passing against the oracle: every message, reduction, kind of edge data, type, instruction set and number of
 * threads; the oracle's gradients against finite differences. The operands are multiples of 1/4, so that sums are exact
 * in fp32, and results must be the oracle's, rounded once; only means have a tolerance.
 */
#include "message_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_device.h"
#include "sparse/index.h"
#include "support/works.h"

static const struct {
    tamis_message_op op;
    tamis_edge_data data;
} messages[] = {
    {TAMIS_MESSAGE_COPY_U, TAMIS_E_NONE},   {TAMIS_MESSAGE_ADD, TAMIS_E_NUMBER},
    {TAMIS_MESSAGE_ADD, TAMIS_E_HEAD},      {TAMIS_MESSAGE_ADD, TAMIS_E_VECTOR},
    {TAMIS_MESSAGE_SUB, TAMIS_E_NUMBER},    {TAMIS_MESSAGE_SUB, TAMIS_E_HEAD},
    {TAMIS_MESSAGE_SUB, TAMIS_E_VECTOR},    {TAMIS_MESSAGE_MUL, TAMIS_E_NUMBER},
    {TAMIS_MESSAGE_MUL, TAMIS_E_HEAD},      {TAMIS_MESSAGE_MUL, TAMIS_E_VECTOR},
    {TAMIS_MESSAGE_COPY_E, TAMIS_E_NUMBER}, {TAMIS_MESSAGE_COPY_E, TAMIS_E_HEAD},
    {TAMIS_MESSAGE_COPY_E, TAMIS_E_VECTOR}, {TAMIS_MESSAGE_ADD_RELU, TAMIS_E_NUMBER},
    {TAMIS_MESSAGE_ADD_RELU, TAMIS_E_HEAD}, {TAMIS_MESSAGE_ADD_RELU, TAMIS_E_VECTOR},
};
enum { MESSAGES = sizeof messages / sizeof *messages };

/* Heads and width: less than a vector, whole vectors, vectors and a rest, on every instruction set. */
static const int64_t shapes[][2] = {{1, 1},  {1, 16},  {3, 7}, {2, 64}, {1, 37},
                                    {4, 20}, {1, 150}, {5, 0}, {8, 2},  {5, 8}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static tamis_message_options options_of(int message, int reduce, const int64_t shape[2]) {
    return (tamis_message_options){.op = messages[message].op,
                                   .reduce = (tamis_reduce)reduce,
                                   .edge_data = messages[message].data,
                                   .heads = shape[0],
                                   .width = shape[1]};
}

static int64_t edge_columns(const tamis_message_options *o) {
    if (o->edge_data == TAMIS_E_VECTOR) return o->heads * o->width;
    return o->edge_data == TAMIS_E_HEAD ? o->heads : 1;
}

/* ------------------------------------------------------------------------------------------ against the oracle */

/* What a call and its gradients should give, and the sums of the terms' shape, which bound the rounding of means. */
typedef struct expected {
    double *out, *du, *de, *out_size, *du_size, *de_size;
    int64_t *argument;
} expected;

static expected expect(const graph_case *g, tamis_message_options o) {
    const int64_t all = o.heads * o.width, edges = edge_columns(&o);
    expected x = {.out = test_doubles(g->S.rows * all),
                  .du = test_doubles(g->S.cols * all),
                  .de = test_doubles(g->S.nnz * edges),
                  .out_size = test_doubles(g->S.rows * all),
                  .du_size = test_doubles(g->S.cols * all),
                  .de_size = test_doubles(g->S.nnz * edges),
                  .argument = calloc((size_t)(g->S.rows * all) + 1, sizeof(int64_t))};
    for (int size = 0; size < 2; size++) { /* then of the absolute values */
        matrix U = matrix_make(g->S.cols, all, TAMIS_F64, 1, size),
               E = matrix_make(g->S.nnz, edges, TAMIS_F64, 2, size);
        matrix dOut = matrix_make(g->S.rows, all, TAMIS_F64, 3, size);
        if (size && o.op == TAMIS_MESSAGE_SUB) o.op = TAMIS_MESSAGE_ADD;
        works(
            tamis_reference_message(&g->S, &o, &U.here, &E.here, size ? x.out_size : x.out, size ? NULL : x.argument));
        works(tamis_reference_message_backward(&g->S, &o, &dOut.here, &U.here, &E.here, size ? x.du_size : x.du,
                                               size ? x.de_size : x.de));
        matrix_free(&U);
        matrix_free(&E);
        matrix_free(&dOut);
    }
    return x;
}

static void forget(expected *x) {
    double *const all[] = {x->out, x->du, x->de, x->out_size, x->du_size, x->de_size};
    for (int i = 0; i < 6; i++) free(all[i]);
    free(x->argument);
}

/* Runs a call and its gradients on matrices of a type, and compares. */
static void compare(const graph_case *g, const tamis_graph *graph, tamis_message_options o, const expected *x) {
    const int64_t all = o.heads * o.width, edges = edge_columns(&o), places = g->S.rows * all;
    const bool extreme = o.reduce >= TAMIS_REDUCE_MAX, reads_u = o.op != TAMIS_MESSAGE_COPY_E;
    const bool reads_e = o.op != TAMIS_MESSAGE_COPY_U;
    matrix U = matrix_make(g->S.cols, all, o.type, 1, 0), E = matrix_make(g->S.nnz, edges, o.type, 2, 0);
    matrix dOut = matrix_make(g->S.rows, all, o.type, 3, 0), out = matrix_poisoned(g->S.rows, all, o.type);
    matrix dU = matrix_poisoned(g->S.cols, all, o.type), dE = matrix_poisoned(g->S.nnz, edges, o.type);
    twin argument = twin_make((size_t)(places + 1) * 8, 0);
    memset(argument.host, 0x5a, argument.bytes);
    matrix *const sent[] = {&U, &E, &dOut, &out, &dU, &dE};
    for (int i = 0; i < 6; i++) matrix_send(device, sent[i]);
    twin_send(&argument, device);
    void *const taken = extreme ? twin_there(&argument) : NULL;
    works(tamis_message_pass(graph, &o, reads_u ? &U.there : NULL, reads_e ? &E.there : NULL, &out.there, taken, NULL));
    const bool read = o.op == TAMIS_MESSAGE_MUL || o.op == TAMIS_MESSAGE_ADD_RELU;
    works(tamis_message_backward(graph, &o, &dOut.there, read ? &U.there : NULL, read ? &E.there : NULL, taken,
                                 reads_u ? &dU.there : NULL, reads_e ? &dE.there : NULL, NULL));
    for (int i = 0; i < 6; i++) matrix_fetch(sent[i]);
    twin_fetch(&argument);
    const double roundings = o.reduce == TAMIS_REDUCE_MEAN ? (double)(g->most + all + 4) : 0;
    matrix_check(&out, x->out, x->out_size, roundings);
    for (int64_t i = 0; extreme && i < places; i++)
        assert_int_equal(tamis_index_load(argument.host, o.argument_type, i), x->argument[i]);
    if (reads_u) matrix_check(&dU, x->du, x->du_size, roundings);
    if (reads_e) matrix_check(&dE, x->de, x->de_size, roundings);
    twin_free(&argument);
    for (int i = 0; i < 6; i++) matrix_free(sent[i]);
}

/* With one thread, or matrices that cannot be read in vectors; and with several, or matrices that can. */
static tamis_graph *open_graph(const graph_case *g, int turn) {
    matrices_aligned = turn;
    return graph_case_open(device, g, turn ? 3 : 1);
}

static void every_message_on(const graph_case *g, int first_shape, int last_shape) {
    for (int turn = 0; turn < 2; turn++) {
        tamis_graph *const graph = open_graph(g, turn);
        for (int m = 0; m < MESSAGES; m++)
            for (int reduce = 0; reduce < 4; reduce++)
                for (int s = first_shape; s < last_shape; s++) {
                    tamis_message_options o = options_of(m, reduce, shapes[s]);
                    expected x = {.out = NULL};
                    for (int type = 0; type < 4; type++) {
                        if (!is_drawn((int)g->kind, turn, type)) continue;
                        if (!x.out) x = expect(g, o);
                        o.type = (tamis_type)type;
                        o.argument_type = (tamis_index_type)((type + turn) % 2);
                        compare(g, graph, o, &x);
                    }
                    forget(&x);
                }
        graph_case_close(graph);
    }
}

static void small_messages(void) {
    for (int kind = 0; kind < GRAPH_HUB; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        every_message_on(&g, 0, SHAPES);
        graph_case_free(&g);
    }
}

TEST(every_message) { on_each_instruction_set(small_messages); }

/* A row of 1300 entries, which threads share, and a column like it. */
TEST(hubs) {
    graph_case g = graph_case_make(GRAPH_HUB);
    every_message_on(&g, 1, 2);
    every_message_on(&g, 4, 5);
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ edge vectors */

static void every_pair_on(const graph_case *g) {
    tamis_graph *graph = open_graph(g, 0);
    const tamis_sparse *const S = &g->S;
    for (int n = 0; n < 4 * SHAPES * 8; n++) {
        if (n == 4 * SHAPES * 4) {
            graph_case_close(graph);
            graph = open_graph(g, 1);
        }
        if (!is_drawn((int)g->kind, n / (4 * SHAPES * 4), n / 4 % 4)) continue;
        tamis_pair_options o = {.op = (tamis_pair_op)(n % 4),
                                .type = (tamis_type)(n / 4 % 4),
                                .heads = shapes[n / 16 % SHAPES][0],
                                .width = shapes[n / 16 % SHAPES][1]};
        const int64_t all = o.heads * o.width, edges = o.op == TAMIS_PAIR_DOT ? o.heads : all;
        double *const out = test_doubles(S->nnz * edges), *const du = test_doubles(S->rows * all),
                      *const dv = test_doubles(S->cols * all);
        matrix U = matrix_make(S->rows, all, o.type, 1, 0), V = matrix_make(S->cols, all, o.type, 2, 0);
        matrix dOut = matrix_make(S->nnz, edges, o.type, 3, 0), found = matrix_poisoned(S->nnz, edges, o.type);
        matrix dU = matrix_poisoned(S->rows, all, o.type), dV = matrix_poisoned(S->cols, all, o.type);
        works(tamis_reference_edge_vectors(S, &o, &U.here, &V.here, out));
        works(tamis_reference_edge_vectors_backward(S, &o, &dOut.here, &U.here, &V.here, du, dv));
        matrix *const all_of[] = {&U, &V, &dOut, &found, &dU, &dV};
        for (int i = 0; i < 6; i++) matrix_send(device, all_of[i]);
        works(tamis_edge_vectors(graph, &o, &U.there, &V.there, &found.there, NULL));
        const bool reads = o.op >= TAMIS_PAIR_MUL;
        works(tamis_edge_vectors_backward(graph, &o, &dOut.there, reads ? &U.there : NULL, reads ? &V.there : NULL,
                                          &dU.there, &dV.there, NULL));
        for (int i = 0; i < 6; i++) matrix_fetch(all_of[i]);
        matrix_check(&found, out, NULL, 0);
        matrix_check(&dU, du, NULL, 0);
        matrix_check(&dV, dv, NULL, 0);
        for (int i = 0; i < 6; i++) matrix_free(all_of[i]);
        free(out);
        free(du);
        free(dv);
    }
    graph_case_close(graph);
}

static void all_pairs(void) {
    for (int kind = 0; kind < GRAPH_KINDS; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        if (kind != GRAPH_HUB) every_pair_on(&g);
        graph_case_free(&g);
    }
}

TEST(every_pair) { on_each_instruction_set(all_pairs); }

/* ------------------------------------------------------------------------------------------ finite differences */

typedef struct differed {
    const graph_case *g;
    const tamis_message_options *o;
    const tamis_pair_options *pair; /* NULL: a message */
    const matrix *U, *E, *dOut;
} differed;

/* The loss <dOut, out> of a call, in double. */
static double loss(const void *context) {
    const differed *const x = context;
    const int64_t count = x->dOut->here.rows * x->dOut->here.cols;
    double *const out = test_doubles(count), *const by = test_values(&x->dOut->here, 0), sum = 0;
    if (x->pair)
        works(tamis_reference_edge_vectors(&x->g->S, x->pair, &x->U->here, &x->E->here, out));
    else
        works(tamis_reference_message(&x->g->S, x->o, &x->U->here, &x->E->here, out, NULL));
    for (int64_t i = 0; i < count; i++) sum += out[i] * by[i];
    free(out);
    free(by);
    return sum;
}

TEST(finite_differences) {
    graph_case g = graph_case_make(GRAPH_CSR);
    const int64_t shape[2] = {2, 3};
    for (int n = 0; n < MESSAGES * 4 + 4; n++) {
        tamis_message_options o = options_of(n % MESSAGES, n / MESSAGES % 4, shape);
        const tamis_pair_options pair = {.op = (tamis_pair_op)(n % 4), .heads = 2, .width = 3};
        const bool pairs = n >= MESSAGES * 4;
        const int64_t edges = pairs ? (pair.op == TAMIS_PAIR_DOT ? 2 : 6) : edge_columns(&o);
        matrix U = matrix_apart(pairs ? g.S.rows : g.S.cols, 6, 1);
        matrix E = pairs ? matrix_apart(g.S.cols, 6, 2) : matrix_apart(g.S.nnz, edges, 2);
        matrix dOut = pairs ? matrix_apart(g.S.nnz, edges, 3) : matrix_apart(g.S.rows, 6, 3);
        double *const du = test_doubles(U.here.rows * U.here.cols), *const de = test_doubles(E.here.rows * E.here.cols);
        if (pairs)
            works(tamis_reference_edge_vectors_backward(&g.S, &pair, &dOut.here, &U.here, &E.here, du, de));
        else
            works(tamis_reference_message_backward(&g.S, &o, &dOut.here, &U.here, &E.here, du, de));
        const differed x = {&g, &o, pairs ? &pair : NULL, &U, &E, &dOut};
        matrix_differ(&U, du, loss, &x);
        matrix_differ(&E, de, loss, &x);
        free(du);
        free(de);
        matrix_free(&U);
        matrix_free(&E);
        matrix_free(&dOut);
    }
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ what is promised */

/* Of equal messages the first counts; the first NaN wins against everything; a row without entries gives 0 and -1. */
TEST(ties_and_nan) {
    enum { ENTRIES = 8 };
    int32_t rows[ENTRIES] = {2, 0, 2, 0, 3, 3, 3, 2}, columns[ENTRIES] = {0, 1, 2, 3, 4, 5, 6, 7};
    const double u[ENTRIES] = {1, -0.0, 5, 0, 2, NAN, NAN, 5}, results[2][4] = {{0, 0, 5, NAN}, {0, 0, 1, NAN}};
    const int32_t wanted[2][4] = {{1, -1, 2, 5}, {1, -1, 0, 5}};
    const graph_case g = {
        .S = {
            .format = TAMIS_COO, .rows = 4, .cols = ENTRIES, .nnz = ENTRIES, .row_indices = rows, .columns = columns}};
    tamis_graph *const graph = graph_case_open(device, &g, 1);
    for (int i = 0; i < 2; i++) {
        const tamis_message_options o = {.reduce = i ? TAMIS_REDUCE_MIN : TAMIS_REDUCE_MAX, .width = 1};
        matrix U = matrix_poisoned(ENTRIES, 1, TAMIS_F32), out = matrix_poisoned(4, 1, TAMIS_F32);
        twin argument = twin_make(4 * sizeof(int32_t), 0);
        for (int j = 0; j < ENTRIES; j++) matrix_set(&U, j, 0, u[j]);
        twin_send(&argument, device);
        works(tamis_message_pass(graph, &o, matrix_send(device, &U), NULL, matrix_send(device, &out),
                                 twin_there(&argument), NULL));
        twin_fetch(&argument);
        matrix_fetch(&U);
        matrix_fetch(&out);
        for (int j = 0; j < 4; j++) {
            const double found = matrix_get(&out, j, 0);
            assert_true(found == results[i][j] || (isnan(found) && isnan(results[i][j])));
            assert_int_equal(tamis_index_load(argument.host, TAMIS_I32, j), wanted[i][j]);
        }
        twin_free(&argument);
        matrix_free(&U);
        matrix_free(&out);
    }
    graph_case_close(graph);
}

/* With numbers whose sums round, runs and numbers of threads give the same bits. */
TEST(same_bits) {
    graph_case g = graph_case_make(GRAPH_HUB);
    enum { WIDTH = 72 };
    matrix U = matrix_make(g.S.cols, WIDTH, TAMIS_F32, 1, 0), E = matrix_make(g.S.nnz, WIDTH, TAMIS_F32, 2, 0);
    matrix dOut = matrix_make(g.S.rows, WIDTH, TAMIS_F32, 3, 0);
    for (int64_t i = 0; i < g.S.cols * WIDTH; i++) matrix_set(&U, i / WIDTH, i % WIDTH, sin((double)i));
    const tamis_message_options o = {.op = TAMIS_MESSAGE_MUL, .edge_data = TAMIS_E_VECTOR, .width = WIDTH};
    matrix first[2], next[2];
    for (int threads = 1; threads < (is_device() ? 3 : 8); threads++) {
        tamis_graph *const graph = graph_case_open(device, &g, threads);
        next[0] = matrix_poisoned(g.S.rows, WIDTH, TAMIS_F32);
        next[1] = matrix_poisoned(g.S.cols, WIDTH, TAMIS_F32);
        matrix *const sent[] = {&U, &E, &dOut, &next[0], &next[1]};
        for (int i = 0; i < 5; i++) matrix_send(device, sent[i]);
        works(tamis_message_pass(graph, &o, &U.there, &E.there, &next[0].there, NULL, NULL));
        works(tamis_message_backward(graph, &o, &dOut.there, &U.there, &E.there, NULL, &next[1].there, NULL, NULL));
        for (int i = 0; i < 5; i++) matrix_fetch(sent[i]);
        graph_case_close(graph);
        for (int i = 0; i < 2; i++) {
            if (threads == 1) {
                first[i] = next[i];
                continue;
            }
            assert_memory_equal(next[i].twin.host, first[i].twin.host, next[i].twin.bytes);
            matrix_free(&next[i]);
        }
    }
    matrix *const all_of[] = {&U, &E, &dOut, &first[0], &first[1]};
    for (int i = 0; i < 5; i++) matrix_free(all_of[i]);
    graph_case_free(&g);
}

TEST_RUN() {
    if (!device_is_drawn(argc, argv)) return 77;
    return test_run(NULL, NULL, set_up, tear_down);
}
