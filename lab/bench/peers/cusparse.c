/*
 * cuSPARSE. Its SDDMM samples the product and does not multiply it by S's values: it is Tamis's edge `mask`. Its SpMM
 * has several algorithms; the fastest of some trials is measured. A fused product is the two in sequence, with the
 * sampled values stored between them.
 */
#include <tamis/stream.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/timer.h"
#include "kinds.h"

enum { NO_TRANSPOSE = 0, TRANSPOSE = 1, ROW_ORDER = 2, INDEX_32 = 2, INDEX_64 = 3, SDDMM_DEFAULT = 0 };

/* The functions of cuSPARSE that this peer calls, with its order of arguments; enumerations are ints. */
static struct {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*version)(void *handle, int *version);
    const char *(*error)(int status);
    int (*create_csr)(void **matrix, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *columns,
                      void *values, int offset_type, int index_type, int base, int type);
    int (*destroy_sparse)(void *matrix);
    int (*create_dense)(void **matrix, int64_t rows, int64_t cols, int64_t stride, void *values, int type, int order);
    int (*destroy_dense)(void *matrix);
    int (*sddmm_size)(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                      int type, int algorithm, size_t *bytes);
    int (*sddmm_ready)(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                       int type, int algorithm, void *buffer);
    int (*sddmm)(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                 int type, int algorithm, void *buffer);
    int (*spmm_size)(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                     int type, int algorithm, size_t *bytes);
    int (*spmm_ready)(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                      int type, int algorithm, void *buffer);
    int (*spmm)(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                int type, int algorithm, void *buffer);
} api;

static const tool_peer_symbol symbols[] = {{"cusparseCreate", &api.create},
                                           {"cusparseDestroy", &api.destroy},
                                           {"cusparseGetVersion", &api.version},
                                           {"cusparseGetErrorString", &api.error},
                                           {"cusparseCreateCsr", &api.create_csr},
                                           {"cusparseDestroySpMat", &api.destroy_sparse},
                                           {"cusparseCreateDnMat", &api.create_dense},
                                           {"cusparseDestroyDnMat", &api.destroy_dense},
                                           {"cusparseSDDMM_bufferSize", &api.sddmm_size},
                                           {"cusparseSDDMM_preprocess", &api.sddmm_ready},
                                           {"cusparseSDDMM", &api.sddmm},
                                           {"cusparseSpMM_bufferSize", &api.spmm_size},
                                           {"cusparseSpMM_preprocess", &api.spmm_ready},
                                           {"cusparseSpMM", &api.spmm},
                                           {0}};

/* A scalar of the compute type: fp64 for fp64, else fp32. */
typedef union scalar {
    float single;
    double full;
} scalar;

/* Multiplies S by a dense matrix with one of the algorithms. */
typedef struct product {
    int algorithm;
    void *matrix, *buffer;
    double setup;
} product;

typedef struct state {
    void *handle;
    int type, compute;
    void *A, *B, *D, *out; /* dense matrices of cuSPARSE */
    void *samples;         /* the sparse matrix that SDDMM writes */
    void *sample_values;   /* its values in fused */
    void *sddmm_buffer;
    void *ones; /* values of a pattern */
    product spmm;
} state;

static state *own(const tool_peer *peer) { return peer->own; }
static tamis_device *device_of(const tool_peer *peer) { return peer->mirror->device->device; }

static scalar number(const state *self, double value) {
    scalar result;
    if (self->type == tool_peer_type(TAMIS_F64)) {
        result.full = value;
    } else {
        result.single = (float)value;
    }
    return result;
}

/* ------------------------------------------------------------------------------------------ making */

static bool good(int status, const char *what, tool_peer *peer) {
    return status == 0 || tool_peer_decline(peer, "%s: %s", what, api.error(status));
}

static bool have(tool_peer *peer, tamis_status status) {
    return status == TAMIS_OK || tool_peer_decline(peer, "%s", tamis_last_error());
}

static bool allocate(tool_peer *peer, size_t size, void **memory) {
    return have(peer, tamis_device_allocate(device_of(peer), size + 16, memory));
}

static bool make_dense(tool_peer *peer, const tamis_dense *dense, void **matrix) {
    return good(
        api.create_dense(matrix, dense->rows, dense->cols, dense->stride, dense->data, own(peer)->type, ROW_ORDER),
        "cusparseCreateDnMat", peer);
}

static bool make_csr(tool_peer *peer, void *values, void **matrix) {
    const tamis_sparse *S = &peer->mirror->problem.S;
    return good(api.create_csr(matrix, S->rows, S->cols, S->nnz, (void *)(uintptr_t)S->offsets,
                               (void *)(uintptr_t)S->columns, values, S->offset_type == TAMIS_I64 ? INDEX_64 : INDEX_32,
                               S->index_type == TAMIS_I64 ? INDEX_64 : INDEX_32, 0, own(peer)->type),
                "cusparseCreateCsr", peer);
}

static bool make_ones(tool_peer *peer) {
    const tamis_sparse *S = &peer->mirror->problem.S;
    const size_t size = tamis_type_size(peer->mirror->problem.type);
    void *host = tool_peer_values(peer->host); /* which has none */
    bool made = allocate(peer, tamis_bytes(S->nnz, size), &own(peer)->ones);
    if (made) {
        made = have(peer, tamis_device_upload(device_of(peer), NULL, own(peer)->ones, 0, host, (size_t)S->nnz * size));
    }
    free(host);
    return made;
}

static bool make_sddmm(tool_peer *peer, void *values) {
    state *self = own(peer);
    const tool_problem *problem = &peer->mirror->problem;
    const double start = tool_seconds();
    const scalar alpha = number(self, 1), beta = number(self, 0);
    size_t size = 0;
    bool made = make_dense(peer, &problem->A, &self->A) && make_dense(peer, &problem->B, &self->B) &&
                make_csr(peer, values, &self->samples) &&
                good(api.sddmm_size(self->handle, NO_TRANSPOSE, TRANSPOSE, &alpha, self->A, self->B, &beta,
                                    self->samples, self->compute, SDDMM_DEFAULT, &size),
                     "cusparseSDDMM_bufferSize", peer) &&
                allocate(peer, size, &self->sddmm_buffer) &&
                good(api.sddmm_ready(self->handle, NO_TRANSPOSE, TRANSPOSE, &alpha, self->A, self->B, &beta,
                                     self->samples, self->compute, SDDMM_DEFAULT, self->sddmm_buffer),
                     "cusparseSDDMM_preprocess", peer) &&
                have(peer, tamis_stream_synchronize(device_of(peer), NULL));
    peer->setup += tool_seconds() - start;
    return made;
}

static int run_spmm(const state *self, const product *spmm, double alpha, double beta) {
    const scalar factor = number(self, alpha), old = number(self, beta);
    return api.spmm(self->handle, NO_TRANSPOSE, NO_TRANSPOSE, &factor, spmm->matrix, self->D, &old, self->out,
                    self->compute, spmm->algorithm, spmm->buffer);
}

static bool make_product(tool_peer *peer, void *values, product *spmm) {
    const state *self = own(peer);
    const double start = tool_seconds();
    const scalar alpha = number(self, 1), beta = number(self, 0);
    size_t size = 0;
    const bool made = make_csr(peer, values, &spmm->matrix) &&
                      good(api.spmm_size(self->handle, NO_TRANSPOSE, NO_TRANSPOSE, &alpha, spmm->matrix, self->D, &beta,
                                         self->out, self->compute, spmm->algorithm, &size),
                           "cusparseSpMM_bufferSize", peer) &&
                      allocate(peer, size, &spmm->buffer) &&
                      good(api.spmm_ready(self->handle, NO_TRANSPOSE, NO_TRANSPOSE, &alpha, spmm->matrix, self->D,
                                          &beta, self->out, self->compute, spmm->algorithm, spmm->buffer),
                           "cusparseSpMM_preprocess", peer) &&
                      have(peer, tamis_stream_synchronize(device_of(peer), NULL));
    spmm->setup = tool_seconds() - start;
    return made;
}

static void free_product(const tool_peer *peer, product *spmm) {
    if (spmm->matrix) api.destroy_sparse(spmm->matrix);
    tamis_device_free(device_of(peer), spmm->buffer);
    *spmm = (product){0};
}

/* Measures some executions and keeps the shortest time. False: one failed. */
static bool try_product(tool_peer *peer, const product *spmm, double *least) {
    enum { TRIALS = 5 };
    tool_timer timer = tool_timer_create(peer->mirror->device);
    bool made = true;
    for (int i = 0; i <= TRIALS && made; i++) {
        double seconds = 0;
        made = have(peer, tool_timer_take(&timer, 0)) && good(run_spmm(own(peer), spmm, 1, 0), "cusparseSpMM", peer) &&
               have(peer, tool_timer_take(&timer, 1)) && have(peer, tool_timer_between(&timer, 0, 1, &seconds));
        if (i == 1 || (i > 1 && seconds < *least)) *least = seconds; /* the first one is a warm-up */
    }
    tool_timer_free(&timer);
    return made;
}

/* Takes the fastest of the algorithms for CSR that support row-major matrices. */
static bool make_spmm(tool_peer *peer, const tamis_dense *right, void *values) {
    static const struct {
        const char *name;
        int algorithm;
    } algorithms[] = {{"default", 0}, {"csr-alg2", 6}, {"csr-alg3", 12}};
    state *self = own(peer);
    if (!make_dense(peer, right, &self->D)) return false;
    if (!make_dense(peer, &peer->mirror->problem.output, &self->out)) return false;
    const char *fastest = "";
    double best = 0;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        product spmm = {.algorithm = algorithms[i].algorithm};
        double seconds = 0;
        if (make_product(peer, values, &spmm) && try_product(peer, &spmm, &seconds) &&
            (!self->spmm.matrix || seconds < best)) {
            const product worse = self->spmm;
            self->spmm = spmm;
            spmm = worse;
            best = seconds;
            fastest = algorithms[i].name;
        }
        free_product(peer, &spmm);
    }
    const size_t told = strlen(peer->variant); /* the version */
    snprintf(peer->variant + told, sizeof peer->variant - told, ", spmm %s", fastest);
    peer->setup += self->spmm.setup;
    return self->spmm.matrix != NULL;
}

/* ------------------------------------------------------------------------------------------ executing */

static tamis_status failed(const char *what, int status) {
    tool_error("%s: %s", what, api.error(status));
    return TAMIS_ERROR_DEVICE;
}

static tamis_status execute(tool_peer *peer, double beta) {
    const state *self = own(peer);
    const tool_problem *problem = &peer->mirror->problem;
    const bool fused = problem->operation == TAMIS_OP_FUSED;
    if (problem->operation != TAMIS_OP_SPMM) {
        const scalar factor = number(self, fused ? 1 : problem->alpha), old = number(self, fused ? 0 : beta);
        const int status = api.sddmm(self->handle, NO_TRANSPOSE, TRANSPOSE, &factor, self->A, self->B, &old,
                                     self->samples, self->compute, SDDMM_DEFAULT, self->sddmm_buffer);
        if (status != 0) return failed("cusparseSDDMM", status);
        if (!fused) return TAMIS_OK;
    }
    const int status = run_spmm(self, &self->spmm, problem->alpha, beta);
    return status == 0 ? TAMIS_OK : failed("cusparseSpMM", status);
}

static void release(tool_peer *peer) {
    state *self = own(peer);
    void *const dense[] = {self->A, self->B, self->D, self->out};
    void *const memory[] = {self->sddmm_buffer, self->sample_values, self->ones};
    free_product(peer, &self->spmm);
    if (self->samples) api.destroy_sparse(self->samples);
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++) {
        if (dense[i]) api.destroy_dense(dense[i]);
    }
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) tamis_device_free(device_of(peer), memory[i]);
    if (self->handle) api.destroy(self->handle);
}

/* Says what cuSPARSE does not support. */
static const char *unserved(const tool_problem *problem) {
    if (problem->operation != TAMIS_OP_SPMM && problem->edge != TAMIS_EDGE_SCALE && problem->edge != TAMIS_EDGE_MASK) {
        return "its SDDMM supports only the edge mask";
    }
    if (problem->operation == TAMIS_OP_FUSED && tamis_type_size(problem->type) == 2) {
        return "its samples between SDDMM and SpMM would be rounded to 16 bits";
    }
    if (problem->S.offset_type != problem->S.index_type) return "its offsets and columns must have the same type";
    return NULL;
}

static bool make(tool_peer *peer) {
    const tool_problem *problem = &peer->mirror->problem;
    const char *refused = unserved(problem);
    if (refused) return tool_peer_decline(peer, "%s", refused);
    state *self = own(peer);
    self->type = tool_peer_type(problem->type);
    self->compute = tool_peer_type(problem->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32);
    int version = 0; /* 12904 is 12.9.4 */
    if (!good(api.create(&self->handle), "cusparseCreate", peer) ||
        !good(api.version(self->handle, &version), "cusparseGetVersion", peer))
        return false;
    snprintf(peer->variant, sizeof peer->variant, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    switch (problem->operation) {
    case TAMIS_OP_SDDMM: return make_sddmm(peer, problem->output.data);
    case TAMIS_OP_SPMM:
        if (!problem->S.values && !make_ones(peer)) return false;
        return make_spmm(peer, &problem->B, problem->S.values ? (void *)(uintptr_t)problem->S.values : self->ones);
    case TAMIS_OP_FUSED:
        return allocate(peer, tamis_bytes(problem->S.nnz, tamis_type_size(problem->type)), &self->sample_values) &&
               make_sddmm(peer, self->sample_values) && make_spmm(peer, &problem->D, self->sample_values);
    }
    return false;
}

static const char *const candidates[] = {"libcusparse.so.12",
                                         "libcusparse.so.13",
                                         "libcusparse.so",
                                         "/usr/local/cuda/lib64/libcusparse.so.12",
                                         "/usr/local/cuda/lib64/libcusparse.so",
                                         "/usr/local/cuda/lib/libcusparse.so.12",
                                         NULL};

const tool_peer_kind tool_peer_cusparse = {.library = "cusparse",
                                           .name = "cusparse",
                                           .places = TOOL_PEER_CUDA,
                                           .variable = "TAMIS_CUSPARSE",
                                           .candidates = candidates,
                                           .symbols = symbols,
                                           .state_bytes = sizeof(state),
                                           .make = make,
                                           .execute = execute,
                                           .release = release};
