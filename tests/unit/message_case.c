#include "message_case.h"

#include <math.h>
#include <stdlib.h>
#include <tamis/structure.h>

#include "sparse/index.h"
#include "support/bounds.h"
#include "support/expect.h"
#include "support/works.h"

bool matrices_aligned;

/* ------------------------------------------------------------------------------------------ graphs */

static uint32_t next_of(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

graph_case graph_case_make(graph_kind kind) {
    enum { MOST = 2600 };
    static int64_t row[MOST], column[MOST];
    uint32_t state = 7 + (uint32_t)kind;
    graph_case g = {.kind = kind, .S = {.rows = kind == GRAPH_HUB ? 40 : 23, .cols = kind == GRAPH_HUB ? 50 : 17}};
    const int64_t count = kind == GRAPH_EMPTY ? 0 : kind == GRAPH_HUB ? MOST : 110;
    int64_t of_row[64] = {0}, of_column[64] = {0};
    for (int64_t t = 0; t < count; t++) {
        row[t] = next_of(&state) % g.S.rows;
        column[t] = next_of(&state) % g.S.cols;
        if (row[t] % 5 == 3) row[t]--; /* empty rows */
        if (kind == GRAPH_HUB && t % 2) row[t] = 11;
        if (kind == GRAPH_HUB && t % 2 == 0) column[t] = 5;
    }
    if (kind == GRAPH_BY_COLUMN)
        for (int64_t t = 0; t < count; t++) column[t] = t * g.S.cols / count;
    for (int64_t t = 0; t < count; t++) {
        of_row[row[t]]++;
        of_column[column[t]]++;
    }
    for (int i = 0; i < 64; i++) {
        g.most = of_row[i] > g.most ? of_row[i] : g.most;
        g.most = of_column[i] > g.most ? of_column[i] : g.most;
    }
    const bool coo = kind == GRAPH_COO || kind == GRAPH_BY_COLUMN || kind == GRAPH_HUB;
    for (int64_t i = 0, t = 0; i < g.S.rows && !coo; i++)
        for (int64_t k = 0; k < of_row[i]; k++) row[t++] = i;
    const problem_options o = {.rows = g.S.rows,
                               .cols = g.S.cols,
                               .format = coo ? TAMIS_COO : TAMIS_CSR,
                               .index_type = kind == GRAPH_COO ? TAMIS_I64 : TAMIS_I32,
                               .offset_type = kind == GRAPH_SLICE ? TAMIS_I64 : TAMIS_I32};
    g.pattern = pattern_of(&o, row, column, count);
    g.S = g.pattern.S;
    if (kind == GRAPH_SLICE) works(tamis_slice(&g.pattern.S, 4, 13, 0, 0, &g.S)); /* of the rows */
    return g;
}

void graph_case_free(graph_case *g) { pattern_free(&g->pattern); }

/* The arrays of the graph that is open: there is one at a time. */
static twin opened[3];

tamis_graph *graph_case_open(tamis_device *device, const graph_case *g, int threads) {
    return graph_case_open_with(device, g, &(tamis_graph_options){.threads = threads});
}

static const void *open_array(tamis_device *device, int at, const void *from, size_t bytes) {
    opened[at] = (twin){.host = (char *)(uintptr_t)from, .bytes = bytes};
    if (from) twin_send(&opened[at], device);
    return from ? twin_there(&opened[at]) : NULL;
}

tamis_graph *graph_case_open_with(tamis_device *device, const graph_case *g, const tamis_graph_options *options) {
    tamis_sparse S = g->S;
    tamis_graph *graph = NULL;
    const size_t index = tamis_index_size(S.index_type), offset = tamis_index_size(S.offset_type);
    S.offsets = open_array(device, 0, S.offsets, (size_t)(S.rows + 1) * offset);
    S.row_indices = open_array(device, 1, S.row_indices, (size_t)S.nnz * index);
    S.columns = open_array(device, 2, S.columns, (size_t)(S.offset_base + S.nnz) * index);
    if (test_has_memory(device)) S.location = TAMIS_DEVICE;
    works(tamis_graph_create(device, &S, options, &graph));
    return graph;
}

void graph_case_close(tamis_graph *graph) {
    tamis_graph_destroy(graph);
    for (int i = 0; i < 3; i++) twin_forget(&opened[i]);
}

/* ------------------------------------------------------------------------------------------ matrices */

matrix matrix_poisoned(int64_t rows, int64_t cols, tamis_type type) {
    enum { GAP = 3, ALIGNED = 16 };
    const int64_t padding = matrices_aligned ? ALIGNED - cols % ALIGNED : GAP, around = matrices_aligned ? ALIGNED : 1;
    return matrix_room(type, rows, cols,
                       (matrix_place){.padding = padding, .front = around, .behind = padding + around});
}

matrix matrix_make(int64_t rows, int64_t cols, tamis_type type, int seed, int absolute) {
    matrix m = matrix_poisoned(rows, cols, type);
    uint32_t state = (uint32_t)seed * 7919u;
    for (int64_t i = 0; i < rows * cols; i++) {
        const double x = ((double)(next_of(&state) % 7) + 1) / 4;
        const bool negative = next_of(&state) % 2;
        matrix_set(&m, i / cols, i % cols, negative && !absolute ? -x : x);
    }
    return m;
}

matrix matrix_apart(int64_t rows, int64_t cols, int seed) {
    matrix m = matrix_poisoned(rows, cols, TAMIS_F64);
    const double step = sqrt(seed + 1.0); /* another one for each matrix, so that sums of two differ as well */
    for (int64_t i = 0; i < rows * cols; i++)
        matrix_set(&m, i / cols, i % cols, fmod((double)(i + 1) * step, 1) - 0.45);
    return m;
}

void matrix_turn(matrix *m) {
    const int64_t rows = m->here.rows;
    m->here.rows = m->here.cols;
    m->here.cols = rows;
    m->here.layout = m->here.layout == TAMIS_ROW_MAJOR ? TAMIS_COLUMN_MAJOR : TAMIS_ROW_MAJOR;
}

/* How far element i may be off in sums and terms. In fp64 the oracle rounds, too. */
static void check(const matrix *m, const double *expected, const double *size, double each) {
    const bool wide = m->here.type == TAMIS_F64;
    const double v = units_of(m->here.type).v; /* it is stored, which rounds what is off as well */
    const int64_t count = m->here.rows * m->here.cols;
    double *const bound = test_doubles(count);
    for (int64_t i = 0; i < count && each > 0; i++)
        bound[i] = (1 - v) * each * (size ? size[i] : 1) + (wide ? 0x1p-53 * fabs(expected[i]) : 0);
    const char *const wrong = expect_wrong(&m->here, 0, expected, bound);
    if (wrong || matrix_touched(m) >= 0) fail_msg("%s", wrong ? wrong : "a gap was written to");
    free(bound);
}

void matrix_check(const matrix *m, const double *expected, const double *size, double roundings) {
    check(m, expected, size, roundings * (m->here.type == TAMIS_F64 ? 0x1p-52 : 0x1p-24));
}

void matrix_near(const matrix *m, const double *expected, double bound) { check(m, expected, NULL, bound); }

void matrix_differ(matrix *by, const double *gradient, double (*loss)(const void *), const void *context) {
    const double step = 0x1p-20;
    for (int64_t i = 0; i < by->here.rows; i++)
        for (int64_t j = 0; j < by->here.cols; j++) {
            const double old = matrix_get(by, i, j);
            matrix_set(by, i, j, old + step);
            const double above = loss(context);
            matrix_set(by, i, j, old - step);
            const double below = loss(context);
            matrix_set(by, i, j, old);
            assert_true(fabs((above - below) / (2 * step) - gradient[i * by->here.cols + j]) < 1e-6);
        }
}
