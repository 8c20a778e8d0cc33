/*
 * Operations on segments against the oracle: every operation, order of the entries, layout, type, instruction set and
 * number of threads; the oracle's gradients against finite differences.
 */
#include "message_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_device.h"
#include "sparse/index.h"
#include "support/works.h"

static const int64_t all_heads[] = {1, 3, 16, 37};
enum { COUNTS = sizeof all_heads / sizeof *all_heads, OPS = 5, ORDERS = 3 };

/* A matrix of rows x heads, column-major for heads first. */
static matrix values_poisoned(int64_t rows, int64_t heads, tamis_type type, bool first) {
    matrix v = first ? matrix_poisoned(heads, rows, type) : matrix_poisoned(rows, heads, type);
    if (first) matrix_turn(&v);
    return v;
}

/* The numbers of matrix_make, in either layout. */
static matrix values_make(int64_t rows, int64_t heads, tamis_type type, int seed, bool first) {
    matrix plain = matrix_make(rows, heads, type, seed, 0), v = values_poisoned(rows, heads, type, first);
    for (int64_t i = 0; i < rows * heads; i++)
        matrix_set(&v, i / heads, i % heads, matrix_get(&plain, i / heads, i % heads));
    matrix_free(&plain);
    return v;
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
    expected r = {.out = test_doubles(rows * o->heads),
                  .dx = test_doubles(g->S.nnz * o->heads),
                  .argument = calloc((size_t)(g->S.rows * o->heads) + 1, sizeof(int64_t))};
    works(tamis_reference_segment(&g->S, o, &X.here, r.out, r.argument));
    works(tamis_reference_segment_backward(&g->S, o, &dOut.here, &X.here, r.dx));
    matrix_free(&X);
    matrix_free(&dOut);
    return r;
}

/* layouts: bits for X, out, dOut and dX. Values are at most 7/4. */
static void compare(const graph_case *g, const tamis_graph *graph, const tamis_segment_options *o, int layouts,
                    const expected *wanted) {
    const int64_t rows = rows_out(g, o), places = g->S.rows * o->heads;
    const bool extreme = o->op >= TAMIS_SEGMENT_MAX, soft = is_softmax(o);
    const double u = o->type == TAMIS_F64 ? 0x1p-52 : 0x1p-24, most = (double)g->most;
    const double last[] = {0x1p-24, 0x1p-53, 0x1p-11, 0x1p-8}; /* y is rounded before the backward call reads it */
    const double bound = soft ? u * (most + 24) : o->op == TAMIS_SEGMENT_MEAN ? u * 1.75 * (most + 4) : 0;
    matrix X = values_make(g->S.nnz, o->heads, o->type, 1, layouts & 1);
    matrix out = values_poisoned(rows, o->heads, o->type, layouts & 2);
    matrix dOut = values_make(rows, o->heads, o->type, 2, layouts & 4);
    matrix dX = values_poisoned(g->S.nnz, o->heads, o->type, layouts & 8);
    matrix *const all[] = {&X, &out, &dOut, &dX};
    twin argument = twin_make((size_t)(places + 1) * 8, 0);
    memset(argument.host, 0x5a, argument.bytes);
    for (int i = 0; i < 4; i++) matrix_send(device, all[i]);
    twin_send(&argument, device);
    void *const taken = extreme ? twin_there(&argument) : NULL;
    works(tamis_segment(graph, o, &X.there, &out.there, taken, NULL));
    works(tamis_segment_backward(graph, o, &dOut.there, soft ? &out.there : NULL, taken, &dX.there, NULL));
    for (int i = 0; i < 4; i++) matrix_fetch(all[i]);
    twin_fetch(&argument);
    matrix_near(&out, wanted->out, bound);
    for (int64_t i = 0; extreme && i < places; i++)
        assert_int_equal(tamis_index_load(argument.host, o->argument_type, i), wanted->argument[i]);
    matrix_near(&dX, wanted->dx, soft ? 1.75 * (4 * bound + 4 * 1.01 * last[o->type] + u * (most + 8)) : bound);
    for (int i = 0; i < 4; i++) matrix_free(all[i]);
    twin_free(&argument);
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
        graph_case_close(graph);
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

typedef struct differed {
    const graph_case *g;
    const tamis_segment_options *o;
    const matrix *X, *dOut;
} differed;

static double loss(const void *context) {
    const differed *const x = context;
    const int64_t count = x->dOut->here.rows * x->o->heads;
    double *const out = test_doubles(count), *const by = test_values(&x->dOut->here, 0), sum = 0;
    works(tamis_reference_segment(&x->g->S, x->o, &x->X->here, out, NULL));
    for (int64_t i = 0; i < count; i++) sum += out[i] * by[i];
    free(out);
    free(by);
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
    graph_case g = graph_case_make(GRAPH_COO);
    for (int n = 0; n < OPS * ORDERS; n++) {
        const tamis_segment_options o = {
            .op = (tamis_segment_op)(n % OPS), .order = (tamis_entry_order)(n / OPS), .type = TAMIS_F64, .heads = 2};
        matrix X = matrix_apart(g.S.nnz, 2, 1), dOut = matrix_apart(rows_out(&g, &o), 2, 2);
        double *const dx = test_doubles(g.S.nnz * 2);
        works(tamis_reference_segment_backward(&g.S, &o, &dOut.here, &X.here, dx));
        matrix_differ(&X, dx, loss, &(differed){&g, &o, &X, &dOut});
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
        twin argument = twin_make(sizeof(int32_t), 0);
        matrix X = matrix_make(ENTRIES, 1, TAMIS_F32, 1, 0), out = matrix_poisoned(1, 1, TAMIS_F32);
        for (int t = 0; t < ENTRIES; t++) {
            const bool is_nan = turn / 2 == 1 && (t == 22 || t > 37);
            matrix_set(&X, t, 0, turn == 4 ? -(double)INFINITY : is_nan ? (double)NAN : t % 7);
        }
        tamis_graph *const graph = graph_case_open(device, &g, 1);
        twin_send(&argument, device);
        works(
            tamis_segment(graph, &o, matrix_send(device, &X), matrix_send(device, &out), twin_there(&argument), NULL));
        twin_fetch(&argument);
        matrix_fetch(&out);
        graph_case_close(graph);
        const double y = matrix_get(&out, 0, 0);
        const int64_t found = tamis_index_load(argument.host, TAMIS_I32, 0);
        if (turn < 2) assert_true(turn ? y == 0 && found == 0 : y == 6 && found == 6);
        if (turn / 2 == 1) assert_true(isnan(y) && found == 22);
        if (turn == 4) assert_true(y == -(double)INFINITY && found == 0);
        matrix_free(&X);
        matrix_free(&out);
        twin_free(&argument);
    }
}

TEST_RUN() {
    if (!device_is_drawn(argc, argv)) return 77;
    return test_run(NULL, NULL, set_up, tear_down);
}
