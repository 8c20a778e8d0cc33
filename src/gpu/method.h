/*
 * An algorithm of this backend made ready for one problem. A method is what the rows of algorithms.c point to: its
 * parameters with their defaults, what it prepares, and how it executes. Each has a folder, with its kernels.
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

enum { TAMIS_GPU_KERNELS = 4, TAMIS_GPU_KEPT = 12, TAMIS_GPU_PARAMETERS = 10 };

typedef struct tamis_gpu_method {
    const char *name;
    tamis_parameter parameters[TAMIS_GPU_PARAMETERS]; /* ended by a NULL name */
    /* by the paper's rule; what the user names replaces them */
    void (*defaults)(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);
    /* compiles, allocates, and sets scratch_bytes */
    tamis_status (*prepare)(tamis_prepared *prepared);
    /* all members of a batch where it `batches`, else one */
    tamis_status (*execute)(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);
    /* for `once`, where it allocates or has scratch; NULL: it does not, or is not chosen for single calls */
    tamis_call_bytes (*call_bytes)(const tamis_problem *problem);
    size_t state_bytes; /* of what its plans know beside the parameters: a structure of its own, zeroed */
    bool batches;       /* takes the members along the grid's z: see BATCH_PARAMETERS of dialect/simt.h */
    bool widens;        /* stores fp32 results of 16-bit operands, too */
    bool keeps;         /* of fused: writes softmax_rows. SDDMM's are written by softmax.simt, whatever the method */
    bool keeps_bare;    /* even where E has no columns */
} tamis_gpu_method;

typedef void tamis_gpu_predictor(const tamis_problem *problem, tamis_prediction *prediction);

/* A row of the table of algorithms: what it is called, what it needs, and its methods by operation. */
typedef struct tamis_gpu_algorithm {
    tamis_algorithm common;
    const tamis_gpu_method *methods[3];
    tamis_gpu_predictor *predict;
    double relative;       /* without a predictor: calls of gpu-nonzeros, the mean of what was measured */
    bool sorted;           /* columns must rise within rows */
    const char *cuda_only; /* why OpenCL cannot; NULL: it can */
    bool (*also)(const tamis_problem *problem, char *reason, size_t bytes); /* more that it needs */
    bool orders;     /* has a deterministic variant beside the one that adds in any order, and takes it when asked to */
    bool no_softmax; /* of fused: rows are not seen as a whole */
} tamis_gpu_algorithm;

struct tamis_prepared {
    const tamis_gpu_method *method;
    tamis_gpu_device *device;
    tamis_problem problem; /* its profile, ceilings and parameters are not kept */
    tamis_profile profile;
    int64_t parameters[TAMIS_GPU_PARAMETERS];
    tamis_gpu_kernel *kernels[TAMIS_GPU_KERNELS];
    tamis_gpu_kernel *narrow[TAMIS_GPU_KERNELS]; /* of those that are two: for rows that cannot be read in units */
    void *state;                                 /* the method's own, of state_bytes */
    void *kept[TAMIS_GPU_KEPT];                  /* memory of the device that is released with the plan */
    int kept_count;
    int64_t unit; /* elements that its kernels read at once (see simt.h) */
    size_t prepared_bytes, scratch_bytes;
    tamis_math math;              /* what the method rounds fp32 inputs to */
    tamis_prepared *inner;        /* another method that this one passes its work to */
    tamis_prepared *inner_second; /* and one that goes on from there */
    tamis_gpu_kernel *softmax[3]; /* SDDMM with softmax: see softmax.h */
    size_t softmax_scratch;       /* the scores and what merges them, before the method's own scratch */
};

/* Whether the samples go to scratch as reals, to be turned into softmax afterwards. */
static inline bool tamis_gpu_scores(const tamis_prepared *p) {
    return p->problem.operation == TAMIS_OP_SDDMM && p->problem.edge == TAMIS_EDGE_SOFTMAX;
}

/* Devices that compile fast get kernels for what is asked of them, others one for all edges and widths. */
static inline bool tamis_gpu_compiles_fast(const tamis_prepared *p) { return p->device->limits.subgroup == 32; }

/* The value of the parameter of that name, which the method has. */
int64_t tamis_gpu_parameter(const tamis_prepared *p, const char *name);

/* An error that names the first of the parameters first .. last that is not a power of two. */
tamis_status tamis_gpu_check_powers(const tamis_prepared *p, int first, int last);

/* The definitions that all kernels share: types, edge, whether S has values, units, batches; then GROUP and TEAM. */
void tamis_gpu_define_problem(tamis_gpu_definitions *definitions, const tamis_prepared *p, int group, int team);

/* Pieces of a row of so many that each lane of a team has at once: as few as make no more steps of them. */
int64_t tamis_gpu_lane_pieces(int64_t pieces, int64_t team, int64_t pieces_most);

/* K, WHOLE_UNITS, PIECES, EXACT, UNITS_FULL and ONE_STEP for rows of `inner` read by `team` lanes: at most
   `pieces_most` pieces a lane at once. */
int tamis_gpu_define_inner(tamis_gpu_definitions *definitions, const tamis_prepared *p, int64_t inner, int team,
                           int pieces_most);

tamis_status tamis_gpu_add_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                  const tamis_gpu_definitions *definitions, int64_t shared_bytes);
/* The same for a kernel that takes `wide`: CUDA gets two, with WIDE (dialect/simt.h) of 0 and 1, compiled side by side.
 */
tamis_status tamis_gpu_add_split_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                        const tamis_gpu_definitions *definitions, int64_t shared_bytes);

/* Memory of the device that the plan keeps: allocated here, or taken over (allocated with tamis_kept_stream). */
tamis_status tamis_gpu_add_kept(tamis_prepared *p, void **memory, int64_t count, size_t size, const char *what);
void tamis_gpu_keep(tamis_prepared *p, void *memory, size_t bytes);

/* The common arguments of kernels for an execution. A method changes those that differ in its launches. */
tamis_gpu_common tamis_gpu_common_of(const tamis_prepared *p, const tamis_operands *x);

/* Bits of `wide`: 1 where rows of A, B (and D) can be read a unit at a time and lie less than 2^31 bytes apart, 2 where
   columns can be read 16 bytes at a time. */
int tamis_gpu_wide(const tamis_prepared *p, const tamis_operands *x);

/* Whether rows of elements of `size` bytes, `stride` of them apart, all begin at multiples of `bytes`, those of
   members of a batch, `batch_stride` elements apart, too. */
bool tamis_gpu_aligned(const tamis_gpu_device *device, tamis_place place, int64_t stride, int64_t batch_stride,
                       size_t size, size_t bytes);

/* Launches kernel `number` for all members: `common` beside what is the method's `own` (NULL: nothing). */
tamis_status tamis_gpu_launch_kernel(const tamis_prepared *p, void *stream, int number, tamis_gpu_launch launch,
                                     const tamis_gpu_common *common, const tamis_gpu_named *own);

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

#endif
