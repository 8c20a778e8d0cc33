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

#include "cpu_device.h"
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
    {TAMIS_MESSAGE_COPY_E, TAMIS_E_VECTOR},
};
enum { MESSAGES = sizeof messages / sizeof *messages };

/* Heads and width: less than a vector, whole vectors, vectors and a rest, on every instruction set. */
static const int64_t shapes[][2] = {{1, 1}, {1, 16}, {3, 7}, {2, 64}, {1, 37}, {4, 20}, {1, 150}, {5, 0}};
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

/* What a call and its gradients should give, and the sums of the terms' sizes, which bound the rounding of means. */
typedef struct expected {
    double *out, *du, *de, *out_size, *du_size, *de_size;
    int64_t *argument;
} expected;

static expected expect(const graph_case *g, tamis_message_options o) {
    const int64_t all = o.heads * o.width, edges = edge_columns(&o);
    expected x = {.out = numbers(g->S.rows * all),
                  .du = numbers(g->S.cols * all),
                  .de = numbers(g->S.nnz * edges),
                  .out_size = numbers(g->S.rows * all),
                  .du_size = numbers(g->S.cols * all),
                  .de_size = numbers(g->S.nnz * edges),
                  .argument = calloc((size_t)(g->S.rows * all) + 1, sizeof(int64_t))};
    for (int size = 0; size < 2; size++) { /* then of the absolute values */
        matrix U = matrix_make(g->S.cols, all, TAMIS_F64, 1, size),
               E = matrix_make(g->S.nnz, edges, TAMIS_F64, 2, size);
        matrix dOut = matrix_make(g->S.rows, all, TAMIS_F64, 3, size);
        if (size && o.op == TAMIS_MESSAGE_SUB) o.op = TAMIS_MESSAGE_ADD;
        works(
            tamis_reference_message(&g->S, &o, &U.view, &E.view, size ? x.out_size : x.out, size ? NULL : x.argument));
        works(tamis_reference_message_backward(&g->S, &o, &dOut.view, &U.view, &E.view, size ? x.du_size : x.du,
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
    const bool reads_e = o.op != TAMIS_MESSAGE_COPY_U, wide = o.argument_type == TAMIS_I64;
    matrix U = matrix_make(g->S.cols, all, o.type, 1, 0), E = matrix_make(g->S.nnz, edges, o.type, 2, 0);
    matrix dOut = matrix_make(g->S.rows, all, o.type, 3, 0), out = matrix_poisoned(g->S.rows, all, o.type);
    matrix dU = matrix_poisoned(g->S.cols, all, o.type), dE = matrix_poisoned(g->S.nnz, edges, o.type);
    void *const argument = malloc((size_t)(places + 1) * 8);
    assert_non_null(argument);
    memset(argument, 0x5a, (size_t)(places + 1) * 8);
    works(tamis_message_pass(graph, &o, reads_u ? &U.view : NULL, reads_e ? &E.view : NULL, &out.view,
                             extreme ? argument : NULL, NULL));
    const double roundings = o.reduce == TAMIS_REDUCE_MEAN ? (double)(g->most + all + 4) : 0;
    matrix_check(&out, x->out, x->out_size, roundings);
    for (int64_t i = 0; extreme && i < places; i++)
        assert_int_equal(wide ? ((int64_t *)argument)[i] : ((int32_t *)argument)[i], x->argument[i]);
    const bool mul = o.op == TAMIS_MESSAGE_MUL;
    works(tamis_message_backward(graph, &o, &dOut.view, mul ? &U.view : NULL, mul ? &E.view : NULL,
                                 extreme ? argument : NULL, reads_u ? &dU.view : NULL, reads_e ? &dE.view : NULL,
                                 NULL));
    if (reads_u) matrix_check(&dU, x->du, x->du_size, roundings);
    if (reads_e) matrix_check(&dE, x->de, x->de_size, roundings);
    free(argument);
    matrix_free(&U);
    matrix_free(&E);
    matrix_free(&dOut);
    matrix_free(&out);
    matrix_free(&dU);
    matrix_free(&dE);
}

static tamis_graph *graph_of(const graph_case *g, int threads) {
    const tamis_graph_options options = {.threads = threads};
    tamis_graph *graph = NULL;
    works(tamis_graph_create(device, &g->S, &options, &graph));
    return graph;
}

static void every_message_on(const graph_case *g, int first_shape, int last_shape) {
    tamis_graph *const graphs[] = {graph_of(g, 1), graph_of(g, 3)};
    for (int m = 0; m < MESSAGES; m++)
        for (int reduce = 0; reduce < 4; reduce++)
            for (int s = first_shape; s < last_shape; s++) {
                tamis_message_options o = options_of(m, reduce, shapes[s]);
                expected x = expect(g, o);
                for (int type = 0; type < 8; type++) {
                    o.type = (tamis_type)(type % 4);
                    o.argument_type = (tamis_index_type)((type + type / 4) % 2);
                    compare(g, graphs[type / 4], o, &x);
                }
                forget(&x);
            }
    tamis_graph_destroy(graphs[0]);
    tamis_graph_destroy(graphs[1]);
}

static void small_messages(void) {
    for (int kind = 0; kind < GRAPH_HUB; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        every_message_on(&g, 0, SHAPES);
        graph_case_free(&g);
    }
}

static void every_message(void **state) {
    (void)state;
    on_each_instruction_set(small_messages);
}

/* A row of 1300 entries, which threads share, and a column like it. */
static void hubs(void **state) {
    (void)state;
    graph_case g = graph_case_make(GRAPH_HUB);
    every_message_on(&g, 1, 2);
    every_message_on(&g, 4, 5);
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ edge vectors */

static void every_pair_on(const graph_case *g) {
    tamis_graph *const graphs[] = {graph_of(g, 1), graph_of(g, 3)};
    const tamis_sparse *const S = &g->S;
    for (int n = 0; n < 4 * SHAPES * 8; n++) {
        tamis_pair_options o = {.op = (tamis_pair_op)(n % 4),
                                .type = (tamis_type)(n / 4 % 4),
                                .heads = shapes[n / 16 % SHAPES][0],
                                .width = shapes[n / 16 % SHAPES][1]};
        const tamis_graph *const graph = graphs[n / 16 / SHAPES];
        const int64_t all = o.heads * o.width, edges = o.op == TAMIS_PAIR_DOT ? o.heads : all;
        double *const out = numbers(S->nnz * edges), *const du = numbers(S->rows * all),
                      *const dv = numbers(S->cols * all);
        matrix U = matrix_make(S->rows, all, o.type, 1, 0), V = matrix_make(S->cols, all, o.type, 2, 0);
        matrix dOut = matrix_make(S->nnz, edges, o.type, 3, 0), found = matrix_poisoned(S->nnz, edges, o.type);
        matrix dU = matrix_poisoned(S->rows, all, o.type), dV = matrix_poisoned(S->cols, all, o.type);
        works(tamis_reference_edge_vectors(S, &o, &U.view, &V.view, out));
        works(tamis_reference_edge_vectors_backward(S, &o, &dOut.view, &U.view, &V.view, du, dv));
        works(tamis_edge_vectors(graph, &o, &U.view, &V.view, &found.view, NULL));
        const bool reads = o.op >= TAMIS_PAIR_MUL;
        works(tamis_edge_vectors_backward(graph, &o, &dOut.view, reads ? &U.view : NULL, reads ? &V.view : NULL,
                                          &dU.view, &dV.view, NULL));
        matrix_check(&found, out, NULL, 0);
        matrix_check(&dU, du, NULL, 0);
        matrix_check(&dV, dv, NULL, 0);
        matrix *const all_of[] = {&U, &V, &dOut, &found, &dU, &dV};
        for (int i = 0; i < 6; i++) matrix_free(all_of[i]);
        free(out);
        free(du);
        free(dv);
    }
    tamis_graph_destroy(graphs[0]);
    tamis_graph_destroy(graphs[1]);
}

static void all_pairs(void) {
    for (int kind = 0; kind < GRAPH_KINDS; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        if (kind != GRAPH_HUB) every_pair_on(&g);
        graph_case_free(&g);
    }
}

static void every_pair(void **state) {
    (void)state;
    on_each_instruction_set(all_pairs);
}

/* ------------------------------------------------------------------------------------------ finite differences */

/* The loss <dOut, out> of a call, in double. */
static double loss(const graph_case *g, const tamis_message_options *o, const tamis_pair_options *pair, const matrix *U,
                   const matrix *E, const matrix *dOut) {
    double *const out = numbers(dOut->view.rows * dOut->view.cols);
    double sum = 0;
    if (pair)
        works(tamis_reference_edge_vectors(&g->S, pair, &U->view, &E->view, out));
    else
        works(tamis_reference_message(&g->S, o, &U->view, &E->view, out, NULL));
    for (int64_t i = 0; i < dOut->view.rows * dOut->view.cols; i++)
        sum += out[i] * matrix_get(dOut, i / dOut->view.cols, i % dOut->view.cols);
    free(out);
    return sum;
}

static void differ(const graph_case *g, const tamis_message_options *o, const tamis_pair_options *pair, matrix *U,
                   matrix *E, const matrix *dOut, matrix *by, const double *gradient) {
    const double step = 0x1p-20;
    for (int64_t i = 0; i < by->view.rows * by->view.cols; i++) {
        const int64_t row = i / by->view.cols, col = i % by->view.cols;
        const double x = matrix_get(by, row, col);
        matrix_set(by, row, col, x + step);
        const double above = loss(g, o, pair, U, E, dOut);
        matrix_set(by, row, col, x - step);
        const double below = loss(g, o, pair, U, E, dOut);
        matrix_set(by, row, col, x);
        assert_true(fabs((above - below) / (2 * step) - gradient[i]) < 1e-6);
    }
}

static void finite_differences(void **state) {
    (void)state;
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
        double *const du = numbers(U.view.rows * U.view.cols), *const de = numbers(E.view.rows * E.view.cols);
        if (pairs)
            works(tamis_reference_edge_vectors_backward(&g.S, &pair, &dOut.view, &U.view, &E.view, du, de));
        else
            works(tamis_reference_message_backward(&g.S, &o, &dOut.view, &U.view, &E.view, du, de));
        differ(&g, &o, pairs ? &pair : NULL, &U, &E, &dOut, &U, du);
        differ(&g, &o, pairs ? &pair : NULL, &U, &E, &dOut, &E, de);
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
static void ties_and_nan(void **state) {
    (void)state;
    enum { ENTRIES = 8 };
    int32_t rows[ENTRIES] = {2, 0, 2, 0, 3, 3, 3, 2}, columns[ENTRIES] = {0, 1, 2, 3, 4, 5, 6, 7};
    float u[ENTRIES] = {1, -0.0F, 5, 0, 2, NAN, NAN, 5};
    const tamis_sparse S = {
        .format = TAMIS_COO, .rows = 4, .cols = ENTRIES, .nnz = ENTRIES, .row_indices = rows, .columns = columns};
    const tamis_dense U = {.data = u, .rows = ENTRIES, .cols = 1};
    float found[4];
    int32_t argument[4];
    const tamis_dense out = {.data = found, .rows = 4, .cols = 1};
    tamis_graph *graph = NULL;
    works(tamis_graph_create(device, &S, NULL, &graph));
    tamis_message_options o = {.reduce = TAMIS_REDUCE_MAX, .width = 1};
    works(tamis_message_pass(graph, &o, &U, NULL, &out, argument, NULL));
    assert_true(found[0] == 0 && found[1] == 0 && found[2] == 5 && isnan(found[3]));
    assert_true(argument[0] == 1 && argument[1] == -1 && argument[2] == 2 && argument[3] == 5);
    o.reduce = TAMIS_REDUCE_MIN;
    works(tamis_message_pass(graph, &o, &U, NULL, &out, argument, NULL));
    assert_true(found[0] == 0 && found[1] == 0 && found[2] == 1 && isnan(found[3]));
    assert_true(argument[0] == 1 && argument[1] == -1 && argument[2] == 0 && argument[3] == 5);
    tamis_graph_destroy(graph);
}

/* With numbers whose sums round, runs and numbers of threads give the same bits. */
static void same_bits(void **state) {
    (void)state;
    graph_case g = graph_case_make(GRAPH_HUB);
    enum { WIDTH = 72 };
    matrix U = matrix_make(g.S.cols, WIDTH, TAMIS_F32, 1, 0), E = matrix_make(g.S.nnz, WIDTH, TAMIS_F32, 2, 0);
    for (int64_t i = 0; i < g.S.cols * WIDTH; i++) matrix_set(&U, i / WIDTH, i % WIDTH, sin((double)i));
    const tamis_message_options o = {.op = TAMIS_MESSAGE_MUL, .edge_data = TAMIS_E_VECTOR, .width = WIDTH};
    matrix first = matrix_poisoned(g.S.rows, WIDTH, TAMIS_F32), dU = matrix_poisoned(g.S.cols, WIDTH, TAMIS_F32);
    for (int threads = 1; threads < 8; threads++) {
        tamis_graph *const graph = graph_of(&g, threads);
        matrix out = matrix_poisoned(g.S.rows, WIDTH, TAMIS_F32), next = matrix_poisoned(g.S.cols, WIDTH, TAMIS_F32);
        works(tamis_message_pass(graph, &o, &U.view, &E.view, threads == 1 ? &first.view : &out.view, NULL, NULL));
        works(tamis_message_backward(graph, &o, &first.view, &U.view, &E.view, NULL,
                                     threads == 1 ? &dU.view : &next.view, NULL, NULL));
        for (int64_t i = 0; threads > 1 && i < g.S.rows; i++)
            assert_memory_equal(matrix_at(&out, i, 0), matrix_at(&first, i, 0), WIDTH * sizeof(float));
        for (int64_t i = 0; threads > 1 && i < g.S.cols; i++)
            assert_memory_equal(matrix_at(&next, i, 0), matrix_at(&dU, i, 0), WIDTH * sizeof(float));
        matrix_free(&out);
        matrix_free(&next);
        tamis_graph_destroy(graph);
    }
    matrix_free(&U);
    matrix_free(&E);
    matrix_free(&first);
    matrix_free(&dU);
    graph_case_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_message), cmocka_unit_test(hubs),
                                       cmocka_unit_test(every_pair),    cmocka_unit_test(finite_differences),
                                       cmocka_unit_test(ties_and_nan),  cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
