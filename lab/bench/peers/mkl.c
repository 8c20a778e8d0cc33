/*
 * oneMKL: the product of its sparse BLAS, with the structure analysed in set-up (hint and optimize), as is usual for
 * many products. It has no SDDMM.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "kinds.h"

/* Values of its enumerations. */
enum {
    SUCCESS = 0,
    FROM_0 = 0,
    NO_TRANSPOSE = 10,
    GENERAL = 20,
    FILL_LOWER = 40,
    DIAGONAL_NOT_UNIT = 50,
    ROW_MAJOR = 101,
    GNU_THREADS = 3,
    CALLS = 1000
};

typedef struct description {
    int type, mode, diagonal;
} description;

static const description general = {GENERAL, FILL_LOWER, DIAGONAL_NOT_UNIT};

/* The functions that this peer calls, with its 32-bit int; a matrix is a pointer, enumerations are ints. Of two: [0]
   fp32, [1] fp64. */
static struct {
    int (*threading)(int layer);
    void (*set_threads)(int threads);
    int (*create[2])(void **matrix, int base, int rows, int cols, int *begins, int *ends, int *columns, void *values);
    int (*hint)(void *matrix, int op, description of, int layout, int width, int calls);
    int (*optimize)(void *matrix);
    int (*single)(int op, float alpha, void *matrix, description of, int layout, const float *b, int width,
                  int b_stride, float beta, float *c, int c_stride);
    int (*full)(int op, double alpha, void *matrix, description of, int layout, const double *b, int width,
                int b_stride, double beta, double *c, int c_stride);
    int (*destroy)(void *matrix);
} api;

static const tool_peer_symbol symbols[] = {{"MKL_Set_Threading_Layer", &api.threading},
                                           {"MKL_Set_Num_Threads", &api.set_threads},
                                           {"mkl_sparse_s_create_csr", &api.create[0]},
                                           {"mkl_sparse_d_create_csr", &api.create[1]},
                                           {"mkl_sparse_set_mm_hint", &api.hint},
                                           {"mkl_sparse_optimize", &api.optimize},
                                           {"mkl_sparse_s_mm", &api.single},
                                           {"mkl_sparse_d_mm", &api.full},
                                           {"mkl_sparse_destroy", &api.destroy},
                                           {0}};

static const char *begin(void) {
    api.threading(GNU_THREADS); /* Intel's own run time is another package */
    return NULL;
}

typedef struct state {
    void *matrix, *values;
} state;

static tamis_status execute(tool_peer *peer, double beta) {
    const tool_problem *problem = peer->host;
    const state *const self = peer->own;
    const tamis_dense *B = &problem->B, *C = &problem->output;
    (void)beta; /* always 0: make() declines others */
    api.set_threads(peer->threads);
    const int status = problem->type == TAMIS_F64
                           ? api.full(NO_TRANSPOSE, 1, self->matrix, general, ROW_MAJOR, B->data, (int)B->cols,
                                      (int)B->stride, 0, C->data, (int)C->stride)
                           : api.single(NO_TRANSPOSE, 1, self->matrix, general, ROW_MAJOR, B->data, (int)B->cols,
                                        (int)B->stride, 0, C->data, (int)C->stride);
    if (status == SUCCESS) return TAMIS_OK;
    tool_error("mkl: error %d", status);
    return TAMIS_ERROR_DEVICE;
}

static void release(tool_peer *peer) {
    state *const self = peer->own;
    if (self->matrix) api.destroy(self->matrix);
    free(self->values);
}

static bool serves(tool_peer *peer) {
    const tool_problem *problem = peer->host;
    const tamis_sparse *S = &problem->S;
    const char *refused = tool_peer_refusal_of_reals(problem);
    if (problem->operation != TAMIS_OP_SPMM)
        refused = "it only computes spmm";
    else if (!refused && (S->index_type != TAMIS_I32 || S->offset_type != TAMIS_I32))
        refused = "it supports only 32-bit indices and offsets";
    return !refused || tool_peer_decline(peer, "%s", refused);
}

static bool make(tool_peer *peer) {
    const tool_problem *problem = peer->host;
    const tamis_sparse *S = &problem->S;
    if (!serves(peer)) return false;
    const int rows = (int)S->rows, cols = (int)S->cols;
    int *const offsets = (int *)(uintptr_t)S->offsets; /* it does not write there */
    int *const columns = (int *)(uintptr_t)S->columns;
    state *const self = peer->own;
    const double start = tool_seconds();
    self->values = tool_peer_values(problem);
    api.set_threads(peer->threads);
    const int status = api.create[problem->type == TAMIS_F64](&self->matrix, FROM_0, rows, cols, offsets, offsets + 1,
                                                              columns, self->values);
    if (status != SUCCESS) return tool_peer_decline(peer, "error %d when the matrix is made", status);
    const int hinted = api.hint(self->matrix, NO_TRANSPOSE, general, ROW_MAJOR, (int)problem->B.cols, CALLS);
    if (hinted == SUCCESS) api.optimize(self->matrix);
    peer->setup = tool_seconds() - start;
    snprintf(peer->variant, sizeof peer->variant, "mkl_sparse_mm, optimized");
    return true;
}

static const char *const candidates[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so", NULL};

const tool_peer_kind tool_peer_mkl = {.library = "mkl",
                                      .name = "mkl",
                                      .places = TOOL_PEER_CPU,
                                      .variable = "TAMIS_MKL",
                                      .candidates = candidates,
                                      .symbols = symbols,
                                      .begin = begin,
                                      .state_bytes = sizeof(state),
                                      .make = make,
                                      .execute = execute,
                                      .release = release};
