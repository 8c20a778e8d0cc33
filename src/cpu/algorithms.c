/*
 * The CPU's algorithms: one row each in the table at the end. This file has what each accepts, its predicted cost, and
 * its preparation. What they share (the split, the job, the merge) is in partition.c and execute.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/papers.h"
#include "base/parameters.h"
#include "base/status.h"
#include "cpu/fitted.h"
#include "cpu/plan.h"
#include "cpu/variants.h"

enum {
    ALL = 1u << TAMIS_OP_SDDMM | 1u << TAMIS_OP_SPMM | 1u << TAMIS_OP_FUSED,
    THREADS_MOST = 1024, /* the size of execute.c's list of partial rows */
    VLC_DEFAULT = 32
};

/* A row of the table. */
typedef struct cpu_algorithm {
    tamis_algorithm common;
    tamis_cpu_kind kind;
    bool (*accepts)(const tamis_problem *problem, char *reason, size_t bytes); /* NULL: accepts every problem */
    void (*predict)(const tamis_problem *problem, tamis_prediction *prediction);
} cpu_algorithm;

/* Possible because the common part is the first member. */
static const cpu_algorithm *row_of(const tamis_algorithm *algorithm) {
    return (const cpu_algorithm *)(const void *)algorithm;
}

/* ------------------------------------------------------------------------------------------ accepting */

static bool accepts_tiled(const tamis_problem *problem, char *reason, size_t bytes) {
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

static bool accepts_panels(const tamis_problem *problem, char *reason, size_t bytes) {
    if (problem->cols > UINT32_MAX ||
        problem->evidence->profile.max > (1 << TAMIS_CPU_PANEL_PLACE_BITS) / TAMIS_CPU_PANEL_ROWS) {
        snprintf(reason, bytes,
                 "%lld columns and a longest row of %lld nonzeros, but panels number 2^32 and 2^26 at most",
                 (long long)problem->cols, (long long)problem->evidence->profile.max);
        return false;
    }
    return true;
}

static bool accepts_naive(const tamis_problem *problem, char *reason, size_t bytes) {
    if (problem->type != TAMIS_F32 && problem->type != TAMIS_F64) {
        snprintf(reason, bytes, "the naive loops support only fp32 and fp64, not %s", tamis_type_name(problem->type));
        return false;
    }
    if (problem->operation != TAMIS_OP_SPMM && problem->edge == TAMIS_EDGE_SOFTMAX) {
        snprintf(reason, bytes, "the naive loops do not support softmax, which needs two passes over a row");
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ predicting */

/* If rows are assigned whole, all threads wait at the end for a longest row that was begun last. */
static double wait_for_longest(const tamis_problem *problem, double seconds) {
    if (problem->threads <= 1 || problem->nnz == 0) return 0;
    return seconds * (double)problem->evidence->profile.max / (double)problem->nnz * (problem->threads - 1);
}

static void predict_nonzeros(const tamis_problem *problem, tamis_prediction *prediction) {
    prediction->call_seconds = tamis_cpu_predict_untiled(problem, tamis_cpu_fit.interleaved);
    snprintf(prediction->reason, sizeof prediction->reason,
             "%s from a table of %.3g MB, %.0f %% of them new within a window of L2's size; equal numbers of "
             "nonzeros per thread",
             problem->d_is_b ? "rows of B, read once since D is B," : "rows of B",
             (double)problem->cols * tamis_cpu_row_bytes(problem) * (problem->d_is_b ? 0.5e-6 : 1e-6),
             100 * problem->evidence->fresh_share);
}

static void predict_rows(const tamis_problem *problem, tamis_prediction *prediction) {
    const double seconds = tamis_cpu_predict_untiled(problem, tamis_cpu_fit.interleaved);
    const double wait = wait_for_longest(problem, seconds);
    prediction->call_seconds = seconds * tamis_cpu_fit.whole_rows + wait;
    snprintf(prediction->reason, sizeof prediction->reason,
             "like cpu-nonzeros with whole rows: the longest (%lld of %lld nonzeros) can delay the end by %.3g ms",
             (long long)problem->evidence->profile.max, (long long)problem->nnz, wait * 1e3);
}

static void predict_simd(const tamis_problem *problem, tamis_prediction *prediction) {
    const double seconds = tamis_cpu_predict_untiled(problem, tamis_cpu_fit.one_by_one);
    prediction->call_seconds = seconds + wait_for_longest(problem, seconds);
    snprintf(prediction->reason, sizeof prediction->reason,
             "one dot product at a time, each with a reduction of its own");
}

static void predict_tiled(const tamis_problem *problem, tamis_prediction *prediction) {
    tamis_cpu_tiles tiles = {0};
    const tamis_cpu_fitted *const f = &tamis_cpu_fit;
    prediction->call_seconds =
        f->tiles.unseen * (tamis_cpu_choose_tiles(problem, &tiles) + tamis_cpu_stream_seconds(problem));
    const double segments = (double)problem->rows * (double)tiles.tiles;
    prediction->setup_seconds =
        (segments * f->tiles.setup_segment + (double)problem->nnz * f->tiles.setup_nonzero) / problem->threads;
    if (tiles.tiles <= 1 || isinf(prediction->call_seconds)) { /* it still runs for who asks for it by name */
        prediction->call_seconds = f->tiles.unseen * tamis_cpu_predict_untiled(problem, f->interleaved);
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

static void predict_panels(const tamis_problem *problem, tamis_prediction *prediction) {
    const tamis_cpu_fitted *const f = &tamis_cpu_fit;
    tamis_cpu_panel_shares shares;
    const int64_t rows = tamis_cpu_choose_panels(problem, &shares);
    prediction->call_seconds = tamis_cpu_predict_panels(problem, &shares);
    prediction->setup_seconds = (double)problem->nnz * f->panels.setup_nonzero / problem->threads;
    snprintf(
        prediction->reason, sizeof prediction->reason,
        "panels of %lld rows read %.2f rows of B per nonzero, since %.0f %% of the nonzeros share theirs; runs of %.0f",
        (long long)rows, shares.entries, 100 * (1 - shares.single), shares.entries / shares.runs);
}

static void predict_naive(const tamis_problem *problem, tamis_prediction *prediction) {
    prediction->call_seconds = tamis_cpu_predict_untiled(problem, tamis_cpu_fit.naive);
    snprintf(prediction->reason, sizeof prediction->reason, "a baseline");
}

/* ------------------------------------------------------------------------------------------ preparing */

/* How many nonzeros ahead rows are prefetched. Prefetching rows that are already in cache costs up to a quarter of the
   rate; rows from memory gain as much or more (lab/notes/cpu.md). SpMM does so little for a nonzero that its rule
   asks how many bytes of B are new. */
static int64_t choose_prefetch(const tamis_problem *problem) {
    const tamis_cpu_fitted *const f = &tamis_cpu_fit;
    const bool spmm = problem->operation == TAMIS_OP_SPMM;
    const double row_bytes = (double)(spmm ? problem->width : problem->inner) * (double)tamis_type_size(problem->type);
    const double fresh = problem->evidence->fresh_share, all = (double)problem->cols * row_bytes;
    const double least = row_bytes < f->prefetch.short_row ? f->prefetch.short_least : f->prefetch.least;
    if (fresh < 0.25 || (spmm ? fresh * all < least * (double)problem->evidence->cache_l2
                              : all < 4 * (double)problem->evidence->cache_l2))
        return 0;
    const double bytes = spmm ? f->prefetch.bytes : problem->d_is_b ? f->prefetch.same_bytes : 16384;
    const int64_t ahead = row_bytes > 0 ? (int64_t)(bytes / row_bytes) : 0;
    const int64_t most = spmm ? 48 : 64;
    return ahead < 8 ? 8 : ahead > most ? most : ahead;
}

/* SpMM and fused: the output is not worth keeping in the last cache (lab/notes/cpu.md). */
static bool choose_stream(const tamis_problem *problem) {
    const double row_bytes = (double)problem->width * (double)tamis_type_size(problem->type);
    const double out = (double)problem->rows * row_bytes, all = out + (double)problem->cols * row_bytes;
    const double l3 = (double)problem->evidence->cache_l3;
    return problem->operation != TAMIS_OP_SDDMM && out > tamis_cpu_fit.stream.output * l3 &&
           all > tamis_cpu_fit.stream.all * l3;
}

/* fused with tiles: a block's whole part in a tile; D that is B: short enough that L1 has its rows the second time;
   else long enough that B and D alternate rarely */
static int64_t choose_chunk(const tamis_problem *problem, tamis_cpu_kind kind) {
    if (problem->operation != TAMIS_OP_FUSED) return TAMIS_CPU_CHUNK;
    const int64_t most = problem->d_is_b           ? TAMIS_CPU_SAME_ROWS_CHUNK
                         : kind == TAMIS_CPU_TILED ? TAMIS_CPU_FUSED_CHUNK
                                                   : 4096;
    return problem->nnz < most ? problem->nnz + 8 : most;
}

/* NT of Zubair and Bauinger, s.4.2: the smallest power of two up to 16 that fills the machine's work items best. Their
   GPU has 4096 work items; here a work item is a thread. */
static int64_t choose_members(const tamis_problem *problem) {
    if (problem->operation != TAMIS_OP_SDDMM) return 1;
    int64_t best = 1;
    double best_occupancy = 0;
    for (int64_t members = 1; members <= 16; members *= 2) {
        const double waves = (double)problem->rows * (double)members / problem->threads;
        const double occupancy = waves > 0 ? waves / ceil(waves) : 1;
        if (occupancy > best_occupancy * (1 + 1e-9)) {
            best_occupancy = occupancy;
            best = members;
        }
    }
    return best;
}

void tamis_cpu_release(tamis_prepared *prepared) {
    if (!prepared) return;
    tamis_release(prepared->ranges);
    tamis_release(prepared->tile_starts);
    tamis_release(prepared->panels.starts);
    tamis_release(prepared->panels.runs);
    tamis_release(prepared->panels.entries);
    tamis_release(prepared);
}

static tamis_status prepare_tiles(tamis_prepared *p) {
    tamis_cpu_choose_tiles(&p->problem, &p->tiles);
    const int64_t entries = tamis_cpu_tile_entries(&p->problem, &p->tiles);
    TRY(tamis_allocate(entries, sizeof(uint32_t), "the tile table", (void **)&p->tile_starts));
    tamis_cpu_build_tiles(&p->problem, p->threads, &p->tiles, p->tile_starts);
    p->tiles.starts = p->tile_starts;
    return TAMIS_OK;
}

static tamis_status prepare_panels(tamis_prepared *p) {
    tamis_cpu_panel_shares shares;
    if (p->panels.rows == 0) p->panels.rows = tamis_cpu_choose_panels(&p->problem, &shares);
    const int64_t count = tamis_cpu_panel_count(&p->problem, p->panels.rows);
    TRY(tamis_allocate(count, sizeof *p->panels.starts, "the panels", (void **)&p->panels.starts));
    TRY(tamis_allocate(count, TAMIS_CPU_PANEL_RUNS * sizeof *p->panels.runs, "the runs of panels",
                       (void **)&p->panels.runs));
    TRY(tamis_allocate(p->problem.nnz > 0 ? p->problem.nnz : 1, 2 * sizeof *p->panels.entries, "the entries of panels",
                       (void **)&p->panels.entries));
    TRY(tamis_cpu_build_panels(&p->problem, p->threads, p->panel_least, &p->panels));
    return TAMIS_OK;
}

/* The samples of softmax; of fused a thread has a chunk's, which are no more than all. */
tamis_call_bytes tamis_cpu_call_bytes(const tamis_problem *problem) {
    const bool samples = problem->operation == TAMIS_OP_FUSED ||
                         (problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX);
    return (tamis_call_bytes){.entry = samples ? (problem->type == TAMIS_F64 ? 8 : 4) : 0};
}

tamis_status tamis_cpu_prepare(const tamis_algorithm *algorithm, const tamis_problem *problem,
                               tamis_prepared **prepared) {
    const tamis_cpu_kind kind = row_of(algorithm)->kind;
    const int64_t chunk_most = problem->operation == TAMIS_OP_FUSED ? 1 << 20 : TAMIS_CPU_CHUNK;
    const tamis_parameter plain[] = {{"prefetch", 0, 4096}, {"chunk", 8, chunk_most}, {"stream", 0, 1}};
    const tamis_parameter tiled[] = {
        {"prefetch", 0, 4096}, {"chunk", 8, chunk_most}, {"tile_columns", 1, INT32_MAX}, {"block_rows", 1, 1 << 20}};
    static const tamis_parameter panels[] = {{"prefetch", 0, 4096}, {"rows", 6, 8}, {"least", 1, 1 << 20}};
    static const tamis_parameter simd[] = {{"vlc", 1, TAMIS_CPU_CHUNK}, {"nt", 1, 16}};
    tamis_status status = TAMIS_OK;
    tamis_prepared *p = NULL;
    const tamis_cpu_variant *variant;
    TRY(tamis_cpu_variant_choose(&variant));
    TRY(tamis_allocate_zeroed(1, sizeof *p, "a plan", (void **)&p));
    p->kind = kind;
    p->problem = *problem;
    p->kernels = variant->kernels[problem->type];
    p->threads = problem->threads < THREADS_MOST ? problem->threads : THREADS_MOST;
    p->prefetch = kind == TAMIS_CPU_TILED ? 0 : choose_prefetch(problem);
    p->chunk = choose_chunk(problem, kind);
    p->stream = choose_stream(problem);
    p->members = 1;
    int64_t values[4] = {p->prefetch, p->chunk, 0, 0};
    switch (kind) {
    case TAMIS_CPU_ROWS:
    case TAMIS_CPU_NONZEROS:
        values[2] = p->stream;
        TRY_GOTO(failed, tamis_parameters_parse("the algorithm", problem->parameters, plain, 3, values));
        p->stream = values[2] != 0;
        break;
    case TAMIS_CPU_TILED:
        TRY_GOTO(failed, tamis_parameters_parse("cpu-tiled", problem->parameters, tiled, 4, values));
        p->tiles.tile_columns = values[2];
        p->tiles.block_rows = values[3];
        break;
    case TAMIS_CPU_PANELS: {
        int64_t own[3] = {0, 0, 0};
        TRY_GOTO(failed, tamis_parameters_parse("cpu-panels", problem->parameters, panels, 3, own));
        if (own[1] == 7) {
            status = tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: rows = 7: cpu-panels has panels of 6 or 8 rows");
            goto failed;
        }
        values[0] = own[0];
        p->panels.rows = own[1];
        p->panel_least = own[2];
        break;
    }
    case TAMIS_CPU_SIMD: {
        int64_t own[2] = {VLC_DEFAULT, choose_members(problem)};
        TRY_GOTO(failed, tamis_parameters_parse("esimd-row-simd", problem->parameters, simd, 2, own));
        values[0] = 0;
        values[1] = own[0];
        p->members = problem->operation == TAMIS_OP_SDDMM ? own[1] : 1;
        break;
    }
    case TAMIS_CPU_NAIVE: TRY_GOTO(failed, tamis_parameters_parse("naive", problem->parameters, NULL, 0, NULL)); break;
    }
    p->prefetch = values[0];
    p->chunk = values[1];
    if (kind == TAMIS_CPU_TILED) TRY_GOTO(failed, prepare_tiles(p));
    if (kind == TAMIS_CPU_PANELS) TRY_GOTO(failed, prepare_panels(p));

    /* so many blocks that the last one is short, and so few that handing them out costs nothing */
    const int64_t pieces = (int64_t)p->threads * 64;
    p->grain = problem->rows / pieces < 1 ? 1 : problem->rows / pieces > 1024 ? 1024 : problem->rows / pieces;
    const bool keeps_rows = problem->operation != TAMIS_OP_SDDMM || problem->edge == TAMIS_EDGE_SOFTMAX;
    const int64_t width = problem->operation == TAMIS_OP_SDDMM ? 0 : problem->width;
    p->partial_stride = keeps_rows ? p->kernels->partial_bytes(width) : 0;
    int64_t rows_kept = 3; /* head, tail, carry */
    if (kind == TAMIS_CPU_TILED && problem->operation != TAMIS_OP_SDDMM)
        rows_kept += p->tiles.block_rows < problem->rows ? p->tiles.block_rows : problem->rows;
    if (kind == TAMIS_CPU_PANELS) {
        rows_kept += p->panels.rows;
        p->chunk = tamis_cpu_panel_most(problem, p->panels.rows);
        p->chunk_bytes = ((p->chunk + 8) * p->kernels->real_bytes + 63) / 64 * 64;
    } else if (problem->operation == TAMIS_OP_FUSED) { /* if rows are short, the list of pieces fills up first */
        p->segments = p->chunk / 4 < 256 ? 256 : p->chunk / 4;
        p->chunk_bytes = ((p->chunk + 8) * p->kernels->real_bytes + 63) / 64 * 64 +
                         (p->segments * p->kernels->segment_bytes + 63) / 64 * 64;
    }
    p->thread_scratch = p->partial_stride * rows_kept + p->chunk_bytes;
    p->scratch_bytes = (size_t)p->thread_scratch * (size_t)p->threads;
    if (problem->operation == TAMIS_OP_SDDMM && problem->edge == TAMIS_EDGE_SOFTMAX)
        p->scratch_bytes += (size_t)problem->nnz * (size_t)p->kernels->real_bytes;
    TRY_GOTO(failed, tamis_allocate(p->threads, sizeof *p->ranges, "the split between threads", (void **)&p->ranges));
    if (kind == TAMIS_CPU_PANELS)
        tamis_cpu_partition_panels(&p->problem, p->threads, p->panels.rows, p->ranges);
    else
        tamis_cpu_partition(&p->problem, p->threads, p->ranges);
    p->problem.evidence = NULL;
    p->problem.parameters = NULL;
    *prepared = p;
    return TAMIS_OK;
failed:
    tamis_cpu_release(p);
    return status;
}

void tamis_cpu_sizes(const tamis_prepared *p, tamis_prepared_sizes *sizes) {
    char least[32] = "";
    if (p->panel_least > 0) snprintf(least, sizeof least, ",least=%lld", (long long)p->panel_least);
    *sizes = (tamis_prepared_sizes){.scratch_bytes = p->scratch_bytes,
                                    .prepared_bytes = sizeof *p + (size_t)p->threads * sizeof *p->ranges,
                                    .math = TAMIS_MATH_EXACT};
    switch (p->kind) {
    case TAMIS_CPU_TILED:
        sizes->prepared_bytes += (size_t)tamis_cpu_tile_entries(&p->problem, &p->tiles) * sizeof(uint32_t);
        snprintf(sizes->parameters, sizeof sizes->parameters,
                 "prefetch=%lld,chunk=%lld,tile_columns=%lld,block_rows=%lld", (long long)p->prefetch,
                 (long long)p->chunk, (long long)p->tiles.tile_columns, (long long)p->tiles.block_rows);
        break;
    case TAMIS_CPU_PANELS:
        sizes->prepared_bytes += (size_t)tamis_cpu_panel_count(&p->problem, p->panels.rows) *
                                     (TAMIS_CPU_PANEL_RUNS * sizeof *p->panels.runs + sizeof *p->panels.starts) +
                                 (size_t)p->problem.nnz * 2 * sizeof *p->panels.entries;
        snprintf(sizes->parameters, sizeof sizes->parameters, "prefetch=%lld,rows=%lld%s", (long long)p->prefetch,
                 (long long)p->panels.rows, least);
        break;
    case TAMIS_CPU_SIMD:
        snprintf(sizes->parameters, sizeof sizes->parameters, "vlc=%lld,nt=%lld", (long long)p->chunk,
                 (long long)p->members);
        break;
    case TAMIS_CPU_NAIVE: sizes->parameters[0] = 0; break;
    case TAMIS_CPU_ROWS:
    case TAMIS_CPU_NONZEROS:
        snprintf(sizes->parameters, sizeof sizes->parameters, "prefetch=%lld,chunk=%lld", (long long)p->prefetch,
                 (long long)p->chunk);
        break;
    }
}

/* ------------------------------------------------------------------------------------------ the table */

#define PLAIN_PARAMETERS                                                                                               \
    "prefetch (0 to 4096): nonzeros ahead at which rows of B and D are prefetched; "                                   \
    "chunk (8 to 2048; fused to 1048576): samples per chunk"

#define STREAM_PARAMETER                                                                                               \
    "; stream (0 or 1): rows of C and E in fp32 and fp64 that are whole cache lines are written past the caches"

static const cpu_algorithm algorithms[] = {
    {.common.description = {.name = "cpu-nonzeros",
                            .device = "cpu",
                            .operations = ALL,
                            .source = "ours; idea of " PAPER_PREDS,
                            .needs = "one partial row per thread, for rows split between threads",
                            .when = "rows of uneven length, hubs, and whenever tiling does not pay off",
                            .parameters = PLAIN_PARAMETERS STREAM_PARAMETER},
     .kind = TAMIS_CPU_NONZEROS,
     .predict = predict_nonzeros},
    {.common.description = {.name = "cpu-rows",
                            .device = "cpu",
                            .operations = ALL,
                            .source = "ours",
                            .needs = "nothing",
                            .when = "rows of even length; cores of uneven speed",
                            .parameters = PLAIN_PARAMETERS STREAM_PARAMETER},
     .kind = TAMIS_CPU_ROWS,
     .predict = predict_rows},
    {.common.description = {.name = "cpu-tiled",
                            .device = "cpu",
                            .operations = ALL,
                            .source = "ours; model of " PAPER_CUSDDMM ", s.IV-A",
                            .needs = "a table of 4 bytes per row and tile, built by the plan",
                            .when =
                                "many nonzeros per row and tile: density of a few percent or more, B larger than L2",
                            .parameters = PLAIN_PARAMETERS
                            "; tile_columns (1 or more), block_rows (1 or more): size of the tile"},
     .common.needs_preparation = true,
     .kind = TAMIS_CPU_TILED,
     .accepts = accepts_tiled,
     .predict = predict_tiled},
    {.common.description =
         {.name = "cpu-panels",
          .device = "cpu",
          .operations = ALL,
          .source = "ours; idea of " PAPER_TILING,
          .needs = "8 bytes per nonzero and 592 per panel of 6 or 8 rows, built by the plan",
          .when =
              "neighbouring rows that share columns, and rows of B of 512 bytes and more: weights with up to 80 % zeros",
          .parameters =
              "prefetch (0 to 4096): entries ahead at which rows of B and D are prefetched; rows (6 or 8): of a panel; "
              "least (1 to 1048576): entries of a run, by default as many as pay for its beginning"},
     .common.needs_preparation = true,
     .kind = TAMIS_CPU_PANELS,
     .accepts = accepts_panels,
     .predict = predict_panels},
    {.common.description = {.name = "esimd-row-simd",
                            .device = "cpu",
                            .operations = ALL,
                            .source = PAPER_ESIMD ", s.3 and 4",
                            .needs = "nothing",
                            .when = "for comparison: explicit vectors, one dot product at a time",
                            .parameters = "vlc (1 to 2048): nonzeros per chunk; nt (1 to 16): members per row (SDDMM)"},
     .kind = TAMIS_CPU_SIMD,
     .predict = predict_simd},
    {.common.description = {.name = "naive",
                            .device = "cpu",
                            .operations = ALL,
                            .source = "baseline",
                            .needs = "nothing",
                            .when = "never: a row loop with omp simd, with which others are compared",
                            .parameters = "",
                            .baseline = true},
     .kind = TAMIS_CPU_NAIVE,
     .accepts = accepts_naive,
     .predict = predict_naive},
};

const tamis_algorithm *tamis_cpu_algorithm(int number) {
    const int count = (int)(sizeof algorithms / sizeof algorithms[0]);
    return number >= 0 && number < count ? &algorithms[number].common : NULL;
}

bool tamis_cpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes) {
    const cpu_algorithm *const row = row_of(algorithm);
    return !row->accepts || row->accepts(problem, reason, bytes);
}

void tamis_cpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction) {
    row_of(algorithm)->predict(problem, prediction);
}
