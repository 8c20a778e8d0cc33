/*
 * Host side of cusddmm_l2.simt: `cusddmm-sm-l2` (Nisa et al.: Sampled Dense Matrix Multiplication, s.IV-A); its
 * algorithm 4 runs on the device.
 */
#include <math.h>

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "lab/gpu/cusddmm/cusddmm.h"
#include "lab/gpu/trial.h"

enum { TJ, TK, TI, VWARP, BLOCK, STREAM, TUNE, BATCH };
enum { BY_MODEL = 1, EXHAUSTIVE = 2 }; /* values of TUNE */
enum { STEP = 32, NARROW_MOST = 1 << 16, TILE_MOST = 1 << 30, FIGURES = 3 /* numbers per nonzero of COO */ };

static void defaults(const tamis_problem *problem, const tamis_gpu_device *device, int64_t *parameters) {
    (void)problem;
    /* the authors' 512 allow one resident group if a compiler takes 65 registers, and it takes up to 80 */
    parameters[BLOCK] = device->limits.is_cpu ? 64 : 256;
    parameters[TJ] = parameters[TK] = parameters[TI] = parameters[VWARP] = 0; /* 0: by the rules below */
    parameters[STREAM] = TAMIS_CUSDDMM_AUTO;
    parameters[TUNE] = 0;
    parameters[BATCH] = device->limits.is_cpu ? 1 : 4;
}

/* ------------------------------------------------------------------------------------------ sizes */

static int64_t clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }

static int64_t tiled_extent(const tamis_prepared *p) {
    return tamis_cusddmm_swaps(&p->problem, p->parameters[STREAM]) ? p->problem.rows : p->problem.cols;
}

static int64_t line_bytes(const tamis_prepared *p, int64_t tk) {
    return (tk + tamis_gpu_piece(p->problem.type)) * (int64_t)tamis_gpu_real_size(p->problem.type);
}

/* The tile width at which reading the panel matrix once more per tile costs as much as reading S once more per slice,
   if a tile and a slice together fill L2. */
static int64_t tile_by_model(const tamis_prepared *p) {
    const int64_t cache = p->device->limits.cache_l2 > 0 ? p->device->limits.cache_l2 : 4 << 20;
    const double elements = (double)cache / (double)tamis_type_size(p->problem.type);
    const double tile = sqrt(elements / (FIGURES * p->profile.density));
    const int64_t most = clamp(tiled_extent(p), 1, TILE_MOST);
    return tile >= (double)most ? most : clamp(tamis_gpu_round_up((int64_t)tile, STEP), 1, most);
}

/* The slice at the same optimum, with room for STEP rows. */
static int64_t slice_by_model(const tamis_prepared *p) {
    const int64_t whole = tamis_gpu_round_up(clamp(p->problem.inner, 1, INT32_MAX / 2), STEP);
    const double slice = FIGURES * p->profile.density * (double)p->parameters[TJ];
    int64_t tk = slice >= (double)whole ? whole : clamp(tamis_gpu_round_up((int64_t)slice, STEP), STEP, whole);
    while (tk > STEP && STEP * line_bytes(p, tk) > p->device->limits.shared_most) tk -= STEP;
    return tk;
}

/* Rows with which groups of that size fill the multiprocessor, but at most as many as a group processes at once: with
   higher panels, such as the paper's, the last groups run alone (lab/notes). */
static int64_t height_by_memory(const tamis_prepared *p) {
    enum { USUAL = 32 };
    const tamis_gpu_limits *const limits = &p->device->limits;
    const int64_t threads = limits->threads_most > 0 ? limits->threads_most : 2048;
    const int64_t groups = clamp(threads / p->parameters[BLOCK], 1, 32);
    return clamp(limits->shared_most / groups / line_bytes(p, p->parameters[TK]), 1, USUAL);
}

static tamis_status choose(tamis_prepared *p) {
    int64_t *const v = p->parameters;
    const tamis_gpu_limits *const limits = &p->device->limits;
    if (v[TJ] == 0) v[TJ] = tile_by_model(p);
    if (v[TK] == 0) v[TK] = slice_by_model(p);
    v[TK] = tamis_gpu_round_up(v[TK], STEP);
    if (v[TI] == 0) v[TI] = height_by_memory(p);
    if (v[VWARP] == 0) /* four pieces per lane of a long slice */
        for (v[VWARP] = 4; v[VWARP] < 32 && 4 * v[VWARP] * tamis_gpu_piece(p->problem.type) < v[TK];) v[VWARP] *= 2;
    TRY(tamis_gpu_check_powers(p, BATCH, BATCH));
    if (v[VWARP] & (v[VWARP] - 1) || v[BLOCK] & (v[BLOCK] - 1))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: vwarp = %lld and block = %lld must be powers of two",
                          (long long)v[VWARP], (long long)v[BLOCK]);
    v[BLOCK] = tamis_gpu_min(v[BLOCK], limits->group_most);
    const int64_t shared_bytes = v[TI] * line_bytes(p, v[TK]);
    if (shared_bytes > limits->shared_most)
        return tamis_fail(TAMIS_ERROR_ARGUMENT,
                          "parameters: ti = %lld rows of tk = %lld need %lld bytes of shared "
                          "memory, %s has %lld",
                          (long long)v[TI], (long long)v[TK], (long long)shared_bytes, limits->name,
                          (long long)limits->shared_most);
    tamis_cusddmm_set(p, v[TK], v[STREAM], v[BLOCK], shared_bytes);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ preparing */

static bool is_narrow(const tamis_prepared *p) { return p->parameters[TJ] <= NARROW_MOST; }

/* Per nonzero: row within the panel, column within the tile, position in S. */
static tamis_status fill_entries(tamis_prepared *p, const tamis_gpu_index *index) {
    void *lines = NULL, *across = NULL, *from = NULL;
    const int64_t nnz = p->problem.nnz;
    const bool narrow = is_narrow(p), swap = ((const tamis_cusddmm_state *)p->state)->swap;
    TRY(tamis_gpu_add_kept(p, &lines, nnz, 2, "rows within panels"));
    TRY(tamis_gpu_add_kept(p, &across, nnz, narrow ? 2 : 4, "columns within tiles"));
    TRY(tamis_gpu_add_kept(p, &from, nnz, tamis_index_size(p->problem.offset_type), "the order by tiles"));
    tamis_gpu_add_arguments(p, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("lines", lines), tamis_gpu_memory("across", across),
                                                   tamis_gpu_memory("from", from)));
    return tamis_gpu_index_run(
        p, "cusddmm_index.simt", "entries_of_panels", nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", nnz), tamis_gpu_integer("height", p->parameters[TI]),
                            tamis_gpu_integer("width", p->parameters[TJ]), tamis_gpu_memory("order", index->order),
                            tamis_gpu_memory("within", index->within),
                            tamis_gpu_memory("tiled", swap ? index->row_indices : p->problem.columns),
                            tamis_gpu_integer("narrow", narrow), tamis_gpu_memory("line", lines),
                            tamis_gpu_memory("across_16", narrow ? across : NULL),
                            tamis_gpu_memory("across_32", narrow ? NULL : across), tamis_gpu_memory("from", from)));
}

/* Builds tiles along the matrix that L2 holds, and in each tile panels of the active rows of the other matrix. */
static tamis_status build(tamis_prepared *p) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_index index;
    const tamis_gpu_tiling tiling = {.columns_first = !((const tamis_cusddmm_state *)p->state)->swap,
                                     .x_tile = p->parameters[TJ],
                                     .y_tile = 1,
                                     .height = p->parameters[TI]};
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    const int64_t panels = p->launch.groups[0] = index.cell_count;
    const size_t index_size = tamis_index_size(p->problem.index_type);
    TRY_GOTO(done, fill_entries(p, &index));
    tamis_gpu_add_arguments(/* cells: tile and first place of each panel; list: the active rows of each tile */
                            p, TAMIS_GPU_ARGUMENTS(
                                   tamis_gpu_memory("cells", tamis_gpu_index_keep(p, &index.cells, panels + 1, 2 * 8)),
                                   tamis_gpu_memory("panel_entries",
                                                    tamis_gpu_index_keep(p, &index.begins, panels + 1, 8)),
                                   tamis_gpu_memory("list",
                                                    tamis_gpu_index_keep(p, &index.list, index.count, index_size))));
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

/* ------------------------------------------------------------------------------------------ tuning */

/* Lists the slices worth trying: for each number of slices the shortest multiple of 32. */
static void add_slices(const tamis_prepared *p, int64_t tj, tamis_gpu_candidates *candidates) {
    const int64_t *const v = p->parameters, whole = tamis_gpu_round_up(p->problem.inner, STEP);
    for (int64_t tk = whole, last = 0; tk >= STEP; tk -= STEP) {
        const int64_t slices = tamis_cusddmm_slices(&p->problem, tk);
        const bool shortest = tk == STEP || tamis_cusddmm_slices(&p->problem, tk - STEP) != slices;
        if (!shortest || slices == last) continue;
        last = slices;
        tamis_gpu_candidate(candidates, "tj=%lld,tk=%lld,ti=%lld,vwarp=%lld,block=%lld,stream=%lld,tune=0",
                            (long long)tj, (long long)tk, (long long)v[TI], (long long)v[VWARP], (long long)v[BLOCK],
                            (long long)v[STREAM]);
    }
}

static tamis_status tune(tamis_prepared *p) {
    static const int cuts[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    int64_t *const v = p->parameters;
    tamis_gpu_candidates candidates = {.count = 0};
    const int64_t extent = clamp(tiled_extent(p), 1, TILE_MOST), wanted = v[TUNE];
    add_slices(p, v[TJ] ? v[TJ] : tile_by_model(p), &candidates);
    for (size_t i = 0; wanted == EXHAUSTIVE && i < sizeof cuts / sizeof cuts[0] && cuts[i] <= extent; i++)
        add_slices(p, (extent + cuts[i] - 1) / cuts[i], &candidates);
    TRY(tamis_gpu_rank(p, p->method, &candidates));
    if (!p->inner) return TAMIS_OK;
    for (int i = TJ; i < TUNE; i++) v[i] = p->inner->parameters[i];
    return TAMIS_OK;
}

static tamis_status prepare(tamis_prepared *p) {
    const int64_t *const v = p->parameters;
    tamis_gpu_definitions own = {.used = 0};
    if (p->problem.nnz == 0) return TAMIS_OK;
    if (v[TUNE] && p->problem.inner > 0) return tune(p);
    TRY(choose(p));
    tamis_gpu_define(&own, "NARROW", is_narrow(p));
    TRY(tamis_gpu_prepare_kernel(p, 0, v[BLOCK], v[VWARP], &own));
    return build(p);
}

const tamis_gpu_algorithm tamis_cusddmm_sm_l2 = {
    TAMIS_LAB_ROW(
        TAMIS_OP_SDDMM, "cusddmm-sm-l2", PAPER_CUSDDMM ", s.IV-A",
        "entries by column tile and lists of active rows, built by the plan on the device; shared memory",
        "for comparison: tiles of columns sized to L2 by the paper's model",
        "tj, tk, ti: tile sizes, 0 by the model; vwarp: lanes per dot product; block: work-items; stream (0 auto, 1 A, 2 B); tune (0 model, 1 model with all tk tried, 2 exhaustive); batch (1 to 8): nonzeros that a team takes at once",
        .kernels = {{"cusddmm_l2.simt", "cusddmm_l2", .split = true}},
        .parameters = {{"tj", 0, TILE_MOST},
                       {"tk", 0, 1 << 16},
                       {"ti", 0, NARROW_MOST},
                       {"vwarp", 0, 32},
                       {"block", 32, 1024},
                       {"stream", 0, 2},
                       {"tune", 0, 2},
                       {"batch", 1, 8}},
        .defined = {[BATCH] = "BATCH", [TJ] = "TJ", [TK] = "TK"}, .defaults = defaults, .prepare = prepare,
        .execute = tamis_cusddmm_execute, .state_bytes = sizeof(tamis_cusddmm_state)),
    .common.needs_preparation = true,
    .relative = 3.6,
};
