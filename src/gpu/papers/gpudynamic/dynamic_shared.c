/*
 * Host side of dynamic_shared.simt: `gpudynamic-shared` and `gpudynamic-preprocessing` (Costa et al.: Efficient SDDMM
 * Algorithms on GPU).
 */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/papers/index.h"

enum { TK, TJ, BLOCK, GRID, REDUCE };
enum { TILES = 0, FINISHING = 1 };                        /* kernels */
enum { STARTS = 0, LIST = 1, WITHIN = 2 };                /* kept memory of `gpudynamic-preprocessing` */
enum { TEAM_LANES = 0, GROUP = 1, PARTS = 2, BYTES = 3 }; /* numbers; parts: slices of K, `team` of them in one */
enum { STORE, ADD_OUT, ADD_SUMS, PUT, ADD, LAST };        /* modes of the kernel */
enum { FINISHING_GROUP = 64 };

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    parameters[TK] = problem->type == TAMIS_F64 ? 16 : 32;
    parameters[TJ] = 64;
    parameters[BLOCK] = device->limits.is_cpu ? 32 : 128;
    parameters[GRID] = 0;
    parameters[REDUCE] = problem->deterministic;
}

static int64_t tile_bytes(const tamis_prepared *p, int64_t team) {
    return p->parameters[TJ] * (team * p->parameters[TK] + 1) * (int64_t)tamis_gpu_real_size(p->problem.type);
}

/* Lanes that hold the slices of one row: all of K where that is up to 32 slices and the tile fits. */
static int64_t choose_team(const tamis_prepared *p) {
    const int64_t slices = (p->problem.inner + p->parameters[TK] - 1) / p->parameters[TK];
    int64_t team = 1;
    if (!p->parameters[REDUCE]) return 1;
    while (team < 32 && team < slices && tile_bytes(p, 2 * team) <= p->device->limits.shared_most) team *= 2;
    return team;
}

static tamis_status choose(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    if (v[TK] & (v[TK] - 1) || v[BLOCK] & (v[BLOCK] - 1))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: tk = %lld and block = %lld must be powers of two",
                          (long long)v[TK], (long long)v[BLOCK]);
    if (p->problem.deterministic && !v[REDUCE])
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: reduce = 0 adds floats in whatever order: with any_order = true only");
    const int64_t team = choose_team(p), width = team * v[TK];
    if (v[BLOCK] > p->device->limits.group_most) v[BLOCK] = p->device->limits.group_most;
    if (tile_bytes(p, team) > p->device->limits.shared_most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: tk = %lld and tj = %lld need %lld bytes of shared memory, "
                          "%s has %lld",
                          (long long)v[TK], (long long)v[TJ], (long long)tile_bytes(p, team), p->device->limits.name,
                          (long long)p->device->limits.shared_most);
    p->numbers[TEAM_LANES] = team;
    p->numbers[GROUP] = v[BLOCK];
    if (team > 1 && (p->device->limits.subgroup != 32 || v[BLOCK] < team)) p->numbers[GROUP] = team;
    p->numbers[PARTS] = p->problem.inner > 0 ? (p->problem.inner + width - 1) / width : 1;
    p->numbers[BYTES] = tile_bytes(p, team);
    if (p->numbers[PARTS] > 1) p->scratch_bytes = (size_t)p->problem.nnz * tamis_gpu_real_size(p->problem.type);
    return TAMIS_OK;
}

static tamis_status add_kernels(tamis_prepared *p, bool indexed) {
    const int64_t *const v = p->parameters, *const n = p->numbers;
    tamis_gpu_definitions definitions = {.used = 0}, finishing = {.used = 0};
    tamis_gpu_define_problem(&definitions, p, (int)n[GROUP], (int)n[TEAM_LANES]);
    tamis_gpu_define(&definitions, "TK", v[TK]);
    tamis_gpu_define(&definitions, "TJ", v[TJ]);
    tamis_gpu_define(&definitions, "INDEXED", indexed);
    tamis_gpu_define(&definitions, "SHARED_BYTES", n[BYTES]);
    TRY(tamis_gpu_add_kernel(p, TILES, "dynamic_shared.simt", "shared_tiles", &definitions, n[BYTES]));
    if (n[PARTS] == 1 || v[REDUCE]) return TAMIS_OK;
    tamis_gpu_define_problem(&finishing, p, FINISHING_GROUP, 1);
    return tamis_gpu_add_kernel(p, FINISHING, "dynamic_finish.simt", "dynamic_finish", &finishing, 0);
}

static tamis_status prepare_shared(tamis_prepared *p) {
    TRY(choose(p));
    return p->problem.nnz == 0 ? TAMIS_OK : add_kernels(p, false);
}

static tamis_status prepare_indexed(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_index index;
    const size_t size = tamis_index_size(p->problem.index_type);
    TRY(choose(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    TRY(add_kernels(p, true));
    const tamis_gpu_tiling tiling = {.x_tile = p->numbers[GROUP] / p->numbers[TEAM_LANES], .y_tile = 1};
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    TRY_GOTO(done, tamis_gpu_add_kept(p, WITHIN, p->problem.nnz, size, "columns within panels"));
    TRY_GOTO(done, tamis_gpu_index_within(p, &index, p->memories[WITHIN]));
    tamis_gpu_index_keep(p, STARTS, &index.starts, index.panels + 1, 8);
    tamis_gpu_index_keep(p, LIST, &index.list, index.count, size);
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

static tamis_status launch_tiles(const tamis_prepared *p, void *stream, const tamis_operands *x, int64_t slice,
                                 int64_t slices, int mode) {
    const int64_t height = p->numbers[GROUP] / p->numbers[TEAM_LANES];
    const int64_t panels = (p->problem.rows + height - 1) / height, grid = p->parameters[GRID];
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_sddmm_arguments(p, x, &call);
    tamis_gpu_add_memory(&call, p->memories[WITHIN]);
    tamis_gpu_add_memory(&call, p->memories[STARTS]);
    tamis_gpu_add_memory(&call, p->memories[LIST]);
    tamis_gpu_add_place(&call, p->scratch_bytes ? x->scratch : (tamis_place){NULL, 0});
    tamis_gpu_add_int64(&call, slice);
    tamis_gpu_add_int32(&call, mode);
    return tamis_gpu_launch_kernel(p, stream, TILES, grid && grid < panels ? grid : panels, slices,
                                   (int)p->numbers[GROUP], p->numbers[BYTES], &call);
}

/* Parts that meet by launches in order: each sample has one writer. */
static tamis_status execute_in_order(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const int64_t parts = p->numbers[PARTS];
    for (int64_t i = 0; i < parts; i++)
        TRY(launch_tiles(p, stream, x, i, 1, i == 0 ? PUT : i == parts - 1 ? LAST : ADD));
    return TAMIS_OK;
}

static tamis_status execute_atomically(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    /* not where parts would be scaled one by one: an infinite value times two parts is not that times their sum */
    const bool linear = problem->edge == TAMIS_EDGE_MASK || (problem->edge == TAMIS_EDGE_SCALE && !problem->has_values);
    const bool plain = problem->type == TAMIS_F32 || problem->type == TAMIS_F64;
    const bool into_out = linear && plain && x->beta == 0;
    const size_t bytes = (size_t)problem->nnz * tamis_gpu_real_size(problem->type);
    TRY(runtime->fill(p->device, stream, into_out ? x->out : x->scratch, 0, bytes));
    TRY(launch_tiles(p, stream, x, 0, p->numbers[PARTS], into_out ? ADD_OUT : ADD_SUMS));
    if (into_out) return TAMIS_OK;
    tamis_gpu_call call = {.count = 0};
    int64_t groups = (problem->nnz + FINISHING_GROUP - 1) / FINISHING_GROUP;
    if (groups > 65535) groups = 65535;
    tamis_gpu_add_int64(&call, problem->nnz);
    tamis_gpu_add_place(&call, x->values);
    tamis_gpu_add_place(&call, x->scratch);
    tamis_gpu_add_place(&call, x->out);
    tamis_gpu_add_edge(p, x, &call);
    return tamis_gpu_launch_kernel(p, stream, FINISHING, groups, 1, FINISHING_GROUP, 0, &call);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    if (p->numbers[PARTS] == 1) return launch_tiles(p, stream, x, 0, 1, STORE);
    return p->parameters[REDUCE] ? execute_in_order(p, stream, x) : execute_atomically(p, stream, x);
}

#define PARAMETERS                                                                                                     \
    {                                                                                                                  \
        {"tk", 8, 64}, {"tj", 1, 1024}, {"block", 32, 1024}, {"grid", 0, 1 << 30}, { "reduce", 0, 1 }                  \
    }

const tamis_gpu_method tamis_gpu_shared = {
    .name = "gpudynamic-shared",
    .parameters = PARAMETERS,
    .defaults = defaults,
    .prepare = prepare_shared,
    .execute = execute,
};

const tamis_gpu_method tamis_gpu_preprocessing = {
    .name = "gpudynamic-preprocessing",
    .parameters = PARAMETERS,
    .defaults = defaults,
    .prepare = prepare_indexed,
    .execute = execute,
};
