/*
 * cuBLAS: the time of the whole dense product, although SDDMM needs only its elements at the nonzeros. Nothing is
 * sampled from it: if even that is faster than a sampled product, the matrix is too dense for sampling.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "kinds.h"

enum { NO_TRANSPOSE = 0, TRANSPOSE = 1, COMPUTE_32F = 68, COMPUTE_64F = 70, DEFAULT_ALGORITHM = -1 };

/* The functions of cuBLAS that this peer calls, with its order of arguments; enumerations are ints. */
static struct {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    const char *(*error)(int status);
    int (*product)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int a_type,
                   int a_stride, const void *b, int b_type, int b_stride, const void *beta, void *c, int c_type,
                   int c_stride, int compute, int algorithm);
} api;

static const tool_peer_symbol symbols[] = {{"cublasCreate_v2", &api.create},
                                           {"cublasDestroy_v2", &api.destroy},
                                           {"cublasGetStatusString", &api.error},
                                           {"cublasGemmEx", &api.product},
                                           {0}};

typedef struct state {
    void *handle;
    void *dense; /* rows x cols, row-major, packed */
} state;

static tamis_device *device_of(const tool_peer *peer) { return peer->mirror->device->device; }

/* Column-major, as cuBLAS reads it, row-major A B^T is B A^T with B and A transposed: K is the leading dimension of
   both. */
static tamis_status execute(tool_peer *peer, double beta) {
    const state *self = peer->own;
    const tool_problem *problem = &peer->mirror->problem;
    const int type = tool_peer_type(problem->type);
    const float one = (float)problem->alpha, none = 0;
    const double full_one = problem->alpha, full_none = 0;
    const bool full = problem->type == TAMIS_F64;
    (void)beta; /* always 0: make() declines others */
    const int status = api.product(
        self->handle, TRANSPOSE, NO_TRANSPOSE, (int)problem->S.cols, (int)problem->S.rows, (int)problem->inner,
        full ? (const void *)&full_one : (const void *)&one, problem->B.data, type, (int)problem->B.stride,
        problem->A.data, type, (int)problem->A.stride, full ? (const void *)&full_none : (const void *)&none,
        self->dense, type, (int)problem->S.cols, full ? COMPUTE_64F : COMPUTE_32F, DEFAULT_ALGORITHM);
    if (status == 0) return TAMIS_OK;
    tool_error("cublasGemmEx: %s", api.error(status));
    return TAMIS_ERROR_DEVICE;
}

/* The row of each nonzero that the oracle compares. */
static unsigned char *wanted_rows(const tamis_sparse *S, const tamis_oracle *oracle) {
    unsigned char *wanted = tool_allocate((size_t)S->rows, 1);
    const int64_t *compared = NULL, count = tamis_oracle_rows(oracle, &compared);
    for (int64_t n = 0; n < count; n++) {
        int64_t low = 0,
                high = S->rows - 1; /* binary search: the last nonempty row that begins at or before the nonzero */
        while (low < high) {
            const int64_t middle = (low + high + 1) / 2;
            if (tool_index_get(S->offsets, S->offset_type, middle) <= compared[n]) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        wanted[low] = 1;
    }
    return wanted;
}

static tamis_status fetch(tool_peer *peer, const tool_problem *host, const tamis_oracle *oracle) {
    const state *self = peer->own;
    const tamis_sparse *S = &host->S;
    const size_t size = tamis_type_size(host->type), line = tamis_bytes(S->cols, size);
    unsigned char *wanted = wanted_rows(S, oracle);
    unsigned char *row = tool_allocate(line, 1);
    tamis_status status = TAMIS_OK;
    for (int64_t i = 0; i < S->rows && status == TAMIS_OK; i++) {
        if (!wanted[i]) continue;
        status = tamis_device_download(device_of(peer), NULL, row, self->dense, (size_t)i * line, line);
        const int64_t end = tool_index_get(S->offsets, S->offset_type, i + 1);
        for (int64_t t = tool_index_get(S->offsets, S->offset_type, i); t < end; t++) {
            const size_t column = (size_t)tool_index_get(S->columns, S->index_type, t);
            memcpy((char *)host->output.data + (size_t)t * size, row + column * size, size);
        }
    }
    free(wanted);
    free(row);
    return status;
}

static void release(tool_peer *peer) {
    state *self = peer->own;
    tamis_device_free(device_of(peer), self->dense);
    if (self->handle) api.destroy(self->handle);
}

static bool make(tool_peer *peer) {
    const tool_problem *problem = &peer->mirror->problem;
    const tamis_sparse *S = &problem->S;
    if (problem->operation != TAMIS_OP_SDDMM) return tool_peer_decline(peer, "it only computes sddmm");
    if (problem->edge != TAMIS_EDGE_SCALE && problem->edge != TAMIS_EDGE_MASK) {
        return tool_peer_decline(peer, "a dense product supports only the edge mask");
    }
    if (problem->beta != 0) return tool_peer_decline(peer, "it does not support beta");
    if (S->rows == 0 || S->cols == 0 || problem->inner == 0) return tool_peer_decline(peer, "an empty product");
    const size_t left = tool_peer_free_memory();
    const tool_word bytes = tool_word_bytes((int64_t)left);
    if (!tool_peer_takes_dense(peer, problem, "product", left, bytes.text)) return false;
    state *self = peer->own;
    snprintf(peer->variant, sizeof peer->variant, "gemm, not sampled");
    const int status = api.create(&self->handle);
    if (status != 0) {
        return tool_peer_decline(peer, "cublasCreate: %s", api.error(status));
    }
    const double start = tool_seconds();
    if (tamis_device_allocate(device_of(peer),
                              tamis_bytes(S->rows, tamis_bytes(S->cols, tamis_type_size(problem->type))),
                              &self->dense) != TAMIS_OK) {
        return tool_peer_decline(peer, "%s", tamis_last_error());
    }
    peer->setup = tool_seconds() - start;
    return true;
}

static const char *const candidates[] = {"libcublas.so.12",
                                         "libcublas.so.13",
                                         "libcublas.so",
                                         "/usr/local/cuda/lib64/libcublas.so.12",
                                         "/usr/local/cuda/lib64/libcublas.so.13",
                                         "/usr/local/cuda/lib64/libcublas.so",
                                         "/usr/local/cuda/lib/libcublas.so.13",
                                         NULL};

const tool_peer_kind tool_peer_cublas = {.library = "cublas",
                                         .name = "cublas-dense",
                                         .places = TOOL_PEER_CUDA,
                                         .variable = "TAMIS_CUBLAS",
                                         .candidates = candidates,
                                         .symbols = symbols,
                                         .state_bytes = sizeof(state),
                                         .make = make,
                                         .execute = execute,
                                         .fetch = fetch,
                                         .release = release};
