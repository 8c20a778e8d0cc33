/*
 * Attention on graphs against the oracle: with and without e and b, every type, instruction set and number of threads;
 * the oracle's gradients against finite differences; masked entries; which gradients are wanted; the same bits.
 */
#include "message_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_device.h"
#include "support/works.h"

/* Heads and width: less than a vector, whole vectors, vectors and a rest, more heads and wider than kernels take at
   once. */
static const int64_t shapes[][2] = {{1, 1}, {1, 16}, {3, 7}, {2, 64}, {1, 37}, {4, 20}, {16, 64}, {70, 3}, {5, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
static const int64_t wide[2] = {2, 4100};

/* The matrices of a call, of one type. */
typedef struct operands {
    matrix q, k, v, e, b, d_out;
    tamis_graph_attention_options o;
    tamis_graph_attention_matrices m;
} operands;

/* Multiples of 1/16 for q, so that scores are small; `apart`: numbers that are no multiples. */
static void operands_make(operands *x, const graph_case *g, tamis_graph_attention_options o, bool has_e, bool has_b,
                          bool apart) {
    const int64_t all = o.heads * o.width;
    *x = (operands){.o = o};
    if (apart) {
        x->q = matrix_apart(g->S.rows, all, 1);
        x->k = matrix_apart(g->S.cols, all, 2);
        x->v = matrix_apart(g->S.cols, all, 3);
        x->e = matrix_apart(g->S.nnz, all, 4);
        x->b = matrix_apart(g->S.nnz, o.heads, 5);
        x->d_out = matrix_apart(g->S.rows, all, 6);
    } else {
        x->q = matrix_make(g->S.rows, all, o.type, 1, 0);
        x->k = matrix_make(g->S.cols, all, o.type, 2, 0);
        x->v = matrix_make(g->S.cols, all, o.type, 3, 0);
        x->e = matrix_make(g->S.nnz, all, o.type, 4, 0);
        x->b = matrix_make(g->S.nnz, o.heads, o.type, 5, 0);
        x->d_out = matrix_make(g->S.rows, all, o.type, 6, 0);
        for (int64_t i = 0; i < g->S.rows * all; i++)
            matrix_set(&x->q, i / all, i % all, matrix_get(&x->q, i / all, i % all) / 4);
    }
    x->m = (tamis_graph_attention_matrices){.Q = &x->q.view,
                                            .K = &x->k.view,
                                            .V = &x->v.view,
                                            .E = has_e ? &x->e.view : NULL,
                                            .B = has_b ? &x->b.view : NULL};
}

static void operands_free(operands *x) {
    matrix *const all[] = {&x->q, &x->k, &x->v, &x->e, &x->b, &x->d_out};
    for (int i = 0; i < 6; i++) matrix_free(all[i]);
}

static tamis_graph *graph_of(const graph_case *g, int threads) {
    const tamis_graph_options options = {.threads = threads};
    tamis_graph *graph = NULL;
    works(tamis_graph_create(device, &g->S, &options, &graph));
    return graph;
}

/* ------------------------------------------------------------------------------------------ against the oracle */

typedef struct expected {
    double *out, *log_sums;
    tamis_graph_attention_gradients d;
} expected;

static expected expect(const graph_case *g, const operands *x) {
    const int64_t all = x->o.heads * x->o.width;
    expected r = {.out = numbers(g->S.rows * all),
                  .log_sums = numbers(g->S.rows * x->o.heads),
                  .d = {.q = numbers(g->S.rows * all),
                        .k = numbers(g->S.cols * all),
                        .v = numbers(g->S.cols * all),
                        .e = numbers(g->S.nnz * all),
                        .b = numbers(g->S.nnz * x->o.heads)}};
    works(tamis_reference_graph_attention(&g->S, &x->o, &x->m, r.out, r.log_sums));
    works(tamis_reference_graph_attention_backward(&g->S, &x->o, &x->m, &x->d_out.view, &r.d));
    return r;
}

static void forget(expected *r) {
    double *const all[] = {r->out, r->log_sums, r->d.q, r->d.k, r->d.v, r->d.e, r->d.b};
    for (int i = 0; i < 7; i++) free(all[i]);
}

/* Compares; each element may be `bound` away, besides its own rounding to the type. */
static void check(const matrix *m, const double *wanted, double bound) {
    const double sums = m->view.type == TAMIS_F64 ? 0x1p-52 : 0x1p-24;
    double *const size = numbers(m->view.rows * m->view.cols);
    for (int64_t i = 0; i < m->view.rows * m->view.cols; i++) size[i] = bound / sums;
    matrix_check(m, wanted, size, 1);
    free(size);
}

/* The largest error of <dout, out> of a row and head that comes from the rounding of out. */
static double error_of_outer(const operands *x, const matrix *out, const double *wanted) {
    double most = 0;
    for (int64_t i = 0; i < out->view.rows; i++)
        for (int64_t h = 0; h < x->o.heads; h++) {
            double sum = 0;
            for (int64_t k = h * x->o.width; k < (h + 1) * x->o.width; k++)
                sum += matrix_get(&x->d_out, i, k) * (matrix_get(out, i, k) - wanted[i * out->view.cols + k]);
            most = fabs(sum) > most ? fabs(sum) : most;
        }
    return most;
}

static double *log_sums_make(int64_t count, tamis_dense *view, int64_t heads, tamis_type type) {
    double *const memory = numbers(count);
    *view = (tamis_dense){.data = memory,
                          .rows = heads ? count / heads : 0,
                          .cols = heads,
                          .type = type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32};
    memset(memory, 0xff, (size_t)count * sizeof *memory);
    return memory;
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

static void compare_log_sums(const tamis_dense *found, const double *wanted, double bound) {
    for (int64_t i = 0; i < found->rows * found->cols; i++) {
        const double x = found->type == TAMIS_F64 ? ((double *)found->data)[i] : ((float *)found->data)[i];
        if (isinf(wanted[i]))
            assert_true(x == wanted[i]);
        else
            assert_true(fabs(x - wanted[i]) <=
                        bound + (found->type == TAMIS_F64 ? 0x1p-50 : 0x1p-22) * fabs(wanted[i]));
    }
}

/* Runs a call and its gradients on matrices of a type, and compares. */
static void compare(const graph_case *g, const tamis_graph *graph, const operands *x, const expected *wanted) {
    const int64_t all = x->o.heads * x->o.width;
    const tamis_type type = x->o.type;
    matrix out = matrix_poisoned(g->S.rows, all, type), dq = matrix_poisoned(g->S.rows, all, type);
    matrix dk = matrix_poisoned(g->S.cols, all, type), dv = matrix_poisoned(g->S.cols, all, type);
    matrix de = matrix_poisoned(g->S.nnz, all, type), db = matrix_poisoned(g->S.nnz, x->o.heads, type);
    tamis_dense view;
    double *const log_sums = log_sums_make(g->S.rows * x->o.heads, &view, x->o.heads, type);
    size_t bytes;
    works(tamis_graph_attention(graph, &x->o, &x->m, &out.view, &view, NULL));
    const bounds b = bounds_of(g, x, error_of_outer(x, &out, wanted->out));
    check(&out, wanted->out, b.out);
    compare_log_sums(&view, wanted->log_sums, b.score + b.p);
    works(tamis_graph_attention_workspace_size(graph, &x->o, &bytes));
    void *const workspace = aligned_alloc(16, (bytes + 32) / 16 * 16);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes);
    const tamis_graph_attention_matrices to = {
        .Q = &dq.view, .K = &dk.view, .V = &dv.view, .E = x->m.E ? &de.view : NULL, .B = x->m.B ? &db.view : NULL};
    works(tamis_graph_attention_backward(graph, &x->o, &x->m, &x->d_out.view, &out.view, &view, &to, workspace, NULL));
    check(&dq, wanted->d.q, b.q);
    check(&dk, wanted->d.k, b.k);
    check(&dv, wanted->d.v, b.v);
    if (to.E) check(&de, wanted->d.e, b.e);
    if (to.B) check(&db, wanted->d.b, b.d_score);
    matrix *const made[] = {&out, &dq, &dk, &dv, &de, &db};
    for (int i = 0; i < 6; i++) matrix_free(made[i]);
    free(workspace);
    free(log_sums);
}

static void every_type_of(const graph_case *g, tamis_graph *const graphs[2], const int64_t shape[2], bool has_e,
                          bool has_b) {
    tamis_graph_attention_options o = {.type = TAMIS_F64, .heads = shape[0], .width = shape[1]};
    o.scale = 1 / sqrt((double)shape[1] + 1);
    operands x;
    operands_make(&x, g, o, has_e, has_b, false);
    expected wanted = expect(g, &x);
    operands_free(&x);
    for (int type = 0; type < 8; type++) {
        o.type = (tamis_type)(type % 4);
        operands_make(&x, g, o, has_e, has_b, false);
        compare(g, graphs[type / 4], &x, &wanted);
        operands_free(&x);
    }
    forget(&wanted);
}

static void every_call_on(const graph_case *g, int first_shape, int last_shape) {
    tamis_graph *const graphs[] = {graph_of(g, 1), graph_of(g, 3)};
    for (int s = first_shape; s < last_shape; s++)
        for (int given = 0; given < 4; given++) every_type_of(g, graphs, shapes[s], given % 2, given / 2);
    tamis_graph_destroy(graphs[0]);
    tamis_graph_destroy(graphs[1]);
}

static void small_graphs(void) {
    for (int kind = 0; kind < GRAPH_HUB; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        every_call_on(&g, 0, SHAPES);
        graph_case_free(&g);
    }
}

static void every_call(void **state) {
    (void)state;
    on_each_instruction_set("cpu", small_graphs);
}

/* A row of 1300 entries, which threads share, and a column like it; heads wider than the sums of a kernel. */
static void hubs(void **state) {
    (void)state;
    graph_case g = graph_case_make(GRAPH_HUB);
    every_call_on(&g, 1, 5);
    graph_case_free(&g);
    g = graph_case_make(GRAPH_SLICE);
    tamis_graph *const graphs[] = {graph_of(&g, 1), graph_of(&g, 3)};
    every_type_of(&g, graphs, wide, true, true);
    tamis_graph_destroy(graphs[0]);
    tamis_graph_destroy(graphs[1]);
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ finite differences */

static double loss(const graph_case *g, const operands *x) {
    const int64_t all = x->o.heads * x->o.width;
    double *const out = numbers(g->S.rows * all);
    double total = 0;
    works(tamis_reference_graph_attention(&g->S, &x->o, &x->m, out, NULL));
    for (int64_t i = 0; i < g->S.rows * all; i++) total += out[i] * matrix_get(&x->d_out, i / all, i % all);
    free(out);
    return total;
}

static void finite_differences(void **state) {
    (void)state;
    const double step = 0x1p-20;
    graph_case g = graph_case_make(GRAPH_CSR);
    for (int given = 0; given < 4; given++) {
        const tamis_graph_attention_options o = {.type = TAMIS_F64, .heads = 2, .width = 3, .scale = 1.5};
        operands x;
        operands_make(&x, &g, o, given % 2, given / 2, true);
        expected wanted = expect(&g, &x);
        matrix *const by[] = {&x.q, &x.k, &x.v, &x.e, &x.b};
        const double *const gradients[] = {wanted.d.q, wanted.d.k, wanted.d.v, wanted.d.e, wanted.d.b};
        for (int m = 0; m < 5; m++)
            for (int64_t i = 0; i < by[m]->view.rows * by[m]->view.cols; i++) {
                if ((m == 3 && !x.m.E) || (m == 4 && !x.m.B)) continue;
                const int64_t row = i / by[m]->view.cols, col = i % by[m]->view.cols;
                const double old = matrix_get(by[m], row, col);
                matrix_set(by[m], row, col, old + step);
                const double above = loss(&g, &x);
                matrix_set(by[m], row, col, old - step);
                const double below = loss(&g, &x);
                matrix_set(by[m], row, col, old);
                assert_true(fabs((above - below) / (2 * step) - gradients[m][i]) < 1e-6);
            }
        forget(&wanted);
        operands_free(&x);
    }
    graph_case_free(&g);
}

/* ------------------------------------------------------------------------------------------ what is promised */

/* -infinity leaves entries out, also those of a whole chunk; a row of nothing else gives NaN; an empty row 0. */
static void masks(void **state) {
    (void)state;
    enum { ROWS = 3, ENTRIES = 41, WIDTH = 5 };
    int32_t offsets[ROWS + 1] = {0, 40, 40, 41}, columns[ENTRIES];
    float q[ROWS * WIDTH], k[ENTRIES * WIDTH], b[ENTRIES], out[ROWS * WIDTH], sums[ROWS];
    for (int t = 0; t < ENTRIES; t++) {
        columns[t] = t;
        b[t] = t == 33 ? 2.0F : -(float)INFINITY;
    }
    for (int i = 0; i < ROWS * WIDTH; i++) q[i] = 0.25F;
    for (int i = 0; i < ENTRIES * WIDTH; i++) k[i] = (float)i;
    const tamis_sparse S = {.rows = ROWS, .cols = ENTRIES, .nnz = ENTRIES, .offsets = offsets, .columns = columns};
    const tamis_dense Q = {.data = q, .rows = ROWS, .cols = WIDTH}, K = {.data = k, .rows = ENTRIES, .cols = WIDTH};
    const tamis_dense B = {.data = b, .rows = ENTRIES, .cols = 1}, Out = {.data = out, .rows = ROWS, .cols = WIDTH};
    const tamis_dense L = {.data = sums, .rows = ROWS, .cols = 1};
    const tamis_graph_attention_options o = {.width = WIDTH};
    const tamis_graph_attention_matrices m = {.Q = &Q, .K = &K, .V = &K, .B = &B};
    tamis_graph *graph = NULL;
    works(tamis_graph_create(device, &S, NULL, &graph));
    works(tamis_graph_attention(graph, &o, &m, &Out, &L, NULL));
    for (int i = 0; i < WIDTH; i++) {
        assert_true(out[i] == k[33 * WIDTH + i]);
        assert_true(out[WIDTH + i] == 0);
        assert_true(isnan(out[2 * WIDTH + i]));
    }
    assert_true(sums[0] == 2 && sums[1] == -(float)INFINITY);
    tamis_graph_destroy(graph);
}

enum { BITS_HEADS = 3, BITS_WIDTH = 24, BITS_ALL = BITS_HEADS * BITS_WIDTH };

/* A call and its gradients, those that `wanted` has a bit for, with many threads. */
static void run_wanted(const graph_case *g, const operands *x, int threads, int wanted, matrix made[6]) {
    tamis_graph *const graph = graph_of(g, threads);
    const int64_t rows[] = {g->S.rows, g->S.rows, g->S.cols, g->S.cols, g->S.nnz, g->S.nnz};
    for (int i = 0; i < 6; i++) made[i] = matrix_poisoned(rows[i], i == 5 ? BITS_HEADS : BITS_ALL, TAMIS_F32);
    tamis_dense view;
    double *const log_sums = log_sums_make(g->S.rows * BITS_HEADS, &view, BITS_HEADS, TAMIS_F32);
    size_t bytes;
    works(tamis_graph_attention_workspace_size(graph, &x->o, &bytes));
    void *const workspace = aligned_alloc(16, (bytes + 32) / 16 * 16);
    works(tamis_graph_attention(graph, &x->o, &x->m, &made[0].view, &view, NULL));
    const tamis_graph_attention_matrices to = {.Q = wanted & 1 ? &made[1].view : NULL,
                                               .K = wanted & 2 ? &made[2].view : NULL,
                                               .V = wanted & 4 ? &made[3].view : NULL,
                                               .E = wanted & 8 ? &made[4].view : NULL,
                                               .B = wanted & 16 ? &made[5].view : NULL};
    works(tamis_graph_attention_backward(graph, &x->o, &x->m, &x->d_out.view, &made[0].view, &view, &to,
                                         wanted & 6 ? workspace : NULL, NULL));
    free(workspace);
    free(log_sums);
    tamis_graph_destroy(graph);
}

/* Any number of threads gives the same bits, and so does any choice of gradients; others are not written. */
static void same_bits(void **state) {
    (void)state;
    graph_case g = graph_case_make(GRAPH_HUB);
    operands x;
    tamis_graph_attention_options o = {.heads = BITS_HEADS, .width = BITS_WIDTH, .scale = 0.3};
    operands_make(&x, &g, o, true, true, false);
    for (int64_t i = 0; i < g.S.nnz * BITS_ALL; i++) matrix_set(&x.e, i / BITS_ALL, i % BITS_ALL, sin((double)i));
    matrix first[6], next[6];
    const matrix poison = matrix_poisoned(1, BITS_ALL, TAMIS_F32);
    run_wanted(&g, &x, 1, 31, first);
    for (int n = 1; n < 32; n++) {
        const int wanted = n < 8 ? 31 : n;
        run_wanted(&g, &x, n % 8 + 1, wanted, next);
        for (int m = 0; m < 6; m++)
            for (int64_t i = 0; i < first[m].view.rows; i++)
                assert_memory_equal(matrix_at(&next[m], i, 0),
                                    m == 0 || wanted & (1 << (m - 1)) ? matrix_at(&first[m], i, 0)
                                                                      : matrix_at(&poison, 0, 0),
                                    (size_t)first[m].view.cols * sizeof(float));
        for (int m = 0; m < 6; m++) matrix_free(&next[m]);
    }
    for (int m = 0; m < 6; m++) matrix_free(&first[m]);
    free(poison.memory);
    operands_free(&x);
    graph_case_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call), cmocka_unit_test(hubs),
                                       cmocka_unit_test(finite_differences), cmocka_unit_test(masks),
                                       cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
