/* Host side of sddmm_nonzeros.simt: our own method, equal shares of nonzeros whatever the rows. */
#include "gpu/nonzeros/sddmm_nonzeros.h"
#include "base/status.h"
#include "gpu/nonzeros/prediction.h"
#include "gpu/slices.h"
#include "gpu/structure/order.h"

enum { TEAM_LANES, BATCH, LOADS, PIECES, GROUP, CHUNK, RUN, SLICE, WALK, REGISTERS };

enum { REGISTERS_ALL = 65536 /* of a multiprocessor */ };

typedef struct nonzeros_state {
    void *row_indices; /* index type: the row of each nonzero; NULL: found by binary search */
} nonzeros_state;

/*
 * Parameters without a resident row of A (WALK). Each lane has at most four pieces of a row of B, all in flight at
 * once; of short rows (up to eight pieces) a batch of eight rows is in flight. The register limit is above what the
 * compiler would choose: without it, it loads two rows, waits for them, and loads the next two.
 */
static void walk(const tamis_problem *problem, int64_t pieces, int64_t *v) {
    const bool short_rows = pieces <= 8, halves = tamis_type_size(problem->type) == 2;
    const bool wide = problem->type == TAMIS_F64 || problem->index_type == TAMIS_I64 || (short_rows && halves);
    v[TEAM_LANES] = short_rows ? 4 : 8;
    while (v[TEAM_LANES] < 32 && v[TEAM_LANES] * (short_rows ? 1 : 4) < pieces) v[TEAM_LANES] *= 2;
    v[BATCH] = v[LOADS] = short_rows ? 8 : 4;
    v[PIECES] = v[TEAM_LANES] > 8 ? 2 : 1;
    v[RUN] = 1;
    v[GROUP] = 128;
    v[CHUNK] = 8; /* one round of a team */
    /* with eight rows at once, the nonzeros of a warp are rarely all in one row of A unless rows are long */
    v[WALK] = short_rows && problem->evidence->profile.mean < 32 ? 1 : 2;
    v[REGISTERS] = wide ? 128 : short_rows || v[TEAM_LANES] > 8 ? 96 : 80;
}

/*
 * True if no row of A should stay in registers: if there are few nonzeros, or if L1 misses of B dominate anyway, or if
 * rows of A have few nonzeros. Otherwise (meshes) groups that take many neighbouring nonzeros find rows of B in L1.
 */
static bool walks(const tamis_problem *problem, int64_t pieces, int64_t multiprocessors) {
    enum { SOME = 3072, MANY = 16384 /* nonzeros of a multiprocessor */ };
    const double mean = problem->evidence->profile.mean, fresh = problem->evidence->fresh_share;
    if (problem->nnz < multiprocessors * (pieces > 8 && fresh < 0.3 ? SOME : MANY)) return true;
    if (pieces >= 64) return mean < 16 || mean < 110 * fresh || fresh > 0.4;
    return pieces > 8 ? fresh > 0.78 : fresh > 0.3 || mean < 32;
}

/*
 * Lanes of a row of B: as many as it has pieces, up to sixteen. If a lane then has more than three pieces (fp64: more
 * than one), eight lanes read two rows at once, step by step.
 */
static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    const int64_t piece = 16 / (int64_t)tamis_type_size(problem->type), slice = tamis_gpu_nonzeros_slice(problem);
    const int64_t pieces = (slice + piece - 1) / piece, multiprocessors = device->limits.multiprocessors;
    int64_t team = 4, group = 128, chunk = 512, loads = 4;
    parameters[SLICE] = slice;
    parameters[WALK] = parameters[REGISTERS] = 0;
    if (!device->limits.is_cpu && walks(problem, pieces, multiprocessors)) {
        walk(problem, pieces, parameters);
        return;
    }
    while (team < 16 && 2 * team <= pieces) team *= 2;
    const bool in_steps = piece == 2 ? pieces > team : piece == 4 && pieces > 3 * team;
    const bool by_three = piece == 4 && pieces > 2 * team && pieces <= 3 * team;
    if (in_steps) team = 8;
    if (piece == 4 && pieces == 16)
        team = 8; /* two pieces per lane at K = 64: meshes 1.08, graphs 0.98 times as fast */
    const bool long_rows = pieces > 2 * team || pieces > 16;
    if (long_rows && by_three) {
        group = 256;
        chunk = 1024;
    } else if (long_rows) {
        /* one large group per multiprocessor, in whole rounds: neighbouring rows of S find rows of B in L1 */
        const int64_t rounds = problem->nnz / multiprocessors / 8192 + 1;
        group = 1024;
        chunk = problem->nnz / multiprocessors / rounds + 1;
    }
    const int64_t step = group / team * 8;
    parameters[TEAM_LANES] = team;
    parameters[BATCH] = 8;
    parameters[PIECES] = pieces <= 2 * team ? 2 : 4;
    const bool several = in_steps && (piece == 4 || pieces <= 4 * team); /* rows of fp64 take one step */
    const int64_t lane = tamis_gpu_lane_pieces(pieces, team, parameters[PIECES]) * piece;
    while (loads > 1 && loads * lane > (several ? 32 : 16)) loads /= 2;
    if (piece == 8) loads = long_rows ? 1 : 2; /* converted to reals, rows take twice the registers */
    parameters[LOADS] = loads;
    parameters[GROUP] = device->limits.is_cpu ? 64 : group;
    parameters[CHUNK] = chunk;
    parameters[RUN] = long_rows || chunk / step < 4 ? 1 : 4;
}

/* Estimated registers of a work-item: rows in flight, sums, indices, and the rest. */
static int64_t registers_of(const tamis_prepared *p) {
    const tamis_problem *const problem = &p->problem;
    const int64_t *const v = p->parameters;
    const int64_t piece = 16 / (int64_t)tamis_type_size(problem->type), real = problem->type == TAMIS_F64 ? 2 : 1;
    const int64_t index = problem->index_type == TAMIS_I64 ? 2 : 1;
    const int64_t lane = tamis_gpu_lane_pieces((v[SLICE] + piece - 1) / piece, v[TEAM_LANES], v[PIECES]) * piece;
    /* unpacking 16-bit numbers takes as much as one more row in flight, and so do loads of single elements */
    const int64_t rows = v[LOADS] + 1 + (piece == 8 || p->unit == 1);
    return real * (rows * lane + v[BATCH]) + 2 * index * v[BATCH] + 24 +
           (problem->once ? 8 : 0); /* rows found by search */
}

static tamis_status compile(tamis_prepared *p, int kernel, int64_t inner) {
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)v[GROUP], (int)v[TEAM_LANES]);
    tamis_gpu_define_inner(&definitions, p, inner, (int)v[TEAM_LANES], (int)v[PIECES]);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "LOADS", v[LOADS]);
    tamis_gpu_define(&definitions, "RUN", v[RUN]);
    tamis_gpu_define(&definitions, "WALK", v[WALK]);
    tamis_gpu_define(&definitions, "ONE_ROUND", v[CHUNK] == v[GROUP] / v[TEAM_LANES] * v[BATCH]);
    if (v[REGISTERS] > 0 && REGISTERS_ALL / v[REGISTERS] >= v[GROUP])
        tamis_gpu_define(&definitions, "GROUPS", REGISTERS_ALL / v[REGISTERS] / v[GROUP]);
    tamis_gpu_define(&definitions, "SLICED", tamis_gpu_sliced(&p->problem, v[SLICE]));
    tamis_gpu_define(&definitions, "ROWS_KNOWN", !p->problem.once);
    return tamis_gpu_add_split_kernel(p, kernel, "sddmm_nonzeros.simt", "sddmm_nonzeros", &definitions, 0);
}

/* Partial sums between slices; only long rows have them. */
static tamis_call_bytes call_bytes(const tamis_problem *problem) {
    const bool long_rows = problem->inner * (int64_t)tamis_type_size(problem->type) > TAMIS_GPU_NONZEROS_WIDEST;
    return (tamis_call_bytes){.entry = long_rows ? (int64_t)tamis_gpu_real_size(problem->type) : 0};
}

static tamis_status prepare(tamis_prepared *p) {
    enum { OVER = 8 }; /* registers that the compiler can save beyond the estimate */
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_check_powers(p, TEAM_LANES, LOADS));
    TRY(tamis_gpu_check_powers(p, GROUP, GROUP));
    v[SLICE] = tamis_gpu_slice_taken(&p->problem, v[SLICE], tamis_gpu_nonzeros_slice(&p->problem));
    if (v[LOADS] > v[BATCH]) v[LOADS] = v[BATCH];
    while (v[GROUP] > p->device->limits.group_most) v[GROUP] /= 2;
    const int64_t needs = registers_of(p);
    while (v[GROUP] > 128 && needs > REGISTERS_ALL / v[GROUP] + OVER) v[GROUP] /= 2;
    if (v[GROUP] < v[TEAM_LANES]) v[GROUP] = v[TEAM_LANES];
    const int64_t whole = v[GROUP] / v[TEAM_LANES] * v[BATCH] * v[RUN]; /* nonzeros that a group takes in a round */
    const int64_t least = p->problem.nnz / p->device->limits.groups_most[0] + 1; /* the launch limit on groups */
    v[CHUNK] = ((v[CHUNK] > least ? v[CHUNK] : least) + whole - 1) / whole * whole;
    p->scratch_bytes = tamis_gpu_slice_scratch(&p->problem, v[SLICE]);
    if (p->problem.nnz == 0) return TAMIS_OK;
    TRY(tamis_gpu_slice_compile(p, v[SLICE], compile));
    if (p->problem.once) return TAMIS_OK; /* rows are found by search */
    nonzeros_state *const state = p->state;
    TRY(tamis_gpu_add_kept(p, &state->row_indices, p->problem.nnz, tamis_index_size(p->problem.index_type),
                           "rows of the nonzeros"));
    return tamis_gpu_expand_rows(p->device, p->problem.stream, &p->problem, state->row_indices);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const nonzeros_state *const state = p->state;
    const int64_t chunk = p->parameters[CHUNK];
    const tamis_gpu_launch launch = {
        .groups = {(p->problem.nnz + chunk - 1) / chunk, 1}, .group_size = (int)p->parameters[GROUP], .members = 1};
    return tamis_gpu_slice_execute(
        p, stream, x, p->parameters[SLICE], launch,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("row_indices", state->row_indices), tamis_gpu_integer("chunk", chunk)));
}

const tamis_gpu_method tamis_gpu_sddmm_nonzeros = {
    .name = "gpu-nonzeros",
    .parameters = {{"team", 1, 32},
                   {"batch", 4, 8},
                   {"loads", 1, 8},
                   {"pieces", 1, 8},
                   {"group", 32, 1024},
                   {"chunk", 8, 1 << 20},
                   {"run", 1, 64},
                   {"slice", 0, 1 << 20},
                   {"walk", 0, 2},
                   {"registers", 0, 255}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
    .call_bytes = call_bytes,
    .state_bytes = sizeof(nonzeros_state),
    .batches = true,
    .widens = true,
};
