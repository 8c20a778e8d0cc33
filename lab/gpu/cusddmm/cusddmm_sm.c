/* Host side of cusddmm_sm.simt: `cusddmm-sm-sm` (Nisa et al.: Sampled Dense Matrix Multiplication, s.IV-B). */
#include "base/status.h"
#include "lab/gpu/cusddmm/cusddmm.h"

enum { TI, TJ, TK, BLOCK, STREAM, VWARP, BATCH };
enum { STEP = 32, TILE_LEAST = 64, TILE_USUAL = 96, TILE_MOST = 1 << 15 /* the most rows that `lines` can encode */ };

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)problem;
    parameters[TI] = parameters[TJ] = parameters[TK] = 0; /* 0: by the rule below */
    parameters[BLOCK] = device->limits.is_cpu ? 64 : 512;
    parameters[STREAM] = TAMIS_CUSDDMM_AUTO;
    parameters[VWARP] = device->limits.subgroup == 32 ? 4 : 1;
    parameters[BATCH] = device->limits.is_cpu ? 1 : 4;
}

static int64_t line_bytes(const tamis_prepared *p, int64_t tk) {
    return tk * (int64_t)tamis_type_size(p->problem.type);
}

/* Fewest nonzeros for which copying a tile pays: they would read as many rows one by one. */
static int64_t worth_copying(const tamis_prepared *p) { return p->parameters[TJ] / 2; }

/* Takes the longest slice with which TILE_LEAST rows of each matrix fit `memory`, then up to TILE_USUAL rows. */
static void fill_shared(tamis_prepared *p, int64_t memory) {
    int64_t *const v = p->parameters;
    const int64_t inner = p->problem.inner < 1 ? 1 : p->problem.inner;
    if (v[TK] == 0) {
        v[TK] = STEP;
        while (v[TK] < inner && 2 * TILE_LEAST * line_bytes(p, v[TK] + STEP) <= memory) v[TK] += STEP;
    }
    v[TK] = tamis_gpu_round_up(v[TK], STEP);
    int64_t rows = memory / (2 * line_bytes(p, v[TK])) / 16 * 16;
    rows = rows < 1 ? 1 : rows > TILE_USUAL ? TILE_USUAL : rows;
    if (v[TI] == 0) v[TI] = rows;
    if (v[TJ] == 0) v[TJ] = rows;
}

static tamis_status choose(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const tamis_gpu_limits *const limits = &p->device->limits;
    fill_shared(p, limits->shared_most / 2); /* two resident groups */
    TRY(tamis_gpu_check_powers(p, BLOCK, BLOCK));
    TRY(tamis_gpu_check_powers(p, VWARP, BATCH));
    while (v[VWARP] * tamis_gpu_piece(p->problem.type) > STEP) v[VWARP] /= 2; /* at least one piece per lane */
    v[BLOCK] = tamis_gpu_min(v[BLOCK], limits->group_most);
    const int64_t shared_bytes = (v[TI] + v[TJ]) * line_bytes(p, v[TK]);
    if (shared_bytes > limits->shared_most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: ti = %lld and tj = %lld rows of tk = %lld need %lld bytes "
                          "of shared memory, %s has %lld",
                          (long long)v[TI], (long long)v[TJ], (long long)v[TK], (long long)shared_bytes, limits->name,
                          (long long)limits->shared_most);
    tamis_cusddmm_set(p, v[TK], v[STREAM], v[BLOCK], shared_bytes);
    return TAMIS_OK;
}

/* Per nonzero: row within the panel, row of the tiled matrix, position in S; per panel: the number of nonzeros in
   tiles that are not copied. */
static tamis_status fill_entries(tamis_prepared *p, const tamis_gpu_index *index) {
    void *lines = NULL, *places = NULL, *from = NULL, *in_place = NULL;
    const int64_t nnz = p->problem.nnz;
    const bool swap = ((const tamis_cusddmm_state *)p->state)->swap;
    TRY(tamis_gpu_add_kept(p, &lines, nnz, 2, "rows within panels"));
    TRY(tamis_gpu_add_kept(p, &places, nnz, tamis_index_size(p->problem.index_type), "rows of the tiled matrix"));
    TRY(tamis_gpu_add_kept(p, &from, nnz, tamis_index_size(p->problem.offset_type), "the order by tiles"));
    TRY(tamis_gpu_add_kept(p, &in_place, index->panels, 4, "counts of panels"));
    TRY(p->device->runtime->fill(p->device, p->problem.stream, (tamis_place){in_place, 0}, 0,
                                 (size_t)index->panels * 4));
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("lines", lines), tamis_gpu_memory("places", places),
                                                   tamis_gpu_memory("in_place", in_place),
                                                   tamis_gpu_memory("from", from)));
    return tamis_gpu_index_run(
        p, "cusddmm_index.simt", "entries_of_tiles", nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", nnz), tamis_gpu_integer("height", p->parameters[TI]),
                            tamis_gpu_integer("least", worth_copying(p)), tamis_gpu_memory("order", index->order),
                            tamis_gpu_memory("within", index->within), tamis_gpu_memory("starts", index->starts),
                            tamis_gpu_memory("begins", index->begins),
                            tamis_gpu_memory("row_indices", index->row_indices),
                            tamis_gpu_memory("columns", p->problem.columns), tamis_gpu_integer("columns_first", swap),
                            tamis_gpu_memory("line", lines), tamis_gpu_memory("place", places),
                            tamis_gpu_memory("from", from), tamis_gpu_memory("in_place", in_place)));
}

/* Builds panels of ti rows, and in each the tiles of tj columns that have nonzeros: see structure/panel_index.h. */
static tamis_status build(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_index index;
    const bool swap = ((const tamis_cusddmm_state *)p->state)->swap;
    const tamis_gpu_tiling tiling = {
        .columns_first = swap, .x_tile = p->parameters[TI], .y_tile = p->parameters[TJ], .height = 1};
    const size_t index_size = tamis_index_size(p->problem.index_type);
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    p->launch.groups[0] = index.panels;
    TRY_GOTO(done, fill_entries(p, &index));
    tamis_gpu_add_arguments(
        p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("starts", tamis_gpu_index_keep(p, &index.starts, index.panels + 1, 8)),
                               tamis_gpu_memory("entries", tamis_gpu_index_keep(p, &index.begins, index.count + 1, 8)),
                               tamis_gpu_memory("list", tamis_gpu_index_keep(p, &index.list, index.count, index_size)),
                               tamis_gpu_integer("panel_rows", swap ? p->problem.cols : p->problem.rows),
                               tamis_gpu_integer("tiled_rows", swap ? p->problem.rows : p->problem.cols)));
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

static tamis_status prepare(tamis_prepared *p) {
    tamis_gpu_definitions own = {.used = 0};
    TRY(choose(p));
    if (p->problem.nnz == 0) return TAMIS_OK;
    tamis_gpu_define(&own, "LEAST", worth_copying(p));
    TRY(tamis_gpu_prepare_kernel(p, 0, p->parameters[BLOCK], p->parameters[VWARP], &own));
    return build(p);
}

const tamis_gpu_algorithm tamis_cusddmm_sm_sm = {
    TAMIS_LAB_ROW(
        TAMIS_OP_SDDMM, "cusddmm-sm-sm", PAPER_CUSDDMM ", s.IV-B",
        "entries by tile, built by the plan on the device; shared memory",
        "for comparison: densities above 5 %, both dense tiles in shared memory",
        "ti, tj, tk: tile sizes, 0 by the budget; block: work-items; stream (0 auto, 1 A, 2 B); vwarp: lanes per dot product; batch (1 to 8): nonzeros that a team takes at once",
        .kernels = {{"cusddmm_sm.simt", "cusddmm_sm", .split = true}},
        .parameters = {{"ti", 0, TILE_MOST},
                       {"tj", 0, 1 << 16},
                       {"tk", 0, 1 << 16},
                       {"block", 32, 1024},
                       {"stream", 0, 2},
                       {"vwarp", 1, 32},
                       {"batch", 1, 8}},
        .defined = {[BATCH] = "BATCH", [TI] = "TI", [TJ] = "TJ", [TK] = "TK"}, .defaults = defaults, .prepare = prepare,
        .execute = tamis_cusddmm_execute, .state_bytes = sizeof(tamis_cusddmm_state)),
    .common.needs_preparation = true,
    .relative = 7.5,
};
