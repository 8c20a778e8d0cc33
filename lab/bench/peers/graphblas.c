/*
 * SuiteSparse:GraphBLAS. SDDMM is its masked product: C<S, structural, replaced> = A B' over plus and times, which is
 * the edge `mask`; SpMM is S times a full matrix, by the faster of the two usual ways; fused is the two in sequence.
 * Each product is waited for, so that nothing is deferred.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "kinds.h"

/* Values of GraphBLAS's enumerations. The option for threads differs between versions. */
enum { SUCCESS = 0, NO_VALUE = 1, NON_BLOCKING = 0, MATERIALIZE = 1, BY_ROWS = 0, THREADS_7 = 5, THREADS_9 = 7086 };

/* Functions and variables for two types: [0] fp32, [1] fp64. The values are the library's variables. */
static struct {
    int (*init)(int mode);
    int (*option)(int field, int32_t value);
    int (*create)(void **matrix, void *type, uint64_t rows, uint64_t cols);
    int (*destroy)(void **matrix);
    int (*wait)(void *matrix, int how);
    int (*error)(const char **text, const void *matrix);
    int (*multiply)(void *result, const void *mask, const void *add, const void *semiring, const void *first,
                    const void *second, const void *descriptor);
    int (*pack_full)(void *matrix, void **values, uint64_t bytes, bool same, const void *descriptor);
    int (*import[2])(void **matrix, void *type, uint64_t rows, uint64_t cols, const uint64_t *offsets,
                     const uint64_t *columns, const void *values, uint64_t offset_count, uint64_t column_count,
                     uint64_t value_count, int format);
    int (*export[2])(uint64_t *offsets, uint64_t *columns, void *values, uint64_t *offset_count, uint64_t *column_count,
                     uint64_t *value_count, int format, void *matrix);
    int (*get[2])(void *value, const void *matrix, uint64_t row, uint64_t col);
    int (*assign_single)(void *matrix, const void *mask, const void *add, float value, const uint64_t *rows,
                         uint64_t row_count, const uint64_t *cols, uint64_t col_count, const void *descriptor);
    int (*assign_full)(void *matrix, const void *mask, const void *add, double value, const uint64_t *rows,
                       uint64_t row_count, const uint64_t *cols, uint64_t col_count, const void *descriptor);
    void **type[2], **semiring[2], **plus[2];
    void **masked_transposed; /* descriptor: structural mask, the result replaced, the second input transposed */
    const uint64_t **all;
} api;

static const tool_peer_symbol symbols[] = {{"GrB_init", &api.init},
                                           {"GxB_Global_Option_set_INT32", &api.option},
                                           {"GrB_Matrix_new", &api.create},
                                           {"GrB_Matrix_free", &api.destroy},
                                           {"GrB_Matrix_wait", &api.wait},
                                           {"GrB_Matrix_error", &api.error},
                                           {"GrB_mxm", &api.multiply},
                                           {"GxB_Matrix_pack_FullR", &api.pack_full},
                                           {"GrB_Matrix_import_FP32", &api.import[0]},
                                           {"GrB_Matrix_import_FP64", &api.import[1]},
                                           {"GrB_Matrix_export_FP32", &api.export[0]},
                                           {"GrB_Matrix_export_FP64", &api.export[1]},
                                           {"GrB_Matrix_extractElement_FP32", &api.get[0]},
                                           {"GrB_Matrix_extractElement_FP64", &api.get[1]},
                                           {"GrB_Matrix_assign_FP32", &api.assign_single},
                                           {"GrB_Matrix_assign_FP64", &api.assign_full},
                                           {"GrB_FP32", &api.type[0]},
                                           {"GrB_FP64", &api.type[1]},
                                           {"GrB_PLUS_TIMES_SEMIRING_FP32", &api.semiring[0]},
                                           {"GrB_PLUS_TIMES_SEMIRING_FP64", &api.semiring[1]},
                                           {"GrB_PLUS_FP32", &api.plus[0]},
                                           {"GrB_PLUS_FP64", &api.plus[1]},
                                           {"GrB_DESC_RST1", &api.masked_transposed},
                                           {"GrB_ALL", &api.all},
                                           {0}};

static const char *begin(void) { return api.init(NON_BLOCKING) == SUCCESS ? NULL : "a GrB_init that succeeds"; }

typedef struct state {
    int type; /* index into the pairs above */
    void *S, *A, *B, *D;
    void *samples, *product;
    bool added; /* SpMM adds to a full matrix of zeros */
} state;

static state *own(const tool_peer *peer) { return peer->own; }

/* ------------------------------------------------------------------------------------------ computing */

static const char *word(int status, const void *matrix) {
    static char number[32];
    const char *text = NULL;
    if (matrix && api.error(&text, matrix) == SUCCESS && text && *text) return text;
    snprintf(number, sizeof number, "error %d", status);
    return number;
}

static int set_threads(int threads) {
    const int status = api.option(THREADS_7, threads);
    return status == SUCCESS ? status : api.option(THREADS_9, threads);
}

static int sample(const state *self) {
    const int status =
        api.multiply(self->samples, self->S, NULL, *api.semiring[self->type], self->A, self->B, *api.masked_transposed);
    return status == SUCCESS ? api.wait(self->samples, MATERIALIZE) : status;
}

static int clear(const state *self, const tamis_dense *output) {
    const uint64_t rows = (uint64_t)output->rows, cols = (uint64_t)output->cols;
    return self->type == 1 ? api.assign_full(self->product, NULL, NULL, 0, *api.all, rows, *api.all, cols, NULL)
                           : api.assign_single(self->product, NULL, NULL, 0, *api.all, rows, *api.all, cols, NULL);
}

static int multiply(const state *self, const tool_problem *problem) {
    const bool fused = problem->operation == TAMIS_OP_FUSED;
    int status = self->added ? clear(self, &problem->output) : SUCCESS;
    if (status == SUCCESS) {
        status =
            api.multiply(self->product, NULL, self->added ? *api.plus[self->type] : NULL, *api.semiring[self->type],
                         fused ? self->samples : self->S, fused ? self->D : self->B, NULL);
    }
    return status == SUCCESS ? api.wait(self->product, MATERIALIZE) : status;
}

static tamis_status execute(tool_peer *peer, double beta) {
    const state *self = own(peer);
    const tamis_operation operation = peer->host->operation;
    (void)beta; /* always 0: make() declines others */
    int status = set_threads(peer->threads);
    if (status == SUCCESS && operation != TAMIS_OP_SPMM) status = sample(self);
    if (status == SUCCESS && operation != TAMIS_OP_SDDMM) status = multiply(self, peer->host);
    if (status == SUCCESS) return TAMIS_OK;
    tool_error("graphblas: %s", word(status, operation == TAMIS_OP_SDDMM ? self->samples : self->product));
    return TAMIS_ERROR_DEVICE;
}

/* ------------------------------------------------------------------------------------------ fetching */

/* The samples lie in S's order: both are sorted by rows and columns. */
static int fetch_samples(const state *self, const tool_problem *host) {
    uint64_t counts[3] = {(uint64_t)host->S.rows + 1, (uint64_t)host->S.nnz, (uint64_t)host->S.nnz};
    uint64_t *offsets = tool_allocate(counts[0], sizeof *offsets);
    uint64_t *columns = tool_allocate(counts[1], sizeof *columns);
    const int status = api.export[self->type](offsets, columns, host->output.data, &counts[0], &counts[1], &counts[2],
                                              BY_ROWS, self->samples);
    free(offsets);
    free(columns);
    return status;
}

/* Fetches the rows that the oracle compares. An element that is not stored is 0. */
static int fetch_rows(const state *self, const tamis_dense *output, const tamis_oracle *oracle) {
    const int64_t *compared = NULL, count = tamis_oracle_rows(oracle, &compared);
    for (int64_t n = 0; n < count; n++) {
        const int64_t i = compared[n];
        for (int64_t j = 0; j < output->cols; j++) {
            float single = 0;
            double full = 0;
            void *const to = self->type == 1 ? (void *)&full : &single;
            const int status = api.get[self->type](to, self->product, (uint64_t)i, (uint64_t)j);
            if (status != SUCCESS && status != NO_VALUE) return status;
            const double value = status == NO_VALUE ? 0 : self->type == 1 ? full : (double)single;
            tool_element_set(output->data, output->type, i * output->stride + j, value);
        }
    }
    return SUCCESS;
}

static tamis_status fetch(tool_peer *peer, const tool_problem *host, const tamis_oracle *oracle) {
    const state *self = own(peer);
    const int status =
        host->operation == TAMIS_OP_SDDMM ? fetch_samples(self, host) : fetch_rows(self, &host->output, oracle);
    if (status == SUCCESS) return TAMIS_OK;
    tool_error("graphblas: cannot read the result: error %d", status);
    return TAMIS_ERROR_DEVICE;
}

/* ------------------------------------------------------------------------------------------ making */

static bool good(int status, const char *what, tool_peer *peer) {
    return status == SUCCESS || tool_peer_decline(peer, "%s: error %d", what, status);
}

/* Its matrices have no duplicates and no order of their own. */
static bool is_sorted(const tamis_sparse *S) {
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t end = tool_index_get(S->offsets, S->offset_type, i + 1);
        for (int64_t t = tool_index_get(S->offsets, S->offset_type, i) + 1; t < end; t++) {
            if (tool_index_get(S->columns, S->index_type, t - 1) >= tool_index_get(S->columns, S->index_type, t)) {
                return false;
            }
        }
    }
    return true;
}

static bool make_sparse(tool_peer *peer, void **matrix) {
    const tool_problem *problem = peer->host;
    const int type = own(peer)->type;
    const tamis_sparse *S = &problem->S;
    const uint64_t rows = (uint64_t)S->rows, cols = (uint64_t)S->cols, nnz = (uint64_t)S->nnz;
    uint64_t *offsets = tool_allocate(rows + 1, sizeof *offsets), *columns = tool_allocate(nnz, sizeof *columns);
    void *ones = S->values ? NULL : tool_peer_values(problem);
    for (int64_t i = 0; i <= S->rows; i++) offsets[i] = (uint64_t)tool_index_get(S->offsets, S->offset_type, i);
    for (int64_t t = 0; t < S->nnz; t++) columns[t] = (uint64_t)tool_index_get(S->columns, S->index_type, t);
    const void *values = S->values ? S->values : ones;
    const int status =
        api.import[type](matrix, *api.type[type], rows, cols, offsets, columns, values, rows + 1, nnz, nnz, BY_ROWS);
    free(offsets);
    free(columns);
    free(ones);
    return good(status, "GrB_Matrix_import", peer);
}

static bool make_empty(tool_peer *peer, int64_t rows, int64_t cols, void **matrix) {
    return good(api.create(matrix, *api.type[own(peer)->type], (uint64_t)rows, (uint64_t)cols), "GrB_Matrix_new", peer);
}

/* Makes a full matrix, which owns a copy of the elements. */
static bool make_full(tool_peer *peer, const tamis_dense *dense, void **matrix) {
    if (!make_empty(peer, dense->rows, dense->cols, matrix)) return false;
    const size_t line = (size_t)dense->cols * tamis_type_size(dense->type);
    const size_t stride = (size_t)dense->stride * tamis_type_size(dense->type);
    char *values = tool_large_allocate(tamis_bytes(dense->rows, line));
    for (int64_t i = 0; i < dense->rows; i++) {
        memcpy(values + (size_t)i * line, (const char *)dense->data + (size_t)i * stride, line);
    }
    void *given = values;
    const int status = api.pack_full(*matrix, &given, (size_t)dense->rows * line, false, NULL);
    free(given); /* NULL once it is taken */
    return good(status, "GxB_Matrix_pack_FullR", peer);
}

/* Measures some executions and keeps the shortest time. False: one failed. */
static bool try_product(tool_peer *peer, double *least) {
    enum { TRIALS = 3 };
    for (int i = 0; i < TRIALS; i++) {
        const double start = tool_seconds();
        if (!good(multiply(own(peer), peer->host), "GrB_mxm", peer)) return false;
        const double seconds = tool_seconds() - start;
        if (i <= 1 || seconds < *least) *least = seconds; /* the first one warms up */
        if (seconds > 1) break;
    }
    return true;
}

/* Takes the faster way for SpMM: into a matrix of whatever kind the library chooses, or added to a full matrix of
   zeros. */
static bool choose_product(tool_peer *peer) {
    state *self = own(peer);
    const tamis_dense *output = &peer->host->output;
    double seconds[2] = {0, 0};
    for (int added = 0; added < 2; added++) {
        self->added = added == 1;
        if (!try_product(peer, &seconds[added])) return false;
        api.destroy(&self->product);
        self->product = NULL;
        if (!make_empty(peer, output->rows, output->cols, &self->product)) return false;
    }
    self->added = seconds[1] < seconds[0];
    return true;
}

static void release(tool_peer *peer) {
    state *self = own(peer);
    void **const matrices[] = {&self->S, &self->A, &self->B, &self->D, &self->samples, &self->product};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        if (*matrices[i]) api.destroy(matrices[i]);
    }
}

static bool make_operands(tool_peer *peer) {
    state *self = own(peer);
    const tool_problem *problem = peer->host;
    bool made = make_sparse(peer, &self->S) && make_full(peer, &problem->B, &self->B);
    if (made && problem->operation != TAMIS_OP_SPMM) {
        made = make_full(peer, &problem->A, &self->A) &&
               make_empty(peer, problem->S.rows, problem->S.cols, &self->samples);
    }
    if (made && problem->operation == TAMIS_OP_FUSED) made = make_full(peer, &problem->D, &self->D);
    if (made && problem->operation != TAMIS_OP_SDDMM) {
        made = make_empty(peer, problem->output.rows, problem->output.cols, &self->product);
    }
    return made;
}

static bool make(tool_peer *peer) {
    const tool_problem *problem = peer->host;
    const char *refused = tool_peer_refusal_of_reals(problem);
    if (!refused && !is_sorted(&problem->S)) refused = "it needs sorted columns without duplicates";
    if (refused) return tool_peer_decline(peer, "%s", refused);
    state *self = own(peer);
    self->type = problem->type == TAMIS_F64;
    const double start = tool_seconds();
    if (!good(set_threads(peer->threads), "GxB_NTHREADS", peer)) return false;
    if (!make_operands(peer)) return false;
    peer->setup = tool_seconds() - start;
    snprintf(peer->variant, sizeof peer->variant, "masked mxm");
    if (problem->operation == TAMIS_OP_SDDMM) return true;
    if (problem->operation == TAMIS_OP_FUSED && !good(sample(self), "GrB_mxm", peer)) return false;
    if (!choose_product(peer)) return false;
    snprintf(peer->variant, sizeof peer->variant, "%s%s", problem->operation == TAMIS_OP_FUSED ? "masked mxm, " : "",
             self->added ? "mxm added to zeros" : "mxm");
    return true;
}

static const char *const candidates[] = {"libgraphblas.so.7", "libgraphblas.so.9", "libgraphblas.so.10",
                                         "libgraphblas.so", NULL};

const tool_peer_kind tool_peer_graphblas = {.library = "graphblas",
                                            .name = "graphblas",
                                            .places = TOOL_PEER_CPU,
                                            .variable = "TAMIS_GRAPHBLAS",
                                            .candidates = candidates,
                                            .symbols = symbols,
                                            .begin = begin,
                                            .state_bytes = sizeof(state),
                                            .make = make,
                                            .execute = execute,
                                            .fetch = fetch,
                                            .release = release};
