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

/* The functions of cuSPARSE that this peer calls, with its order of arguments; enumerations are ints. SDDMM and SpMM
   have the same arguments: one of the matrices is sparse, the result or the first factor. */
typedef int size_call(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta, void *c,
                      int type, int algorithm, size_t *bytes);
typedef int product_call(void *handle, int op_a, int op_b, const void *alpha, void *a, void *b, const void *beta,
                         void *c, int type, int algorithm, void *buffer);
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
    size_call *size[2]; /* of SDDMM, of SpMM */
    product_call *ready[2], *run[2];
} api;

enum { SDDMM = 0, SPMM = 1 };

static const tool_peer_symbol symbols[] = {{"cusparseCreate", &api.create},
                                           {"cusparseDestroy", &api.destroy},
                                           {"cusparseGetVersion", &api.version},
                                           {"cusparseGetErrorString", &api.error},
                                           {"cusparseCreateCsr", &api.create_csr},
                                           {"cusparseDestroySpMat", &api.destroy_sparse},
                                           {"cusparseCreateDnMat", &api.create_dense},
                                           {"cusparseDestroyDnMat", &api.destroy_dense},
                                           {"cusparseSDDMM_bufferSize", &api.size[SDDMM]},
                                           {"cusparseSDDMM_preprocess", &api.ready[SDDMM]},
                                           {"cusparseSDDMM", &api.run[SDDMM]},
                                           {"cusparseSpMM_bufferSize", &api.size[SPMM]},
                                           {"cusparseSpMM_preprocess", &api.ready[SPMM]},
                                           {"cusparseSpMM", &api.run[SPMM]},
                                           {0}};

/* A scalar of the compute type: fp64 for fp64, else fp32. */
typedef union scalar {
    float single;
    double full;
} scalar;

/* A product by one of the algorithms. It has its sparse matrix, c of SDDMM or a of SpMM, and its buffer. */
typedef struct product {
    int which, op_b, algorithm;
    void *a, *b, *c, *buffer;
    double setup;
} product;

typedef struct state {
    void *handle;
    int type, compute;
    void *A, *B, *D, *out; /* dense matrices of cuSPARSE */
    void *sample_values;   /* that SDDMM writes in fused */
    void *ones;            /* values of a pattern */
    product sddmm, spmm;
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

/* Makes the buffer of a product whose matrices are there. */
static bool make_ready(tool_peer *peer, product *p) {
    static const char *const names[][2] = {[SDDMM] = {"cusparseSDDMM_bufferSize", "cusparseSDDMM_preprocess"},
                                           [SPMM] = {"cusparseSpMM_bufferSize", "cusparseSpMM_preprocess"}};
    const state *self = own(peer);
    const scalar alpha = number(self, 1), beta = number(self, 0);
    size_t size = 0;
    return good(api.size[p->which](self->handle, NO_TRANSPOSE, p->op_b, &alpha, p->a, p->b, &beta, p->c, self->compute,
                                   p->algorithm, &size),
                names[p->which][0], peer) &&
           allocate(peer, size, &p->buffer) &&
           good(api.ready[p->which](self->handle, NO_TRANSPOSE, p->op_b, &alpha, p->a, p->b, &beta, p->c, self->compute,
                                    p->algorithm, p->buffer),
                names[p->which][1], peer) &&
           have(peer, tamis_stream_synchronize(device_of(peer), NULL));
}

static int run(const state *self, const product *p, double alpha, double beta) {
    const scalar factor = number(self, alpha), old = number(self, beta);
    return api.run[p->which](self->handle, NO_TRANSPOSE, p->op_b, &factor, p->a, p->b, &old, p->c, self->compute,
                             p->algorithm, p->buffer);
}

static bool make_sddmm(tool_peer *peer, void *values) {
    state *self = own(peer);
    const tool_problem *problem = &peer->mirror->problem;
    const double start = tool_seconds();
    bool made = make_dense(peer, &problem->A, &self->A) && make_dense(peer, &problem->B, &self->B);
    self->sddmm = (product){.which = SDDMM, .op_b = TRANSPOSE, .algorithm = SDDMM_DEFAULT, .a = self->A, .b = self->B};
    made = made && make_csr(peer, values, &self->sddmm.c) && make_ready(peer, &self->sddmm);
    peer->setup += tool_seconds() - start;
    return made;
}

static bool make_product(tool_peer *peer, void *values, product *spmm) {
    const double start = tool_seconds();
    const bool made = make_csr(peer, values, &spmm->a) && make_ready(peer, spmm);
    spmm->setup = tool_seconds() - start;
    return made;
}

static void free_product(const tool_peer *peer, product *p) {
    void *const sparse = p->which == SDDMM ? p->c : p->a;
    if (sparse) api.destroy_sparse(sparse);
    tamis_device_free(device_of(peer), p->buffer);
    *p = (product){0};
}

/* Measures some executions and keeps the shortest time. False: one failed. */
static bool try_product(tool_peer *peer, const product *spmm, double *least) {
    enum { TRIALS = 5 };
    tool_timer timer = tool_timer_create(peer->mirror->device);
    bool made = true;
    for (int i = 0; i <= TRIALS && made; i++) {
        double seconds = 0;
        made = have(peer, tool_timer_take(&timer, 0)) && good(run(own(peer), spmm, 1, 0), "cusparseSpMM", peer) &&
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
        product spmm = {.which = SPMM, .algorithm = algorithms[i].algorithm, .b = self->D, .c = self->out};
        double seconds = 0;
        if (make_product(peer, values, &spmm) && try_product(peer, &spmm, &seconds) &&
            (!self->spmm.a || seconds < best)) {
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
    return self->spmm.a != NULL;
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
        const int status = run(self, &self->sddmm, fused ? 1 : problem->alpha, fused ? 0 : beta);
        if (status != 0) return failed("cusparseSDDMM", status);
        if (!fused) return TAMIS_OK;
    }
    const int status = run(self, &self->spmm, problem->alpha, beta);
    return status == 0 ? TAMIS_OK : failed("cusparseSpMM", status);
}

static void release(tool_peer *peer) {
    state *self = own(peer);
    void *const dense[] = {self->A, self->B, self->D, self->out};
    void *const memory[] = {self->sample_values, self->ones};
    free_product(peer, &self->spmm);
    free_product(peer, &self->sddmm);
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
