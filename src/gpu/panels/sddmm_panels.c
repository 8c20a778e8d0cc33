/* Host side of sddmm_panels.simt: ours, rows of B shared by the rows of a panel. */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/nonzeros/slices.h"
#include "gpu/panels/panels_build.h"

enum { PANEL, COLUMNS, PART, TEAM_LANES, BATCH, PIECES, GROUP, RUN, SLICE };
enum { PART_COUNT, SHARED_BYTES, PADDED }; /* numbers */
enum { SHARED_TARGET = 64 << 10 };

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

static int64_t power_below(double x, int64_t lowest, int64_t highest) {
    int64_t power = lowest;
    while (2 * power <= highest && 2.0 * (double)power <= x) power *= 2;
    return power;
}

/* Pieces of a row of B in shared memory, or of its slice; `padded`: as many as the lanes have, so that nothing has to
   be looked at. */
static int64_t pieces_of(const tamis_prepared *p, int64_t slice, bool padded) {
    const int64_t *const v = p->parameters;
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type), pieces = most(1, (slice + piece - 1) / piece);
    const int64_t at_once = v[TEAM_LANES] * tamis_gpu_lane_pieces(pieces, v[TEAM_LANES], v[PIECES]);
    return padded ? (pieces + at_once - 1) / at_once * at_once : pieces;
}

/* Columns that fill the shared memory that still lets several groups share a multiprocessor; rows such that what is
   gathered serves many, and the panel's rows of A still come from the caches. */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *v) {
    const int64_t slice = tamis_gpu_panels_slice(problem);
    const int64_t row_bytes = slice * (int64_t)tamis_type_size(problem->type);
    const int64_t piece = 16 / (int64_t)tamis_type_size(problem->type);
    v[COLUMNS] = 0; /* by the slice in force */
    v[PANEL] = tamis_gpu_panels_height(problem, slice);
    v[PART] = tamis_gpu_panel_part(problem->nnz, device->limits.multiprocessors);
    v[TEAM_LANES] = power_below((double)slice / (double)piece, 2, 8);
    v[BATCH] = 8;
    v[PIECES] = 4;
    v[GROUP] = device->limits.is_cpu ? 64 : 512;
    v[SLICE] = slice;
    v[RUN] = row_bytes < 256 ? 1 : 1024; /* wide rows of A are worth keeping */
}

static tamis_status compile(tamis_prepared *p, int kernel, int64_t inner) {
    const int64_t *const v = p->parameters;
    const int64_t piece = 16 / (int64_t)tamis_type_size(p->problem.type);
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)v[GROUP], (int)v[TEAM_LANES]);
    tamis_gpu_define_inner(&definitions, p, inner, (int)v[TEAM_LANES], (int)v[PIECES]);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "RUN", v[RUN]);
    tamis_gpu_define(&definitions, "PITCH", pieces_of(p, inner, p->numbers[PADDED]) * piece);
    tamis_gpu_define(&definitions, "SLICED", tamis_gpu_sliced(&p->problem, v[SLICE]));
    tamis_gpu_define(&definitions, "SHARED_BYTES", p->numbers[SHARED_BYTES]);
    return tamis_gpu_add_kernel(p, kernel, "sddmm_panels.simt", "sddmm_panels", &definitions, p->numbers[SHARED_BYTES]);
}

static tamis_status prepare(tamis_prepared *p) {
    enum { PIECE_BYTES = 16 };
    int64_t *const v = p->parameters;
    const int64_t shared_most = p->device->limits.shared_most;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, BATCH));
    TRY(tamis_gpu_check_powers(p, GROUP, GROUP));
    v[SLICE] = tamis_gpu_slice_taken(&p->problem, v[SLICE], tamis_gpu_panels_slice(&p->problem));
    /* padded where that is less than a third more, and fits */
    const int64_t bare = pieces_of(p, v[SLICE], false), padded = pieces_of(p, v[SLICE], true);
    p->numbers[PADDED] = 3 * padded <= 4 * bare && most(1, v[COLUMNS]) * padded * PIECE_BYTES <= shared_most;
    const int64_t row = (p->numbers[PADDED] ? padded : bare) * PIECE_BYTES;
    if (v[COLUMNS] == 0) v[COLUMNS] = most(1, least(least(shared_most, SHARED_TARGET) / row, 256));
    while (v[GROUP] > p->device->limits.group_most) v[GROUP] /= 2;
    p->numbers[SHARED_BYTES] = v[COLUMNS] * row;
    if (p->numbers[SHARED_BYTES] > shared_most)
        return tamis_fail(TAMIS_ERROR_UNSUPPORTED,
                          "gpu-panels: %lld columns of %lld bytes need %lld bytes of shared memory; %s has %lld",
                          (long long)v[COLUMNS], (long long)row, (long long)p->numbers[SHARED_BYTES],
                          p->device->limits.name, (long long)shared_most);
    p->scratch_bytes = tamis_gpu_slice_scratch(&p->problem, v[SLICE]);
    if (p->problem.nnz == 0) return TAMIS_OK;
    TRY(tamis_gpu_slice_compile(p, v[SLICE], compile));
    return tamis_gpu_panels_keep(p, v[PANEL], v[COLUMNS], v[PART], &p->numbers[PART_COUNT]);
}

static void add_arguments(const tamis_prepared *p, tamis_gpu_call *call) {
    tamis_gpu_panels_arguments(p, p->parameters[PANEL], call);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_gpu_launch launch = {
        {p->numbers[PART_COUNT], 1}, (int)p->parameters[GROUP], p->numbers[SHARED_BYTES], 1};
    return tamis_gpu_slice_execute(p, stream, x, p->parameters[SLICE], &launch, add_arguments);
}

const tamis_gpu_method tamis_gpu_sddmm_panels = {
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
    .batches = true,
    .widens = true,
};
