/* Host side of cusddmm_sm.simt: `cusddmm-sm-sm` (Nisa et al.: Sampled Dense Matrix Multiplication, s.IV-B). */
#include "base/status.h"
#include "gpu/methods.h"
#include "gpu/papers/cusddmm/cusddmm.h"

enum { TI, TJ, TK, BLOCK, STREAM };
enum { STARTS, ENTRIES, LIST, LINES, ACROSS, FROM }; /* kept memory */
enum { PANELS, SHARED_BYTES };                       /* numbers */
enum { STEP = 32, TILE_LEAST = 64, TILE_MOST = 256 };

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)problem;
    parameters[TI] = parameters[TJ] = parameters[TK] = 0; /* 0: by the rule below */
    parameters[BLOCK] = device->limits.is_cpu ? 64 : 512;
    parameters[STREAM] = TAMIS_CUSDDMM_AUTO;
}

static int64_t line_bytes(const tamis_prepared *p, int64_t tk) {
    return (tk + 1) * (int64_t)tamis_gpu_real_size(p->problem.type);
}

/* The longest slice with which TILE_LEAST rows of each matrix fit, then as many rows as fit into `memory`. */
static void fill_shared(tamis_prepared *p, int64_t memory) {
    int64_t *const v = p->parameters;
    const int64_t inner = p->problem.inner < 1 ? 1 : p->problem.inner;
    if (v[TK] == 0) {
        v[TK] = STEP;
        while (v[TK] < inner && 2 * TILE_LEAST * line_bytes(p, v[TK] + STEP) <= memory) v[TK] += STEP;
    }
    v[TK] = tamis_cusddmm_round(v[TK], STEP);
    int64_t rows = memory / (2 * line_bytes(p, v[TK])) / 16 * 16;
    rows = rows < 1 ? 1 : rows > TILE_MOST ? TILE_MOST : rows;
    if (v[TI] == 0) v[TI] = rows;
    if (v[TJ] == 0) v[TJ] = rows;
}

static tamis_status choose(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const tamis_gpu_limits *const limits = &p->device->limits;
    fill_shared(p, limits->shared_most / 2); /* two groups beside each other */
    TRY(tamis_gpu_check_powers(p, BLOCK, BLOCK));
    if (v[BLOCK] > limits->group_most) v[BLOCK] = limits->group_most;
    p->numbers[SHARED_BYTES] = (v[TI] + v[TJ]) * line_bytes(p, v[TK]);
    if (p->numbers[SHARED_BYTES] > limits->shared_most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: ti = %lld and tj = %lld rows of tk = %lld need %lld bytes "
                          "of shared memory, %s has %lld",
                          (long long)v[TI], (long long)v[TJ], (long long)v[TK], (long long)p->numbers[SHARED_BYTES],
                          limits->name, (long long)limits->shared_most);
    if (tamis_cusddmm_slices(&p->problem, v[TK]) > 1)
        p->scratch_bytes = (size_t)p->problem.nnz * tamis_gpu_real_size(p->problem.type);
    return TAMIS_OK;
}

static tamis_status fill_entries(tamis_prepared *p, const tamis_gpu_index *index, bool columns_first) {
    tamis_gpu_call call = {.count = 0};
    const int64_t nnz = p->problem.nnz;
    TRY(tamis_gpu_add_kept(p, LINES, nnz, 2, "rows within panels"));
    TRY(tamis_gpu_add_kept(p, ACROSS, nnz, 2, "columns within tiles"));
    TRY(tamis_gpu_add_kept(p, FROM, nnz, tamis_index_size(p->problem.offset_type), "the order by tiles"));
    tamis_gpu_add_int64(&call, nnz);
    tamis_gpu_add_int64(&call, p->parameters[TI]);
    tamis_gpu_add_int64(&call, p->parameters[TJ]);
    tamis_gpu_add_memory(&call, index->order);
    tamis_gpu_add_memory(&call, index->row_indices);
    tamis_gpu_add_memory(&call, p->problem.columns);
    tamis_gpu_add_int32(&call, columns_first);
    tamis_gpu_add_memory(&call, p->memories[LINES]);
    tamis_gpu_add_memory(&call, p->memories[ACROSS]);
    tamis_gpu_add_memory(&call, p->memories[FROM]);
    return tamis_gpu_index_run(p, "cusddmm_index.simt", "entries_of_tiles", nnz, &call);
}

/* Panels of ti rows and in each the tiles of tj columns that have nonzeros. */
static tamis_status build(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_index index;
    const bool swap = tamis_cusddmm_swaps(&p->problem, p->parameters[STREAM]);
    const tamis_gpu_tiling tiling = {.columns_first = swap, .x_tile = p->parameters[TI], .y_tile = p->parameters[TJ]};
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    TRY_GOTO(done, fill_entries(p, &index, swap));
    p->numbers[PANELS] = index.panels;
    tamis_gpu_index_keep(p, STARTS, &index.starts, index.panels + 1, 8);
    tamis_gpu_index_keep(p, ENTRIES, &index.entries, index.count + 1, 8);
    tamis_gpu_index_keep(p, LIST, &index.list, index.count, tamis_index_size(p->problem.index_type));
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

static tamis_status prepare(tamis_prepared *p) {
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions definitions = {.used = 0};
    TRY(choose(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_gpu_define_problem(&definitions, p, (int)v[BLOCK], 1);
    tamis_gpu_define(&definitions, "TI", v[TI]);
    tamis_gpu_define(&definitions, "TJ", v[TJ]);
    tamis_gpu_define(&definitions, "TK", v[TK]);
    tamis_gpu_define(&definitions, "SHARED_BYTES", p->numbers[SHARED_BYTES]);
    TRY(tamis_gpu_add_kernel(p, 0, "cusddmm_sm.simt", "cusddmm_sm", &definitions, p->numbers[SHARED_BYTES]));
    return build(p);
}

static tamis_status execute(const tamis_prepared *p, void *stream, const tamis_operands *x) {
    tamis_cusddmm_launch launch = {.groups = p->numbers[PANELS],
                                   .tk = p->parameters[TK],
                                   .shared_bytes = p->numbers[SHARED_BYTES],
                                   .group = (int)p->parameters[BLOCK],
                                   .swap = tamis_cusddmm_swaps(&p->problem, p->parameters[STREAM]),
                                   .with_rows = true};
    for (int i = STARTS; i <= FROM; i++) tamis_gpu_add_memory(&launch.arguments, p->memories[i]);
    return tamis_cusddmm_execute(p, stream, x, &launch);
}

const tamis_gpu_method tamis_gpu_sm_sm = {
    .name = "cusddmm-sm-sm",
    .parameters = {{"ti", 0, 1 << 16}, {"tj", 0, 1 << 16}, {"tk", 0, 1 << 16}, {"block", 32, 1024}, {"stream", 0, 2}},
    .defaults = defaults,
    .prepare = prepare,
    .execute = execute,
};
