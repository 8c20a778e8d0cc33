/*
 * cpu-tiled: column tiles within blocks of rows. How wide they are, over how many rows at a time, and where each row's
 * segments begin.
 *
 * This is cuSDDMM's model (Nisa et al.: Sampled Dense Matrix Multiplication, s.IV-A), applied to a CPU core. The dense
 * rows of a tile must fit into the cache that serves them (in the paper Tj * Tk = L2), and every further tile costs
 * another pass over the rows (in the paper M N K / Tj). A core does not cut K (Tk = K), since it would have to read and
 * write partial results for every slice. It has two caches to choose from. So the cost is not solved for the best
 * width, but evaluated over a grid of tile widths:
 *
 *   nonzeros * row bytes / rate(tile bytes)                 rows of B (and D) out of L1 or L2
 *   + segments * (overhead + row of A and sums / L2 rate)   a segment is a row's part in a tile (empty ones are
 *                                                           skipped); the overhead includes the wait for its part of S
 *   + blocks of rows * bytes of B (and D) / outer rate      each block sweeps all tiles once
 *
 * There are few segments if rows have many nonzeros in each tile. Tiling needs that; density alone is not enough.
 */
#include <math.h>
#include <stdio.h>

#include "base/papers.h"
#include "base/sizes.h"
#include "base/status.h"
#include "base/threads.h"
#include "cpu/method.h"
#include "cpu/predict.h"
#include "sparse/index.h"
#include "sparse/structure.h"

enum { PREFETCH, CHUNK, TILE_COLUMNS, BLOCK_ROWS };
enum { PAGE = 4096 };
enum { FUSED_CHUNK = 16384 }; /* a block's whole part of a tile */

/* Shares of a cache that a tile may fill. */
static const double l1_share = 0.7, l2_share = 0.9;

static bool accepts(const tamis_problem *problem, char *reason, size_t bytes) {
    if (problem->evidence->profile.max > UINT32_MAX) {
        snprintf(reason, bytes, "the longest row has %lld nonzeros, but positions within a row have 32 bits",
                 (long long)problem->evidence->profile.max);
        return false;
    }
    if (problem->nnz == 0 || tamis_cpu_row_bytes(problem) == 0) {
        snprintf(reason, bytes, "nothing to tile: nnz = %lld, %g bytes of dense rows per nonzero",
                 (long long)problem->nnz, tamis_cpu_row_bytes(problem));
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ predicting */

/* Upper limit of the table's entries: as large as S itself is acceptable. */
static double entries_most(const tamis_problem *problem) { return 2 * (double)problem->nnz + 65536; }

static double tile_cost(const tamis_problem *problem, tamis_cpu_counts counts, int64_t tile_columns,
                        int64_t block_rows) {
    static const double wait = 70e-9; /* for memory, of a row's part that is in another page than the one before */
    const tamis_cpu_rates *const rates = tamis_cpu_rates_of(problem);
    const double size = (double)tamis_type_size(problem->type), row_bytes = tamis_cpu_row_bytes(problem);
    const double l1 = (double)problem->evidence->cache_l1, l2 = (double)problem->evidence->cache_l2;
    const double kept =
        (double)problem->inner * size + /* a row of A, and the sums in fp32 or fp64, which are loaded and stored */
        2 * (double)problem->width * (size < 4 ? 4 : size);
    /* fused first uses B's part of a tile, then D's, so the cache holds one of them at a time */
    const double wider = (double)(problem->inner > problem->width ? problem->inner : problem->width) * size;
    const double tile_bytes = (double)tile_columns * wider;
    if (tile_bytes + (double)block_rows * kept > l2_share * l2) return INFINITY;
    const double tiles = ceil((double)problem->cols / (double)tile_columns);
    const double nnz = (double)problem->nnz, rows = (double)problem->rows, mean = problem->evidence->profile.mean;
    if (rows * tiles > entries_most(problem)) return INFINITY;
    if (problem->operation == TAMIS_OP_FUSED && (double)block_rows * mean / tiles > FUSED_CHUNK) return INFINITY;
    const double spanned = fmin(tiles, 1 + problem->evidence->profile.mean_span / (double)tile_columns);
    const double segments = rows * spanned * -expm1(-mean / spanned), table = tamis_cpu_table_bytes(problem);
    /* the parts of S of a tile are as far apart as its rows are long */
    const double entry = (double)tamis_index_size(problem->index_type) + (problem->has_values ? size : 0);
    const double far_apart = nnz * entry > l2 ? fmin(1, mean * entry / PAGE) : 0;
    /* each block of rows sweeps all tiles once, or what it has of them */
    counts.far = fmin(ceil(rows / (double)block_rows) * table, nnz * row_bytes * tamis_cpu_far_share(problem));
    counts.table = table;
    counts.near = nnz * row_bytes + segments * kept;
    /* a tile is in a cache or it is not: so there are no rates between two caches', as for a footprint that grows */
    counts.near_table = 0.5 * (tile_bytes <= l1_share * l1 ? l1 : l2);
    counts.issued += rows * tiles * rates->tiles.entry + segments * (rates->tiles.segment + far_apart * wait);
    return tamis_cpu_seconds(problem, &counts);
}

/* Chooses tile_columns and block_rows, if they are 0: the pair with the smallest predicted time. Returns that time. */
static double choose_tiles(const tamis_problem *problem, tamis_cpu_tiles *tiles) {
    const int64_t fixed_columns = tiles->tile_columns, fixed_rows = tiles->block_rows;
    const tamis_cpu_counts walk = tamis_cpu_count_walk(problem);
    double best = INFINITY;
    /* if no pair is within the limits: one tile, small blocks */
    tiles->tile_columns = fixed_columns ? fixed_columns : problem->cols;
    tiles->block_rows = fixed_rows ? fixed_rows : 32;
    for (int64_t columns = 32; columns <= 65536; columns *= 2) {
        if (fixed_columns && columns != 32) break;
        for (int64_t rows = 32; rows <= 4096; rows *= 2) {
            if (fixed_rows && rows != 32) break;
            const int64_t c = fixed_columns ? fixed_columns : columns, r = fixed_rows ? fixed_rows : rows;
            const double cost = tile_cost(problem, walk, c, r);
            if (cost >= best) continue;
            best = cost;
            tiles->tile_columns = c;
            tiles->block_rows = r;
        }
    }
    tiles->tiles = (problem->cols + tiles->tile_columns - 1) / tiles->tile_columns;
    return best;
}

static void predict(const tamis_problem *problem, tamis_prediction *prediction) {
    tamis_cpu_tiles tiles = {0};
    prediction->call_seconds = choose_tiles(problem, &tiles);
    prediction->setup_seconds =
        (double)problem->rows * (double)tiles.tiles * tamis_cpu_rates_of(problem)->setup / problem->threads;
    if (tiles.tiles <= 1 || isinf(prediction->call_seconds)) { /* it still runs if asked for by name */
        tamis_cpu_counts counts = tamis_cpu_count_walk(problem);
        counts.issued += (double)problem->rows * tamis_cpu_rates_of(problem)->tiles.segment;
        prediction->call_seconds = tamis_cpu_seconds(problem, &counts);
        snprintf(prediction->reason, sizeof prediction->reason, "%s",
                 tiles.tiles <= 1 ? "one tile holds all columns: no gain over cpu-nonzeros"
                                  : "no tile that fits into L2 has fewer table entries than twice the nonzeros");
        return;
    }
    snprintf(prediction->reason, sizeof prediction->reason,
             "%lld tiles of %lld columns, %.1f nonzeros per row and tile, rows in blocks of %lld",
             (long long)tiles.tiles, (long long)tiles.tile_columns,
             problem->evidence->profile.mean / (double)tiles.tiles, (long long)tiles.block_rows);
}

/* ------------------------------------------------------------------------------------------ the table */

static int64_t table_entries(const tamis_problem *problem, const tamis_cpu_tiles *tiles) {
    return tamis_times(problem->rows, tiles->tiles + 1);
}

typedef struct build {
    const tamis_problem *problem;
    const tamis_cpu_tiles *tiles;
    uint32_t *starts;
} build;

static int64_t column_of(const tamis_problem *problem, int64_t t) {
    return tamis_index_load(problem->columns, problem->index_type, t);
}

/* Galloping search: the first entry in begin .. end - 1 whose column is at least `limit`, starting at `guess`. In an
   unsorted row it is any entry of that range: the segments still partition the row, but lose their locality. */
static int64_t split_at(const tamis_problem *problem, int64_t begin, int64_t end, int64_t guess, int64_t limit) {
    int64_t low = begin, high = end, step = 8;
    if (guess > begin && guess < end) {
        if (column_of(problem, guess) >= limit) {
            high = guess;
            while (high - step > begin && column_of(problem, high - step) >= limit) high -= step, step *= 2;
            low = high - step > begin ? high - step : begin;
        } else {
            low = guess + 1;
            while (low + step < end && column_of(problem, low + step) < limit) low += step + 1, step *= 2;
            high = low + step < end ? low + step : end;
        }
    }
    return tamis_index_first(problem->columns, problem->index_type, low, high, limit);
}

static void build_body(void *context, int thread, int threads) {
    const build *const b = context;
    const tamis_problem *const problem = b->problem;
    const int64_t tiles = b->tiles->tiles, block_rows = b->tiles->block_rows;
    TAMIS_EACH_OF_SHARE(row, problem->rows, threads, thread) {
        const int64_t block = row / block_rows * block_rows;
        const int64_t height = problem->rows - block < block_rows ? problem->rows - block : block_rows;
        uint32_t *const starts = b->starts + block * (tiles + 1) + (row - block);
        const int64_t begin = tamis_cpu_offset(problem, row), end = tamis_cpu_offset(problem, row + 1);
        int64_t at = begin;
        starts[0] = 0;
        for (int64_t t = 1; t < tiles; t++) {
            if (at < end)
                at = split_at(problem, at, end, at + (end - at) / (tiles - t + 1), t * b->tiles->tile_columns);
            starts[t * height] = (uint32_t)(at - begin);
        }
        starts[tiles * height] = (uint32_t)(end - begin);
    }
}

/* ------------------------------------------------------------------------------------------ preparing */

static void defaults(tamis_prepared *p) { p->parameters[CHUNK] = tamis_cpu_choose_chunk(&p->problem, FUSED_CHUNK); }

static tamis_status prepare(tamis_prepared *p) {
    tamis_cpu_tiles *const tiles = p->state;
    const tamis_problem *const problem = &p->problem;
    int64_t *const v = p->parameters;
    uint32_t *starts;
    p->job.prefetch = v[PREFETCH];
    p->job.chunk = v[CHUNK];
    p->job.tiles = tiles;
    tiles->tile_columns = v[TILE_COLUMNS];
    tiles->block_rows = v[BLOCK_ROWS];
    choose_tiles(problem, tiles);
    v[TILE_COLUMNS] = tiles->tile_columns;
    v[BLOCK_ROWS] = tiles->block_rows;
    if (problem->operation != TAMIS_OP_SDDMM)
        p->rows_kept += tiles->block_rows < problem->rows ? tiles->block_rows : problem->rows;
    TRY(tamis_cpu_keep(p, table_entries(problem, tiles), sizeof *starts, "the tile table", (void **)&starts));
    tiles->starts = starts;
    build b = {problem, tiles, starts};
    tamis_threads_run(p->threads, build_body, &b);
    return TAMIS_OK;
}

const tamis_cpu_method tamis_cpu_tiled = {
    .common.description = {.name = "cpu-tiled",
                           .device = "cpu",
                           .operations = TAMIS_CPU_ALL,
                           .source = "ours; model of " PAPER_CUSDDMM ", s.IV-A",
                           .needs = "a table of 4 bytes per row and tile, built by the plan",
                           .when = "many nonzeros per row and tile: density of a few percent or more, B larger than L2",
                           .parameters = TAMIS_CPU_WALK_TEXT
                           "; tile_columns (1 or more), block_rows (1 or more): size of the tile"},
    .common.needs_preparation = true,
    .parameters = {TAMIS_CPU_WALK_PARAMETERS, {"tile_columns", 1, INT32_MAX}, {"block_rows", 1, 1 << 20}},
    .reported = 4,
    .accepts = accepts,
    .predict = predict,
    .defaults = defaults,
    .prepare = prepare,
    .state_bytes = sizeof(tamis_cpu_tiles),
};
