/*
 * What a backend is to the layers above it: a table of algorithms over a common description of the problem. A backend
 * includes this header and never another backend; src/core walks the table.
 */
#ifndef TAMIS_BASE_BACKEND_H
#define TAMIS_BASE_BACKEND_H

#include <tamis/tamis.h>

/*
 * The problem of a plan after all checks: always CSR, row-major, defaults filled in. Arrays stay the caller's or the
 * plan's. The pattern is fixed, the values are handed over with each execution.
 */
typedef struct tamis_problem {
    tamis_operation operation;
    tamis_edge edge; /* scale for SpMM */
    tamis_type type;
    int64_t rows, cols, nnz;
    const void *offsets, *columns;
    tamis_index_type offset_type, index_type;
    bool has_values;
    int64_t inner, width; /* K and L; 0 where the operation has none */
    double edge_scale, edge_slope, edge_epsilon;
    int64_t expected_calls;
    int threads;
    bool deterministic;
    const char *parameters;       /* the user's, "" when none */
    const tamis_profile *profile; /* exact for the rows; bandwidth and span are estimates */
    const tamis_ceilings *ceilings;
    double fresh_share; /* share of the column accesses that a window of L2's size has not seen: 1 = no reuse */
    int64_t cache_l1, cache_l2, cache_l3;
} tamis_problem;

/* One execution: row-major operands, strides in elements. values is NULL where S has none. */
typedef struct tamis_operands {
    const void *values;
    const void *a, *b, *d;
    int64_t a_stride, b_stride, d_stride;
    void *out; /* p, C or E */
    int64_t out_stride;
    double alpha, beta;
    void *scratch; /* scratch_bytes of the prepared algorithm, 64-byte aligned */
} tamis_operands;

/* What the cost model says of an algorithm for a problem. */
typedef struct tamis_prediction {
    double call_seconds, setup_seconds;
    char reason[192]; /* the figures behind it, for explain */
} tamis_prediction;

typedef struct tamis_prepared tamis_prepared; /* an algorithm made ready for a problem; the backend's own */

typedef struct tamis_prepared_sizes {
    size_t scratch_bytes;  /* per execution, from the plan's workspace */
    size_t prepared_bytes; /* kept by the algorithm */
    char parameters[160];  /* those in force, "tile_columns=1024,block_rows=256" */
} tamis_prepared_sizes;

typedef struct tamis_algorithm {
    tamis_algorithm_description description;
    bool needs_preparation; /* more than the split between threads: left out of one-shot calls */
    /* false with the reason when the algorithm cannot serve the problem */
    bool (*accepts)(const tamis_problem *problem, char *reason, size_t bytes);
    void (*predict)(const tamis_problem *problem, tamis_prediction *prediction);
    /* `dry`: only choose parameters and sizes, for the workspace query */
    tamis_status (*prepare)(const tamis_problem *problem, bool dry, tamis_prepared **prepared);
} tamis_algorithm;

typedef struct tamis_backend {
    const char *name;
    const tamis_algorithm *(*algorithms)(int *count);
    int (*device_count)(void);
    tamis_status (*describe)(int number, tamis_device_description *description);
    const char *(*why_absent)(int number); /* "" when present */
    /* measures; caching is src/select's */
    tamis_status (*ceilings)(int number, int threads, tamis_ceilings *ceilings);
    tamis_ceilings (*default_ceilings)(int number, int threads); /* where nothing can be measured */
    tamis_status (*execute)(tamis_prepared *prepared, void *stream, const tamis_operands *operands);
    void (*sizes)(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
    void (*release)(tamis_prepared *prepared);
    /* to row-major from column-major and back with packed row-major on the other side, strides in elements */
    void (*stage_in)(tamis_type type, int threads, void *to, const void *from, int64_t from_stride, int64_t rows,
                     int64_t cols);
    void (*stage_out)(tamis_type type, int threads, void *to, int64_t to_stride, const void *from, int64_t rows,
                      int64_t cols);
} tamis_backend;

#endif
