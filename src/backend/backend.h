/*
 * Interface of a backend: a table of algorithms and functions over a common description of the problem. A backend
 * includes this header, never another backend; src/core walks the table.
 */
#ifndef TAMIS_BACKEND_BACKEND_H
#define TAMIS_BACKEND_BACKEND_H

#include <tamis/algorithms.h>
#include <tamis/ceilings.h>
#include <tamis/mask.h>
#include <tamis/structure.h>
#include <tamis/tamis.h>

#include "backend/rates.h"
#include "expression/edge.h"

/* Passed instead of a stream to allocate or release memory that work in any stream may use. Both may then wait for the
   device. */
#define TAMIS_ALL_STREAMS ((void *)(intptr_t)-1)

typedef struct tamis_backend tamis_backend;

/* Parameters of the edges, from tamis_options. */
typedef struct tamis_edge_constants {
    double scale, slope, epsilon;
    const tamis_edge_text *text; /* of TAMIS_EDGE_TEXT, else NULL */
} tamis_edge_constants;

static inline tamis_edge_constants tamis_edge_constants_of(const tamis_options *options, const tamis_edge_text *text) {
    return (tamis_edge_constants){options->edge_scale, options->edge_slope, options->edge_epsilon, text};
}

enum { TAMIS_SAMPLED_MOST = 12 };

/* Inputs of predictions, choices and parameters: the pattern's profile, the machine, and the expected use. */
typedef struct tamis_evidence {
    tamis_profile profile; /* exact for the rows; bandwidth and span are estimates */
    tamis_ceilings ceilings;
    double rates[TAMIS_RATES_MOST]; /* of this device's predictions: see backend/rates.h */
    tamis_rates_source rates_source;
    double fresh_share;    /* share of the column accesses that are new within a window of L2's size; 1: no reuse */
    double panel_fresh[2]; /* GPUs: distinct columns per nonzero in panels of 128 and of 256 rows; 1: none is shared */
    double row_fresh;      /* GPUs: upper limit of the share of nonzeros in rows unlike the previous one; 1: all */
    double sampled[TAMIS_SAMPLED_MOST]; /* CPU: shapes that its methods make of the pattern: see cpu/rates.h */
    int64_t cache_l1, cache_l2, cache_l3;
    int64_t expected_calls;
} tamis_evidence;

/*
 * The problem of a plan after all checks: always CSR, row-major, defaults filled in. The caller or the plan owns the
 * arrays. The pattern is fixed; the values come with each execution.
 */
typedef struct tamis_problem {
    tamis_operation operation;
    tamis_edge edge; /* TAMIS_EDGE_SCALE for SpMM */
    tamis_type type;
    tamis_type output_type; /* of p, C or E: `type`, or fp32 if that has 16 bits */
    tamis_type value_type;  /* of S's values: `type`, or in SpMM fp32 if that has 16 bits */
    tamis_math math;        /* TF32: algorithms may round fp32 inputs to it; others are exact */
    int64_t rows, cols, nnz;
    const void *offsets, *columns;
    tamis_index_type offset_type, index_type;
    const tamis_mask *mask; /* S's while the plan is made, if its columns are not listed; else NULL */
    bool mask_turned;       /* the problem has the transpose of the mask, and no offsets */
    bool has_values;
    int64_t inner, width; /* K and L; 0 if the operation has none */
    tamis_edge_constants edge_constants;
    int64_t batch;        /* members of an execution, 1 or more */
    int64_t staged_bytes; /* of a member's operands in the workspace, which kernels cannot use in place */
    bool keep_softmax;    /* edge softmax: executions may ask for softmax_rows */
    bool d_is_b;          /* fused: D is B in all executions. It may be the same without this, too: see tamis_d_is_b */
    int threads;
    bool deterministic;
    const char *parameters;         /* the user's; "": none */
    const tamis_evidence *evidence; /* not part of the problem: input of predictions and choices */
    const tamis_backend *backend;   /* the backend that solves it; measuring executes through its table */
    void *device;                   /* the backend's handle of the device */
    void *stream;    /* the stream in which the plan is made; core waits for it once, at the end, if the plan is kept */
    bool once;       /* for a single call in that stream: nothing may be prepared for later calls */
    bool unchecked;  /* the pattern has not been checked: order_rows (COO) or profile (CSR) checks it */
    bool lists_rows; /* order_rows may drop the empty rows of a COO */
    bool columns_rise; /* columns of a COO to be transposed are sorted; false: unknown */
    bool may_guess;    /* the profile may be guessed from the sizes, so as not to wait for the device */
} tamis_problem;

/* The stream of memory that lives as long as the plan: a plan that is kept may be executed in any stream. */
static inline void *tamis_kept_stream(const tamis_problem *problem) {
    return problem->once ? problem->stream : TAMIS_ALL_STREAMS;
}

/* A place in memory: with OpenCL a buffer's handle and an offset within it, otherwise a pointer and an offset. */
typedef struct tamis_place {
    void *base; /* NULL: no memory */
    int64_t bytes;
} tamis_place;

/* A row-major matrix of each member of a batch. All backends' calls describe matrices so. */
typedef struct tamis_matrix {
    tamis_place at;       /* of the first member; base NULL: absent, or not wanted */
    int64_t stride;       /* elements between rows */
    int64_t batch_stride; /* elements between members; 0: all share one */
} tamis_matrix;

/* Makes member `number` the first one. */
static inline void tamis_matrix_advance(tamis_matrix *x, int64_t number, tamis_type type) {
    if (x->at.base) x->at.bytes += number * x->batch_stride * (int64_t)tamis_type_size(type);
}

/* One element per nonzero. If the elements are in the caller's order of entries (`scattered`), element permutation[t]
   belongs to nonzero t of the CSR. Also a named array of a text, which may have one per row, column or member. */
typedef struct tamis_edge_array {
    tamis_place at;       /* base NULL: absent, or not wanted */
    int64_t batch_stride; /* stride in elements between batch members */
    tamis_type type;      /* the job's type, or its accumulator type */
    bool scattered;
} tamis_edge_array;

/* One execution of one or more members of a batch. `values` (a vector) is absent if S has none. */
typedef struct tamis_operands {
    tamis_matrix values, a, b, d;
    tamis_matrix out;              /* P (a vector), C or E */
    tamis_place softmax_rows;      /* see tamis_execution; members are 2 * rows apart; base NULL: not wanted */
    int64_t batch;                 /* members, 1 or more */
    int64_t first_member;          /* the number of the first one in the batch of the call */
    const tamis_edge_array *named; /* the named arrays of a text, which begin with the batch's member 0; or NULL */
    const void *permutation;       /* of named arrays that are scattered */
    double alpha, beta;
    tamis_place scratch; /* scratch_bytes of the prepared algorithm, 64-byte aligned */
    /* stride in bytes between the members' scratch, multiples of 64; 0: they share it in turn */
    int64_t scratch_batch_stride;
} tamis_operands;

/* True if B and D are one matrix in these operands of fused. */
static inline bool tamis_d_is_b(const tamis_problem *problem, const tamis_operands *x) {
    const tamis_matrix *const b = &x->b, *const d = &x->d;
    return problem->inner == problem->width && d->at.base == b->at.base && d->at.bytes == b->at.bytes &&
           d->stride == b->stride && (x->batch == 1 || d->batch_stride == b->batch_stride);
}

/* An algorithm's predicted times for a problem. */
typedef struct tamis_prediction {
    double call_seconds, setup_seconds;
    char reason[192]; /* with the figures behind it, for explain */
} tamis_prediction;

typedef struct tamis_prepared tamis_prepared; /* an algorithm prepared for a problem; defined by the backend */

typedef struct tamis_prepared_sizes {
    size_t scratch_bytes;  /* for one member of an execution, in the plan's workspace */
    bool own_scratch;      /* members are computed concurrently: each needs its own scratch */
    size_t prepared_bytes; /* memory kept by the algorithm */
    tamis_math math;       /* TF32: the algorithm rounds inputs to it */
    char parameters[160];  /* in force, "tile_columns=1024,block_rows=256" */
} tamis_prepared_sizes;

/* Upper bound of the memory of a single call in addition to its operands, for any pattern: bytes per row and per
   nonzero; plus what threads need, and a few kilobytes. */
typedef struct tamis_call_bytes {
    int64_t row, entry;
} tamis_call_bytes;

/* The public part of an algorithm; the backend's own rows begin with it. */
typedef struct tamis_algorithm {
    tamis_algorithm_description description;
    bool needs_preparation; /* beyond the split among threads: one-shot calls skip it */
} tamis_algorithm;

/* The CSR, with offsets from 0, of a COO view, of a slice of rows, or of the transpose of any view. The backend
   allocates and releases the arrays. */
typedef struct tamis_row_order {
    void *offsets;
    const void *columns; /* own_columns, or a place in the view's columns */
    void *own_columns;
    void *permutation; /* int64: entry t of the CSR is entry permutation[t] of the view; NULL: identity */
    void *rows;        /* int64: row i of the CSR is row rows[i] of the view; NULL: identity */
    int64_t row_count; /* with `rows` */
    tamis_index_type offset_type;
    bool columns_rise; /* columns of the COO are sorted; false: unknown */
} tamis_row_order;

/* Transposition, for one or more members, between a strided column-major matrix and `packed`, row-major rows x cols
   without padding. */
typedef struct tamis_transposition {
    tamis_type type;
    int threads;
    tamis_place packed, strided;
    int64_t stride, rows, cols;
    int64_t members, packed_step, strided_step; /* steps: elements between members */
    bool out;                                   /* true: from packed to strided; false: the reverse */
} tamis_transposition;

/* Permutation of the elements of one or more members: packed[t] and scattered[permutation[t]]. */
typedef struct tamis_permutation {
    tamis_type type;
    int threads;
    int64_t nnz, members;
    int64_t packed_step, scattered_step; /* elements between members */
    const void *permutation;
    tamis_place packed, scattered;
    bool out; /* true: from packed to scattered; false: the reverse */
} tamis_permutation;

/* Row gather: row t of `to` becomes row rows[t] of `from`. */
typedef struct tamis_gathering {
    tamis_type type;
    int threads;
    tamis_layout layout; /* of `from`; `to` is row-major */
    tamis_place from, to;
    int64_t stride, to_stride; /* of `from` and of `to`, in elements */
    int64_t cols, count;
    const void *rows; /* int64, in the backend's memory; NULL: 0, 1, 2, ... */
} tamis_gathering;

/*
 * Adds rows in a fixed order, so the result is deterministic:
 *
 *     row i of `to` = factor * (row i of `own` + sum of rows places[t] of `others`) + keep * row i of `to`
 *                     with t = starts[i] .. starts[i + 1] - 1
 *
 * `own` and `others` have the accumulator type of `type`. own.base NULL: there are no own rows, and a row without
 * others stays as it is (keep is 1). `weighted`: each row is a part of a softmax over more entries than its own. Its
 * largest score and its sum of exponentials are `pair` elements after its first one; the parts are merged, and `merged`
 * gets the pair of each row of `to`, contiguously.
 */
typedef struct tamis_row_sum {
    tamis_type type; /* of `to` */
    int threads;
    tamis_layout layout; /* of `to`; the others are row-major */
    tamis_place own, others, to;
    int64_t part_stride, stride; /* of `own` and `others`, and of `to`, in elements */
    int64_t cols, count;
    const void *starts, *places; /* int64, in the backend's memory */
    double factor, keep;         /* keep = 0: `to` is not read */
    bool weighted;
    int64_t pair;
    tamis_place merged; /* base NULL: not wanted */
} tamis_row_sum;

/* Data that a rank sends to and receives from each other rank, in device memory: bytes starts[r] .. starts[r + 1] -
   1. */
typedef struct tamis_messages {
    int rank, ranks;
    const void *send;
    void *receive;
    const int64_t *send_starts, *receive_starts;
} tamis_messages;

/* A library for messages between devices (NCCL), opened at run time. */
enum { TAMIS_MEETING_BYTES = 128 };
typedef struct tamis_messenger {
    tamis_status (*open)(void); /* the error says where it was searched */
    tamis_status (*invite)(void *device, char meeting[TAMIS_MEETING_BYTES]);
    /* all ranks call this with the same meeting, which one of them made; it waits for all of them */
    tamis_status (*join)(void *device, const char meeting[TAMIS_MEETING_BYTES], int rank, int ranks, void **place);
    tamis_status (*exchange)(void *device, void *place, void *stream,
                             const tamis_messages *messages); /* enqueued in the stream */
    tamis_status (*check)(void *device, void *place);         /* errors since the last check */
    void (*leave)(void *device, void *place, bool abort);     /* abort: ends what is still running */
} tamis_messenger;

typedef struct tamis_dense_functions tamis_dense_functions;               /* backend/dense.h */
typedef struct tamis_edge_functions tamis_edge_functions;                 /* backend/edge.h */
typedef struct tamis_backward_functions tamis_backward_functions;         /* backend/gradient.h */
typedef struct tamis_message_functions tamis_message_functions;           /* backend/message.h */
typedef struct tamis_attention_functions tamis_attention_functions;       /* backend/attention.h */
typedef struct tamis_cached_job tamis_cached_job;                         /* backend/cached_attention.h */
typedef struct tamis_edge_network_functions tamis_edge_network_functions; /* backend/edge_network.h */

struct tamis_backend {
    const char *name;
    const tamis_algorithm *(*algorithm)(int number); /* NULL past the last */
    /* false with the reason if the algorithm cannot serve the problem */
    bool (*accepts)(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes);
    void (*predict)(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction);
    tamis_status (*prepare)(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prepared **prepared);
    int (*device_count)(void);
    /* opens a device; the handle is NULL on the CPU, and otherwise lives as long as the process */
    tamis_status (*open)(int number, void **device);
    tamis_status (*describe)(int number, tamis_device_description *description);
    const char *(*why_absent)(int number); /* "" if present */
    /* Measures the ceilings; src/select caches them. brief: takes a twentieth of a second or nothing, with defaults for
       what takes longer. */
    tamis_status (*ceilings)(int number, int threads, bool brief, tamis_ceilings *ceilings);
    tamis_ceilings (*default_ceilings)(int number, int threads); /* if nothing can be measured */
    const tamis_rate_table *rates;
    int (*processors)(void);                  /* processors on which `threads` threads run; NULL: not applicable */
    int64_t (*allocation_most)(void *device); /* largest allocation in bytes; NULL: all of its memory */
    tamis_status (*execute)(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);
    void (*sizes)(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
    /* upper bound over all algorithms that single calls choose from; the problem has no pattern and no evidence yet */
    tamis_call_bytes (*call_bytes)(const tamis_problem *problem);
    void (*release)(tamis_prepared *prepared);

    /* memory of the operands: host memory on the CPU */
    tamis_location location;
    bool handles; /* memory has handles instead of addresses (OpenCL) */
    /* Memory for later work in `stream`, or TAMIS_ALL_STREAMS. It is released with the same stream, and is reusable
       after the work that is in the stream at that time. */
    tamis_status (*allocate)(void *device, void *stream, size_t bytes, const char *what, void **memory);
    void (*release_memory)(void *device, void *stream, void *memory);
    tamis_status (*copy_in)(void *device, void *stream, tamis_place to, const void *from, size_t bytes);
    tamis_status (*copy_out)(void *device, void *stream, void *to, tamis_place from, size_t bytes);
    tamis_status (*copy_in_async)(void *device, void *stream, tamis_place to, const void *from, size_t bytes);
    tamis_status (*copy_out_async)(void *device, void *stream, void *to, tamis_place from, size_t bytes);
    tamis_status (*copy_from)(void *device, void *stream, tamis_place to, void *from_device, tamis_place from,
                              size_t bytes); /* another device of this backend */
    tamis_status (*copy_within)(void *device, void *stream, tamis_place to, tamis_place from, size_t bytes);
    tamis_status (*finish)(void *device, void *stream); /* waits for all work of the stream */

    /* pinned host memory, which the device copies by DMA */
    tamis_status (*host_allocate)(void *device, size_t bytes, void **memory);
    void (*host_release)(void *device, void *memory);

    /* streams other than the default one; NULL on the CPU. Work in an `urgent` stream has priority, if the device
       supports it. */
    tamis_status (*stream_create)(void *device, bool urgent, void **stream);
    void (*stream_destroy)(void *device, void *stream);
    tamis_status (*stream_wait)(void *device, void *stream, void *event);

    /* events of a stream; `record` creates one if *event is NULL */
    tamis_status (*record)(void *device, void *stream, void **event);
    tamis_status (*elapsed)(void *device, void *start, void *end, double *seconds);
    void (*release_event)(void *device, void *event);
    bool (*event_passed)(void *device, void *event); /* without waiting */

    /* fails if no plan can be made in that stream, as during a graph capture; NULL: always possible */
    tamis_status (*check_stream)(void *device, void *stream);

    /* fails, naming `name`, if the device's kernels cannot use that address; NULL: unknown */
    tamis_status (*check_place)(void *device, const void *pointer, const char *name);

    /* These read the pattern in place, in the stream; views have passed tamis_sparse_check. order_rows reads device,
       stream, once, unchecked and threads of the problem; its arrays belong to tamis_kept_stream. If the backend
       checks_while_profiling, it checks an `unchecked` pattern on the way: order_rows checks COO; profile checks CSR,
       including a slice's. A pattern to be transposed must have passed validate. */
    bool checks_while_profiling;
    tamis_status (*validate)(void *device, void *stream, int threads, const tamis_sparse *S);
    tamis_status (*order_rows)(const tamis_problem *problem, const tamis_sparse *S, bool transpose,
                               tamis_row_order *order);
    tamis_status (*profile)(const tamis_problem *problem, tamis_evidence *evidence); /* its profile and fresh shares */

    /* True if the algorithm needs no list of the columns of a mask of runs (sparse/mask_runs.h): such a problem has a
       mask, and `profile` knows it. NULL: all need lists. */
    bool (*unlisted)(const tamis_algorithm *algorithm, const tamis_problem *problem);

    /* The pattern of a mask that core has checked: its row offsets and *nnz, then its columns. With nnz = NULL it does
       not wait for the stream. It is an error if the offset type cannot hold nnz. */
    tamis_status (*mask_offsets)(void *device, void *stream, int threads, const tamis_mask *mask,
                                 tamis_index_type offset_type, void *offsets, int64_t *nnz);
    tamis_status (*mask_columns)(void *device, void *stream, int threads, const tamis_mask *mask,
                                 tamis_index_type offset_type, const void *offsets, tamis_index_type index_type,
                                 void *columns);

    /* helpers of executions, besides the algorithm; `ready` compiles everything that a plan will use */
    tamis_status (*ready)(void *device, tamis_type type, bool transposes, bool permutes);
    tamis_status (*transpose)(void *device, void *stream, const tamis_transposition *transposition);
    tamis_status (*permute)(void *device, void *stream, const tamis_permutation *permutation);
    tamis_status (*gather)(void *device, void *stream, const tamis_gathering *gathering);
    tamis_status (*add_rows)(void *device, void *stream, const tamis_row_sum *sum);

    const tamis_messenger *messenger;   /* NULL: none */
    const tamis_dense_functions *dense; /* NULL: none */
    const tamis_edge_functions *edges;
    const tamis_backward_functions *back;       /* NULL: none */
    const tamis_message_functions *messages;    /* NULL: none */
    const tamis_attention_functions *attention; /* NULL: none */
    tamis_status (*cached_attend)(const tamis_cached_job *job);
    const tamis_edge_network_functions *edge_network; /* NULL: none */
};

/* Number of batch members per call of the backend. This bounds the workspace: members that need much of it fill a
   device by themselves. What a processor stages stays in its cache. */
static inline int64_t tamis_members_at_once(const tamis_prepared_sizes *sizes, const tamis_problem *p) {
    enum { WORKSPACE_MOST = 64 << 20, CACHED_MOST = 512 << 10 };
    const bool cached = p->staged_bytes > 0 && p->backend->location == TAMIS_HOST;
    const int64_t all = cached ? CACHED_MOST : WORKSPACE_MOST, batch = p->batch;
    const int64_t scratch = sizes->own_scratch ? ((int64_t)sizes->scratch_bytes + 63) / 64 * 64 : 0;
    const int64_t member = scratch < INT64_MAX - p->staged_bytes ? scratch + p->staged_bytes : INT64_MAX;
    if (member <= all / batch) return batch;
    const int64_t most = member < all ? all / member : 1, calls = (batch + most - 1) / most;
    return (batch + calls - 1) / calls; /* equally many in each call */
}

#endif
