/*
 * Methods of this backend, and a method prepared for one problem. The rows of algorithms.c point to methods: parameters
 * with their defaults, `prepare` and `execute`. Each has a folder, with its kernels.
 */
#ifndef TAMIS_GPU_METHOD_H
#define TAMIS_GPU_METHOD_H

#include "backend/backend.h"
#include "base/parameters.h"
#include "gpu/compile/jit.h"
#include "gpu/runtime/arguments.h"

enum { /* bits of the operations that an algorithm serves */
       TAMIS_GPU_SDDMM = 1u << TAMIS_OP_SDDMM,
       TAMIS_GPU_SPMM = 1u << TAMIS_OP_SPMM,
       TAMIS_GPU_FUSED = 1u << TAMIS_OP_FUSED,
       TAMIS_GPU_ALL = TAMIS_GPU_SDDMM | TAMIS_GPU_SPMM | TAMIS_GPU_FUSED
};

enum { TAMIS_GPU_KERNELS = 4, TAMIS_GPU_KEPT = 12, TAMIS_GPU_PARAMETERS = 10, TAMIS_GPU_MADE = 9 };

/* A kernel of a method, as tamis_gpu_prepare_kernel compiles it. */
typedef struct tamis_gpu_kernel_row {
    const char *file, *name;
    bool split; /* takes `wide`: see tamis_gpu_add_split_kernel */
    struct {
        const char *name;
        int64_t value;
    } definitions[2]; /* its constants */
} tamis_gpu_kernel_row;

typedef struct tamis_gpu_method {
    const char *name;
    tamis_gpu_kernel_row kernels[TAMIS_GPU_KERNELS];
    tamis_parameter parameters[TAMIS_GPU_PARAMETERS]; /* ended by a NULL name */
    const char *defined[TAMIS_GPU_PARAMETERS];        /* definitions of the parameters' values; NULL: not defined */
    /* sets defaults by the paper's rule; values that the user names replace them */
    void (*defaults)(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);
    /* compiles, allocates, and sets scratch_bytes */
    tamis_status (*prepare)(tamis_prepared *prepared);
    /* executes all members of a batch if it `batches`, else one */
    tamis_status (*execute)(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);
    /* memory of a single call (`once`) that allocates or has scratch; NULL: it needs none, or is never chosen for
       single calls */
    tamis_call_bytes (*call_bytes)(const tamis_problem *problem);
    size_t state_bytes; /* size of the method's own part of a plan, zeroed */
    bool batches;       /* takes batch members along the grid's z: see BATCH_PARAMETERS of dialect/simt.h */
    bool widens;        /* can store fp32 results of 16-bit operands */
    bool keeps;         /* fused: writes softmax_rows. SDDMM's are written by softmax.simt for every method */
    bool keeps_bare;    /* also if E has no columns */
    bool texts;         /* fused: kernels know where entries are, and take TEXT_PARAMETERS */
    bool slopes;        /* and the text's derivatives */
    bool (*unlisted)(const tamis_problem *problem); /* true if it needs no list of a mask's columns; NULL: it does */
} tamis_gpu_method;

typedef void tamis_gpu_predictor(const tamis_problem *problem, tamis_prediction *prediction);

/* A row of the table of algorithms: name, requirements, and methods by operation. */
typedef struct tamis_gpu_algorithm {
    tamis_algorithm common;
    const tamis_gpu_method *methods[3];
    tamis_gpu_predictor *predict;
    double relative;       /* without a predictor: measured mean time relative to gpu-nonzeros */
    bool sorted;           /* columns must be sorted within rows */
    const char *cuda_only; /* the reason why OpenCL is not supported; NULL: it is */
    bool (*also)(const tamis_problem *problem, char *reason, size_t bytes); /* further requirements */
    bool orders;     /* has a deterministic variant beside the one with atomics, and uses it on request */
    bool no_softmax; /* fused: cannot do softmax, since no team sees a whole row */
    bool by_samples; /* fused: by an SDDMM, which knows where entries are */
} tamis_gpu_algorithm;

struct tamis_prepared {
    const tamis_gpu_method *method;
    tamis_gpu_device *device;
    tamis_problem problem; /* its profile, ceilings and parameters are not kept */
    tamis_profile profile;
    int64_t parameters[TAMIS_GPU_PARAMETERS];
    tamis_gpu_kernel *kernels[TAMIS_GPU_KERNELS];
    tamis_gpu_kernel
        *narrow[TAMIS_GPU_KERNELS]; /* second variant of split kernels: for rows that do not allow vector loads */
    void *state;                    /* the method's own state, of state_bytes */
    void *kept[TAMIS_GPU_KEPT];     /* device memory released with the plan */
    int kept_count;
    /* of kernel 0, for tamis_gpu_launch_prepared */
    tamis_gpu_launch launch;
    tamis_gpu_named made[TAMIS_GPU_MADE]; /* arguments that stay as they were prepared */
    int made_count;
    int64_t unit; /* elements of a vector load (see simt.h) */
    size_t prepared_bytes, scratch_bytes;
    tamis_math math;              /* the precision to which the method rounds fp32 inputs */
    tamis_prepared *inner;        /* another method that does this one's work */
    tamis_prepared *inner_second; /* a second one, for the next step */
    tamis_gpu_kernel *softmax[3]; /* SDDMM with softmax: see softmax.h */
    char *edge_code;              /* of an edge that is a text: what kernels read before their file; else NULL */
    size_t softmax_scratch;       /* the scores and their merge data; precedes the method's own scratch */
};

/* True if kernels of methods cannot compute the edge: a text that reads where an entry is, or arrays, which they do not
   say, or a text's softmax. */
static inline bool tamis_gpu_text_is_apart(const tamis_problem *problem) {
    const tamis_edge_text *const text = problem->operation == TAMIS_OP_SPMM ? NULL : problem->edge_constants.text;
    return tamis_edge_text_reads_places(text) || (text && text->value.softmax);
}

/* True if samples are therefore products in scratch, and edge_text.simt computes the edge, or softmax's scores,
   afterwards. */
static inline bool tamis_gpu_finishes_text(const tamis_problem *problem) {
    return problem->operation == TAMIS_OP_SDDMM && tamis_gpu_text_is_apart(problem);
}

/* True if the samples are in scratch, as reals: scores, which softmax.simt normalises afterwards, or products. */
static inline bool tamis_gpu_scores(const tamis_prepared *p) {
    return (p->problem.operation == TAMIS_OP_SDDMM && p->problem.edge == TAMIS_EDGE_SOFTMAX) ||
           tamis_gpu_finishes_text(&p->problem);
}

/* Fast compilers get specialised kernels; slow ones get one for all edges and widths. */
static inline bool tamis_gpu_compiles_fast(const tamis_prepared *p) { return p->device->limits.subgroup == 32; }

/* The value of a parameter that the method has. */
int64_t tamis_gpu_parameter(const tamis_prepared *p, const char *name);

/* Fails, naming it, if one of the parameters first .. last is not a power of two. */
tamis_status tamis_gpu_check_powers(const tamis_prepared *p, int first, int last);

/* Adds the definitions that all kernels share: types, edge, whether S has values, units, batches; GROUP and TEAM; the
   method's `defined` parameters. */
void tamis_gpu_define_problem(tamis_gpu_definitions *definitions, const tamis_prepared *p, int group, int team);

/* Pieces per lane and step for a row of `pieces` pieces: the fewest that do not add a step. */
int64_t tamis_gpu_lane_pieces(int64_t pieces, int64_t team, int64_t pieces_most);

/* Defines K, WHOLE_UNITS, PIECES, EXACT, UNITS_FULL and ONE_STEP for rows of `inner` read by `team` lanes, at most
   `pieces_most` pieces a lane at once. */
int tamis_gpu_define_inner(tamis_gpu_definitions *definitions, const tamis_prepared *p, int64_t inner, int team,
                           int pieces_most);

tamis_status tamis_gpu_add_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                  const tamis_gpu_definitions *definitions, int64_t shared_bytes);
/* The same for a kernel that takes `wide`: CUDA gets two, with WIDE (dialect/simt.h) 0 and 1, compiled in parallel. */
tamis_status tamis_gpu_add_split_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                        const tamis_gpu_definitions *definitions, int64_t shared_bytes);

/* Adds kernel `number` of the method's rows, with the definitions of the problem, of the row and `own` (NULL: none).
   Kernel 0 has the shared memory of p->launch, and its size as SHARED_BYTES. */
tamis_status tamis_gpu_prepare_kernel(tamis_prepared *p, int number, int64_t group, int64_t team,
                                      const tamis_gpu_definitions *own);

/* Device memory owned by the plan: allocated here, or taken over (allocated with tamis_kept_stream). */
tamis_status tamis_gpu_add_kept(tamis_prepared *p, void **memory, int64_t count, size_t size, const char *what);
void tamis_gpu_keep(tamis_prepared *p, void *memory, size_t bytes);

/* Fills the common arguments of kernels for an execution. A method changes those that differ in its launches. */
tamis_gpu_common tamis_gpu_common_of(const tamis_prepared *p, const tamis_operands *x);

/* Bits of `wide`: 1 if rows of A, B (and D) allow vector loads of units and lie less than 2^31 bytes apart, 2 if
   columns allow 16-byte loads. */
int tamis_gpu_wide(const tamis_prepared *p, const tamis_operands *x);

/* True if all rows, of elements of `size` bytes, begin at multiples of `bytes`. */
bool tamis_gpu_aligned(const tamis_gpu_device *device, const tamis_matrix *x, size_t size, size_t bytes);

/* Launches kernel `number` for all members, with `common` arguments and the method's `own` (NULL: none). */
tamis_status tamis_gpu_launch_kernel(const tamis_prepared *p, void *stream, int number, tamis_gpu_launch launch,
                                     const tamis_gpu_common *common, const tamis_gpu_named *own);

/* Adds to the arguments of p->made; a list ends as TAMIS_GPU_ARGUMENTS does. */
void tamis_gpu_add_arguments(tamis_prepared *p, const tamis_gpu_named *arguments);

/* Launches kernel 0 as p->launch says, with p->made and the `own` arguments of this launch (NULL: none). */
tamis_status tamis_gpu_launch_prepared(const tamis_prepared *p, void *stream, const tamis_gpu_common *common,
                                       const tamis_gpu_named *own);

/* `execute` of methods that launch kernel 0 once, without arguments of an execution, or leave the work to p->inner. */
tamis_status tamis_gpu_execute_prepared(const tamis_prepared *p, void *stream, const tamis_operands *x);

static inline int64_t tamis_gpu_min(int64_t x, int64_t y) { return x < y ? x : y; }
static inline int64_t tamis_gpu_max(int64_t x, int64_t y) { return x > y ? x : y; }
static inline int64_t tamis_gpu_ceiling(int64_t x, int64_t unit) { return (x + unit - 1) / unit; }
static inline int64_t tamis_gpu_round_up(int64_t x, int64_t unit) { return tamis_gpu_ceiling(x, unit) * unit; }

static inline tamis_place tamis_gpu_after(tamis_place place, int64_t bytes) {
    place.bytes += bytes;
    return place;
}

/* Bytes of the accumulator type. */
static inline size_t tamis_gpu_real_size(tamis_type type) { return type == TAMIS_F64 ? 8 : 4; }

/* Bytes of a real for each nonzero. */
static inline size_t tamis_gpu_sample_bytes(const tamis_problem *problem) {
    return (size_t)problem->nnz * tamis_gpu_real_size(problem->type);
}

/* Elements of 16 bytes. */
static inline int64_t tamis_gpu_piece(tamis_type type) { return 16 / (int64_t)tamis_type_size(type); }

#endif
