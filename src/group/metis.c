/*
 * Partitions rows by METIS, which is opened at run time: parts with about equal nonzeros and a small communication
 * volume. The graph has an edge where S or its transpose has an entry. METIS's integers have 32 or 64 bits, depending
 * on its build; this is detected from the options that it fills.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "base/status.h"
#include "group/shard.h"
#include "sparse/check.h"
#include "sparse/structure.h"
#include <tamis/structure.h>

/* Constants of metis.h, version 5. */
enum { OPTIONS = 40, OPTION_OBJECTIVE = 1, OPTION_SEED = 8, OBJECTIVE_VOLUME = 1, WELL = 1, MEMORY_SHORT = -3 };

typedef struct metis {
    int (*set_default_options)(void *options);
    int (*part_graph)(void *vertices, void *constraints, void *starts, void *neighbours, void *weights, void *sizes,
                      void *edge_weights, void *parts, void *shares, void *tolerances, void *options, void *volume,
                      void *part);
    void *library;
    tamis_index_type integer;
} metis;

/* ------------------------------------------------------------------------------------------ the library */

static bool find(void *library, const char *name, void *function) {
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* ISO C has no conversion between the two */
    return symbol != NULL;
}

/* Detects METIS's integer width: METIS_SetDefaultOptions fills the last of 8-byte options only if integers have 64
   bits. */
static tamis_index_type width_of(const metis *m) {
    int64_t options[OPTIONS];
    memset(options, 0x55, sizeof options);
    (void)m->set_default_options(options);
    return options[OPTIONS - 1] == -1 ? TAMIS_I64 : TAMIS_I32;
}

static tamis_status open_metis(metis *m) {
    const char *const named = secure_getenv("TAMIS_METIS"), *const file = named ? named : "libmetis.so.5";
    *m = (metis){.library = dlopen(file, RTLD_NOW | RTLD_LOCAL)};
    if (!m->library)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "no METIS: %s: not found; %s", file,
                          named ? "TAMIS_METIS names it"
                                : "install it (Debian: libmetis5), or let TAMIS_METIS name it");
    if (find(m->library, "METIS_SetDefaultOptions", &m->set_default_options) &&
        find(m->library, "METIS_PartGraphKway", &m->part_graph)) {
        m->integer = width_of(m);
        return TAMIS_OK;
    }
    dlclose(m->library);
    return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "no METIS: %s has no METIS_PartGraphKway", file);
}

/* ------------------------------------------------------------------------------------------ the graph */

typedef struct graph {
    int64_t rows, edges;
    void *starts, *neighbours, *weights, *part;
} graph;

/* Counts the columns of a row that are not yet marked with the row, and marks them; writes them to `neighbours` unless
   it is NULL. */
static int64_t add_row(const tamis_sparse *S, int64_t row, int64_t *marks, void *neighbours, tamis_index_type integer,
                       int64_t at) {
    const int64_t end = tamis_row_start(S, row + 1);
    for (int64_t t = tamis_row_start(S, row); t < end; t++) {
        const int64_t column = tamis_index_load(S->columns, S->index_type, t);
        if (column == row || marks[column] == row + 1) continue;
        marks[column] = row + 1;
        if (neighbours) tamis_index_store(neighbours, integer, at, column);
        at++;
    }
    return at;
}

static int64_t walk(const tamis_sparse *S, const tamis_sparse *T, int64_t *marks, graph *g, tamis_index_type integer,
                    bool write) {
    int64_t at = 0;
    memset(marks, 0, (size_t)S->rows * sizeof *marks);
    for (int64_t i = 0; i < S->rows; i++) {
        if (write) tamis_index_store(g->starts, integer, i, at);
        at = add_row(S, i, marks, write ? g->neighbours : NULL, integer, at);
        at = add_row(T, i, marks, write ? g->neighbours : NULL, integer, at);
    }
    if (write) tamis_index_store(g->starts, integer, S->rows, at);
    return at;
}

static tamis_status make_graph(const tamis_sparse *S, const tamis_sparse *T, const metis *m, graph *g) {
    const size_t size = tamis_index_size(m->integer);
    int64_t *marks;
    TRY(tamis_allocate_array(S->rows, "the marks of columns", marks));
    g->rows = S->rows;
    g->edges = walk(S, T, marks, g, m->integer, false);
    if (m->integer == TAMIS_I32 && (g->edges > INT32_MAX || S->nnz > INT32_MAX))
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "S.nnz = %lld: this METIS has 32-bit integers, which do not number "
                          "the %lld edges",
                          (long long)S->nnz, (long long)g->edges);
    TRY(tamis_scope_allocate(S->rows + 1, size, "a graph's offsets", &g->starts));
    TRY(tamis_scope_allocate(g->edges > 0 ? g->edges : 1, size, "a graph's edges", &g->neighbours));
    TRY(tamis_scope_allocate(S->rows, size, "a graph's weights", &g->weights));
    TRY(tamis_scope_allocate(S->rows, size, "the parts of rows", &g->part));
    (void)walk(S, T, marks, g, m->integer, true);
    tamis_scope_drop(marks);              /* METIS needs much itself */
    for (int64_t i = 0; i < S->rows; i++) /* at least 1: METIS requires parts with positive weight */
        tamis_index_store(g->weights, m->integer, i, 1 + tamis_row_start(S, i + 1) - tamis_row_start(S, i));
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ the call */

static tamis_status call_metis(const metis *m, const graph *g, int parts) {
    int64_t options[OPTIONS], vertices = 0, constraints = 0, count = 0, volume = 0;
    tamis_index_store(&vertices, m->integer, 0, g->rows);
    tamis_index_store(&constraints, m->integer, 0, 1);
    tamis_index_store(&count, m->integer, 0, parts);
    (void)m->set_default_options(options);
    tamis_index_store(options, m->integer, OPTION_OBJECTIVE, OBJECTIVE_VOLUME);
    tamis_index_store(options, m->integer, OPTION_SEED, 1);
    const int code = m->part_graph(&vertices, &constraints, g->starts, g->neighbours, g->weights, NULL, NULL, &count,
                                   NULL, NULL, options, &volume, g->part);
    if (code == WELL) return TAMIS_OK;
    return tamis_fail(code == MEMORY_SHORT ? TAMIS_ERROR_MEMORY : TAMIS_ERROR_INTERNAL,
                      "METIS_PartGraphKway returned %d for %lld rows and %d parts", code, (long long)g->rows, parts);
}

/* Orders the rows part by part, in S's order within each. */
static tamis_status order_rows(const metis *m, const graph *g, int parts, int64_t *order, int64_t *first_rows) {
    for (int p = 0; p <= parts; p++) first_rows[p] = 0;
    for (int64_t i = 0; i < g->rows; i++) {
        const int64_t part = tamis_index_load(g->part, m->integer, i);
        if (part < 0 || part >= parts)
            return tamis_fail(TAMIS_ERROR_INTERNAL, "METIS put row %lld into part %lld of %d", (long long)i,
                              (long long)part, parts);
        first_rows[part + 1]++;
    }
    for (int p = 0; p < parts; p++) first_rows[p + 1] += first_rows[p];
    for (int64_t i = 0; i < g->rows; i++) order[first_rows[tamis_index_load(g->part, m->integer, i)]++] = i;
    for (int p = parts; p > 0; p--) first_rows[p] = first_rows[p - 1];
    first_rows[0] = 0;
    return TAMIS_OK;
}

static tamis_status partition(const metis *m, const tamis_sparse *S, int parts, int64_t *order, int64_t *first_rows) {
    graph g;
    tamis_sparse T = *S;
    void *offsets, *columns;
    TAMIS_SCOPE;
    TRY(tamis_scope_allocate(S->cols + 1, tamis_index_size(S->offset_type), "a transpose", &offsets));
    TRY(tamis_scope_allocate(S->nnz > 0 ? S->nnz : 1, tamis_index_size(S->index_type), "a transpose", &columns));
    TRY(tamis_transpose(S, offsets, columns, NULL, NULL));
    T.offsets = offsets;
    T.columns = columns;
    T.offset_base = 0;
    TRY(make_graph(S, &T, m, &g));
    TRY(call_metis(m, &g, parts));
    return order_rows(m, &g, parts, order, first_rows);
}

tamis_status tamis_shard_partition(const tamis_sparse *S, int parts, int64_t *order, int64_t *first_rows) {
    metis m;
    tamis_clear_error();
    TRY(tamis_sparse_check_host(S, "S"));
    TRY(tamis_format_check(S, TAMIS_CSR));
    if (S->rows != S->cols)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED, "S.rows = %lld, S.cols = %lld: only square matrices are partitioned",
                          (long long)S->rows, (long long)S->cols);
    if (parts < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "parts = %d: expected 1 or more", parts);
    if (!order && S->rows > 0)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "order = NULL: expected room for S.rows numbers");
    if (!first_rows) return tamis_fail(TAMIS_ERROR_ARGUMENT, "first_rows = NULL: expected room for parts + 1 numbers");
    TRY(open_metis(&m));
    tamis_status status = TAMIS_OK;
    if (parts == 1 || S->rows == 0) { /* METIS refuses these */
        for (int p = 0; p <= parts; p++) first_rows[p] = p == 0 ? 0 : S->rows;
        for (int64_t i = 0; i < S->rows; i++) order[i] = i;
    } else {
        status = partition(&m, S, parts, order, first_rows);
    }
    dlclose(m.library);
    return status;
}
