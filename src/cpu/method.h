/*
 * A method of this backend: a row of its table of algorithms (methods.def), with everything that is specific to it.
 * Then the method prepared for one problem: the kernel, the split among threads, the scratch.
 */
#ifndef TAMIS_CPU_METHOD_H
#define TAMIS_CPU_METHOD_H

#include "backend/backend.h"
#include "base/parameters.h"
#include "cpu/kernels/kernels.h"
#include "sparse/index.h"

enum { /* the operations that a method serves */
       TAMIS_CPU_ALL = 1u << TAMIS_OP_SDDMM | 1u << TAMIS_OP_SPMM | 1u << TAMIS_OP_FUSED
};

enum { TAMIS_CPU_PARAMETERS = 5, TAMIS_CPU_KEPT = 6 };

/* Upper limit of the ranges of all threads. */
enum { TAMIS_CPU_RANGES = 1024 };

/* At the end of a parameter's range: TAMIS_CPU_CHUNK, or 2^20 for fused. */
enum { TAMIS_CPU_CHUNK_MOST = -1 };

typedef struct tamis_cpu_method {
    tamis_algorithm common;
    tamis_parameter parameters[TAMIS_CPU_PARAMETERS]; /* ended by a NULL name */
    int reported;                                     /* a plan reports the first `reported` parameters that are set */
    bool (*accepts)(const tamis_problem *problem, char *reason, size_t bytes); /* NULL: every problem */
    void (*predict)(const tamis_problem *problem, tamis_prediction *prediction);
    /* fills prepared->parameters (initially 0), before the user's values replace them; NULL: all stay 0 */
    void (*defaults)(tamis_prepared *prepared);
    /* checks the parameters, and sets the specific parts of prepared->job and of the scratch; NULL: there are none */
    tamis_status (*prepare)(tamis_prepared *prepared);
    /* the rows of each range; NULL: equal nonzeros, which may cut rows unless prepared->together is set */
    void (*split)(const tamis_prepared *prepared, tamis_cpu_range *ranges);
    bool blocks;        /* dynamic scheduling: threads take blocks of whole rows, instead of that split */
    size_t state_bytes; /* size of the structure that its kernels read as job->state, zeroed */
} tamis_cpu_method;

#define ROW(method, kernels) extern const tamis_cpu_method method;
#include "cpu/methods.def"
#undef ROW

struct tamis_prepared {
    const tamis_cpu_method *method;
    tamis_problem problem; /* its evidence and parameters are not kept */
    const tamis_cpu_kernels *kernels;
    tamis_cpu_kernel *kernel; /* the method's, for the operation */
    int64_t parameters[TAMIS_CPU_PARAMETERS];
    void *state;
    tamis_cpu_job job; /* without operands: common to all executions */
    int threads;
    /* NULL, or a step before the kernels, once per member: a thread packs share `share` of `shares` into the
       packed_bytes at job->packed, which all threads use */
    void (*pack)(const tamis_cpu_job *job, int share, int shares);
    int64_t packed_bytes;
    int64_t grain;    /* rows of a block for dynamic scheduling */
    int64_t together; /* rows that one range has, at multiples of it; 0: rows may be cut */
    int ranges_of_thread;
    tamis_cpu_range *ranges; /* ranges_of_thread per thread */
    bool cuts;               /* some ranges share rows, whose partial sums are merged */
    int64_t rows_kept;       /* partial rows per thread: carry, and those in `block` */
    int64_t partial_stride;  /* bytes of one */
    int64_t chunk_bytes;     /* of range->chunk, at the end of a thread's scratch */
    int64_t thread_scratch;
    int64_t samples_at;   /* offset of the samples of softmax */
    int64_t packed_at;    /* offset of the packed operands */
    size_t scratch_bytes; /* of the threads, the ranges' head and tail, the packed operands, the samples of softmax */
    size_t prepared_bytes;
    void *kept[TAMIS_CPU_KEPT]; /* memory owned by the plan */
    int kept_count;
};

static inline int tamis_cpu_range_count(const tamis_prepared *p) { return p->threads * p->ranges_of_thread; }

/* The first nonzero of a row of S. */
static inline int64_t tamis_cpu_offset(const tamis_problem *problem, int64_t row) {
    return tamis_index_load(problem->offsets, problem->offset_type, row);
}

/* Place i that a prediction looks at, of `count`: multiples of the golden ratio, so that a few are already spread
   evenly. */
static inline int64_t tamis_cpu_sample(int64_t count, int i) {
    const double place = 0.6180339887 * i + 0.5;
    return (int64_t)((double)count * (place - (int)place));
}

/* Allocates memory that the plan owns: `count` elements of `size` bytes. */
tamis_status tamis_cpu_keep(tamis_prepared *p, int64_t count, size_t size, const char *what, void **memory);

/* Bytes of a chunk of `reals` reals in a thread's scratch. */
int64_t tamis_cpu_chunk_bytes(const tamis_prepared *p, int64_t reals);

/* Prefetch distance of rows, in nonzeros. */
int64_t tamis_cpu_choose_prefetch(const tamis_problem *problem);
/* The nonzeros of a chunk; `fused` for fused, unless D is B. */
int64_t tamis_cpu_choose_chunk(const tamis_problem *problem, int64_t fused);
/* True if the output should use non-temporal stores, so as not to displace B and D from the last cache. */
bool tamis_cpu_choose_stream(const tamis_problem *problem);

/* The common parameters of methods whose kernels walk over rows, in this order, with their description, and the
   functions of methods that have only these three. */
enum { TAMIS_CPU_WALK_PREFETCH, TAMIS_CPU_WALK_CHUNK, TAMIS_CPU_WALK_STREAM };
#define TAMIS_CPU_WALK_PARAMETERS                                                                                      \
    {"prefetch", 0, 4096}, { "chunk", 8, TAMIS_CPU_CHUNK_MOST }
#define TAMIS_CPU_WALK_TEXT                                                                                            \
    "prefetch (0 to 4096): nonzeros ahead at which rows of B and D are prefetched; "                                   \
    "chunk (8 to 2048; fused to 1048576): samples per chunk"
#define TAMIS_CPU_STREAM_TEXT                                                                                          \
    "; stream (0 or 1): rows of C and E in fp32 and fp64 that are whole cache lines are written past the caches"
void tamis_cpu_walk_defaults(tamis_prepared *p);
tamis_status tamis_cpu_walk_prepare(tamis_prepared *p);

/* Cuts the nonzeros into about equal ranges; tamis_cpu_range explains cut rows. Only rows that are long enough to make
   a thread wait are cut. Every empty row belongs to exactly one range. */
void tamis_cpu_partition(const tamis_prepared *p, tamis_cpu_range *ranges);

/* Equal nonzeros, but each range begins at a multiple of `together` rows, and no row is cut. */
void tamis_cpu_split_whole(const tamis_prepared *p, int64_t together, tamis_cpu_range *ranges);

/* Makes *range the rows begin .. end - 1, which no other range shares. */
void tamis_cpu_whole_rows(const tamis_problem *problem, int64_t begin, int64_t end, tamis_cpu_range *range);

#endif
