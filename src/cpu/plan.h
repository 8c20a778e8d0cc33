/*
 * An algorithm of this backend, prepared for one problem: the kernels, the split between threads, the tiles. All
 * algorithms use the same structure; `kind` says which one it is.
 */
#ifndef TAMIS_CPU_PLAN_H
#define TAMIS_CPU_PLAN_H

#include "backend/backend.h"
#include "cpu/kernels/kernels.h"
#include "sparse/index.h"

/* Nonzeros of a chunk of fused by tiles, and the most where D is B: see kernels/fused.h and fused_same.h. */
enum { TAMIS_CPU_FUSED_CHUNK = 16384, TAMIS_CPU_SAME_ROWS_CHUNK = 64 };

typedef enum tamis_cpu_kind {
    TAMIS_CPU_ROWS,     /* whole rows, handed out in blocks */
    TAMIS_CPU_NONZEROS, /* equal nonzeros per thread; rows may be cut */
    TAMIS_CPU_TILED,    /* the same, by column tiles within blocks of rows */
    TAMIS_CPU_PANELS,   /* neighbouring rows together, in panels of whole rows */
    TAMIS_CPU_SIMD,     /* Zubair, Bauinger */
    TAMIS_CPU_NAIVE
} tamis_cpu_kind;

struct tamis_prepared {
    tamis_cpu_kind kind;
    tamis_problem problem; /* its profile and ceilings pointers are not kept */
    const tamis_cpu_kernels *kernels;
    int threads;
    int64_t prefetch, chunk;
    bool stream;     /* see tamis_cpu_job */
    int64_t members; /* NT of Zubair and Bauinger */
    int64_t grain;   /* rows in a block that threads take */
    tamis_cpu_tiles tiles;
    uint32_t *tile_starts;
    tamis_cpu_panels panels;
    int64_t panel_least;     /* entries of a run; 0: as many as pay */
    tamis_cpu_range *ranges; /* one per thread: the equal split */
    int64_t partial_stride;  /* bytes of one partial row */
    int64_t segments;        /* fused: pieces of rows per chunk */
    int64_t chunk_bytes;     /* fused: a chunk's samples and pieces, at the end of a thread's scratch; panels: reals */
    int64_t thread_scratch;  /* bytes of scratch of one thread */
    size_t scratch_bytes;    /* all threads, then the samples of softmax */
};

/* Where a row of S begins. */
static inline int64_t tamis_cpu_offset(const tamis_problem *problem, int64_t row) {
    return tamis_index_load(problem->offsets, problem->offset_type, row);
}

/* Cuts the nonzeros into `threads` equal ranges; tamis_cpu_range says how cut rows are handled. Every empty row belongs
   to exactly one range. */
void tamis_cpu_partition(const tamis_problem *problem, int threads, tamis_cpu_range *ranges);

/* Chooses tile_columns and block_rows if they are 0: the pair with the smallest predicted time. Returns that time. */
double tamis_cpu_choose_tiles(const tamis_problem *problem, tamis_cpu_tiles *tiles);

/* Fills starts (see tamis_cpu_tiles) in parallel: one pass over the columns. */
void tamis_cpu_build_tiles(const tamis_problem *problem, int threads, const tamis_cpu_tiles *tiles, uint32_t *starts);
int64_t tamis_cpu_tile_entries(const tamis_problem *problem, const tamis_cpu_tiles *tiles);

/*
 * What panels of `rows` rows (6 or 8: two groups of half as many, within which any rows may share a column) would read:
 * rows of B per nonzero, and runs per nonzero. It looks at a few panels.
 */
typedef struct tamis_cpu_panel_shares {
    double entries, runs;
    double single; /* share of the nonzeros that no other row shares */
} tamis_cpu_panel_shares;

tamis_cpu_panel_shares tamis_cpu_profile_panels(const tamis_problem *problem, int64_t rows);
/* Of 6 and 8 rows, those that are predicted to take less. */
int64_t tamis_cpu_choose_panels(const tamis_problem *problem, tamis_cpu_panel_shares *shares);

int64_t tamis_cpu_panel_count(const tamis_problem *problem, int64_t rows);
/* The most nonzeros of a panel. */
int64_t tamis_cpu_panel_most(const tamis_problem *problem, int64_t rows);
/* Fills the starts, runs and entries, of which there is room for the most that `rows` rows a panel can need.
   `least` is the fewest entries of a run, 0 for as many as pay for its beginning. */
tamis_status tamis_cpu_build_panels(const tamis_problem *problem, int threads, int64_t least, tamis_cpu_panels *panels);
/* Like tamis_cpu_partition, but each range begins with a panel and no row is cut. */
void tamis_cpu_partition_panels(const tamis_problem *problem, int threads, int64_t rows, tamis_cpu_range *ranges);

/* Predicted seconds of one call without tiles, if rows of B and D are in the caches that the profile says.
   `per_nonzero` is the time that one nonzero costs a core in addition to moving its rows. */
double tamis_cpu_predict_untiled(const tamis_problem *problem, double per_nonzero);
/* The same of panels with these shares. */
double tamis_cpu_predict_panels(const tamis_problem *problem, const tamis_cpu_panel_shares *shares);
/* Seconds of the multiply-adds of all nonzeros, with the conversions of fp16. */
double tamis_cpu_arithmetic_seconds(const tamis_problem *problem);
/* Seconds to move S, and the samples if they are stored, once through memory. */
double tamis_cpu_stream_seconds(const tamis_problem *problem);

/* The bytes per second at which `threads` cores together read random rows of a table of `bytes`. */
double tamis_cpu_gather_rate(const tamis_problem *problem, double bytes);

/* Bytes of the rows of B (and of D) that one nonzero reads. */
double tamis_cpu_row_bytes(const tamis_problem *problem);

tamis_status tamis_cpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);

const tamis_algorithm *tamis_cpu_algorithm(int number);
bool tamis_cpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes);
void tamis_cpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction);
tamis_status tamis_cpu_prepare(const tamis_algorithm *algorithm, const tamis_problem *problem,
                               tamis_prepared **prepared);
tamis_call_bytes tamis_cpu_call_bytes(const tamis_problem *problem);
void tamis_cpu_sizes(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
void tamis_cpu_release(tamis_prepared *prepared);

#endif
