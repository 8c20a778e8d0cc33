/*
 * The three operations on several devices or processes. S is distributed by rows, B and D by rows as well: see
 * <tamis/shard.h>. Before a rank computes its rows, it receives exactly the rows of B and D that its nonzeros need from
 * other ranks. No sums are needed afterwards, and softmax needs nothing more.
 *
 *     tamis_group *group;       one rank's end of it: from tamis_group_open_local, or tamis_group_open with MPI
 *     tamis_group_plan_create(group, &S, own_rows, &options, &plan);    S: this rank's rows, with global columns
 *     tamis_group_plan_fused(plan, &A, &B, &D, &E, NULL);               A, E: rows of S; B, D: own_rows rows
 *
 * Calls on a group and its plans, except those that describe or free, are collective: each rank makes the same calls in
 * the same order, from one thread at a time. If a rank's arguments are wrong or its memory is short, the call returns
 * that rank's error on all ranks, with "rank 2: " in front of the message, and the group remains usable. If a rank does
 * not join a call within the transport's time limit, dies, or closes its group, then this call and all later ones
 * return TAMIS_ERROR_DEVICE on the other ranks. No call waits for ever.
 *
 * On GPUs, A, B, D, the outputs and execution.values are in the device's memory, and an execution submits its work to
 * execution.stream and returns, as for plans: the host waits only for the other ranks' hosts. Devices of one kind copy
 * from each other, over their link if they have one. Devices of several kinds, and GPUs over a transport that knows
 * only the host's memory, pass rows through pinned host memory; the host then waits for its device as well.
 */
#ifndef TAMIS_GROUP_H
#define TAMIS_GROUP_H

#include <tamis/tamis.h>
#include <tamis/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- groups */

/* One rank's end of a group. */
typedef struct tamis_group tamis_group;

/*
 * Makes a group of the threads of this process: groups[r] is rank r's end, on devices[r], for one thread. It is not
 * collective: one thread makes all ends and passes them out. The same device may be given several times; ranks whose
 * options.threads is 0 then share its threads. options may be NULL. Each end must be closed.
 */
TAMIS_API tamis_status tamis_group_open_local(tamis_device *const *devices, int ranks,
                                              const tamis_transport_options *options, tamis_group **groups);

/* The work of one rank. All ranks make the same calls of the group in the same order. It must not throw or longjmp
   (<tamis/types.h>). */
typedef tamis_status (*tamis_rank_work)(void *context, int rank);

/*
 * Calls work(context, rank) for each rank 0 .. ranks - 1, each in its own thread, as a local group needs, and returns
 * when all have ended. If a thread cannot be started, it calls none and returns TAMIS_ERROR_MEMORY. It returns TAMIS_OK
 * if all ranks do. Otherwise it returns the status and message of the first rank that failed by itself; ranks that
 * failed only because the group did are reported only if there is no other.
 */
TAMIS_API tamis_status tamis_group_run(int ranks, tamis_rank_work work, void *context);

/* Makes this rank's end of a group over a transport, whose table is copied. The caller closes the transport after the
   group. */
TAMIS_API tamis_status tamis_group_open(tamis_device *device, const tamis_transport *transport, tamis_group **group);

/*
 * Makes a transport that moves the memory of CUDA devices by NCCL, and leaves all else to `below`, which connects the
 * same ranks, for instance over MPI. NCCL is opened at run time; TAMIS_NCCL names its file where it is not found. Its
 * ranks join in the first exchange. Close the transport after the group, and `below` after it.
 */
TAMIS_API tamis_status tamis_nccl_open(tamis_device *device, const tamis_transport *below, tamis_transport *transport);
TAMIS_API void tamis_nccl_close(tamis_transport *transport);

/* Closes this rank's end; NULL is allowed. Destroy its plans first. */
TAMIS_API void tamis_group_close(tamis_group *group);

/* One end of a group. */
typedef struct tamis_group_description {
    int rank, ranks;
    const char *transport; /* "threads", "mpi"; lives as long as the group */
    uint64_t reserved[6];
} tamis_group_description;

/* Describes an open group. */
TAMIS_API tamis_status tamis_group_describe(const tamis_group *group, tamis_group_description *description);

/* ---------------------------------------------------------------------------------------------- plans */

/* An operation on one distributed pattern, with the lists of its exchange and its buffers: one execution at a time. */
typedef struct tamis_group_plan tamis_group_plan;

/*
 * Makes a plan. S is this rank's rows, a CSR on the host with the columns of the whole matrix; a slice of rows is fine.
 * The whole S is the concatenation of the ranks' rows in the order of ranks. own_rows is the number of rows of B and D
 * that this rank has, also in the order of ranks; their sum over ranks must be S.cols. S.rows and own_rows may be 0.
 * options are as for tamis_plan_create. All ranks must agree on what is computed: operation, edge and its parameters,
 * type, inner, width, batch and transpose. The rest, such as threads and algorithm, is each rank's own. The pattern is
 * copied; S's values must live as long as the plan. A GPU copies the values too: later changes of them go unseen, and
 * executions with other values pass them.
 *
 * options.overlap: with ALWAYS, a rank overlaps computation and communication in one of two ways. By columns: it
 * computes the entries with own columns while ghost rows arrive, and then adds the rest: SpMM and fused as C = own
 * part, C = C + rest. This is impossible with a softmax, which needs whole rows, with 16-bit outputs of SpMM and fused,
 * which would be rounded twice, with options.no_workspace, and without ghost rows. By rows: if a range of rows with at
 * least half of the nonzeros needs no ghost rows, it computes that range meanwhile, and the other rows afterwards. This
 * is impossible only with options.keep_softmax or no_workspace, and is preferred. AUTO overlaps by columns on GPUs, and
 * by rows on all devices, if that is predicted to be faster. Each rank may choose differently. By columns, results
 * differ by the rounding of one more sum.
 *
 * options.exchange: with REPLICATE, a rank receives all rows of B that it does not own, needed or not: the baseline, as
 * in Nisa et al.: Sampled Dense Matrix Multiplication. With COVER, ranks compute partial rows of the output for each
 * other where these take fewer bytes than rows of B: SpMM, and fused without softmax; not with the transpose, nor with
 * options.no_workspace. AUTO uses COVER if it is predicted to be faster. tamis_group_plan_explain estimates all three.
 * All ranks must agree on it.
 */
TAMIS_API tamis_status tamis_group_plan_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                               const tamis_options *options, tamis_group_plan **plan);
TAMIS_API void tamis_group_plan_destroy(tamis_group_plan *plan); /* NULL is allowed; not collective */

/*
 * With options.transpose, SpMM and fused compute with S^T, which is distributed by columns. B and D then belong to the
 * rank's rows of S; A, C and E have own_rows rows. Each rank computes its columns' contributions to all rows of the
 * output. Partial sums for rows of other ranks go to the owners, which add them in the order of ranks: the same bits
 * each time. They are exchanged in the accumulator type (fp32 for 16 bits), and rounded once. execution.generation is
 * then the version of A.
 *
 * Executions, as in <tamis/tamis.h>. Each rank passes its own rows: A, C, E and P belong to its rows of S, in S's
 * order, and B and D have own_rows rows. execution may be NULL; its values belong to this rank's S. Members of a batch
 * are exchanged together. If B and D are the same matrix, its rows are exchanged once. execution.generation is a
 * version number of B and D: if it is not 0 and the same as in the plan's last execution on each rank, the plan reuses
 * its ghost rows without an exchange.
 */
TAMIS_API tamis_status tamis_group_plan_sddmm(tamis_group_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                              const tamis_dense *P, const tamis_execution *execution);
TAMIS_API tamis_status tamis_group_plan_spmm(tamis_group_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                             const tamis_execution *execution);
TAMIS_API tamis_status tamis_group_plan_fused(tamis_group_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                              const tamis_dense *D, const tamis_dense *E,
                                              const tamis_execution *execution);

/* Returns the plan of this rank's local computation, for tamis_plan_explain, tamis_plan_describe and
   tamis_plan_workspace_size; if the group's plan overlaps, the plan of the entries with own columns. It lives as long
   as the group's plan. */
TAMIS_API const tamis_plan *tamis_group_plan_local(const tamis_group_plan *plan);

/* Sizes, communication and predictions of a plan. */
typedef struct tamis_group_report {
    int rank, ranks;
    int64_t rows, cols, nnz;      /* of the whole S */
    int64_t nnz_here, nnz_most;   /* nonzeros of this rank; largest of all ranks */
    double imbalance;             /* nnz_most / mean, 1 if all ranks have the same number; 1 if nnz = 0 */
    int64_t own_rows, ghost_rows; /* rows of B that this rank owns, and that it receives */
    int64_t send_rows;            /* rows that it sends, counted once for each receiver */
    int sources, targets;         /* messages that it receives and sends */
    int64_t ghosts, ghosts_most;  /* rows received, including partial rows: sum over all ranks; largest of all ranks */
    int64_t row_bytes;    /* of one exchanged row: all members of a batch of B and D; less if they share one matrix */
    size_t buffer_bytes;  /* of the plan's buffers */
    double setup_seconds; /* of tamis_group_plan_create on this rank, including waiting for others */
    bool overlaps;        /* this rank computes with its own rows while ghost rows arrive */
    /* Predictions, in seconds, of the slowest rank; 0 if a local plan has no model, or for transports that the library
       does not know. The link's rates were measured on two H200 over NVLink; the CPU uses the memory's rate. */
    double exchange_seconds;   /* of the plan's exchange: 1d-fetch, the needed rows, unless options.exchange says
                                  otherwise */
    double replicated_seconds; /* static-split: all rows of B to all ranks */
    double together_seconds;   /* an execution, exchange included */
    double alone_seconds; /* of the whole computation on one rank: the sum of the ranks' computations, with all threads
                             of a CPU that they share */
    int64_t back_bytes;   /* of one row of partial sums sent back to its owner, with options.transpose; else 0 */
    uint64_t reserved[1];
} tamis_group_report;

/* Describes a plan. */
TAMIS_API tamis_status tamis_group_plan_describe(const tamis_group_plan *plan, tamis_group_report *report);

/* The same as a text of several lines, followed by that of tamis_plan_explain for this rank. It is truncated to
   `bytes`, including a final zero. *needed (may be NULL) is the full length including the zero. text may be NULL if
   bytes is 0. */
TAMIS_API tamis_status tamis_group_plan_explain(const tamis_group_plan *plan, char *text, size_t bytes, size_t *needed);

/* ---------------------------------------------------------------------------------------------- gradients */

/* State of an operation's backward calls on a group: see <tamis/gradient.h>. One call at a time. */
typedef struct tamis_group_gradient tamis_group_gradient;

/*
 * Makes a gradient for the operation that a group's plan with the same arguments computes; neither needs the other.
 * Errors are as for tamis_group_plan_create. TAMIS_ERROR_UNSUPPORTED: softmax with options.transpose, whose rows are
 * distributed over several ranks.
 */
TAMIS_API tamis_status tamis_group_gradient_create(tamis_group *group, const tamis_sparse *S, int64_t own_rows,
                                                   const tamis_options *options, tamis_group_gradient **gradient);
TAMIS_API void tamis_group_gradient_destroy(tamis_group_gradient *gradient); /* NULL is allowed; not collective */

/* The bytes of workspace that a backward call needs on this rank. */
TAMIS_API tamis_status tamis_group_gradient_workspace_size(const tamis_group_gradient *gradient, size_t *bytes);

/*
 * Backward calls, as in <tamis/gradient.h>; collective. Each gradient has the rows of its matrix: dA, dP and dS depend
 * only on this rank's rows of S; dB and dD have own_rows rows and are sums over the nonzeros of all ranks. With the
 * transpose, dA is a sum over all ranks, and dB, dD and dS are local. Outputs that are NULL are not computed; a sum
 * over all ranks must be requested on all ranks or on none. Partial sums for rows of other ranks go to their owners in
 * the accumulator type, and are added in the order of ranks: the same bits each time. execution.softmax_rows has this
 * rank's rows, as a group's plan wrote them. execution.generation is the version number of B and D; with the transpose
 * it is ignored.
 */
TAMIS_API tamis_status tamis_group_sddmm_backward(const tamis_group_gradient *gradient, const tamis_dense *dP,
                                                  const tamis_dense *A, const tamis_dense *B, const tamis_dense *dA,
                                                  const tamis_dense *dB, const tamis_dense *dS,
                                                  const tamis_execution *execution);
TAMIS_API tamis_status tamis_group_spmm_backward(const tamis_group_gradient *gradient, const tamis_dense *dC,
                                                 const tamis_dense *B, const tamis_dense *dB, const tamis_dense *dS,
                                                 const tamis_execution *execution);
TAMIS_API tamis_status tamis_group_fused_backward(const tamis_group_gradient *gradient, const tamis_dense *dE,
                                                  const tamis_dense *A, const tamis_dense *B, const tamis_dense *D,
                                                  const tamis_dense *dA, const tamis_dense *dB, const tamis_dense *dD,
                                                  const tamis_dense *dS, const tamis_execution *execution);

#ifdef __cplusplus
}
#endif

#endif
