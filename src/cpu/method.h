/*
 * A method of this backend: a row of its table of algorithms (methods.def), with everything in which it differs from
 * the others. Then the method prepared for one problem: the kernel, the split between threads, the scratch.
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

/* Ranges of all threads, at most. */
enum { TAMIS_CPU_RANGES = 1024 };

/* At the end of a parameter's range, this means TAMIS_CPU_CHUNK, or 2^20 for fused. */
enum { TAMIS_CPU_CHUNK_MOST = -1 };

typedef struct tamis_cpu_method {
    tamis_algorithm common;
    tamis_parameter parameters[TAMIS_CPU_PARAMETERS]; /* ended by a NULL name */
    int reported;                                     /* a plan reports the first so many that are set */
    bool (*accepts)(const tamis_problem *problem, char *reason, size_t bytes); /* NULL: every problem */
    void (*predict)(const tamis_problem *problem, tamis_prediction *prediction);
    /* fills prepared->parameters, which are 0; those that the user names then replace them; NULL: all stay 0 */
    void (*defaults)(tamis_prepared *prepared);
    /* checks the parameters, and sets what differs in prepared->job and in the scratch; NULL: nothing does */
    tamis_status (*prepare)(tamis_prepared *prepared);
    /* the rows of each range; NULL: equal nonzeros, which may cut rows */
    void (*split)(const tamis_prepared *prepared, tamis_cpu_range *ranges);
    bool blocks;        /* threads take blocks of whole rows until none is left, instead of that split */
    size_t state_bytes; /* what its kernels read as job->state: a structure of its own, zeroed */
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
    tamis_cpu_job job; /* without operands: what all executions have in common */
    int threads;
    /* NULL, or what the threads do before the kernels, once for each member: share `share` of `shares` of the
       packed_bytes at job->packed, which they share */
    void (*pack)(const tamis_cpu_job *job, int share, int shares);
    int64_t packed_bytes;
    int64_t grain; /* rows of a block that threads take */
    int ranges_of_thread;
    tamis_cpu_range *ranges; /* ranges_of_thread of each thread */
    bool cuts;               /* ranges share rows, whose parts are merged */
    int64_t rows_kept;       /* partial rows of a thread: carry, and those of `block` */
    int64_t partial_stride;  /* bytes of one */
    int64_t chunk_bytes;     /* of range->chunk, at the end of a thread's scratch */
    int64_t thread_scratch;
    int64_t samples_at;   /* where the samples of softmax are */
    int64_t packed_at;    /* where what is packed is */
    size_t scratch_bytes; /* that of the threads, head and tail of the ranges, what is packed, the samples of softmax */
    size_t prepared_bytes;
    void *kept[TAMIS_CPU_KEPT]; /* memory that is released with the plan */
    int kept_count;
};

static inline int tamis_cpu_range_count(const tamis_prepared *p) { return p->threads * p->ranges_of_thread; }

/* Where a row of S begins. */
static inline int64_t tamis_cpu_offset(const tamis_problem *problem, int64_t row) {
    return tamis_index_load(problem->offsets, problem->offset_type, row);
}

/* Allocates memory that the plan keeps: `count` elements of `size` bytes. */
tamis_status tamis_cpu_keep(tamis_prepared *p, int64_t count, size_t size, const char *what, void **memory);

/* Bytes of a chunk of so many reals in a thread's scratch. */
int64_t tamis_cpu_chunk_bytes(const tamis_prepared *p, int64_t reals);

/* How many nonzeros ahead rows are prefetched. */
int64_t tamis_cpu_choose_prefetch(const tamis_problem *problem);
/* The nonzeros of a chunk; `fused` of them in fused, unless D is B. */
int64_t tamis_cpu_choose_chunk(const tamis_problem *problem, int64_t fused);
/* Whether the output should not displace B and D from the last cache. */
bool tamis_cpu_choose_stream(const tamis_problem *problem);

/* The parameters of methods whose kernels walk over rows, in this order, their description, and the functions of
   methods that have these three alone. */
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

/* Cuts the nonzeros into about equal ranges; tamis_cpu_range says how cut rows are handled. Only rows are cut that are
   so long that a thread would wait for them. Every empty row belongs to exactly one range. */
void tamis_cpu_partition(const tamis_prepared *p, tamis_cpu_range *ranges);

/* Equal nonzeros, but each range begins with a multiple of `together` rows, and no row is cut. */
void tamis_cpu_split_whole(const tamis_prepared *p, int64_t together, tamis_cpu_range *ranges);

/* Makes *range the rows begin .. end - 1, which no other range shares. */
void tamis_cpu_whole_rows(const tamis_problem *problem, int64_t begin, int64_t end, tamis_cpu_range *range);

#endif
