#include "message_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/element.h"
#include "support/works.h"

enum { POISON = 0xff };

bool matrices_aligned;

/* ------------------------------------------------------------------------------------------ devices */

static bool has_memory(tamis_device *device) {
    tamis_device_description description;
    works(tamis_device_describe(device, &description));
    return description.location == TAMIS_DEVICE;
}

void *memory_send(tamis_device *device, void *host, size_t bytes) {
    void *there = NULL;
    if (!has_memory(device)) return host;
    works(tamis_device_allocate(device, bytes + 1, &there));
    if (bytes) works(tamis_device_upload(device, NULL, there, 0, host, bytes));
    return there;
}

void memory_fetch(tamis_device *device, void *host, void *there, size_t bytes) {
    if (host == there) return;
    if (bytes) works(tamis_device_download(device, NULL, host, there, 0, bytes));
    tamis_device_free(device, there);
}

double *numbers(int64_t count) {
    double *const x = calloc((size_t)count + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* ------------------------------------------------------------------------------------------ graphs */

static uint32_t next_of(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void *array_of(const int64_t *numbers, int64_t count, tamis_index_type type) {
    void *const array = calloc((size_t)count + 1, 8);
    assert_non_null(array);
    for (int64_t i = 0; i < count; i++) tamis_index_store(array, type, i, numbers[i]);
    return array;
}

graph_case graph_case_make(graph_kind kind) {
    enum { MOST = 2600 };
    static int64_t row[MOST], column[MOST], offsets[64];
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
    g.S.nnz = count;
    g.S.index_type = kind == GRAPH_COO ? TAMIS_I64 : TAMIS_I32;
    g.S.offset_type = kind == GRAPH_SLICE ? TAMIS_I64 : TAMIS_I32;
    g.columns = array_of(column, count, g.S.index_type);
    g.S.columns = g.columns;
    if (kind == GRAPH_COO || kind == GRAPH_BY_COLUMN || kind == GRAPH_HUB) {
        g.rows = array_of(row, count, g.S.index_type);
        g.S.format = TAMIS_COO;
        g.S.row_indices = g.rows;
        return g;
    }
    for (int64_t i = 0; i < g.S.rows; i++) offsets[i + 1] = offsets[i] + of_row[i];
    g.offsets = array_of(offsets, g.S.rows + 1, g.S.offset_type);
    g.S.offsets = g.offsets;
    if (kind != GRAPH_SLICE) return g;
    const int64_t first = 4, rows = 13; /* of the rows */
    g.S.offsets = tamis_index_at(g.offsets, g.S.offset_type, first);
    g.S.rows = rows;
    g.S.offset_base = offsets[first];
    g.S.nnz = offsets[first + rows] - offsets[first];
    return g;
}

void graph_case_free(graph_case *g) {
    free(g->offsets);
    free(g->rows);
    free(g->columns);
}

/* The arrays of the graph that is open: there is one at a time. */
static void *opened[3];

tamis_graph *graph_case_open(tamis_device *device, const graph_case *g, int threads) {
    return graph_case_open_with(device, g, &(tamis_graph_options){.threads = threads});
}

tamis_graph *graph_case_open_with(tamis_device *device, const graph_case *g, const tamis_graph_options *options) {
    tamis_sparse S = g->S;
    tamis_graph *graph = NULL;
    if (has_memory(device)) {
        const size_t index = tamis_index_size(S.index_type), offset = tamis_index_size(S.offset_type);
        const void *const from[3] = {S.offsets, S.row_indices, S.columns};
        const size_t bytes[3] = {(size_t)(S.rows + 1) * offset, (size_t)S.nnz * index,
                                 (size_t)(S.offset_base + S.nnz) * index};
        for (int i = 0; i < 3; i++)
            opened[i] = from[i] ? memory_send(device, (void *)(uintptr_t)from[i], bytes[i]) : NULL;
        S.location = TAMIS_DEVICE;
        S.offsets = opened[0];
        S.row_indices = opened[1];
        S.columns = opened[2];
    }
    works(tamis_graph_create(device, &S, options, &graph));
    return graph;
}

void graph_case_close(tamis_device *device, tamis_graph *graph) {
    tamis_graph_destroy(graph);
    for (int i = 0; i < 3; i++) tamis_device_free(device, opened[i]);
    memset(opened, 0, sizeof opened);
}

/* ------------------------------------------------------------------------------------------ matrices */

matrix matrix_poisoned(int64_t rows, int64_t cols, tamis_type type) {
    enum { GAP = 3, ALIGNED = 16 };
    const int64_t stride = matrices_aligned ? (cols / ALIGNED + 1) * ALIGNED : cols + GAP;
    matrix m = {.view = {.rows = rows, .cols = cols, .stride = stride, .type = type}};
    m.front = (matrices_aligned ? ALIGNED : 1) * tamis_type_size(type);
    m.bytes = (size_t)(rows * stride) * tamis_type_size(type) + 2 * m.front;
    m.memory = malloc(m.bytes);
    assert_non_null(m.memory);
    memset(m.memory, POISON, m.bytes);
    m.view.data = (char *)m.memory + m.front;
    return m;
}

/* Memory of OpenCL has no addresses: there the view begins where it begins. */
static size_t front_of(tamis_device *device, const matrix *m) {
    tamis_device_description description;
    works(tamis_device_describe(device, &description));
    return strncmp(description.name, "opencl", 6) == 0 ? m->front : 0;
}

const tamis_dense *matrix_send(tamis_device *device, matrix *m) {
    m->there = m->view;
    if (!has_memory(device)) return &m->there;
    const size_t left_out = front_of(device, m);
    char *const memory = memory_send(device, (char *)m->memory + left_out, m->bytes - left_out);
    m->there.location = TAMIS_DEVICE;
    m->there.data = left_out ? memory : memory + m->front;
    return &m->there;
}

void matrix_fetch(tamis_device *device, matrix *m) {
    const size_t left_out = front_of(device, m);
    if (!m->there.data || m->there.data == m->view.data) return;
    memory_fetch(device, (char *)m->memory + left_out, left_out ? m->there.data : (char *)m->there.data - m->front,
                 m->bytes - left_out);
    m->there.data = NULL;
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

void matrix_free(matrix *m) { free(m->memory); }

void *matrix_at(const matrix *m, int64_t row, int64_t col) {
    return (char *)m->view.data + (size_t)(row * m->view.stride + col) * tamis_type_size(m->view.type);
}

double matrix_get(const matrix *m, int64_t row, int64_t col) {
    return tamis_element_load(matrix_at(m, row, col), m->view.type, 0);
}

void matrix_set(matrix *m, int64_t row, int64_t col, double x) {
    tamis_element_store(matrix_at(m, row, col), m->view.type, 0, x);
}

void matrix_check(const matrix *m, const double *expected, const double *size, double roundings) {
    static const double last[] = {0x1p-24, 0x1p-53, 0x1p-11, 0x1p-8}; /* half a unit in the last place, of 1 */
    const size_t bytes = tamis_type_size(m->view.type);
    const double sums = m->view.type == TAMIS_F64 ? 0x1p-52 : 0x1p-24; /* fp64: the oracle rounds, too */
    const double subnormal = m->view.type == TAMIS_F16 ? 0x1p-25 : 0;  /* half the least number */
    const unsigned char *const all = m->memory;
    for (int64_t i = 0; i < m->view.rows; i++) {
        for (int64_t j = 0; j < m->view.cols; j++) {
            const double found = matrix_get(m, i, j), wanted = expected[i * m->view.cols + j];
            unsigned char rounded[8];
            tamis_element_store(rounded, m->view.type, 0, wanted);
            const double apart = fabs(found - wanted);
            if (roundings == 0)
                assert_true(found == tamis_element_load(rounded, m->view.type, 0));
            else
                assert_true(apart <= roundings * sums * size[i * m->view.cols + j] +
                                         last[m->view.type] * 1.001 * fabs(wanted) + subnormal);
        }
        const size_t end = m->front + (size_t)((i + 1) * m->view.stride) * bytes;
        for (size_t b = end - (size_t)(m->view.stride - m->view.cols) * bytes; b < end; b++)
            assert_int_equal(all[b], POISON);
    }
    for (size_t b = 0; b < m->front; b++) assert_true(all[b] == POISON && all[m->bytes - 1 - b] == POISON);
}
