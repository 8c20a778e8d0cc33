/*
 * An algorithm of this backend made ready for one problem. A method is what the rows of algorithms.c point to: its
 * parameters with their defaults, what it prepares, and how it executes. One file of src/gpu/methods holds a family.
 */
#ifndef TAMIS_GPU_PLAN_H
#define TAMIS_GPU_PLAN_H

#include "backend/backend.h"
#include "base/parameters.h"
#include "gpu/call.h"
#include "gpu/jit.h"
#include "gpu/runtime.h"

enum { TAMIS_GPU_KERNELS = 8, TAMIS_GPU_MEMORIES = 8, TAMIS_GPU_PARAMETERS = 10, TAMIS_GPU_NUMBERS = 12 };

typedef struct tamis_gpu_method {
    const char *name;
    tamis_parameter parameters[TAMIS_GPU_PARAMETERS]; /* ended by a NULL name */
    /* by the paper's rule; what the user names replaces them */
    void (*defaults)(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters);
    /* compiles, allocates, and sets scratch_bytes */
    tamis_status (*prepare)(tamis_prepared *prepared);
    /* all members of a batch where it `batches`, else one */
    tamis_status (*execute)(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);
    bool batches; /* takes the members along the grid's z: see BATCH_PARAMETERS of kernels/simt.h */
    bool widens;  /* stores fp32 results of 16-bit operands, too */
    bool keeps;   /* of fused: writes softmax_rows. SDDMM's are written by softmax.simt, whatever the method */
} tamis_gpu_method;

struct tamis_prepared {
    const tamis_gpu_method *method;
    tamis_gpu_device *device;
    tamis_problem problem; /* its profile, ceilings and parameters are not kept */
    tamis_profile profile;
    int64_t parameters[TAMIS_GPU_PARAMETERS];
    tamis_gpu_kernel *kernels[TAMIS_GPU_KERNELS];
    tamis_gpu_kernel *narrow[TAMIS_GPU_KERNELS]; /* of those that are two: for rows that cannot be read in units */
    void *memories[TAMIS_GPU_MEMORIES];          /* what it keeps on the device */
    int64_t numbers[TAMIS_GPU_NUMBERS];          /* the method's own */
    int64_t unit;                                /* elements that its kernels read at once (see simt.h) */
    size_t prepared_bytes, scratch_bytes;
    tamis_math math;              /* what the method rounds fp32 inputs to */
    tamis_prepared *inner;        /* another method that this one passes its work to */
    tamis_prepared *inner_second; /* and one that goes on from there */
    tamis_gpu_kernel *softmax[3]; /* SDDMM with softmax: see softmax.h */
    size_t softmax_scratch;       /* the scores and what merges them, before the method's own scratch */
};

/* The method made ready: parameters, softmax, kernels, memory. */
tamis_status tamis_gpu_prepare(const tamis_gpu_method *method, const tamis_problem *problem, tamis_prepared **prepared);
void tamis_gpu_prepared_release(tamis_prepared *prepared);
void tamis_gpu_sizes(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
tamis_status tamis_gpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);

/* --- for the methods */

/* Whether the samples go to scratch as reals, to be turned into softmax afterwards. */
static inline bool tamis_gpu_scores(const tamis_prepared *p) {
    return p->problem.operation == TAMIS_OP_SDDMM && p->problem.edge == TAMIS_EDGE_SOFTMAX;
}

/* Devices that compile fast get kernels for what is asked of them, others one for all edges and widths. */
static inline bool tamis_gpu_compiles_fast(const tamis_prepared *p) { return p->device->limits.subgroup == 32; }

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
/* The same for a kernel by BY_WIDTH (kernels/simt.h) whose launches are by tamis_gpu_launch_kernel with arguments of
   tamis_gpu_add_wide: CUDA gets two kernels, which are compiled side by side. */
tamis_status tamis_gpu_add_split_kernel(tamis_prepared *p, int number, const char *file, const char *kernel,
                                        const tamis_gpu_definitions *definitions, int64_t shared_bytes);

/* The arguments that KEEP_PARAMETERS of kernels/edges.h names, in plans that have them: the last ones. */
void tamis_gpu_add_softmax_rows(const tamis_prepared *p, const tamis_operands *x, tamis_gpu_call *call);

tamis_status tamis_gpu_add_kept(tamis_prepared *p, int number, int64_t count, size_t size, const char *what);

/* The arguments that EDGE_PARAMETERS and SDDMM_PARAMETERS of kernels/edges.h name. */
void tamis_gpu_add_edge(const tamis_prepared *p, const tamis_operands *x, tamis_gpu_call *call);
void tamis_gpu_sddmm_arguments(const tamis_prepared *p, const tamis_operands *x, tamis_gpu_call *call);
/* The same for rows of `inner` elements, which may be parts of the problem's. */
void tamis_gpu_sddmm_arguments_of(const tamis_prepared *p, const tamis_operands *x, int64_t inner,
                                  tamis_gpu_call *call);

/* Bits of `wide`: 1 where rows of A, B (and D) can be read a unit at a time and lie less than 2^31 bytes apart, 2 where
   columns can be read 16 bytes at a time. */
int tamis_gpu_wide(const tamis_prepared *p, const tamis_operands *x);

/* That, with more bits, as an argument. */
void tamis_gpu_add_wide(const tamis_prepared *p, const tamis_operands *x, int more, tamis_gpu_call *call);

/* Whether rows of elements of `size` bytes, `stride` of them apart, all begin at multiples of `bytes`, those of
   members of a batch, `apart` elements apart, too. */
bool tamis_gpu_aligned(const tamis_gpu_device *device, tamis_place place, int64_t stride, int64_t apart, size_t size,
                       size_t bytes);

/* The members of a batch, and the arguments that BATCH_PARAMETERS of kernels/simt.h name. */
void tamis_gpu_add_batch(const tamis_prepared *p, const tamis_operands *x, tamis_gpu_call *call);

tamis_status tamis_gpu_launch_kernel(const tamis_prepared *p, void *stream, int number, int64_t groups_x,
                                     int64_t groups_y, int group, int64_t shared_bytes, const tamis_gpu_call *call);

static inline tamis_place tamis_gpu_after(tamis_place place, int64_t bytes) {
    place.bytes += bytes;
    return place;
}

/* Of what sums are kept in. */
static inline size_t tamis_gpu_real_size(tamis_type type) { return type == TAMIS_F64 ? 8 : 4; }

#endif
