/*
 * Operations on segments against the oracle: every operation, order of the entries, layout, type, instruction set and
 * number of threads; the oracle's gradients against finite differences.
 */
#include "message_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_device.h"
#include "support/works.h"

static const int64_t all_heads[] = {1, 3, 16, 37};
enum { COUNTS = sizeof all_heads / sizeof *all_heads, OPS = 5, ORDERS = 3 };

/* A matrix of rows x heads in either layout: `base` is row-major heads x rows for heads first. */
typedef struct values {
    matrix base;
    tamis_dense view, there; /* there: for a call, after values_send */
    bool first;
} values;

static tamis_dense transposed(tamis_dense x) {
    const int64_t rows = x.rows;
    x.layout = TAMIS_COLUMN_MAJOR;
    x.rows = x.cols;
    x.cols = rows;
    return x;
}

static values values_of(matrix base, bool first) {
    return (values){.base = base, .view = first ? transposed(base.view) : base.view, .first = first};
}

static void values_send(values *v) {
    const tamis_dense *const there = matrix_send(device, &v->base);
    v->there = v->first ? transposed(*there) : *there;
}

static values values_poisoned(int64_t rows, int64_t heads, tamis_type type, bool first) {
    return values_of(first ? matrix_poisoned(heads, rows, type) : matrix_poisoned(rows, heads, type), first);
}

/* The numbers of matrix_make, in either layout. */
static values values_make(int64_t rows, int64_t heads, tamis_type type, int seed, bool first) {
    matrix plain = matrix_make(rows, heads, type, seed, 0);
    if (!first) return values_of(plain, false);
    values v = values_poisoned(rows, heads, type, true);
    for (int64_t i = 0; i < rows * heads; i++)
        matrix_set(&v.base, i % heads, i / heads, matrix_get(&plain, i / heads, i % heads));
    matrix_free(&plain);
    return v;
}

/* Compares with rows x heads numbers; each element may be `bound` away besides its own rounding; 0: none. */
static void values_check(const values *v, const double *wanted, double bound) {
    const int64_t rows = v->view.rows, heads = v->view.cols;
    double *const moved = numbers(rows * heads), *const size = numbers(rows * heads);
    for (int64_t i = 0; i < rows * heads; i++) {
        moved[v->first ? i % heads * rows + i / heads : i] = wanted[i];
        size[i] = bound / (v->view.type == TAMIS_F64 ? 0x1p-52 : 0x1p-24);
    }
    matrix_check(&v->base, moved, size, bound > 0);
    free(moved);
    free(size);
}

typedef struct expected {
    double *out, *dx;
    int64_t *argument;
} expected;

static bool is_softmax(const tamis_segment_options *o) { return o->op == TAMIS_SEGMENT_SOFTMAX; }

static int64_t rows_out(const graph_case *g, const tamis_segment_options *o) {
    return is_softmax(o) ? g->S.nnz : g->S.rows;
}

static expected expect(const graph_case *g, const tamis_segment_options *o) {
    const int64_t rows = rows_out(g, o);
    matrix X = matrix_make(g->S.nnz, o->heads, TAMIS_F64, 1, 0), dOut = matrix_make(rows, o->heads, TAMIS_F64, 2, 0);
    expected r = {.out = numbers(rows * o->heads),
                  .dx = numbers(g->S.nnz * o->heads),
                  .argument = calloc((size_t)(g->S.rows * o->heads) + 1, sizeof(int64_t))};
    works(tamis_reference_segment(&g->S, o, &X.view, r.out, r.argument));
    works(tamis_reference_segment_backward(&g->S, o, &dOut.view, &X.view, r.dx));
    matrix_free(&X);
    matrix_free(&dOut);
    return r;
}

/* layouts: bits for X, out, dOut and dX. Values are at most 7/4. */
static void compare(const graph_case *g, const tamis_graph *graph, const tamis_segment_options *o, int layouts,
                    const expected *wanted) {
    const int64_t rows = rows_out(g, o), places = g->S.rows * o->heads;
    const bool extreme = o->op >= TAMIS_SEGMENT_MAX, soft = is_softmax(o), wide = o->argument_type == TAMIS_I64;
    const double u = o->type == TAMIS_F64 ? 0x1p-52 : 0x1p-24, most = (double)g->most;
    const double last[] = {0x1p-24, 0x1p-53, 0x1p-11, 0x1p-8}; /* y is rounded before the backward call reads it */
    const double bound = soft ? u * (most + 24) : o->op == TAMIS_SEGMENT_MEAN ? u * 1.75 * (most + 4) : 0;
    values X = values_make(g->S.nnz, o->heads, o->type, 1, layouts & 1);
    values out = values_poisoned(rows, o->heads, o->type, layouts & 2);
    values dOut = values_make(rows, o->heads, o->type, 2, layouts & 4);
    values dX = values_poisoned(g->S.nnz, o->heads, o->type, layouts & 8);
    values *const all[] = {&X, &out, &dOut, &dX};
    const size_t bytes = (size_t)(places + 1) * 8;
    void *const argument = malloc(bytes);
    assert_non_null(argument);
    memset(argument, 0x5a, bytes);
    for (int i = 0; i < 4; i++) values_send(all[i]);
    void *const taken = memory_send(device, argument, bytes);
    works(tamis_segment(graph, o, &X.there, &out.there, extreme ? taken : NULL, NULL));
    works(tamis_segment_backward(graph, o, &dOut.there, soft ? &out.there : NULL, extreme ? taken : NULL, &dX.there,
                                 NULL));
    for (int i = 0; i < 4; i++) matrix_fetch(device, &all[i]->base);
    memory_fetch(device, argument, taken, bytes);
    values_check(&out, wanted->out, bound);
    for (int64_t i = 0; extreme && i < places; i++)
        assert_int_equal(wide ? ((int64_t *)argument)[i] : ((int32_t *)argument)[i], wanted->argument[i]);
    values_check(&dX, wanted->dx, soft ? 1.75 * (4 * bound + 4 * 1.01 * last[o->type] + u * (most + 8)) : bound);
    for (int i = 0; i < 4; i++) matrix_free(&all[i]->base);
    free(argument);
}

/* A graph that takes values in the order of columns, where there are such. */
static bool has_columns(void) { return strcmp(name, "cpu") == 0; }

static void every_segment_on(const graph_case *g) {
    for (int turn = 0; turn < 2; turn++) {
        matrices_aligned = turn;
        tamis_graph *const graph = graph_case_open_with(
            device, g, &(tamis_graph_options){.threads = turn ? 3 : 1, .column_places = has_columns()});
        for (int n = 0; n < OPS * ORDERS * COUNTS; n++) {
            tamis_segment_options o = {.op = (tamis_segment_op)(n % OPS),
                                       .order = (tamis_entry_order)(n / OPS % ORDERS),
                                       .heads = all_heads[n / OPS / ORDERS]};
            expected wanted = {.out = NULL};
            if (o.order == TAMIS_ENTRIES_BY_COLUMN && !has_columns()) continue;
            for (int type = 0; type < 4; type++) {
                if (!is_drawn((int)g->kind, turn, type)) continue;
                if (!wanted.out) wanted = expect(g, &o);
                o.type = (tamis_type)type;
                o.argument_type = (tamis_index_type)((type + turn) % 2);
                const int layouts[] = {0, 15, 5 + type}; /* heads last, heads first, and some of each */
                for (int i = 0; i < 3; i++) compare(g, graph, &o, layouts[i], &wanted);
            }
            free(wanted.out);
            free(wanted.dx);
            free(wanted.argument);
        }
        graph_case_close(device, graph);
    }
}

static void small_graphs(void) {
    for (int kind = 0; kind < GRAPH_HUB; kind++) {
        graph_case g = graph_case_make((graph_kind)kind);
        every_segment_on(&g);
        graph_case_free(&g);
    }
}

TEST(every_segment) { on_each_instruction_set(small_graphs); }

TEST(hubs) {
    graph_case g = graph_case_make(GRAPH_HUB);
    every_segment_on(&g);
    graph_case_free(&g);
}

static double loss(const graph_case *g, const tamis_segment_options *o, const matrix *X, const matrix *dOut) {
    double *const out = numbers(dOut->view.rows * o->heads);
    double sum = 0;
    works(tamis_reference_segment(&g->S, o, &X->view, out, NULL));
    for (int64_t i = 0; i < dOut->view.rows * o->heads; i++)
        sum += out[i] * matrix_get(dOut, i / o->heads, i % o->heads);
    free(out);
    return sum;
}

/* A device that takes no values in the order of columns says so when the graph is made. */
TEST(order_of_columns) {
    graph_case g = graph_case_make(GRAPH_COO);
    tamis_graph *graph = NULL;
    const tamis_graph_options options = {.column_places = true};
    const tamis_status status = tamis_graph_create(device, &g.S, &options, &graph);
    assert_int_equal(status, has_columns() ? TAMIS_OK : TAMIS_ERROR_UNSUPPORTED);
    if (!has_columns()) assert_non_null(strstr(tamis_last_error(), "options.column_places = true: "));
    tamis_graph_destroy(graph);
    graph_case_free(&g);
}

TEST(finite_differences) {
    const double h = 0x1p-20;
    graph_case g = graph_case_make(GRAPH_COO);
    for (int n = 0; n < OPS * ORDERS; n++) {
        const tamis_segment_options o = {
            .op = (tamis_segment_op)(n % OPS), .order = (tamis_entry_order)(n / OPS), .type = TAMIS_F64, .heads = 2};
        matrix X = matrix_apart(g.S.nnz, 2, 1), dOut = matrix_apart(rows_out(&g, &o), 2, 2);
        double *const dx = numbers(g.S.nnz * 2);
        works(tamis_reference_segment_backward(&g.S, &o, &dOut.view, &X.view, dx));
        for (int64_t i = 0; i < g.S.nnz * 2; i++) {
            const double old = matrix_get(&X, i / 2, i % 2);
            matrix_set(&X, i / 2, i % 2, old + h);
            const double above = loss(&g, &o, &X, &dOut);
            matrix_set(&X, i / 2, i % 2, old - h);
            const double below = loss(&g, &o, &X, &dOut);
            matrix_set(&X, i / 2, i % 2, old);
            assert_true(fabs((above - below) / (2 * h) - dx[i]) < 1e-6);
        }
        free(dx);
        matrix_free(&X);
        matrix_free(&dOut);
    }
    graph_case_free(&g);
}

/* Of equal values the first counts, the first NaN before everything, among entries of one head as among heads. */
TEST(ties_and_nan) {
    enum { ENTRIES = 40, TURNS = 5 };
    int32_t offsets[] = {0, ENTRIES}, columns[ENTRIES] = {0};
    const graph_case g = {.S = {.rows = 1, .cols = 1, .nnz = ENTRIES, .offsets = offsets, .columns = columns}};
    for (int turn = 0; turn < TURNS; turn++) {
        const tamis_segment_options o = {.op = turn % 2 ? TAMIS_SEGMENT_MIN : TAMIS_SEGMENT_MAX, .heads = 1};
        int32_t found = 7;
        values X = values_make(ENTRIES, 1, TAMIS_F32, 1, false), out = values_poisoned(1, 1, TAMIS_F32, false);
        for (int t = 0; t < ENTRIES; t++) {
            const bool is_nan = turn / 2 == 1 && (t == 22 || t > 37);
            matrix_set(&X.base, t, 0, turn == 4 ? -(double)INFINITY : is_nan ? (double)NAN : t % 7);
        }
        tamis_graph *const graph = graph_case_open(device, &g, 1);
        values_send(&X);
        values_send(&out);
        void *const argument = memory_send(device, &found, sizeof found);
        works(tamis_segment(graph, &o, &X.there, &out.there, argument, NULL));
        memory_fetch(device, &found, argument, sizeof found);
        matrix_fetch(device, &X.base);
        matrix_fetch(device, &out.base);
        graph_case_close(device, graph);
        const double y = matrix_get(&out.base, 0, 0);
        if (turn < 2) assert_true(turn ? y == 0 && found == 0 : y == 6 && found == 6);
        if (turn / 2 == 1) assert_true(isnan(y) && found == 22);
        if (turn == 4) assert_true(y == -(double)INFINITY && found == 0);
        matrix_free(&X.base);
        matrix_free(&out.base);
    }
}

TEST_RUN() {
    if (!device_is_drawn(argc, argv)) return 77;
    return test_run(NULL, NULL, set_up, tear_down);
}
