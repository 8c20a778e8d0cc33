/*
 * The arguments of the CPU's kernels, and the tables of each compiled variant.
 *
 * A kernel processes a range: consecutive nonzeros of one thread, and their rows. It goes row by row (CSR order), or by
 * column tiles within blocks of rows. All strides are in bytes, all counts have 64 bits.
 */
#ifndef TAMIS_CPU_KERNELS_KERNELS_H
#define TAMIS_CPU_KERNELS_KERNELS_H

#include <tamis/types.h>

#include "cpu/kernels/dense.h"
#include "cpu/messages/kernels.h"

/* The most nonzeros in a chunk; a chunk's samples stay in L1. */
#define TAMIS_CPU_CHUNK 2048
/* The most in fused if D is B: see fused_same.h. */
#define TAMIS_CPU_SAME_ROWS_CHUNK 64

/*
 * Column tiles. The segment of row r in tile t starts at nonzero offsets[r] + starts[...]. `starts` has consecutive
 * blocks of `block_rows` rows, each as (tiles + 1) lists of its rows, so that going down a tile reads memory
 * sequentially.
 */
typedef struct tamis_cpu_tiles {
    int64_t tile_columns, tiles, block_rows;
    const uint32_t *starts;
} tamis_cpu_tiles;

typedef struct tamis_cpu_job {
    int64_t rows, cols, nnz;
    const void *offsets, *columns;
    bool wide_offsets, wide_columns; /* 64-bit */
    const char *values;              /* elements of the job's type; NULL: none */
    bool real_values;                /* SpMM: values are reals (fp32 if the other operands have 16 bits) */

    const char *a, *b, *d; /* row-major */
    int64_t a_stride, b_stride, d_stride;
    int64_t inner, width;
    char *out; /* SDDMM: p, packed; else C or E, row-major */
    int64_t out_stride;
    bool d_is_b;   /* fused: D and B are one matrix with one stride */
    bool stream;   /* SpMM and fused: non-temporal stores, since no cache keeps the output until it is read */
    bool real_out; /* out holds reals (fp32 if the other operands have 16 bits) */
    double alpha, beta;

    tamis_edge edge;
    tamis_edge_constants edge_constants;
    int64_t member;                /* of the batch */
    const tamis_edge_array *named; /* of a text, as in tamis_operands */
    const int64_t *permutation;    /* of those that are scattered */

    int64_t prefetch; /* prefetch distance of rows of B and D in nonzeros; 0: hardware prefetch only */
    int64_t chunk;    /* nonzeros per chunk, at most TAMIS_CPU_CHUNK; fused: as many as range->chunk holds */
    int64_t segments; /* fused: pieces of rows per chunk */
    bool chunks_sums; /* SpMM: rows are cut into chunks even if the values are used in place */
    const tamis_cpu_tiles *tiles; /* NULL: row by row */
    const void *state;            /* the method's own structure */
    char *packed;                 /* operands that the threads have packed together: see tamis_prepared.pack */
    void *samples;                /* SDDMM with softmax: nnz reals of scratch */
    char *softmax_rows;           /* pairs of reals, (max, sum) of each row's softmax; NULL: not requested */
    char *log_sums;               /* log(sum exp(score)) of each row, a real, log_sums_stride apart; NULL: likewise */
    int64_t log_sums_stride;
} tamis_cpu_job;

/*
 * One thread's share, in rows row_begin .. row_end - 1. A row that is cut at either end belongs to several threads:
 * SpMM and fused then store its partial sum in `head` (first row) or `tail` (last row) instead of the output.
 */
typedef struct tamis_cpu_range {
    int64_t nonzero_begin, nonzero_end;
    int64_t row_begin, row_end;
    bool head_cut, tail_cut; /* the first row begins before the range; the last row ends after it */
    void *head, *tail;       /* partial rows: see tamis_cpu_kernels.partial_bytes */
    void *chunk;             /* fused: chunk + 8 reals, then `segments` segments of segment_bytes */
    void *carry;             /* a partial row, for rows longer than a chunk */
    void *block;             /* tiled SpMM and fused: block_rows accumulator rows of partial_bytes each */
} tamis_cpu_range;

/* Computes the rows and nonzeros of one range of p, C or E. */
typedef void tamis_cpu_kernel(const tamis_cpu_job *job, const tamis_cpu_range *range);

typedef struct tamis_cpu_kernels {
    /* in the order of src/cpu/methods.def, by operation; NULL if a method does not support the type. With softmax,
       SDDMM only stores the scores in job->samples */
    tamis_cpu_kernel *const *const *methods;
    tamis_cpu_kernel *fused; /* of cpu-nonzeros, for any range: also heads of graph attention */
    /* softmax of whole rows of samples into p. Stage 0 stores (max, sum) of cut rows in head and tail; stage 1 reads
       the merged pair there and writes p. */
    void (*softmax_rows)(const tamis_cpu_job *job, const tamis_cpu_range *range, int stage);
    /* out[row] from the partial sums of the threads that share the row, in their order (SpMM, fused) */
    void (*merge_row)(const tamis_cpu_job *job, int64_t row, void *const *partials, int count);
    /* merges the row's (max, sum) pairs and writes the result back into each of them (SDDMM with softmax) */
    void (*merge_softmax)(const tamis_cpu_job *job, int64_t row, void *const *partials, int count);
    int64_t (*partial_bytes)(int64_t width); /* bytes of one partial row: width sums, then max and sum of softmax */
    int64_t segment_bytes;
    int64_t real_bytes;                         /* bytes of the type of sums: 4 or 8 */
    bool pairs;                                 /* one instruction adds two products per lane */
    const struct tamis_cpu_cell_kernels *cells; /* of cpu-cells, except the method's own kernel */
} tamis_cpu_kernels;

/* The kernels of cpu-amx, by operation. */
typedef struct tamis_cpu_amx_kernels {
    bool emulated; /* the tiles are in memory, for tests */
    tamis_cpu_kernel *kernels[2];
    void (*pack[2])(const tamis_cpu_job *job, int share, int shares); /* see tamis_prepared.pack */
} tamis_cpu_amx_kernels;

/* Arithmetic rate and read bandwidth from registers and caches, for the probe (src/select). */
typedef struct tamis_cpu_probe {
    double (*multiply_add)(int64_t repeats);                          /* returns the flops done */
    double (*read)(const void *data, int64_t bytes, int64_t repeats); /* returns the bytes read */
    /* gathers 512-byte rows with prefetch distance `ahead`, as kernels do beyond L2 (0: none); returns the bytes
       read */
    double (*gather)(const void *table, const uint32_t *rows, int64_t count, int64_t ahead);
} tamis_cpu_probe;

/* One compiled variant: tables by element type. Valid only if tamis_cpu_variant_runs() is true. */
typedef struct tamis_cpu_variant {
    const char *name; /* "x86-64-v4-bf16", "x86-64-v4", "x86-64-v3", "x86-64-v2", "sve512", "neon", "generic", ... */
    const tamis_cpu_kernels *kernels[4];   /* by tamis_type */
    const tamis_cpu_probe *probe[2];       /* fp32, fp64 */
    const tamis_cpu_dense *dense[2];       /* likewise */
    const tamis_cpu_messages *messages[4]; /* by tamis_type */
    const tamis_cpu_amx_kernels *amx;      /* of cpu-amx; NULL without AMX */
} tamis_cpu_variant;

#endif
