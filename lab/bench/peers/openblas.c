/*
 * OpenBLAS: dense products. SDDMM is the whole dense product A B^T, then sampled at S's nonzeros; SpMM is the product
 * of S as a dense matrix, which is made in set-up; fused is A B^T, cleared except for the samples, times D. The
 * difference to a sparse kernel is the gain from sparsity.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "kinds.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

/* The functions of OpenBLAS that this peer calls, with its 32-bit int; enumerations are ints. */
static struct {
    void (*set_threads)(int threads);
    void (*single)(int order, int op_a, int op_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                   const float *b, int b_stride, float beta, float *c, int c_stride);
    void (*full)(int order, int op_a, int op_b, int m, int n, int k, double alpha, const double *a, int a_stride,
                 const double *b, int b_stride, double beta, double *c, int c_stride);
} api;

static const tool_peer_symbol symbols[] = {
    {"openblas_set_num_threads", &api.set_threads}, {"cblas_sgemm", &api.single}, {"cblas_dgemm", &api.full}, {0}};

typedef struct state {
    tamis_dense matrix; /* rows x cols: the product of A and B, or S */
    void *samples;      /* the samples of fused */
} state;

/* C = A op(B). */
static void multiply(const tamis_dense *A, const tamis_dense *B, bool transposed, const tamis_dense *C) {
    const int op = transposed ? TRANSPOSE : NO_TRANSPOSE;
    const int m = (int)C->rows, n = (int)C->cols, k = (int)A->cols;
    if (C->type == TAMIS_F64) {
        api.full(ROW_MAJOR, NO_TRANSPOSE, op, m, n, k, 1, A->data, (int)A->stride, B->data, (int)B->stride, 0, C->data,
                 (int)C->stride);
    } else {
        api.single(ROW_MAJOR, NO_TRANSPOSE, op, m, n, k, 1, A->data, (int)A->stride, B->data, (int)B->stride, 0,
                   C->data, (int)C->stride);
    }
}

static void sample_row(const tamis_sparse *S, int64_t i, const tamis_dense *product, void *samples) {
    const int64_t begin = tool_index_get(S->offsets, S->offset_type, i);
    const int64_t end = tool_index_get(S->offsets, S->offset_type, i + 1);
    if (product->type == TAMIS_F64) {
        const double *row = (const double *)product->data + i * product->stride;
        for (int64_t t = begin; t < end; t++) {
            ((double *)samples)[t] = row[tool_index_get(S->columns, S->index_type, t)];
        }
    } else {
        const float *row = (const float *)product->data + i * product->stride;
        for (int64_t t = begin; t < end; t++) {
            ((float *)samples)[t] = row[tool_index_get(S->columns, S->index_type, t)];
        }
    }
}

/* Puts the samples of a row back into it; all other elements become 0. Duplicates add up. */
static void mask_row(const tamis_sparse *S, int64_t i, const void *samples, const tamis_dense *product) {
    const int64_t begin = tool_index_get(S->offsets, S->offset_type, i);
    const int64_t end = tool_index_get(S->offsets, S->offset_type, i + 1);
    if (product->type == TAMIS_F64) {
        double *row = (double *)product->data + i * product->stride;
        memset(row, 0, (size_t)product->cols * sizeof *row);
        for (int64_t t = begin; t < end; t++) {
            row[tool_index_get(S->columns, S->index_type, t)] += ((const double *)samples)[t];
        }
    } else {
        float *row = (float *)product->data + i * product->stride;
        memset(row, 0, (size_t)product->cols * sizeof *row);
        for (int64_t t = begin; t < end; t++) {
            row[tool_index_get(S->columns, S->index_type, t)] += ((const float *)samples)[t];
        }
    }
}

typedef struct sampling {
    const tamis_sparse *S;
    const tamis_dense *product;
    void *samples;
    bool mask;
    _Atomic int64_t next; /* the first row that no thread has taken */
} sampling;

static void sample_rows(void *context, int share, int shares) {
    enum { ROWS = 64 };
    sampling *const w = context;
    (void)share, (void)shares;
    for (int64_t begin = atomic_fetch_add(&w->next, ROWS); begin < w->S->rows; begin = atomic_fetch_add(&w->next, ROWS))
        for (int64_t i = begin; i < begin + ROWS && i < w->S->rows; i++) {
            sample_row(w->S, i, w->product, w->samples);
            if (w->mask) mask_row(w->S, i, w->samples, w->product);
        }
}

static tamis_status execute(tool_peer *peer, double beta) {
    const state *self = peer->own;
    const tool_problem *problem = peer->host;
    (void)beta; /* always 0: make() declines others */
    api.set_threads(peer->threads);
    if (problem->operation == TAMIS_OP_SPMM) {
        multiply(&self->matrix, &problem->B, false, &problem->output);
        return TAMIS_OK;
    }
    const bool fused = problem->operation == TAMIS_OP_FUSED;
    void *samples = fused ? self->samples : problem->output.data;
    multiply(&problem->A, &problem->B, true, &self->matrix);
    sampling work = {.S = &problem->S, .product = &self->matrix, .samples = samples, .mask = fused};
    tamis_threads_run(peer->threads, sample_rows, &work);
    if (fused) multiply(&self->matrix, &problem->D, false, &problem->output);
    return TAMIS_OK;
}

static void release(tool_peer *peer) {
    state *self = peer->own;
    free(self->matrix.data);
    free(self->samples);
}

/* Writes S as a dense matrix. Values of duplicates are added. */
static void fill(const tamis_sparse *S, const tamis_dense *matrix) {
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t end = tool_index_get(S->offsets, S->offset_type, i + 1);
        for (int64_t t = tool_index_get(S->offsets, S->offset_type, i); t < end; t++) {
            const int64_t at = i * matrix->stride + tool_index_get(S->columns, S->index_type, t);
            const double value = S->values ? tool_element_get(S->values, S->value_type, t) : 1;
            tool_element_set(matrix->data, matrix->type, at, tool_element_get(matrix->data, matrix->type, at) + value);
        }
    }
}

static bool make(tool_peer *peer) {
    static const char *const ways[] = {[TAMIS_OP_SDDMM] = "gemm, sampled",
                                       [TAMIS_OP_SPMM] = "gemm of a dense S",
                                       [TAMIS_OP_FUSED] = "gemm, masked, gemm"};
    const tool_problem *problem = peer->host;
    const tamis_sparse *S = &problem->S;
    const char *refused = tool_peer_refusal_of_reals(problem);
    if (refused) return tool_peer_decline(peer, "%s", refused);
    if (!tool_peer_takes_dense(peer, problem, "matrix", tool_peer_free_host_memory(), "memory")) return false;
    state *self = peer->own;
    const double start = tool_seconds();
    self->matrix = tool_dense_create(S->rows, S->cols, problem->type, TAMIS_ROW_MAJOR, 0, 0).view;
    if (problem->operation == TAMIS_OP_SPMM) fill(S, &self->matrix);
    if (problem->operation == TAMIS_OP_FUSED) {
        self->samples = tool_allocate((size_t)S->nnz, tamis_type_size(problem->type));
    }
    peer->setup = tool_seconds() - start;
    snprintf(peer->variant, sizeof peer->variant, "%s", ways[problem->operation]);
    return true;
}

static const char *const candidates[] = {"libopenblas.so.0", "libopenblas.so", NULL};

/* Otherwise its threads spin for 2^26 cycles after a call, and slow down the next contestant. */
const tool_peer_kind tool_peer_openblas = {.library = "openblas",
                                           .name = "openblas",
                                           .places = TOOL_PEER_CPU,
                                           .variable = "TAMIS_OPENBLAS",
                                           .candidates = candidates,
                                           .setting = "OPENBLAS_THREAD_TIMEOUT",
                                           .value = "20",
                                           .symbols = symbols,
                                           .state_bytes = sizeof(state),
                                           .make = make,
                                           .execute = execute,
                                           .release = release};
