/*
 * Tamis: SDDMM, SpMM and both fused into one call, on CPUs and GPUs.
 *
 *   SDDMM   P = alpha * edge(S, A B^T) + beta * P     at the nonzeros of S
 *   SpMM    C = alpha * op(S) B + beta * C
 *   fused   E = alpha * edge(op(S), A B^T) D + beta * E
 *
 * S is sparse, M x N; op(S) is S or its transpose. A is M x K, B is N x K (SDDMM, fused) or N x L (SpMM), D is N x L, P
 * has an element for each nonzero of S. With the transpose M and N are exchanged.
 *
 * This header suffices for programs that use the three operations. The others are:
 *   <tamis/gradient.h>    gradients of the three operations; an edge applied to existing samples
 *   <tamis/message.h>     message passing on graphs: reductions of messages, vectors on edges;
 *                         <tamis/graph_attention.h> attention with vectors on edges, operations on segments;
 *                         <tamis/edge_network.h> networks on edges, as of mesh graph networks
 *   <tamis/stream.h>      streams, events, asynchronous copies, copies between devices
 *   <tamis/structure.h>   checking, profiles, conversions, transposes, partitions of sparse matrices
 *   <tamis/group.h>       the operations on several devices or processes; <tamis/transport.h> how these exchange
 *                         data; <tamis/shard.h> which rows each of them needs
 *   <tamis/slabs.h>       the operations on a device whose memory does not hold the matrices
 *   <tamis/matrix.h>      owned matrices and their files; <tamis/generate.h> seeded generators
 *   <tamis/mask.h>        attention masks, made on the device
 *   <tamis/dense.h>       operations on dense matrices between sparse calls; <tamis/ml.h>, <tamis/data.h> models
 *   <tamis/reference.h>   the oracle: the operations as plain loops in double
 *   <tamis/algorithms.h>  the registry of algorithms; <tamis/ceilings.h> the machine's ceilings;
 *                         <tamis/cache.h> compiled kernels and measured plans on disk
 *
 * Conventions that hold for every function of every header:
 *   - A function returns TAMIS_OK or an error number. The numbers never change their meaning. tamis_last_error() gives
 *     the message of the calling thread, with the argument and its value. Functions that return nothing, such as those
 *     that free, do not change it. The library never prints and never aborts.
 *   - Views never own memory. The arrays belong to the caller and must live as long as a plan that uses them.
 *   - After an error, outputs are either unchanged or, where a comment says so, unspecified. Nothing is leaked.
 *   - A `stream` is a queue of the device: a CUstream (cudaStream_t, cuda_stream in PyTorch and CuPy), a
 *     cl_command_queue, or a result of tamis_stream_create. NULL is the device's default stream; the CPU has no other.
 *     The work of a call on device memory is ordered by its stream.
 *   - Any function may be called from any thread. A function that takes a const plan may run in any number of threads
 *     and streams at the same time. Only one thread at a time may change or destroy an object.
 *   - How structures grow: see <tamis/types.h>.
 */
#ifndef TAMIS_TAMIS_H
#define TAMIS_TAMIS_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- devices */

typedef struct tamis_device tamis_device; /* an opened device */

/* Describes a device. The strings live as long as the device. Sizes are in bytes, 0 if unknown. */
typedef struct tamis_device_description {
    const char *name;                     /* "cpu", "cuda:0", ... as tamis_device_open takes it */
    const char *model;                    /* the name of the chip */
    const char *instruction_set;          /* the target of the kernels: "x86-64-v4", "neon", "sm_90", ... */
    int threads;                          /* default number of threads of a call */
    int64_t cache_l1, cache_l2, cache_l3; /* CPU: L1 data and L2 of a thread, one L3; GPU: L1 and L2 */
    int64_t memory;                       /* bytes of main or device memory */
    tamis_location location;              /* where the data of views must be: a GPU uses its own memory */
    const char *driver;                   /* driver and run-time compiler of a GPU, "" on the CPU */
    int multiprocessors;                  /* 0 on the CPU */
    uint64_t reserved[8];
} tamis_device_description;

/*
 * Opens a device by name: "cpu", "cuda:N", "opencl:N", or NULL for the best one present (the first CUDA device, else
 * the CPU). The caller must close *device. The message of TAMIS_ERROR_DEVICE says what was tried and why it is absent.
 */
TAMIS_API tamis_status tamis_device_open(const char *name, tamis_device **device);

/* Closes a device; NULL is allowed. Destroy its plans first. */
TAMIS_API void tamis_device_close(tamis_device *device);

/* Describes an open device. */
TAMIS_API tamis_status tamis_device_describe(const tamis_device *device, tamis_device_description *description);

/* Sets the number of threads of later calls and plans on this device, 1 or more; 0 restores the default
   (OMP_NUM_THREADS or all cores). */
TAMIS_API tamis_status tamis_device_set_threads(tamis_device *device, int threads);

/* Lists the possible devices by number 0 .. count - 1. *name has static lifetime. *why says why a device is absent (""
   if it is present). Either output may be NULL. TAMIS_ERROR_ARGUMENT past the end. */
TAMIS_API int tamis_device_count(void);
TAMIS_API tamis_status tamis_device_at(int number, const char **name, const char **why);

/*
 * Device memory (host memory on the CPU), and copies between it and host memory. `offset` is in bytes into the device
 * memory. Copies are ordered by the stream and are complete when the call returns; <tamis/stream.h> has asynchronous
 * ones. On CUDA `memory` is a device pointer, as in PyTorch and CuPy; on OpenCL it is a cl_mem. tamis_device_free waits
 * for the device's work, which may use the memory.
 */
TAMIS_API tamis_status tamis_device_allocate(tamis_device *device, size_t bytes, void **memory);
TAMIS_API void tamis_device_free(tamis_device *device, void *memory);
TAMIS_API tamis_status tamis_device_upload(tamis_device *device, void *stream, void *to, size_t offset,
                                           const void *from, size_t bytes);
TAMIS_API tamis_status tamis_device_download(tamis_device *device, void *stream, void *to, const void *from,
                                             size_t offset, size_t bytes);

/* ---------------------------------------------------------------------------------------------- options */

/* exact: fp32 arithmetic is fp32. tf32: GPUs may round fp32 inputs to the eleven bits of TF32. */
typedef enum tamis_math { TAMIS_MATH_EXACT = 0, TAMIS_MATH_TF32 = 1 } tamis_math;

/* How a plan chooses its algorithm. estimate: by the cost model. measure: it times the best candidates, or reuses an
   earlier plan's measurements (see tamis_plan_create). */
typedef enum tamis_effort { TAMIS_EFFORT_ESTIMATE = 0, TAMIS_EFFORT_MEASURE = 1 } tamis_effort;

/* Overlap of computation and communication in the plan of a group (<tamis/group.h>): computing with a rank's own rows
   of B while rows of other ranks arrive. */
typedef enum tamis_overlap { TAMIS_OVERLAP_AUTO = 0, TAMIS_OVERLAP_NEVER = 1, TAMIS_OVERLAP_ALWAYS = 2 } tamis_overlap;

/* How the plan of a group (<tamis/group.h>) gets rows of B. fetch ("1d-fetch"): the rows that its nonzeros need.
   replicate ("static-split", as in Nisa et al.): all rows. cover ("joint-cover", as in SHIRO): if that moves fewer
   bytes, the owner of rows of B computes partial rows of the output and sends these instead; otherwise as fetch. auto:
   cover if it is predicted to be faster, else fetch, which never moves more than replicate. */
typedef enum tamis_exchange {
    TAMIS_EXCHANGE_AUTO = 0,
    TAMIS_EXCHANGE_FETCH = 1,
    TAMIS_EXCHANGE_REPLICATE = 2,
    TAMIS_EXCHANGE_COVER = 3
} tamis_exchange;

/*
 * Allocator for the memory that a plan or a one-shot call needs in addition to its arguments: PyTorch's or CuPy's pool,
 * an arena. The memory must be of the kind that tamis_device_allocate returns, ordered by the stream, and aligned to at
 * least 64 bytes. The table is copied; `context` must live as long as the plan. Both functions may be called from
 * several threads at the same time, and may call Tamis, for instance tamis_device_allocate_async. They must not throw
 * or longjmp (<tamis/types.h>). (On the CPU, algorithms also keep small data outside workspaces and reordered patterns;
 * this memory is the library's.)
 */
typedef struct tamis_allocator {
    void *context;
    void *(*allocate)(void *context, size_t bytes, void *stream); /* bytes > 0; returns NULL if out of memory */
    void (*release)(void *context, void *memory, size_t bytes, void *stream); /* a result of `allocate`; never NULL */
    void (*reserved[13])(void);                                               /* NULL */
} tamis_allocator;

/* A number that the expression options.edge_text names. Its name is up to 32 letters, digits and _. */
typedef struct tamis_edge_number {
    const char *name;
    double value; /* finite; NAN: each execution gives it (tamis_edge_operand). In a message's text always finite */
} tamis_edge_number;

/*
 * An array or a number of one execution that options.edge_text names (tamis_execution.edge_operands):
 *
 *   row.NAME    a number for each row of op(S)      an op(S).rows x 1 matrix
 *   col.NAME    a number for each column of op(S)   op(S).cols x 1
 *   entry.NAME  a number for each entry of S        S.nnz x 1, in S's order
 *   head.NAME   a number for each batch member      1 x 1
 *   NAME        a number that options.edge_numbers have as NAN: 1 x 1, as head.NAME
 *
 * All are in the device's memory, packed, of options.type or fp32 (fp64 if that is fp64). Members of a batch are
 * values->batch_stride apart; 0: all share one array.
 */
typedef struct tamis_edge_operand {
    const char *name;            /* as the text has it, with the word before the dot */
    const tamis_dense *values;   /* an input */
    const tamis_dense *gradient; /* backward calls write the gradient here; NULL: not wanted; other calls ignore it.
                                    It has the shape of `values`, options.type or fp32 (fp64), and its own batch_stride
                                    for each member, as all gradients */
    uint64_t reserved[3];
} tamis_edge_operand;

/*
 * Options of plans and one-shot calls. Initialise them with TAMIS_OPTIONS_INIT, which sets the defaults, given here in
 * parentheses. Zero in a field means zero, not the default. A one-shot call takes operation, type, output_type, inner,
 * width and layouts from its arguments and ignores these fields.
 */
typedef struct tamis_options {
    tamis_operation operation;
    tamis_edge edge;        /* SDDMM and fused (scale); SpMM uses S's values as they are */
    tamis_type type;        /* of A, B, D and S's values (fp32); in 16-bit SpMM the values may be fp32 */
    tamis_type output_type; /* of P, C or E: TAMIS_SAME_TYPE (the default), or fp32 if `type` has 16 bits */
    int64_t inner;          /* K: columns of A and B in SDDMM and fused; ignored by SpMM. No default */
    int64_t width;          /* L: columns of SpMM's B and C and of fused's D and E (fused: K); ignored by SDDMM */
    double edge_scale;      /* sigmoid, exp, leaky_relu, softmax (1) */
    double edge_slope;      /* leaky_relu (0.01); 0 is ReLU */
    double edge_epsilon;    /* quotient (1e-10), positive */
    bool transpose;         /* SpMM and fused with S^T: the plan keeps a transposed pattern; values stay in S's order */
    int64_t batch;          /* number of value sets and dense operands over one pattern, 1 or more (1) */
    int64_t expected_calls; /* expected number of executions, 1 or more (1), over which set-up is amortised */
    bool any_order; /* the order of sums may depend on timing. Without it (the default) the same device, plan and inputs
                       give the same bits */
    bool trust_input;       /* skip the check of S's arrays; wrong indices then cause undefined behaviour */
    tamis_math math;        /* exact by default */
    int threads;            /* CPU threads; 0 (the default): the device's setting, or fewer for little work */
    const char *algorithm;  /* a name from the registry; NULL (the default) or "auto": Tamis chooses */
    const char *parameters; /* "name=value,name=value" for the algorithm; NULL (the default): its own choice */
    tamis_layout a_layout, b_layout, d_layout,
        output_layout; /* of the operands of executions (row-major); column-major operands
                          are staged through the workspace, as explain reports */
    void *stream; /* stream in which a plan reads S's arrays and makes its own; one-shot calls use the execution's */
    bool no_workspace; /* the plan allocates no workspace: each execution must supply one */
    const tamis_allocator
        *allocator;      /* for all memory that a plan needs on the device; NULL (the default): Tamis's own */
    bool keep_softmax;   /* executions may write the row statistics of softmax, and gradients read them
                            (tamis_execution.softmax_rows). Only with the edge softmax */
    tamis_effort effort; /* how a plan chooses (estimate); a named algorithm and one-shot calls measure nothing */
    bool d_is_b; /* fused: a promise that D is B in every execution, the same view (or NULL), as in factorisations. A
                    plan may then choose an algorithm that reads each row of B once. width must be inner; d_layout is
                    not read. One-shot calls compare the views instead (false) */
    tamis_overlap overlap;   /* of a group's plan (auto); see tamis_group_plan_create. Other plans ignore it */
    tamis_exchange exchange; /* of a group's plan (auto), likewise */
    const char *edge_text;   /* of TAMIS_EDGE_TEXT, else NULL (the default): the edge as an expression in x, s, i, j, h
                                and edge_numbers, such as "tanh(x / cap) * cap", at most 1024 bytes; see
                                docs/manual/edges.md. The message of an error begins with the place: "edge:1:14: ".
                                It may read arrays of executions (tamis_edge_operand). Nothing is
                                kept of the text and the numbers after the call */
    const tamis_edge_number *edge_numbers; /* the numbers that edge_text names (NULL) */
    int64_t edge_number_count;             /* of edge_numbers, 0 .. 16 (0) */
    uint64_t reserved[6];
} tamis_options;

/* tamis_options.output_type: the same as `type`. */
#ifdef __cplusplus
#define TAMIS_SAME_TYPE (static_cast<tamis_type>(-1))
#else
#define TAMIS_SAME_TYPE ((tamis_type)-1)
#endif

/* The defaults of a tamis_options. inner and width have none: -1 means not set. */
#ifdef __cplusplus
#define TAMIS_OPTIONS_INIT                                                                                             \
    ([] {                                                                                                              \
        tamis_options tamis_initial = {};                                                                              \
        tamis_initial.output_type = TAMIS_SAME_TYPE;                                                                   \
        tamis_initial.inner = -1;                                                                                      \
        tamis_initial.width = -1;                                                                                      \
        tamis_initial.edge_scale = 1.0;                                                                                \
        tamis_initial.edge_slope = 0.01;                                                                               \
        tamis_initial.edge_epsilon = 1e-10;                                                                            \
        tamis_initial.batch = 1;                                                                                       \
        tamis_initial.expected_calls = 1;                                                                              \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_OPTIONS_INIT                                                                                             \
    {                                                                                                                  \
        .output_type = TAMIS_SAME_TYPE, .inner = -1, .width = -1, .edge_scale = 1.0, .edge_slope = 0.01,               \
        .edge_epsilon = 1e-10, .batch = 1, .expected_calls = 1                                                         \
    }
#endif

/*
 * The arguments of an execution other than its operands. NULL instead of it means TAMIS_EXECUTION_INIT: alpha = 1,
 * beta = 0, the default stream, the values of the view that the plan was made with, the plan's own workspace.
 */
typedef struct tamis_execution {
    void *stream;
    double alpha, beta; /* with beta = 0 the output is never read */
    const void *values; /* S's values for this execution, in S's order; NULL: the values of the view that the plan was
                           made with. If that view has no values, this must be NULL */
    int64_t values_stride; /* of `values`: elements from one set to the next in a batch; 0: all members share one set */
    void *workspace;       /* scratch memory, aligned to 64 bytes; NULL: the plan's own, which serves one execution at a
                              time. Executions that may overlap (threads, streams, captured graphs) need one each */
    size_t workspace_bytes; /* at least tamis_plan_workspace_size */
    /*
     * Row statistics of softmax, a pair for each row of op(S): the largest score and the sum of exp(score - largest),
     * where a score is edge_scale * x + s. A row without nonzeros, or with all scores -infinity, has -infinity and 0.
     * Each member of a batch has 2 * rows numbers, one member after another, fp64 in fp64 plans, else fp32, in device
     * memory. SDDMM, fused and their one-shot calls write the statistics. Backward calls read them, which saves the
     * pass that computes them. NULL: neither. Otherwise options.keep_softmax must be set. tamis_plan_edge requires
     * NULL.
     */
    void *softmax_rows;
    uint64_t generation; /* a version number of a group's B and D (see <tamis/group.h>); 0: they may have changed. Other
                            plans ignore it */
    const tamis_dense *result; /* for the backward call of fused, with softmax_rows: E as the forward call wrote it
                                  with the same alpha and beta = 0. It saves another pass where "gpu-tensor" computes
                                  the gradient in bf16, or in fp32 with K or L of more than 64. NULL: not given; other
                                  calls ignore it */
    const tamis_edge_operand *edge_operands; /* all arrays and numbers that options.edge_text reads of executions
                                                (NULL); others are refused */
    int64_t edge_operand_count;              /* of edge_operands, 0 .. 8 (0) */
    uint64_t reserved[3];
} tamis_execution;

/* The defaults of a tamis_execution. */
#ifdef __cplusplus
#define TAMIS_EXECUTION_INIT                                                                                           \
    ([] {                                                                                                              \
        tamis_execution tamis_initial = {};                                                                            \
        tamis_initial.alpha = 1.0;                                                                                     \
        return tamis_initial;                                                                                          \
    }())
#else
#define TAMIS_EXECUTION_INIT                                                                                           \
    { .alpha = 1.0 }
#endif

/* ---------------------------------------------------------------------------------------------- one call */

/*
 * One call without preprocessing: checks, chooses and computes. The meaning is as for a plan's executions below. NULL
 * options mean the edge scale and all other defaults; a NULL execution means its defaults. P is a packed vector of nnz
 * elements (nnz x 1), in the order of S's entries; members of a batch are P.batch_stride apart.
 */
TAMIS_API tamis_status tamis_sddmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *A,
                                   const tamis_dense *B, const tamis_dense *P, const tamis_options *options,
                                   const tamis_execution *execution);
TAMIS_API tamis_status tamis_spmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *B,
                                  const tamis_dense *C, const tamis_options *options, const tamis_execution *execution);
TAMIS_API tamis_status tamis_fused(tamis_device *device, const tamis_sparse *S, const tamis_dense *A,
                                   const tamis_dense *B, const tamis_dense *D, const tamis_dense *E,
                                   const tamis_options *options, const tamis_execution *execution);

/* ---------------------------------------------------------------------------------------------- plans */

/* An operation on one pattern, prepared for many executions. It is immutable, but for a trial (tamis_plan_create): any
   number of threads, streams and captured graphs may execute it at the same time (see tamis_execution.workspace). */
typedef struct tamis_plan tamis_plan;

/*
 * Makes a plan: checks S (unless trusted), profiles it, chooses an algorithm, prepares and allocates. The plan keeps
 * references to S's arrays. The pattern must not change while the plan exists; values may change between executions.
 * The function waits for options.stream before it returns, so that any stream may execute the plan.
 * Errors: TAMIS_ERROR_PATTERN names the first bad entry; TAMIS_ERROR_UNSUPPORTED says why a named algorithm declined.
 *
 * With options.effort = TAMIS_EFFORT_MEASURE and no algorithm named, it prepares the few candidates that are predicted
 * to be fastest, times each on random operands of the plan's shapes, keeps the one with the smallest time for
 * expected_calls including its set-up, and frees the others. Meanwhile it needs memory for these operands and for all
 * candidates. The result is cached on disk (see <tamis/cache.h>): the next plan for the same kind of problem on the
 * same chip uses it without measuring.
 *
 * On the CPU, with any_order, 128 expected_calls or more and no algorithm named, two algorithms may be predicted to be
 * within 5 % of each other. The plan then prepares both, unless that would cost more than it is likely to gain; its
 * first executions take turns between them, and the faster one stays. Results are right throughout. tamis_plan_explain
 * and tamis_plan_describe say that a trial is under way, and then what it measured; their strings of before stay valid.
 */
TAMIS_API tamis_status tamis_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                         tamis_plan **plan);

/* Waits for the device's work and destroys a plan; NULL is allowed. A graph captured from it must not run again. */
TAMIS_API void tamis_plan_destroy(tamis_plan *plan);

/* The same without waiting: the plan's memory is freed in stream order. No execution of the plan may run after the
   current end of the stream. */
TAMIS_API void tamis_plan_destroy_async(tamis_plan *plan, void *stream);

/* Returns the bytes of workspace of an execution (staging of operands, partial rows); 0 for many plans. */
TAMIS_API tamis_status tamis_plan_workspace_size(const tamis_plan *plan, size_t *bytes);

/*
 * Executions. They allocate nothing and copy no operands, except for the staging that the plan announced. On a GPU they
 * submit work to the stream and return. The output must not overlap an input. Operands are as in the one-shot calls, of
 * the plan's types, layouts and sizes. execution may be NULL. With options.d_is_b, D is NULL or the same view as B.
 */
TAMIS_API tamis_status tamis_plan_sddmm(const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                        const tamis_dense *P, const tamis_execution *execution);
TAMIS_API tamis_status tamis_plan_spmm(const tamis_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                       const tamis_execution *execution);
TAMIS_API tamis_status tamis_plan_fused(const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                        const tamis_dense *D, const tamis_dense *E, const tamis_execution *execution);

/*
 * Writes a text of several lines: which algorithm runs and why, the predicted and the set-up time, the break-even in
 * calls, the workspace, and the reason for each declined algorithm. It is truncated to `bytes`, including a final zero.
 * *needed (may be NULL) is the full length including the zero. text may be NULL if bytes is 0.
 */
TAMIS_API tamis_status tamis_plan_explain(const tamis_plan *plan, char *text, size_t bytes, size_t *needed);

/* How the algorithm was chosen: by the cost model; by the caller, by name; by times that this plan measured; by times
   that an earlier plan measured. */
typedef enum tamis_chosen_by {
    TAMIS_CHOSEN_PREDICTED = 0,
    TAMIS_CHOSEN_NAMED = 1,
    TAMIS_CHOSEN_MEASURED = 2,
    TAMIS_CHOSEN_REMEMBERED = 3
} tamis_chosen_by;
TAMIS_API const char *tamis_chosen_by_name(tamis_chosen_by chosen_by); /* "predicted", "named", ... */

/* The contents of tamis_plan_explain as fields, for programs. The strings live as long as the plan. */
typedef struct tamis_plan_report {
    const char *algorithm;
    const char *reason;     /* why this one */
    const char *parameters; /* the parameters in use */
    const char *instruction_set;
    int threads;
    double check_seconds;     /* checking S's arrays */
    double setup_seconds;     /* everything else that tamis_plan_create did, except measuring */
    double predicted_seconds; /* the cost model's time of one execution; 0 if there is no model */
    int64_t break_even_calls; /* executions after which the set-up is amortised, compared with the best algorithm
                                 without set-up */
    size_t workspace_bytes;   /* scratch memory of executions */
    size_t prepared_bytes;    /* data that the algorithm prepared; during a trial, that both prepared */
    int declined;             /* number of algorithms that declined or lost */
    tamis_math math;          /* tf32 if the algorithm rounds its inputs to TF32, as permitted; else exact */
    tamis_chosen_by chosen_by;
    double measured_seconds;  /* of one execution, measured by this plan or an earlier one; 0 if it was not measured */
    double measuring_seconds; /* time of measuring the candidates; 0 if nothing was measured */
    int64_t candidates;       /* number of algorithms predicted to be nearly as fast as the best; 0 if one was named */
    int64_t trial;            /* executions still to come of a trial of two algorithms; 0: there is none, or it ended */
    double
        lead; /* predicted time of the second best over the best, set-up included; 0: there is none, or one was named */
    double sure; /* share of the fit's cases with such a lead in which the choice took at most 1.10 times as long as the
                    fastest; 0: the choice was not predicted, or there are too few cases */
    uint64_t reserved[2];
} tamis_plan_report;

/* The same as tamis_plan_explain, as fields. */
TAMIS_API tamis_status tamis_plan_describe(const tamis_plan *plan, tamis_plan_report *report);

/* The algorithms that were not chosen, by number 0 .. declined - 1, each with the reason. */
TAMIS_API tamis_status tamis_plan_declined(const tamis_plan *plan, int number, const char **algorithm,
                                           const char **reason);

/* The candidates, the best predicted first, by number 0 .. candidates - 1: seconds of one execution, as predicted and
   as measured by this plan (0 if it was not measured). Outputs may be NULL. */
TAMIS_API tamis_status tamis_plan_candidate(const tamis_plan *plan, int number, const char **algorithm,
                                            double *predicted_seconds, double *measured_seconds);

#ifdef __cplusplus
}
#endif

#endif
