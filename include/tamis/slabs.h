/*
 * Out-of-core execution: the three operations on one device whose memory does not hold the matrices, which stay in host
 * memory. The device gets slabs: some rows of S at a time, with the same rows of A and of the output, through pinned
 * buffers. While it computes one slab, the next is uploaded and the previous one's output downloaded.
 *
 *     tamis_slab_options slabs = TAMIS_SLAB_OPTIONS_INIT;
 *     slabs.device_memory = (int64_t)2 << 30;
 *     tamis_slab_plan_create(device, &S, &options, &slabs, &plan);     S: on the host
 *     tamis_slab_plan_spmm(plan, &B, &C, NULL);                        B, C: on the host
 *
 * If B and D fit beside the slabs, they are copied once per execution and stay. Otherwise they are moved in tiles: for
 * each slab only the rows of B that its nonzeros need, as many at a time as fit, and the slab's output is accumulated
 * in device memory. Softmax needs whole rows at once, so there a slab has one tile.
 *
 *               B in the device's memory                 B in tiles
 *   slab 0      S, A rows 0 .. 99 ->  E rows 0 .. 99     S, A rows 0 .. 299; B rows 0 2 5 ..; then B rows 803 804 ..
 *   slab 1      S, A rows 100 .. ->   E rows 100 ..      S, A rows 300 ..  ; B rows 1 2 7 ..; ...
 *
 * It works on any device. On the CPU it saves nothing, since "the device's memory" is the host's.
 */
#ifndef TAMIS_SLABS_H
#define TAMIS_SLABS_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a plan uses the device. TAMIS_SLAB_OPTIONS_INIT sets the defaults, given here in parentheses. */
typedef struct tamis_slab_options {
    int64_t device_memory; /* bytes of the device's memory that the plan may use; 0: nine tenths of all of it (0) */
    uint64_t reserved[7];
} tamis_slab_options;

/* The defaults of a tamis_slab_options. */
#ifdef __cplusplus
#define TAMIS_SLAB_OPTIONS_INIT                                                                                        \
    ([] {                                                                                                              \
        tamis_slab_options tamis_initial = {};                                                                         \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_SLAB_OPTIONS_INIT                                                                                        \
    { .device_memory = 0 }
#endif

/* An operation on one pattern in host memory, with its slabs and buffers: one execution at a time. */
typedef struct tamis_slab_plan tamis_slab_plan;

/*
 * Makes a plan. S is a CSR on the host; a slice of rows is fine. S's arrays must live as long as the plan. Its pattern
 * must not change; its values may. options are as for tamis_plan_create, but transpose and keep_softmax must be false.
 * Each piece is computed by a one-shot call, so effort and expected_calls are not read. options.overlap = NEVER runs
 * all steps one after another and times each: see tamis_slab_report. slabs may be NULL.
 *
 * The buffers leave room for the calls' allocations for a piece, and a sixteenth of slabs.device_memory. An algorithm
 * that is named and prepares data may need more. Buffers and calls use options.allocator, if it is set. With tiles the
 * plan keeps the columns of each piece, in host memory: 4 bytes per nonzero, 12 if a slab has several tiles.
 * TAMIS_ERROR_MEMORY: the message says what does not fit and how much memory is needed.
 */
TAMIS_API tamis_status tamis_slab_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                              const tamis_slab_options *slabs, tamis_slab_plan **plan);
TAMIS_API void tamis_slab_plan_destroy(tamis_slab_plan *plan); /* NULL is allowed */

/*
 * Executions, as in <tamis/tamis.h>, but all operands and execution.values are in host memory, and the output is
 * complete when the call returns. execution may be NULL; its stream, workspace and softmax_rows must be NULL. The
 * members of a batch come one after another. After an error the output is unspecified.
 */
TAMIS_API tamis_status tamis_slab_plan_sddmm(tamis_slab_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                             const tamis_dense *P, const tamis_execution *execution);
TAMIS_API tamis_status tamis_slab_plan_spmm(tamis_slab_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                            const tamis_execution *execution);
TAMIS_API tamis_status tamis_slab_plan_fused(tamis_slab_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                             const tamis_dense *D, const tamis_dense *E,
                                             const tamis_execution *execution);

/* Sizes of a plan, and times of its last execution. */
typedef struct tamis_slab_report {
    int64_t device_memory;                /* bytes that the plan may use */
    int64_t buffer_bytes;                 /* device memory of its buffers */
    int64_t pinned_bytes, kept_bytes;     /* host memory: pinned buffers; lists of pieces */
    int64_t operand_bytes;                /* S, A, B, D and the output of one member */
    bool keeps_b;                         /* B and D are copied once per execution; else in tiles */
    int64_t slabs, pieces;                /* pieces: pairs of a slab and a tile */
    int64_t rows_most, nnz_most;          /* of a slab; of a piece */
    int64_t b_rows;                       /* rows of B that an execution copies, including repeated copies */
    int64_t upload_bytes, download_bytes; /* of one member of an execution with beta = 0 */
    double link_seconds; /* predicted time of these, if each direction has the rate of an H200's pinned memory; 0 on the
                            CPU */
    double setup_seconds; /* of tamis_slab_plan_create */
    double seconds;       /* of the last execution; 0: none yet */
    /* with TAMIS_OVERLAP_NEVER the times of its parts: copying to and from pinned memory, transfers, computing; else
       0 */
    double staging_seconds, transfer_seconds, compute_seconds;
    uint64_t reserved[8];
} tamis_slab_report;

/* Describes a plan. */
TAMIS_API tamis_status tamis_slab_plan_describe(const tamis_slab_plan *plan, tamis_slab_report *report);

/* The same as a text of several lines. It is truncated to `bytes`, including a final zero. *needed (may be NULL) is the
   full length including the zero. text may be NULL if bytes is 0. */
TAMIS_API tamis_status tamis_slab_plan_explain(const tamis_slab_plan *plan, char *text, size_t bytes, size_t *needed);

#ifdef __cplusplus
}
#endif

#endif
