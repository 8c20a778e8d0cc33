/*
 * Host side of dynamic_shared.simt: `gpudynamic-shared` and `gpudynamic-preprocessing` (Costa et al.: Efficient SDDMM
 * Algorithms on GPU).
 */
#include "base/status.h"
#include "gpu/structure/panel_index.h"
#include "lab/gpu/methods.h"

enum { TK, TJ, BLOCK, GRID, REDUCE, LANES, BATCH };
enum { TILES, FINISHING };                         /* kernels */
enum { INDEXED };                                  /* the constant of the first: columns are renumbered */
enum { STORE, ADD_OUT, ADD_SUMS, PUT, ADD, LAST }; /* modes of the kernel */
enum { FINISHING_GROUP = 64, TILE_BYTES = 32 << 10, TILE_LEAST = 32 /* rows */ };

typedef struct shared_state {
    int64_t team;  /* lanes of a row's slices */
    int64_t parts; /* parts of K: launches, or groups along y */
} shared_state;

/* Four lanes per entry, with two 16-byte reads each; on processors one work-item per row, as in the paper's text. */
static void set_defaults(const tamis_problem *problem, bool is_cpu, int64_t block, int64_t *parameters) {
    parameters[TK] = problem->type == TAMIS_F64 ? 16 : 32;
    parameters[TJ] = 0; /* 0: as many rows as fill TILE_BYTES */
    parameters[BLOCK] = is_cpu ? 32 : block;
    parameters[GRID] = 0;
    parameters[REDUCE] = problem->deterministic;
    parameters[LANES] = parameters[BATCH] = is_cpu ? 1 : 4;
}

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    set_defaults(problem, device->limits.is_cpu, 512, parameters);
}

static void indexed_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    set_defaults(problem, device->limits.is_cpu, 256, parameters);
}

/* The requested number of rows, or as many as fill TILE_BYTES, but no more than there are. */
static int64_t tile_bytes(const tamis_prepared *p, int64_t slices) {
    const int64_t row = slices * p->parameters[TK] * (int64_t)tamis_type_size(p->problem.type);
    const int64_t most = p->device->limits.shared_most, room = most < TILE_BYTES ? most : TILE_BYTES;
    const int64_t fits = room / row < TILE_LEAST ? TILE_LEAST : room / row;
    return (p->parameters[TJ] ? p->parameters[TJ] : fits) * row;
}

/* Slices of K that one team holds: all of K if that takes at most 32 lanes and the tile fits. Devices without shuffles
   take one slice per launch: a team would be a group there, and groups smaller than a warp read incomplete tiles
   (NVIDIA's OpenCL, where lanes diverge in load_tile). */
static int64_t choose_slices(const tamis_prepared *p) {
    const int64_t slices = (p->problem.inner + p->parameters[TK] - 1) / p->parameters[TK];
    int64_t held = 1;
    if (!p->parameters[REDUCE] || p->device->limits.subgroup != 32) return 1;
    while (held * p->parameters[LANES] < 32 && held < slices &&
           tile_bytes(p, 2 * held) <= p->device->limits.shared_most)
        held *= 2;
    return held;
}

static tamis_status choose(tamis_prepared *p) {
    shared_state *const s = p->state;
    int64_t *const v = p->parameters;
    TRY(tamis_gpu_check_powers(p, TK, TK));
    TRY(tamis_gpu_check_powers(p, BLOCK, BLOCK));
    TRY(tamis_gpu_check_powers(p, LANES, BATCH));
    if (p->device->limits.subgroup != 32) v[LANES] = 1; /* see choose_slices */
    if (p->problem.deterministic && !v[REDUCE])
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: reduce = 0 adds floats in whatever order: with any_order = true only");
    while (v[LANES] > 1 && v[TK] / v[LANES] < tamis_gpu_piece(p->problem.type))
        v[LANES] /= 2; /* at least one piece per lane */
    const int64_t slices = choose_slices(p), width = slices * v[TK], bytes = tile_bytes(p, slices);
    v[BLOCK] = tamis_gpu_min(v[BLOCK], p->device->limits.group_most);
    v[TJ] = bytes / width / (int64_t)tamis_type_size(p->problem.type);
    if (bytes > p->device->limits.shared_most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: tk = %lld and tj = %lld need %lld bytes of shared memory, "
                          "%s has %lld",
                          (long long)v[TK], (long long)v[TJ], (long long)bytes, p->device->limits.name,
                          (long long)p->device->limits.shared_most);
    s->team = slices * v[LANES];
    s->parts = p->problem.inner > 0 ? tamis_gpu_ceiling(p->problem.inner, width) : 1;
    if (s->parts > 1) p->scratch_bytes = tamis_gpu_sample_bytes(&p->problem);
    const int64_t group = tamis_gpu_max(v[BLOCK], s->team),
                  panels = tamis_gpu_ceiling(p->problem.rows, group / s->team);
    p->launch = (tamis_gpu_launch){.groups = {v[GRID] ? tamis_gpu_min(v[GRID], panels) : panels, 1},
                                   .group_size = (int)group,
                                   .shared_bytes = bytes};
    if (!v[REDUCE]) p->launch.groups[1] = s->parts;
    return TAMIS_OK;
}

static tamis_status add_kernels(tamis_prepared *p) {
    const shared_state *const s = p->state;
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions own = {.used = 0};
    tamis_gpu_define(&own, "HELD", v[TK] / v[LANES]);
    TRY(tamis_gpu_prepare_kernel(p, TILES, p->launch.group_size, s->team, &own));
    return s->parts == 1 || v[REDUCE] ? TAMIS_OK : tamis_gpu_prepare_kernel(p, FINISHING, FINISHING_GROUP, 1, NULL);
}

static tamis_status prepare(tamis_prepared *p) {
    void *within = NULL, *starts = NULL, *list = NULL; /* of renumbered columns: see structure/panel_index.h */
    const size_t size = tamis_index_size(p->problem.index_type);
    TRY(choose(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    TRY(add_kernels(p));
    if (p->method->kernels[TILES].definitions[INDEXED].value) {
        tamis_gpu_index index;
        const tamis_gpu_tiling tiling = {.x_tile = p->launch.group_size / ((const shared_state *)p->state)->team,
                                         .y_tile = 1};
        TRY(tamis_gpu_index_build(p, &tiling, &index));
        within = tamis_gpu_index_keep(p, &index.within, p->problem.nnz, size);
        starts = tamis_gpu_index_keep(p, &index.starts, index.panels + 1, 8);
        list = tamis_gpu_index_keep(p, &index.list, index.count, size);
        tamis_gpu_index_release(p, &index);
    }
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("within", within),
                                                   tamis_gpu_memory("starts", starts), tamis_gpu_memory("list", list)));
    return TAMIS_OK;
}

static tamis_status launch_tiles(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                 int mode) {
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    return tamis_gpu_launch_prepared(
        p, stream, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_place("sums", p->scratch_bytes ? x->scratch : (tamis_place){NULL, 0}),
                            tamis_gpu_integer("slice", slice), tamis_gpu_integer("mode", mode)));
}

static tamis_status execute_atomically(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    /* not if parts would be scaled separately: an infinite value times two parts is not that times their sum */
    const bool linear = problem->edge == TAMIS_EDGE_MASK || (problem->edge == TAMIS_EDGE_SCALE && !problem->has_values);
    const bool plain = problem->type == TAMIS_F32 || problem->type == TAMIS_F64;
    const bool into_out = linear && plain && x->beta == 0;
    TRY(p->device->runtime->fill(p->device, stream, into_out ? x->out.at : x->scratch, 0,
                                 tamis_gpu_sample_bytes(problem)));
    TRY(launch_tiles(p, stream, x, 0, into_out ? ADD_OUT : ADD_SUMS));
    if (into_out) return TAMIS_OK;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const int64_t groups = tamis_gpu_min(tamis_gpu_ceiling(problem->nnz, FINISHING_GROUP), 65535);
    const tamis_gpu_launch launch = {.groups = {groups, 1}, .group_size = FINISHING_GROUP};
    return tamis_gpu_launch_kernel(p, stream, FINISHING, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_place("sums", x->scratch)));
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t parts = ((const shared_state *)p->state)->parts;
    if (parts > 1 && !p->parameters[REDUCE]) return execute_atomically(p, stream, x);
    for (int64_t i = 0; i < parts; i++) /* in sequence, so that each sample has one writer */
        TRY(launch_tiles(p, stream, x, i, parts == 1 ? STORE : i == 0 ? PUT : i == parts - 1 ? LAST : ADD));
    return TAMIS_OK;
}

#define PARAMETERS_TEXT                                                                                                \
    "tk: slice of K, tj: rows of B in shared memory (0: 32 KiB of them); reduce (0 atomic adds, 1 shuffles, as "       \
    "deterministic plans do); block (32 to 1024): work-items; grid: groups, 0: one a panel; lanes (1 to 32): an "      \
    "entry and slice; batch (1 to 8): entries that a team takes at once"

/* The row of a method of the paper's section. */
#define ROW(name, section, needs, when, indexed, defaults_)                                                            \
    TAMIS_LAB_ROW(TAMIS_OP_SDDMM, name, PAPER_GPU_DYNAMIC section, needs, when, PARAMETERS_TEXT,                       \
                  .kernels = {[TILES] = {"dynamic_shared.simt", "shared_tiles", true, {{"INDEXED", indexed}}},         \
                              [FINISHING] = {"dynamic_finish.simt", "dynamic_finish"}},                                \
                  .parameters = {{"tk", 8, 64},                                                                        \
                                 {"tj", 0, 1024},                                                                      \
                                 {"block", 32, 1024},                                                                  \
                                 {"grid", 0, 1 << 30},                                                                 \
                                 {"reduce", 0, 1},                                                                     \
                                 {"lanes", 1, 32},                                                                     \
                                 {"batch", 1, 8}},                                                                     \
                  .defined = {[TJ] = "TJ", [BATCH] = "BATCH"}, .defaults = defaults_, .prepare = prepare,              \
                  .execute = execute, .state_bytes = sizeof(shared_state)),                                            \
        .common.description.any_order = true, .sorted = true, .orders = true

const tamis_gpu_algorithm tamis_gpudynamic_shared = {
    ROW("gpudynamic-shared", ", s.3", "atomic adds; shared memory; sorted columns",
        "for comparison: one row per work-item, tiles of B in shared memory", 0, defaults),
    .relative = 16,
};

const tamis_gpu_algorithm tamis_gpudynamic_preprocessing = {
    ROW("gpudynamic-preprocessing", ", s.4",
        "columns renumbered by the plan, on the device; atomic adds; shared memory",
        "for comparison: as gpudynamic-shared, over the columns that occur in a panel", 1, indexed_defaults),
    .common.needs_preparation = true,
    .relative = 6,
};
