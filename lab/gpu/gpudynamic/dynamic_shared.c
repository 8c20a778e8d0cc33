/*
 * Host side of dynamic_shared.simt: `gpudynamic-shared` and `gpudynamic-preprocessing` (Costa et al.: Efficient SDDMM
 * Algorithms on GPU).
 */
#include "base/papers.h"
#include "base/status.h"
#include "gpu/structure/panel_index.h"
#include "lab/gpu/gpudynamic/gpudynamic.h"
#include "lab/gpu/methods.h"

enum { TK, TJ, BLOCK, GRID, REDUCE, LANES, BATCH };
enum { TILES = 0, FINISHING = 1 };                 /* kernels */
enum { STORE, ADD_OUT, ADD_SUMS, PUT, ADD, LAST }; /* modes of the kernel */
enum { FINISHING_GROUP = 64, TILE_BYTES = 32 << 10, TILE_LEAST = 32 /* rows */ };

typedef struct shared_state {
    int64_t team, group;          /* lanes of a row's slices; work-items of a group */
    int64_t parts;                /* parts of K: launches, or groups along y */
    int64_t bytes;                /* shared memory of the tile */
    void *starts, *list, *within; /* for gpudynamic-preprocessing: see structure/panel_index.h */
} shared_state;

static int64_t piece_of(const tamis_problem *problem) { return 16 / (int64_t)tamis_type_size(problem->type); }

/* Four lanes per entry, with two 16-byte reads each; on processors one work-item per row, as in the paper's text. */
static void set_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    const bool is_cpu = device->limits.is_cpu;
    parameters[TK] = problem->type == TAMIS_F64 ? 16 : 32;
    parameters[TJ] = 0; /* 0: as many rows as fill TILE_BYTES */
    parameters[GRID] = 0;
    parameters[REDUCE] = problem->deterministic;
    parameters[LANES] = is_cpu ? 1 : 4;
    parameters[BATCH] = is_cpu ? 1 : 4;
}

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    set_defaults(problem, device, parameters);
    parameters[BLOCK] = device->limits.is_cpu ? 32 : 512;
}

static void indexed_defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    set_defaults(problem, device, parameters);
    parameters[BLOCK] = device->limits.is_cpu ? 32 : 256;
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
    while (v[LANES] > 1 && v[TK] / v[LANES] < piece_of(&p->problem)) v[LANES] /= 2; /* at least one piece per lane */
    const int64_t slices = choose_slices(p), width = slices * v[TK];
    if (v[BLOCK] > p->device->limits.group_most) v[BLOCK] = p->device->limits.group_most;
    s->bytes = tile_bytes(p, slices);
    v[TJ] = s->bytes / width / (int64_t)tamis_type_size(p->problem.type);
    if (s->bytes > p->device->limits.shared_most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: tk = %lld and tj = %lld need %lld bytes of shared memory, "
                          "%s has %lld",
                          (long long)v[TK], (long long)v[TJ], (long long)s->bytes, p->device->limits.name,
                          (long long)p->device->limits.shared_most);
    s->team = slices * v[LANES];
    s->group = v[BLOCK];
    if (s->group < s->team) s->group = s->team;
    s->parts = p->problem.inner > 0 ? (p->problem.inner + width - 1) / width : 1;
    if (s->parts > 1) p->scratch_bytes = (size_t)p->problem.nnz * tamis_gpu_real_size(p->problem.type);
    return TAMIS_OK;
}

static tamis_status add_kernels(tamis_prepared *p, bool indexed) {
    const shared_state *const s = p->state;
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0}, finishing = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)s->group, (int)s->team);
    tamis_gpu_define(&definitions, "HELD", v[TK] / v[LANES]);
    tamis_gpu_define(&definitions, "TJ", v[TJ]);
    tamis_gpu_define(&definitions, "BATCH", v[BATCH]);
    tamis_gpu_define(&definitions, "INDEXED", indexed);
    tamis_gpu_define(&definitions, "SHARED_BYTES", s->bytes);
    TRY(tamis_gpu_add_split_kernel(p, TILES, "dynamic_shared.simt", "shared_tiles", &definitions, s->bytes));
    if (s->parts == 1 || v[REDUCE]) return TAMIS_OK;
    tamis_gpu_define_problem(&finishing, p, FINISHING_GROUP, 1);
    return tamis_gpu_add_kernel(p, FINISHING, "dynamic_finish.simt", "dynamic_finish", &finishing, 0);
}

static tamis_status prepare_shared(tamis_prepared *p) {
    TRY(choose(p));
    return p->problem.nnz == 0 ? TAMIS_OK : add_kernels(p, false);
}

static tamis_status prepare_indexed(tamis_prepared *p) {
    shared_state *const s = p->state;
    tamis_gpu_index index;
    const size_t size = tamis_index_size(p->problem.index_type);
    TRY(choose(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    TRY(add_kernels(p, true));
    const tamis_gpu_tiling tiling = {.x_tile = s->group / s->team, .y_tile = 1};
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    s->within = tamis_gpu_index_keep(p, &index.within, p->problem.nnz, size);
    s->starts = tamis_gpu_index_keep(p, &index.starts, index.panels + 1, 8);
    s->list = tamis_gpu_index_keep(p, &index.list, index.count, size);
    tamis_gpu_index_release(p, &index);
    return TAMIS_OK;
}

static tamis_status launch_tiles(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                 int64_t slices, int mode) {
    const shared_state *const s = p->state;
    const int64_t height = s->group / s->team;
    const int64_t panels = (p->problem.rows + height - 1) / height, grid = p->parameters[GRID];
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const tamis_gpu_launch launch = {.groups = {grid && grid < panels ? grid : panels, slices},
                                     .group_size = (int)s->group,
                                     .shared_bytes = s->bytes};
    return tamis_gpu_launch_kernel(
        p, stream, TILES, launch, &common,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("within", s->within), tamis_gpu_memory("starts", s->starts),
                            tamis_gpu_memory("list", s->list),
                            tamis_gpu_place("sums", p->scratch_bytes ? x->scratch : (tamis_place){NULL, 0}),
                            tamis_gpu_integer("slice", slice), tamis_gpu_integer("mode", mode)));
}

/* Launches the parts in sequence, so that each sample has one writer. */
static tamis_status execute_in_order(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t parts = ((const shared_state *)p->state)->parts;
    for (int64_t i = 0; i < parts; i++)
        TRY(launch_tiles(p, stream, x, i, 1, i == 0 ? PUT : i == parts - 1 ? LAST : ADD));
    return TAMIS_OK;
}

static tamis_status execute_atomically(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    /* not if parts would be scaled separately: an infinite value times two parts is not that times their sum */
    const bool linear = problem->edge == TAMIS_EDGE_MASK || (problem->edge == TAMIS_EDGE_SCALE && !problem->has_values);
    const bool plain = problem->type == TAMIS_F32 || problem->type == TAMIS_F64;
    const bool into_out = linear && plain && x->beta == 0;
    const size_t bytes = (size_t)problem->nnz * tamis_gpu_real_size(problem->type);
    TRY(runtime->fill(p->device, stream, into_out ? x->out : x->scratch, 0, bytes));
    TRY(launch_tiles(p, stream, x, 0, ((const shared_state *)p->state)->parts, into_out ? ADD_OUT : ADD_SUMS));
    if (into_out) return TAMIS_OK;
    const tamis_gpu_common common = tamis_gpu_common_of(p, x);
    const int64_t groups = (problem->nnz + FINISHING_GROUP - 1) / FINISHING_GROUP;
    const tamis_gpu_launch launch = {.groups = {groups > 65535 ? 65535 : groups, 1}, .group_size = FINISHING_GROUP};
    return tamis_gpu_launch_kernel(p, stream, FINISHING, launch, &common,
                                   TAMIS_GPU_ARGUMENTS(tamis_gpu_place("sums", x->scratch)));
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    if (((const shared_state *)p->state)->parts == 1) return launch_tiles(p, stream, x, 0, 1, STORE);
    return p->parameters[REDUCE] ? execute_in_order(p, stream, x) : execute_atomically(p, stream, x);
}

#define PARAMETERS                                                                                                     \
    {                                                                                                                  \
        {"tk", 8, 64}, {"tj", 0, 1024}, {"block", 32, 1024}, {"grid", 0, 1 << 30}, {"reduce", 0, 1}, {"lanes", 1, 32}, \
        {                                                                                                              \
            "batch", 1, 8                                                                                              \
        }                                                                                                              \
    }

const tamis_gpu_method tamis_gpudynamic_shared_method = {
    .name = "gpudynamic-shared",
    .parameters = PARAMETERS,
    .defaults = defaults,
    .prepare = prepare_shared,
    .execute = execute,
    .state_bytes = sizeof(shared_state),
};

const tamis_gpu_method tamis_gpudynamic_preprocessing_method = {
    .name = "gpudynamic-preprocessing",
    .parameters = PARAMETERS,
    .defaults = indexed_defaults,
    .prepare = prepare_indexed,
    .execute = execute,
    .state_bytes = sizeof(shared_state),
};

const tamis_gpu_algorithm tamis_gpudynamic_shared = {
    .common.description =
        {
            .name = "gpudynamic-shared",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_GPU_DYNAMIC ", s.3",
            .needs = "atomic adds; shared memory; sorted columns",
            .when = "for comparison: one row per work-item, tiles of B in shared memory",
            .parameters =
                "tk: slice of K, tj: rows of B in shared memory (0: 32 KiB of them); reduce (0 atomic adds, 1 shuffles, as deterministic plans do); block (32 to 1024): work-items; grid: groups, 0: one a panel; lanes (1 to 32): an entry and slice; batch (1 to 8): entries that a team takes at once",
            .any_order = true,
        },
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpudynamic_shared_method},
    .relative = 16,
    .sorted = true,
    .orders = true,
};

const tamis_gpu_algorithm tamis_gpudynamic_preprocessing = {
    .common.description =
        {
            .name = "gpudynamic-preprocessing",
            .device = "gpu",
            .operations = TAMIS_GPU_SDDMM,
            .source = PAPER_GPU_DYNAMIC ", s.4",
            .needs = "columns renumbered by the plan, on the device; atomic adds; shared memory",
            .when = "for comparison: as gpudynamic-shared, over the columns that occur in a panel",
            .parameters =
                "tk: slice of K, tj: rows of B in shared memory (0: 32 KiB of them); reduce (0 atomic adds, 1 shuffles, as deterministic plans do); block (32 to 1024): work-items; grid: groups, 0: one a panel; lanes (1 to 32): an entry and slice; batch (1 to 8): entries that a team takes at once",
            .any_order = true,
        },
    .common.needs_preparation = true,
    .methods = {[TAMIS_OP_SDDMM] = &tamis_gpudynamic_preprocessing_method},
    .relative = 6,
    .sorted = true,
    .orders = true,
};
