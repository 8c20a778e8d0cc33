/* Host side of sddmm_panels.simt (gpu-panels): our own method, in which the rows of a panel share rows of B. */
#include <math.h>
#include <stdio.h>

#include "base/papers.h"
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/model.h"
#include "gpu/panels/panels_build.h"
#include "gpu/slices.h"

enum { PANEL, COLUMNS, PART, TEAM_LANES, BATCH, PIECES, GROUP, RUN, SLICE };
enum { SHARED_TARGET = 64 << 10, NARROW = 512 /* bytes of a row in a team's registers */ };

typedef struct panels_state {
    tamis_gpu_cells cells;
    int64_t shared_bytes;
    bool padded; /* rows of B in shared memory are padded to the pieces that the lanes read */
} panels_state;

static int64_t power_below(double x, int64_t lowest, int64_t highest) {
    int64_t power = lowest;
    while (2 * power <= highest && 2.0 * (double)power <= x) power *= 2;
    return power;
}

/* ------------------------------------------------------------------------------------------ the cost model */

/*
 * Height of a panel in rows, for cells of up to `columns` columns; *fresh: the share of its nonzeros whose column is
 * new to the panel. In a cell of few nonzeros, gathering rows of B hardly pays. So panels grow if that helps: if twice
 * the height has far fewer new columns, and neighbouring rows have few in common. (Meshes gain nothing: the columns of
 * a band grow with its rows, which two heights alone do not show.) Measured on rows of random columns, slices of 512
 * bytes: cells of 819, 1638 and 3277 nonzeros take 64, 51 and 42 ps per nonzero, of 4915 and 9830 both 32.
 */
static int64_t height_of(const tamis_problem *p, double columns, double *fresh) {
    enum { LOWEST = 256, HIGHEST = 2048, ENOUGH = 6000, PANELS = 4 /* at least */ };
    const double ratio =
        p->evidence->panel_fresh[0] > 0 ? p->evidence->panel_fresh[1] / p->evidence->panel_fresh[0] : 1;
    int64_t height = LOWEST;
    *fresh = fmax(p->evidence->panel_fresh[1], 1e-6);
    while (height < HIGHEST && 2 * height * PANELS <= p->rows && ratio < 0.7 && p->evidence->fresh_share > 0.35 &&
           columns / *fresh < ENOUGH) {
        height *= 2;
        *fresh *= ratio;
    }
    return height;
}

/* Bytes of a row of B that the lanes of a gpu-panels team process, padding included. */
static double taken(double bytes) {
    enum { TEAM = 8, PIECES_MOST = 4, PIECE = 16 };
    double team = 1;
    while (team < TEAM && team * PIECE < bytes) team *= 2;
    const int64_t pieces = tamis_gpu_lane_pieces((int64_t)ceil(bytes / PIECE), (int64_t)team, PIECES_MOST);
    const double at_once = team * (double)pieces * PIECE;
    return at_once * ceil(bytes / at_once);
}

/* Columns of a cell: as many as fill a group's shared memory. */
static double columns_of(double bytes) {
    enum { SHARED = 64 << 10, MOST = 256 };
    return fmax(1, fmin(SHARED / fmax(bytes, 1), MOST));
}

static int64_t usual_height(const tamis_problem *p, int64_t slice) {
    double fresh;
    return height_of(p, columns_of(tamis_gpu_row_bytes(p) / tamis_gpu_slices(p, slice)), &fresh);
}

/*
 * Seconds of a nonzero of gpu-panels in all its launches. The wider a slice, the fewer columns and nonzeros a cell has.
 * A group takes 512 nonzeros at a time, so a cell with fewer leaves teams idle. That alone explains the times of rows
 * of 8 to 32 KB without slices. Rows of more than 512 bytes take several steps, half as long again.
 */
static double panels_each(const tamis_problem *p, int64_t slice) {
    enum { AT_ONCE = 512 };
    const double slices = tamis_gpu_slices(p, slice), bytes = tamis_gpu_row_bytes(p) / slices,
                 columns = columns_of(bytes);
    double fresh;
    height_of(p, columns, &fresh);
    static const double indirect = 1.5, gathered = 3, steps = 1.5;
    const tamis_gpu_rates *const f = tamis_gpu_rates_of(p);
    const double nonzeros = columns / fresh, busy = nonzeros / (AT_ONCE * ceil(nonzeros / AT_ONCE));
    const double once =
        tamis_gpu_nonzero_ps(p, indirect * f->dot_ps, taken(bytes)) + gathered * f->byte_ps * bytes * fresh;
    const double idle = bytes > NARROW ? 1 / busy : 1; /* shorter rows: included in the fit */
    return tamis_gpu_issue(p, slices * once * idle * (bytes > NARROW ? steps : 1)) + tamis_gpu_sums_each(p, slices);
}

static int64_t usual_slice(const tamis_problem *p) {
    enum { WIDEST = 4096 }; /* bytes */
    const tamis_gpu_device *const device = p->device;
    return tamis_gpu_cheapest_slice(p, WIDEST, device ? device->limits.shared_most - 16 : INT64_MAX, panels_each);
}

/* Nonzeros of a part: few enough for two or three waves of parts on all multiprocessors, and enough to pay for
   gathering their rows of B. */
static int64_t usual_part(int64_t nnz, int multiprocessors) {
    return nnz < (int64_t)multiprocessors * 20480 ? 4096 : 8192;
}

static void predict(const tamis_problem *p, tamis_prediction *prediction) {
    static const double waits = 2.2;
    const double nnz = (double)p->nnz;
    const int64_t slice = usual_slice(p);
    const double slices = tamis_gpu_slices(p, slice), bytes = tamis_gpu_row_bytes(p) / slices;
    double fresh;
    const int64_t height = height_of(p, columns_of(bytes), &fresh);
    const int multiprocessors = p->device ? ((const tamis_gpu_device *)p->device)->limits.multiprocessors : 1;
    const double parts = fmax(1, nnz / (double)usual_part(p->nnz, multiprocessors));
    const double each = panels_each(p, slice);
    /* a multiprocessor's only group waits for each step of its rows */
    const double alone = bytes > NARROW ? waits * fmin(nnz, nnz / parts * multiprocessors) * each : 0;
    prediction->call_seconds = tamis_gpu_launches(p, slices) + fmax(nnz * each, alone);
    prediction->setup_seconds = tamis_gpu_cells_seconds(p);
    if (p->once) return; /* single calls report no reason */
    snprintf(prediction->reason, sizeof prediction->reason,
             "in panels of %lld rows %.1f nonzeros share a row of B, in %.0f launches; the cells are sorted once",
             (long long)height, 1 / fresh, slices);
}

/* ------------------------------------------------------------------------------------------ preparing */

/* Pieces of a row of B, or of its slice, in shared memory; `padded`: as many as the lanes read, so that no bound is
   tested. */
static int64_t pieces_of(const tamis_prepared *p, int64_t slice, bool padded) {
    const int64_t *const v = p->parameters;
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type),
                  pieces = tamis_gpu_max(1, (slice + piece - 1) / piece);
    const int64_t at_once = v[TEAM_LANES] * tamis_gpu_lane_pieces(pieces, v[TEAM_LANES], v[PIECES]);
    return padded ? (pieces + at_once - 1) / at_once * at_once : pieces;
}

/* Columns: as many as fit shared memory while several groups share a multiprocessor. Rows: enough for each gathered row
   to serve many nonzeros, but with the panel's rows of A still in the caches. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    const int64_t slice = usual_slice(problem);
    const int64_t row_bytes = slice * (int64_t)tamis_type_size(problem->type);
    const int64_t piece = 16 / (int64_t)tamis_type_size(problem->type);
    v[COLUMNS] = 0; /* 0: chosen by the slice */
    v[PANEL] = usual_height(problem, slice);
    v[PART] = usual_part(problem->nnz, device->limits.multiprocessors);
    v[TEAM_LANES] = power_below((double)slice / (double)piece, 2, 8);
    v[BATCH] = 8;
    v[PIECES] = 4;
    v[GROUP] = device->limits.is_cpu ? 64 : 512;
    v[SLICE] = slice;
    v[RUN] = row_bytes < 256 ? 1 : 1024; /* wide rows of A are worth keeping */
}

static tamis_status compile(tamis_prepared *p, int kernel, int64_t inner) {
    const panels_state *const s = p->state;
    const int64_t *const v = p->parameters;
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type);
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)v[GROUP], (int)v[TEAM_LANES]);
    tamis_gpu_define_inner(&definitions, p, inner, (int)v[TEAM_LANES], (int)v[PIECES]);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "RUN", v[RUN]);
    tamis_gpu_define(&definitions, "PITCH", pieces_of(p, inner, s->padded) * piece);
    tamis_gpu_define(&definitions, "SLICED", tamis_gpu_sliced(&p->problem, v[SLICE]));
    tamis_gpu_define(&definitions, "SHARED_BYTES", s->shared_bytes);
    /* 16-bit rows: 8 to 22 % slower as two kernels (H200) */
    const bool both = tamis_gpu_compiles_fast(p) && tamis_type_size(p->problem.type) == 2;
    tamis_gpu_define(&definitions, "BOTH_WIDTHS", both);
    return (both ? tamis_gpu_add_kernel : tamis_gpu_add_split_kernel)(p, kernel, "sddmm_panels.simt", "sddmm_panels",
                                                                      &definitions, s->shared_bytes);
}

static tamis_status prepare(tamis_prepared *p) {
    enum { PIECE_BYTES = 16 };
    panels_state *const s = p->state;
    int64_t *const v = p->parameters;
    const int64_t shared_most = p->device->limits.shared_most;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, BATCH));
    TRY(tamis_gpu_check_powers(p, GROUP, GROUP));
    v[SLICE] = tamis_gpu_slice_taken(&p->problem, v[SLICE], usual_slice(&p->problem));
    /* pads if that costs less than a third and fits */
    const int64_t bare = pieces_of(p, v[SLICE], false), padded = pieces_of(p, v[SLICE], true);
    s->padded = 3 * padded <= 4 * bare && tamis_gpu_max(1, v[COLUMNS]) * padded * PIECE_BYTES <= shared_most;
    const int64_t row = (s->padded ? padded : bare) * PIECE_BYTES;
    if (v[COLUMNS] == 0)
        v[COLUMNS] = tamis_gpu_max(1, tamis_gpu_min(tamis_gpu_min(shared_most, SHARED_TARGET) / row, 256));
    while (v[GROUP] > p->device->limits.group_most) v[GROUP] /= 2;
    s->shared_bytes = v[COLUMNS] * row;
    if (s->shared_bytes > shared_most)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "gpu-panels: %lld columns of %lld bytes need %lld bytes of shared memory; %s has %lld",
                          (long long)v[COLUMNS], (long long)row, (long long)s->shared_bytes, p->device->limits.name,
                          (long long)shared_most);
    p->scratch_bytes = tamis_gpu_slice_scratch(&p->problem, v[SLICE]);
    if (p->problem.nnz == 0) return TAMIS_OK;
    TRY(tamis_gpu_slice_compile(p, v[SLICE], compile));
    return tamis_gpu_cells_build(p, v[PANEL], v[COLUMNS], v[PART], &s->cells);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const panels_state *const s = p->state;
    const tamis_gpu_launch launch = {
        .groups = {s->cells.part_count, 1}, .group_size = (int)p->parameters[GROUP], .shared_bytes = s->shared_bytes};
    return tamis_gpu_slice_execute(p, stream, x, p->parameters[SLICE], launch, TAMIS_GPU_CELLS_ARGUMENTS(&s->cells));
}

static const tamis_gpu_method method = {
    .name = "gpu-panels",
    .parameters = {{"panel", 1, 65536},
                   {"columns", 1, 65536},
                   {"part", 1, 1 << 24},
                   {"team", 1, 32},
                   {"batch", 4, 8},
                   {"pieces", 1, 8},
                   {"group", 32, 1024},
                   {"run", 1, 1024},
                   {"slice", 0, 1 << 20}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .state_bytes = sizeof(panels_state),
    .batches = true,
    .widens = true,
};

const tamis_gpu_algorithm tamis_gpu_panels = {
    .common.description =
        {
            .name = "gpu-panels",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = "ours; ideas of " PAPER_GPU_DYNAMIC ", and of " PAPER_CUSDDMM,
            .needs =
                "nonzeros sorted into cells by the plan, on the device: 12 bytes per nonzero; scratch for sums where K comes in slices",
            .when = "rows near each other share columns: densities of a few per cent, meshes; a plan of several calls",
            .parameters =
                "panel (1 to 65536): rows of a panel; columns: rows of B in shared memory; part: nonzeros per group; team (1 to 32): lanes per row of B; batch (4, 8): nonzeros that a team reduces at once; pieces (1 to 8): 16-byte pieces that a lane holds of a row at most; group (32 to 1024): work-items; run: consecutive batches per team; slice: elements of K per launch, 0 by the model",
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SDDMM] = &method},
    .predict = predict,
    .also = tamis_gpu_cells_accept,
};
