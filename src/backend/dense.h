/*
 * The dense companions of <tamis/dense.h> as backends see them: one description of a call and one table of functions.
 * src/core has checked everything. Empty matrices arrive only if something is to be written.
 */
#ifndef TAMIS_BACKEND_DENSE_H
#define TAMIS_BACKEND_DENSE_H

#include <tamis/dense.h>

#include "backend/backend.h"

/* Kinds of map with their own public functions. */
enum {
    TAMIS_MAP_COMBINE = TAMIS_MAP_ADAGRAD + 1, /* z = c x + d z; d = 0 does not read z */
    TAMIS_MAP_FILL                             /* z = c */
};

/* The widest matrix of a Gram product, since each chunk has width^2 partial sums. */
enum { TAMIS_DENSE_GRAM_MOST = 1024 };

/*
 * Sums over rows are cut into chunks that depend only on the sizes, and the chunks' sums are added in order: the result
 * does not depend on the number of threads. Partial sums take at most TAMIS_DENSE_PARTIALS places of 8 bytes, or one
 * row of them.
 */
enum { TAMIS_DENSE_CHUNKS = 256, TAMIS_DENSE_PARTIALS = 1 << 21, TAMIS_DENSE_CHUNK_ROWS = 256 };

typedef struct tamis_dense_job {
    void *device, *stream; /* of a GPU */
    int threads;           /* of the CPU */
    tamis_type type;       /* fp32 or fp64 */
    int64_t rows, cols;    /* multiply: of Y */
    int64_t last;         /* columns of the last row, if a packed matrix was cut into rows of equal length; else cols */
    int64_t inner;        /* multiply: columns of X */
    int64_t chunks;       /* gram, column sums, dot */
    int kind;             /* of map or scale; dot: 1 for logarithms */
    double c, d;          /* c and d; value; alpha and beta; shift and beta; alpha and diagonal; epsilon */
    tamis_matrix x, y, z; /* in the order of the call; row sums: y is NULL; log dot: x = W, y = X */
    tamis_matrix p, r;    /* conjugate_step: x = AP, z = X; coordinate_step: y = G, z = X */
    tamis_matrix weights, out; /* vectors: weights or lambda, NULL for none; sums, dots, rr */
    tamis_place workspace;
} tamis_dense_job;

/* Chunk number i of a job is the rows begin(i) .. begin(i + 1) - 1. */
static inline int64_t tamis_dense_chunk_begin(const tamis_dense_job *job, int64_t i) {
    const int64_t even = job->rows / job->chunks, more = job->rows % job->chunks;
    return even * i + (i < more ? i : more);
}

struct tamis_dense_functions {
    tamis_status (*ready)(void *device, tamis_type type); /* compiles everything that calls with this type need */
    tamis_status (*map)(const tamis_dense_job *job);
    tamis_status (*scale)(const tamis_dense_job *job);
    tamis_status (*multiply)(const tamis_dense_job *job);
    tamis_status (*gram)(const tamis_dense_job *job);
    tamis_status (*column_sums)(const tamis_dense_job *job);
    tamis_status (*row_dots)(const tamis_dense_job *job);
    tamis_status (*dot)(const tamis_dense_job *job, double *result);
    tamis_status (*conjugate_step)(const tamis_dense_job *job);
    tamis_status (*coordinate_step)(const tamis_dense_job *job);
};

#endif
