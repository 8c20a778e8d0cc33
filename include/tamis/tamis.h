/*
 * Tamis: dense products only where a sparse matrix keeps them.
 *
 *   SDDMM   P = alpha * edge(S, A B^T) + beta * P     at the nonzeros of S
 *   SpMM    C = alpha * S B + beta * C
 *   fused   E = alpha * edge(S, A B^T) D + beta * E   the sampled matrix is never stored
 *
 * S is sparse, M x N. A is M x K, B is N x K (SDDMM, fused) or N x L (SpMM), D is N x L.
 *
 * Conventions that hold for every function here:
 *   - A function returns TAMIS_OK or an error number that never changes its meaning. What went wrong, with the
 *     argument and the value, is in tamis_last_error() of the calling thread; functions that return nothing, as those
 *     that free, leave it. Nothing is printed, nothing aborts.
 *   - Views never own memory. Arrays stay the caller's and must live as long as a plan made over them.
 *   - On an error, outputs are either untouched or, where a comment says so, unspecified; nothing is leaked.
 *   - Different plans may be used from different threads at once. One plan serves one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TAMIS_TAMIS_H
#define TAMIS_TAMIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/version.h>

#if defined(__GNUC__) || defined(__clang__)
#define TAMIS_API __attribute__((visibility("default")))
#else
#define TAMIS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- status */

/* Error numbers. They are part of the ABI: a number never changes its meaning. */
typedef enum tamis_status {
    TAMIS_OK = 0,
    TAMIS_ERROR_ARGUMENT = 1,    /* an argument is out of its range or disagrees with another */
    TAMIS_ERROR_PATTERN = 2,     /* the arrays of a sparse view break its format (offsets, column indices) */
    TAMIS_ERROR_MEMORY = 3,      /* an allocation failed */
    TAMIS_ERROR_UNSUPPORTED = 4, /* valid, but this device, algorithm or build cannot do it; the message says why */
    TAMIS_ERROR_OVERFLOW = 5,    /* a size does not fit the index type or the address space */
    TAMIS_ERROR_FILE = 6,        /* a file cannot be opened, read or written */
    TAMIS_ERROR_FORMAT = 7,      /* a file's content breaks its format; the message names file and line */
    TAMIS_ERROR_DEVICE = 8,      /* a device is absent or failed */
    TAMIS_ERROR_CANCELLED = 9,   /* a callback asked to stop */
    TAMIS_ERROR_INTERNAL = 10    /* a defect in Tamis itself: please report it */
} tamis_status;

/* The last error's message of this thread, or "" when its last call that returns a status succeeded. Valid until the
   next such call in it. */
TAMIS_API const char *tamis_last_error(void);

/* A short name of a status: "ok", "argument", "pattern", ... Never NULL; "unknown" for other numbers. */
TAMIS_API const char *tamis_status_name(tamis_status status);

/* ---------------------------------------------------------------------------------------------- version */

/* The library's version, "MAJOR.MINOR.PATCH". Compare with TAMIS_VERSION_STRING of <tamis/version.h>. */
TAMIS_API const char *tamis_version(void);

/* How the library was built: compiler, flags that matter, instruction sets, OpenMP, compression. One line each. */
TAMIS_API const char *tamis_build_information(void);

/* ---------------------------------------------------------------------------------------------- types */

/* Element types. Half types store 16 bits and are accumulated in fp32. */
typedef enum tamis_type { TAMIS_F32 = 0, TAMIS_F64 = 1, TAMIS_F16 = 2, TAMIS_BF16 = 3 } tamis_type;

/* Types of column indices, row indices and offsets. */
typedef enum tamis_index_type { TAMIS_I32 = 0, TAMIS_I64 = 1 } tamis_index_type;

/* How a sparse view is arranged: see tamis_sparse. */
typedef enum tamis_format { TAMIS_CSR = 0, TAMIS_COO = 1 } tamis_format;

/* How a dense view is arranged: see tamis_dense. */
typedef enum tamis_layout { TAMIS_ROW_MAJOR = 0, TAMIS_COLUMN_MAJOR = 1 } tamis_layout;

/* Whose memory a view's arrays are in. */
typedef enum tamis_location { TAMIS_HOST = 0, TAMIS_DEVICE = 1 } tamis_location;

/* The operations, as the top of this file defines them. */
typedef enum tamis_operation { TAMIS_OP_SDDMM = 0, TAMIS_OP_SPMM = 1, TAMIS_OP_FUSED = 2 } tamis_operation;

/*
 * What becomes of the sampled dot product x = <A_i, B_j> and the stored value s = S_ij.
 * Beware: "SDDMM" means `scale` in DGL and in papers 000, 001, 002 and 004, but `mask` in cuSPARSE, PyTorch and
 * paper 003. Both are here under their own names.
 */
typedef enum tamis_edge {
    TAMIS_EDGE_SCALE = 0,      /* s * x */
    TAMIS_EDGE_MASK = 1,       /* x; S is a pattern, its values are not read */
    TAMIS_EDGE_RESIDUAL = 2,   /* s - x */
    TAMIS_EDGE_QUOTIENT = 3,   /* s / max(x, edge_epsilon) */
    TAMIS_EDGE_SIGMOID = 4,    /* 1 / (1 + exp(-edge_scale * x)), times s where S has values */
    TAMIS_EDGE_EXP = 5,        /* exp(edge_scale * x), times s where S has values */
    TAMIS_EDGE_LEAKY_RELU = 6, /* y = edge_scale * x, edge_slope * y where y < 0; times s where S has values */
    TAMIS_EDGE_SOFTMAX = 7     /* row softmax of edge_scale * x (+ s as a bias where S has values) */
} tamis_edge;

/* Names as the command line, JSON and messages write them: "fp32", "int64", "csr", "sddmm", "scale", ... Never NULL. */
TAMIS_API const char *tamis_type_name(tamis_type type);
TAMIS_API const char *tamis_index_type_name(tamis_index_type type);
TAMIS_API const char *tamis_format_name(tamis_format format);
TAMIS_API const char *tamis_layout_name(tamis_layout layout);
TAMIS_API const char *tamis_operation_name(tamis_operation operation);
TAMIS_API const char *tamis_edge_name(tamis_edge edge);

/* The reverse: parse a name. TAMIS_ERROR_ARGUMENT lists the names that exist. */
TAMIS_API tamis_status tamis_type_from_name(const char *name, tamis_type *type);
TAMIS_API tamis_status tamis_operation_from_name(const char *name, tamis_operation *operation);
TAMIS_API tamis_status tamis_edge_from_name(const char *name, tamis_edge *edge);

/* Bytes of one element or index: 2, 4 or 8; 0 for a value that is no type. */
TAMIS_API size_t tamis_type_size(tamis_type type);
TAMIS_API size_t tamis_index_size(tamis_index_type type);

/* Round to nearest, ties to even. fp16 and bf16 elements are plain 16-bit words in memory. */
TAMIS_API uint16_t tamis_f16_from_f32(float value);
TAMIS_API float tamis_f32_from_f16(uint16_t bits);
TAMIS_API uint16_t tamis_bf16_from_f32(float value);
TAMIS_API float tamis_f32_from_bf16(uint16_t bits);

/* ---------------------------------------------------------------------------------------------- views */

/*
 * A sparse matrix in the caller's arrays.
 *   CSR: offsets has rows + 1 entries, offsets[0] = 0, never falling, offsets[rows] = nnz; columns has nnz entries.
 *        Columns of a row may be unsorted and repeated.
 *   COO: row_indices and columns have nnz entries each, in any order, repeats allowed.
 * values has nnz entries of value_type, or is NULL, which means ones (for softmax: no bias).
 * Zero rows, zero columns, nnz = 0 and empty rows are all fine; arrays of zero entries may be NULL.
 */
typedef struct tamis_sparse {
    tamis_format format;
    tamis_location location;
    int64_t rows, cols, nnz;
    tamis_index_type index_type;  /* of columns and row_indices */
    tamis_index_type offset_type; /* of offsets, on its own: 64-bit offsets with 32-bit columns are usual */
    tamis_type value_type;
    const void *offsets;     /* CSR only */
    const void *row_indices; /* COO only */
    const void *columns;
    const void *values;
    int64_t batch_stride; /* elements from one value set to the next in a batch; 0: all sets are the same */
} tamis_sparse;

/*
 * A dense matrix in the caller's array. Row-major: element (i, j) is data[i * stride + j], stride >= cols;
 * column-major: data[j * stride + i], stride >= rows. The address need only be aligned to one element.
 * stride = 0 means packed (cols or rows).
 */
typedef struct tamis_dense {
    void *data;
    int64_t rows, cols;
    int64_t stride;
    tamis_type type;
    tamis_layout layout;
    tamis_location location;
    int64_t batch_stride; /* elements from one matrix of a batch to the next; 0: all are the same (inputs only) */
} tamis_dense;

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
} tamis_device_description;

/*
 * The machine's ceilings that floors and the cost model use. Measured once (a probe of well under a second) and
 * cached in $XDG_CACHE_HOME/tamis; built-in defaults where that is impossible. `threads` index: [0] one thread,
 * [1] all of the device's threads together. GB/s are 1e9 bytes a second, GFLOP/s 1e9 floating-point operations.
 */
typedef struct tamis_ceilings {
    bool measured;                                         /* false: built-in defaults */
    int threads;                                           /* threads that index [1] stands for */
    double fp32_gflops[2], fp64_gflops[2];                 /* fused multiply-add from registers */
    double l1_gbs[2], l2_gbs[2], l3_gbs[2], memory_gbs[2]; /* reads, a buffer that fits that level */
    double gather_gbs[2][6]; /* random rows of 512 bytes from a table of gather_bytes[i] */
    int64_t gather_bytes[6];
} tamis_ceilings;

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

/* The ceilings; the first call on a machine may take the time of the probe. */
TAMIS_API tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings);

/*
 * Memory of a device (the host's own on the CPU), and copies between it and host memory, `offset` bytes into the
 * device's side. Copies are in the order of the stream (NULL: the default one) and have ended when the call returns.
 * On CUDA `memory` is a device pointer, as good as one of PyTorch or CuPy; on OpenCL it is a cl_mem.
 */
TAMIS_API tamis_status tamis_device_allocate(tamis_device *device, size_t bytes, void **memory);
TAMIS_API void tamis_device_free(tamis_device *device, void *memory);
TAMIS_API tamis_status tamis_device_write(tamis_device *device, void *stream, void *to, size_t offset, const void *from,
                                          size_t bytes);
TAMIS_API tamis_status tamis_device_read(tamis_device *device, void *stream, void *to, const void *from, size_t offset,
                                         size_t bytes);

/*
 * A copy within a device's memory, from `from_offset` bytes into one piece of it to `to_offset` bytes into another, or
 * into the same one: TAMIS_ERROR_ARGUMENT where the two ranges of one piece overlap. On a GPU it is only put into the
 * stream, as executions are; nothing passes through host memory.
 */
TAMIS_API tamis_status tamis_device_copy(tamis_device *device, void *stream, void *to, size_t to_offset,
                                         const void *from, size_t from_offset, size_t bytes);

/* Waits until all work of the stream is done. Executions of plans on a GPU only put work into it. */
TAMIS_API tamis_status tamis_device_finish(tamis_device *device, void *stream);

/*
 * Points in time of a stream, by the device's own clock: *mark = NULL makes one, else it is moved. _between waits for
 * `end` and gives the seconds from `start` to it. _forget releases a mark.
 */
TAMIS_API tamis_status tamis_device_mark(tamis_device *device, void *stream, void **mark);
TAMIS_API tamis_status tamis_device_between(tamis_device *device, void *start, void *end, double *seconds);
TAMIS_API void tamis_device_forget(tamis_device *device, void *mark);

/* Compiled GPU kernels on disk, in $XDG_CACHE_HOME/tamis/programs, at most TAMIS_CACHE_BYTES of them. */
typedef struct tamis_cache_description {
    char path[1024]; /* "" where there is no folder to be had */
    int64_t entries, bytes, most_bytes;
} tamis_cache_description;
TAMIS_API tamis_status tamis_cache_describe(tamis_cache_description *description);
/* Removes all entries; *removed (may be NULL) is how many there were. */
TAMIS_API tamis_status tamis_cache_clear(int64_t *removed);

/* Devices that could be opened, by number 0 .. count - 1; *name lives for ever. *why says, for an absent one, why
   ("" when present). Either output may be NULL. TAMIS_ERROR_ARGUMENT past the end. */
TAMIS_API int tamis_device_count(void);
TAMIS_API tamis_status tamis_device_at(int number, const char **name, const char **why);

/* ---------------------------------------------------------------------------------------------- algorithms */

/* One row of the registry. */
typedef struct tamis_algorithm_description {
    const char *name;       /* "cpu-tiled" */
    const char *device;     /* "cpu" */
    unsigned operations;    /* bit 1u << tamis_operation for each that it serves */
    const char *source;     /* "paper 003", "ours" */
    const char *needs;      /* preprocessing, scratch, ... */
    const char *when;       /* when it is the right choice */
    const char *parameters; /* what tamis_plan_options.parameters may set: "chunk=32 (8..256): ..." or "" */
    bool baseline;          /* there to be compared with; `auto` never takes it */
    bool any_order;         /* sums in whatever order threads come: needs deterministic = false */
} tamis_algorithm_description;

/* Algorithms of all devices, by number 0 .. count - 1. */
TAMIS_API int tamis_algorithm_count(void);
TAMIS_API tamis_status tamis_algorithm_at(int number, tamis_algorithm_description *description);

/* ---------------------------------------------------------------------------------------------- plans */

typedef struct tamis_plan tamis_plan; /* an operation on one pattern, made ready for many executions */

/* exact: fp32 is fp32; tf32: tensor cores may round fp32 inputs to TF32. */
typedef enum tamis_math { TAMIS_MATH_EXACT = 0, TAMIS_MATH_TF32 = 1 } tamis_math;

/*
 * What a plan is for. Begin with TAMIS_PLAN_OPTIONS_INIT, which records the size the caller was compiled with, so
 * that later versions can add fields.
 */
typedef struct tamis_plan_options {
    size_t size;
    tamis_operation operation;
    tamis_edge edge;     /* SDDMM and fused; SpMM uses S's values as they are */
    tamis_type type;     /* of A, B, D, the output, and S's values where S has any */
    int64_t inner;       /* K: columns of A and B in SDDMM and fused; SpMM ignores it */
    int64_t width;       /* L: columns of SpMM's B and C and of fused's D and E; 0 in fused means K; SDDMM ignores it */
    double edge_scale;   /* sigmoid, exp, leaky_relu, softmax; 1 by default */
    double edge_slope;   /* leaky_relu; 0.01 by default */
    double edge_epsilon; /* quotient; 1e-10 by default, must be positive */
    int64_t batch;       /* value sets and dense operands over one pattern, 1 or more; 0 means 1 */
    int64_t expected_calls; /* how often the plan will be executed; set-up is weighed against it; 0 means 1 */
    bool deterministic;     /* bitwise the same result from the same device, plan and inputs; true by default */
    bool trust_input;       /* skip the check of S's arrays: wrong indices are then undefined behaviour */
    tamis_math math;
    int threads;            /* 0: the device's */
    const char *algorithm;  /* a name from the registry; NULL or "auto" to choose */
    const char *parameters; /* "name=value,name=value" for the algorithm; NULL: its own choice */
    tamis_layout a_layout, b_layout, d_layout, output_layout; /* of the operands to come; column-major ones are staged
                                                                 through the plan's workspace, which explain states */
    void *workspace;        /* scratch for executions, 64-byte aligned; NULL: the plan allocates its own */
    size_t workspace_bytes; /* its size, at least what tamis_workspace_size says */
} tamis_plan_options;

/* The defaults of a tamis_plan_options, and its size. */
#define TAMIS_PLAN_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        .size = sizeof(tamis_plan_options), .edge_scale = 1.0, .edge_slope = 0.01, .edge_epsilon = 1e-10,              \
        .deterministic = true                                                                                          \
    }

/*
 * Makes a plan: checks S (unless trusted), profiles it, chooses an algorithm, prepares and allocates. S's arrays are
 * kept by reference: the pattern must not change while the plan lives; values may change between executions.
 * Errors: TAMIS_ERROR_PATTERN names the broken entry; TAMIS_ERROR_UNSUPPORTED says why a named algorithm declined.
 */
TAMIS_API tamis_status tamis_plan_create(tamis_device *device, const tamis_sparse *S, const tamis_plan_options *options,
                                         tamis_plan **plan);

/* Destroys a plan; NULL is allowed. */
TAMIS_API void tamis_plan_destroy(tamis_plan *plan);

/* Bytes of scratch that executions of such a plan need (staging of operands, partial rows). */
TAMIS_API tamis_status tamis_workspace_size(tamis_device *device, const tamis_sparse *S,
                                            const tamis_plan_options *options, size_t *bytes);

/* Another set of values for later executions: nnz (times batch) elements of options.type; NULL means ones (for softmax:
   no bias). On a GPU the first NULL allocates, and a plan that was made without values keeps to that:
   TAMIS_ERROR_ARGUMENT. */
TAMIS_API tamis_status tamis_plan_set_values(tamis_plan *plan, const void *values, int64_t batch_stride);

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
} tamis_plan_report;

/* The same as tamis_plan_explain, as fields. */
TAMIS_API tamis_status tamis_plan_describe(const tamis_plan *plan, tamis_plan_report *report);

/* The algorithms that were not taken, by number 0 .. declined - 1, each with its reason. */
TAMIS_API tamis_status tamis_plan_declined(const tamis_plan *plan, int number, const char **algorithm,
                                           const char **reason);

/*
 * Executions: no allocation, no copy of operands except the staging that the plan announced. `stream` is the
 * device's queue (a CUstream, a cl_command_queue) and must be NULL on the CPU. beta = 0 never reads the output.
 * p: nnz elements in the order of S's entries (batch: nnz apart). The output must not overlap an input.
 */
TAMIS_API tamis_status tamis_plan_sddmm(tamis_plan *plan, void *stream, const tamis_dense *A, const tamis_dense *B,
                                        double alpha, double beta, void *p);
TAMIS_API tamis_status tamis_plan_spmm(tamis_plan *plan, void *stream, const tamis_dense *B, double alpha, double beta,
                                       const tamis_dense *C);
TAMIS_API tamis_status tamis_plan_fused(tamis_plan *plan, void *stream, const tamis_dense *A, const tamis_dense *B,
                                        const tamis_dense *D, double alpha, double beta, const tamis_dense *E);

/* ---------------------------------------------------------------------------------------------- one call */

/*
 * Arguments of the one-shot calls beside the operands. Zero-initialised fields mean the defaults named here, so
 * that &(tamis_args){.alpha = 1} is complete. alpha is taken as it is: 0 is 0.
 */
typedef struct tamis_args {
    double alpha, beta;
    tamis_edge edge;
    double edge_scale;   /* 0 means 1 */
    double edge_slope;   /* 0 means 0.01 */
    double edge_epsilon; /* 0 means 1e-10 */
    int64_t batch;       /* 0 means 1 */
    bool trust_input;
    bool any_order;        /* true: results may differ in the last bits from run to run (deterministic = false) */
    int threads;           /* 0: the device's */
    const char *algorithm; /* NULL: auto, among those that need no preprocessing */
} tamis_args;

/* One call, no preprocessing: checks, chooses, computes. Same meaning as the plan's executions. args may be NULL
   (alpha = 1, beta = 0, edge = scale). */
TAMIS_API tamis_status tamis_sddmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *A,
                                   const tamis_dense *B, const tamis_args *args, void *p);
TAMIS_API tamis_status tamis_spmm(tamis_device *device, const tamis_sparse *S, const tamis_dense *B,
                                  const tamis_args *args, const tamis_dense *C);
TAMIS_API tamis_status tamis_fused(tamis_device *device, const tamis_sparse *S, const tamis_dense *A,
                                   const tamis_dense *B, const tamis_dense *D, const tamis_args *args,
                                   const tamis_dense *E);

/* ---------------------------------------------------------------------------------------------- oracle */

/*
 * The same operations as the plainest loops, in double, single-threaded: what every algorithm is tested against.
 * Outputs are doubles whatever the types of the inputs: p has nnz * batch entries, c and e are row-major, packed,
 * rows x L (batch: rows * L apart). With beta != 0 the output is read as the old P, C or E.
 */
TAMIS_API tamis_status tamis_reference_sddmm(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                             const tamis_args *args, double *p);
TAMIS_API tamis_status tamis_reference_spmm(const tamis_sparse *S, const tamis_dense *B, const tamis_args *args,
                                            double *c);
TAMIS_API tamis_status tamis_reference_fused(const tamis_sparse *S, const tamis_dense *A, const tamis_dense *B,
                                             const tamis_dense *D, const tamis_args *args, double *e);

/* ---------------------------------------------------------------------------------------------- structure */

/* Host data only. Output arrays are the caller's, of S's index, offset and value types unless a comment says
   otherwise; they must not overlap the inputs. Pointers marked (optional) may be NULL. */

/* Checks every entry of S's arrays: TAMIS_ERROR_PATTERN with the first bad entry, its value and the bound. */
TAMIS_API tamis_status tamis_validate(const tamis_sparse *S);

/* How the rows of a matrix are filled. */
typedef struct tamis_profile {
    int64_t rows, cols, nnz;
    double mean;      /* nonzeros a row */
    double variation; /* coefficient of variation of the nonzeros a row: standard deviation / mean, 0 if nnz = 0 */
    int64_t max, min; /* longest and shortest row */
    int64_t empty_rows;
    int64_t bandwidth;  /* max |column - row| over the nonzeros */
    double mean_span;   /* mean over nonempty rows of last - first + 1 column */
    double density;     /* nnz / (rows * cols), 0 when that is 0 */
    bool sorted;        /* columns rise, or repeat, within every row (COO: entries by row, then column) */
    int64_t duplicates; /* entries equal to their predecessor in a sorted row; -1 when not sorted */
} tamis_profile;

/* Row profile of a valid S. One pass over the arrays. */
TAMIS_API tamis_status tamis_row_profile(const tamis_sparse *S, tamis_profile *profile);

/* CSR -> COO: row_indices[nnz]. Columns and values stay S's. */
TAMIS_API tamis_status tamis_csr_to_coo(const tamis_sparse *S, void *row_indices);

/* COO (any order) -> CSR, stable within a row: offsets[rows + 1], columns[nnz], values[nnz] (optional; ones where S
   has none), permutation[nnz] (optional): entry t of the CSR is entry permutation[t] of S. */
TAMIS_API tamis_status tamis_coo_to_csr(const tamis_sparse *S, void *offsets, void *columns, void *values,
                                        int64_t *permutation);

/* Transpose of CSR or COO as CSR (cols x rows), rows of each column in the order of S: offsets[cols + 1],
   columns[nnz], values[nnz] (optional), permutation[nnz] (optional) as above. */
TAMIS_API tamis_status tamis_transpose(const tamis_sparse *S, void *offsets, void *columns, void *values,
                                       int64_t *permutation);

/* CSR with the columns of each row sorted, stable among equals: columns[nnz], values[nnz] (optional),
   permutation[nnz] (optional). Offsets stay S's. */
TAMIS_API tamis_status tamis_sort(const tamis_sparse *S, void *columns, void *values, int64_t *permutation);

#ifdef __cplusplus
}
#endif

#endif
