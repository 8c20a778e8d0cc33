/*
 * Tamis: dense products only where a sparse matrix keeps them.
 *
 *   SDDMM   P = alpha * edge(S, A B^T) + beta * P     at the nonzeros of S
 *   SpMM    C = alpha * op(S) B + beta * C
 *   fused   E = alpha * edge(op(S), A B^T) D + beta * E
 *
 * S is sparse, M x N; op(S) is S or its transpose. A is M x K, B is N x K (SDDMM, fused) or N x L (SpMM), D is N x L, P
 * has an element for each nonzero of S. With the transpose M and N change places.
 *
 * This header has what a program of these three operations needs first. Beside it:
 *   <tamis/gradient.h>    gradients of the three operations; an edge applied to samples that are there already
 *   <tamis/stream.h>      streams, events, copies that do not wait, copies between devices
 *   <tamis/structure.h>   checking, profiles, conversions, transposes, partitions of sparse matrices
 *   <tamis/matrix.h>      owned matrices and their files; <tamis/generate.h> seeded generators
 *   <tamis/dense.h>       the dense side of iterative programs; <tamis/ml.h>, <tamis/data.h> models
 *   <tamis/reference.h>   the oracle
 *   <tamis/algorithms.h>  the registry; <tamis/ceilings.h> the machine's; <tamis/cache.h> compiled kernels on disk
 *
 * Conventions that hold for every function of every header:
 *   - A function returns TAMIS_OK or an error number that never changes its meaning. What went wrong, with the
 *     argument and the value, is in tamis_last_error() of the calling thread; functions that return nothing, as those
 *     that free, leave it. Nothing is printed, nothing aborts.
 *   - Views never own memory. Arrays stay the caller's and must live as long as a plan made over them.
 *   - On an error, outputs are either untouched or, where a comment says so, unspecified; nothing is leaked.
 *   - A `stream` is a queue of the device: a CUstream (cudaStream_t, what PyTorch and CuPy call cuda_stream), a
 *     cl_command_queue, or one of tamis_stream_create. NULL is the device's default stream; the CPU has no other. What
 *     a call does to device memory is in the order of its stream.
 *   - Any function may be called from any thread. What takes a const plan serves any number of threads and streams at
 *     once; calls that change or destroy an object are for one thread at a time.
 *   - How structures grow: see <tamis/types.h>.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_TAMIS_H
#define TAMIS_TAMIS_H

#include <tamis/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- devices */

typedef struct tamis_device tamis_device; /* an opened device */

/* What a device is. Strings belong to the device and live as long as it. Sizes in bytes, 0 where unknown. */
typedef struct tamis_device_description {
    const char *name;                     /* "cpu", "cuda:0", ... as tamis_device_open takes it */
    const char *model;                    /* the chip's own name */
    const char *instruction_set;          /* what the kernels were compiled for: "x86-64-v4", "neon", "sm_90", ... */
    int threads;                          /* threads a call uses unless told otherwise */
    int64_t cache_l1, cache_l2, cache_l3; /* a core's L1 data and L2, the shared L3; of a GPU L1 and L2 */
    int64_t memory;                       /* bytes of main or device memory */
    tamis_location location;              /* where views' data must be: a GPU computes on its own memory */
    const char *driver;                   /* a GPU's driver and run-time compiler, "" on the CPU */
    int multiprocessors;                  /* of a GPU; 0 on the CPU */
    uint64_t reserved[8];
} tamis_device_description;

/*
 * Opens a device by name: "cpu", "cuda:N", "opencl:N", or NULL for the best one present (CUDA's first, else the CPU).
 * *device must be closed by the caller.
 * TAMIS_ERROR_DEVICE names what was looked for and why it is absent.
 */
TAMIS_API tamis_status tamis_device_open(const char *name, tamis_device **device);

/* Closes a device; NULL is allowed. Its plans must have been destroyed before. */
TAMIS_API void tamis_device_close(tamis_device *device);

/* Describes a device that is open. */
TAMIS_API tamis_status tamis_device_describe(const tamis_device *device, tamis_device_description *description);

/* Threads for later calls and plans on this device, 1 or more; 0 restores the default (OMP_NUM_THREADS or all cores).
 */
TAMIS_API tamis_status tamis_device_set_threads(tamis_device *device, int threads);

/* Devices that could be opened, by number 0 .. count - 1; *name has static lifetime. *why says, for an absent one, why
   ("" when present). Either output may be NULL. TAMIS_ERROR_ARGUMENT past the end. */
TAMIS_API int tamis_device_count(void);
TAMIS_API tamis_status tamis_device_at(int number, const char **name, const char **why);

/*
 * Memory of a device (the host's own on the CPU), and copies between it and host memory, `offset` bytes into the
 * device's side. Copies are in the order of the stream and have ended when the call returns; <tamis/stream.h> has those
 * that do not wait. On CUDA `memory` is a device pointer, as good as one of PyTorch or CuPy; on OpenCL it is a cl_mem.
 * tamis_device_free waits for the device's work, which may use the memory.
 */
TAMIS_API tamis_status tamis_device_allocate(tamis_device *device, size_t bytes, void **memory);
TAMIS_API void tamis_device_free(tamis_device *device, void *memory);
TAMIS_API tamis_status tamis_device_upload(tamis_device *device, void *stream, void *to, size_t offset,
                                           const void *from, size_t bytes);
TAMIS_API tamis_status tamis_device_download(tamis_device *device, void *stream, void *to, const void *from,
                                             size_t offset, size_t bytes);

/* ---------------------------------------------------------------------------------------------- options */

/* exact: fp32 is fp32; tf32: tensor cores may round fp32 inputs to TF32. */
typedef enum tamis_math { TAMIS_MATH_EXACT = 0, TAMIS_MATH_TF32 = 1 } tamis_math;

/*
 * Where a plan or a one-shot call gets the memory that it needs beside its arguments: PyTorch's or CuPy's pool, an
 * arena. Of the kind that tamis_device_allocate gives, in the order of the stream, aligned to 64 bytes or better. The
 * table is copied; `context` must live as long as the plan. Both functions may be called from several threads at once,
 * and may call Tamis themselves, tamis_device_allocate_async for one.
 * (What the CPU's algorithms keep beside workspaces and reordered patterns is small, and the library's own.)
 */
typedef struct tamis_allocator {
    void *context;
    void *(*allocate)(void *context, size_t bytes, void *stream);             /* bytes > 0; NULL: there is none left */
    void (*release)(void *context, void *memory, size_t bytes, void *stream); /* what `allocate` gave; never NULL */
    void (*reserved[13])(void);                                               /* NULL */
} tamis_allocator;

/*
 * What is to be computed, for plans and one-shot calls alike. Begin with TAMIS_OPTIONS_INIT. Every field means what it
 * says, zero too: INIT has the defaults, those named here. A one-shot call takes operation, type, output_type, inner,
 * width and layouts from its arguments, and does not look at these fields.
 */
typedef struct tamis_options {
    tamis_operation operation;
    tamis_edge edge;        /* SDDMM and fused (scale); SpMM uses S's values as they are */
    tamis_type type;        /* of A, B, D and S's values (fp32); in SpMM of 16 bits these may be fp32 */
    tamis_type output_type; /* of P, C or E: TAMIS_SAME_TYPE (the default), or fp32 where `type` has 16 bits */
    int64_t inner;          /* K: columns of A and B in SDDMM and fused; SpMM does not look at it. No default */
    int64_t width;       /* L: columns of SpMM's B and C and of fused's D and E (fused: K); SDDMM does not look at it */
    double edge_scale;   /* sigmoid, exp, leaky_relu, softmax (1) */
    double edge_slope;   /* leaky_relu (0.01); 0 is ReLU */
    double edge_epsilon; /* quotient (1e-10), positive */
    bool transpose;      /* SpMM and fused with S^T: the plan keeps a transposed pattern, values stay in S's order */
    int64_t batch;       /* value sets and dense operands over one pattern, 1 or more (1) */
    int64_t expected_calls; /* how often the plan will be executed, 1 or more (1): set-up is weighed against it */
    bool any_order;         /* sums may be added in whatever order threads come. Without it (the default) the same
                               device, plan and inputs give the same bits */
    bool trust_input;       /* skip the check of S's arrays: wrong indices are then undefined behaviour */
    tamis_math math;        /* exact by default */
    int threads;            /* of the CPU; 0 (the default): the device's */
    const char *algorithm;  /* a name from the registry; NULL (the default) or "auto" to choose */
    const char *parameters; /* "name=value,name=value" for the algorithm; NULL (the default): its own choice */
    tamis_layout a_layout, b_layout, d_layout,
        output_layout; /* of the operands to come (row-major); column-major ones
                          are staged through the workspace, which explain states */
    void *stream;      /* in which a plan reads S's arrays and makes its own; one-shot calls use the execution's */
    bool no_workspace; /* the plan allocates no workspace of its own: each execution brings one */
    const tamis_allocator
        *allocator;    /* of all that is kept and needed on the device; NULL (the default): Tamis's own */
    bool keep_softmax; /* executions may be asked for the statistics of softmax's rows, or, of gradients, be given them
                          (tamis_execution.softmax_rows). With the edge softmax alone */
    uint64_t reserved[11];
} tamis_options;

/* tamis_options.output_type: as `type`. */
#define TAMIS_SAME_TYPE ((tamis_type)-1)

/* The defaults of a tamis_options. inner and width have none: -1 stands for not set. */
#define TAMIS_OPTIONS_INIT                                                                                             \
    {                                                                                                                  \
        .output_type = TAMIS_SAME_TYPE, .inner = -1, .width = -1, .edge_scale = 1.0, .edge_slope = 0.01,               \
        .edge_epsilon = 1e-10, .batch = 1, .expected_calls = 1                                                         \
    }

/*
 * What comes with each execution beside the operands. NULL in its place means TAMIS_EXECUTION_INIT: alpha = 1, beta =
 * 0, the default stream, the values of S as the plan saw them, the plan's own workspace.
 */
typedef struct tamis_execution {
    void *stream;
    double alpha, beta;    /* beta = 0 never reads the output */
    const void *values;    /* S's values from now on, in S's order; NULL: those of the view that the plan was made over.
                              A plan over a view without values has none */
    int64_t values_stride; /* of `values`: elements from one set to the next in a batch; 0: all the same */
    void *workspace;       /* scratch, aligned to 64 bytes; NULL: the plan's own, which serves one execution at a time.
                              Executions that may overlap (threads, streams, captured graphs) bring one each */
    size_t workspace_bytes; /* at least tamis_plan_workspace_size */
    /*
     * Of softmax: for each row of op(S) a pair, its largest score and the sum of exp(score - largest), where a score is
     * edge_scale * x + s. A row without nonzeros, or all of whose scores are -infinity, has -infinity and 0. 2 * rows
     * numbers for each member of a batch, one after another, fp64 in fp64 plans, else fp32, in memory of the device.
     * SDDMM, fused and their one-shot calls write them; backward calls read them, to leave out the pass that finds them
     * again. NULL: neither. Others need options.keep_softmax. tamis_plan_edge takes NULL.
     */
    void *softmax_rows;
    uint64_t reserved[7];
} tamis_execution;

/* The defaults of a tamis_execution. */
#define TAMIS_EXECUTION_INIT                                                                                           \
    { .alpha = 1.0 }

/* ---------------------------------------------------------------------------------------------- one call */

/*
 * One call, no preprocessing: checks, chooses, computes. Same meaning as a plan's executions below. options NULL:
 * scale, and all other defaults; execution NULL: its defaults.
 * P: a packed vector of nnz elements (nnz x 1), in the order of S's entries; in a batch P.batch_stride apart.
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

/* An operation on one pattern, made ready for many executions. It does not change once it is made: any number of
   threads, streams and captured graphs may execute it at once (see tamis_execution.workspace). */
typedef struct tamis_plan tamis_plan;

/*
 * Makes a plan: checks S (unless trusted), profiles it, chooses an algorithm, prepares and allocates. S's arrays are
 * kept by reference: the pattern must not change while the plan lives; values may change between executions. Has waited
 * for options.stream when it returns, so that any stream may execute it.
 * Errors: TAMIS_ERROR_PATTERN names the broken entry; TAMIS_ERROR_UNSUPPORTED says why a named algorithm declined.
 */
TAMIS_API tamis_status tamis_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_options *options,
                                         tamis_plan **plan);

/* Destroys a plan after waiting for the device's work; NULL is allowed. A graph captured from it must not run again. */
TAMIS_API void tamis_plan_destroy(tamis_plan *plan);

/* The same without waiting: its memory is freed in the order of the stream, behind whose present end no execution of
   the plan may still run. */
TAMIS_API void tamis_plan_destroy_async(tamis_plan *plan, void *stream);

/* Bytes of workspace that an execution needs (staging of operands, partial rows); 0 for many plans. */
TAMIS_API tamis_status tamis_plan_workspace_size(const tamis_plan *plan, size_t *bytes);

/*
 * Executions: no allocation, no copy of operands except the staging that the plan announced. On a GPU they put work
 * into the stream and return. The output must not overlap an input. Operands as in the one-shot calls, of the plan's
 * types, layouts and sizes. execution may be NULL.
 */
TAMIS_API tamis_status tamis_plan_sddmm(const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                        const tamis_dense *P, const tamis_execution *execution);
TAMIS_API tamis_status tamis_plan_spmm(const tamis_plan *plan, const tamis_dense *B, const tamis_dense *C,
                                       const tamis_execution *execution);
TAMIS_API tamis_status tamis_plan_fused(const tamis_plan *plan, const tamis_dense *A, const tamis_dense *B,
                                        const tamis_dense *D, const tamis_dense *E, const tamis_execution *execution);

/*
 * Writes what runs, why, the predicted and the set-up time, the break-even in calls, the workspace, and for each
 * declined algorithm the reason: some lines of text, cut to `bytes` with a final zero. *needed (may be NULL) is the
 * full length with the zero. text may be NULL when bytes is 0.
 */
TAMIS_API tamis_status tamis_plan_explain(const tamis_plan *plan, char *text, size_t bytes, size_t *needed);

/* What tamis_plan_explain writes, as numbers and names for programs. Strings live as long as the plan. */
typedef struct tamis_plan_report {
    const char *algorithm;
    const char *reason;     /* why this one */
    const char *parameters; /* the parameters in force */
    const char *instruction_set;
    int threads;
    double check_seconds;     /* checking S's arrays */
    double setup_seconds;     /* everything else that tamis_plan_create did */
    double predicted_seconds; /* the cost model's time of one execution; 0 where there is no model */
    int64_t break_even_calls; /* executions after which the set-up has paid against the best that needs none */
    size_t workspace_bytes;   /* scratch of executions */
    size_t prepared_bytes;    /* what the algorithm prepared and keeps */
    int declined;             /* number of algorithms that declined or lost */
    tamis_math math;          /* tf32 where the algorithm rounds its inputs to TF32, as was allowed; else exact */
    uint64_t reserved[8];
} tamis_plan_report;

/* The same as tamis_plan_explain, as fields. */
TAMIS_API tamis_status tamis_plan_describe(const tamis_plan *plan, tamis_plan_report *report);

/* The algorithms that were not taken, by number 0 .. declined - 1, each with its reason. */
TAMIS_API tamis_status tamis_plan_declined(const tamis_plan *plan, int number, const char **algorithm,
                                           const char **reason);

#ifdef __cplusplus
}
#endif

#endif
