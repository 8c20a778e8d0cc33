#include "gpu/structure/panel_index.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/mask/runs.h"
#include "gpu/structure/order.h"
#include "sparse/index.h"

static const char *const file = "panel_index.simt";
enum { PLACES_OF_WINDOW = 32 * 2048, CELLS_OF_PASS = 256 }; /* as in panel_index.simt */

/* State while an index is built. `limit`: number of places; `reach`: upper bound of the places that one panel spans. */
typedef struct build {
    tamis_prepared *p;
    const tamis_gpu_tiling *tiling;
    tamis_gpu_index *made;
    int64_t limit, bandwidth, reach, windows;
    bool sorted;  /* places come from the sorted nonzeros, not from bitmaps */
    int64_t most; /* the most cells of a panel */
    void *sums, *places, *scratch;
} build;

tamis_status tamis_gpu_index_allocate(const tamis_prepared *p, void *stream, int64_t count, size_t size,
                                      const char *what, void **memory) {
    return tamis_gpu_allocate(p->device, stream, tamis_bytes(count, size), what, memory);
}

tamis_status tamis_gpu_index_run(const tamis_prepared *p, const char *in, const char *kernel, int64_t count,
                                 const tamis_gpu_named *arguments) {
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    return tamis_gpu_utility(p->device, p->problem.stream, in, kernel, kinds, tamis_gpu_groups(count), arguments);
}

static tamis_status take(const build *b, int64_t count, size_t size, const char *what, void **memory) {
    return tamis_gpu_index_allocate(b->p, b->p->problem.stream, count, size, what, memory);
}

static tamis_status keep(const build *b, int64_t count, size_t size, const char *what, void **memory) {
    return tamis_gpu_index_allocate(b->p, tamis_kept_stream(&b->p->problem), count, size, what, memory);
}

static tamis_status sum(build *b, void *values, int64_t count) {
    tamis_gpu_device *const device = b->p->device;
    void *const stream = b->p->problem.stream;
    tamis_gpu_release(device, stream, b->scratch);
    b->scratch = NULL;
    TRY(tamis_gpu_allocate(device, stream, tamis_gpu_scan_scratch(count), "prefix sums", &b->scratch));
    return tamis_gpu_scan(device, stream, (tamis_place){values, 0}, count, (tamis_place){b->scratch, 0});
}

static tamis_status need_rows(build *b) {
    const tamis_problem *const p = &b->p->problem;
    if (b->made->row_indices) return TAMIS_OK;
    TRY(take(b, p->nnz, tamis_index_size(p->index_type), "rows of the nonzeros", &b->made->row_indices));
    return tamis_gpu_expand_rows(b->p->device, p->stream, p, b->made->row_indices);
}

/* The indices along which panels lie (rows, or columns if columns_first), and those along which places lie. */
static const void *panels_along(const build *b) {
    return b->tiling->columns_first ? b->p->problem.columns : b->made->row_indices;
}
static const void *places_along(const build *b) {
    return b->tiling->columns_first ? b->made->row_indices : b->p->problem.columns;
}

/* Sorts stably by of[t] / by, after the existing `order`; with `in_panels` each panel of rows separately. */
static tamis_status sort_by(build *b, const void *of, int64_t by, int64_t limit, bool in_panels) {
    const tamis_problem *const p = &b->p->problem;
    const tamis_gpu_sorting what = {.count = p->nnz,
                                    .of = of,
                                    .by = by,
                                    .limit = limit,
                                    .index_type = p->index_type,
                                    .order_type = p->offset_type,
                                    .offsets = in_panels ? p->offsets : NULL,
                                    .rows = p->rows,
                                    .height = b->tiling->x_tile};
    return tamis_gpu_sort(b->p->device, p->stream, &what, &b->made->order, p->stream);
}

/* ------------------------------------------------------------------------------------------ places */

/*
 * Bitmaps read every word of every panel, and every nonzero once per window; a sort moves each nonzero about four
 * times. With the maximal numbers of windows or words both take about as long (PoCL). A panel is one group's work: few
 * panels with very many nonzeros are sorted, too.
 */
static bool sorts(const build *b) {
    enum { WINDOWS_MOST = 16, WORDS_OF_NONZERO = 16, NONZEROS_OF_GROUP = 1 << 18 };
    const int64_t nnz = b->p->problem.nnz, panels = b->made->panels;
    return b->tiling->columns_first || b->windows > WINDOWS_MOST ||
           (double)panels * ((double)b->reach / 32) > (double)WORDS_OF_NONZERO * (double)nnz ||
           (panels < b->p->device->limits.multiprocessors && nnz / panels > NONZEROS_OF_GROUP);
}

/* Bounds the span of a panel's places; needs sorted columns and a known bandwidth. */
static void find_reach(build *b) {
    const tamis_profile *const profile = &b->p->profile;
    const bool known =
        profile->sorted && profile->nnz == b->p->problem.nnz && profile->bandwidth < b->p->problem.cols / 2;
    b->bandwidth = b->p->problem.rows; /* unknown: every panel begins at place 0 */
    b->reach = b->limit;
    if (!known) return;
    const int64_t reach = (b->tiling->x_tile + 2 * profile->bandwidth) / b->tiling->y_tile + 2;
    if (reach >= b->limit) return;
    b->reach = reach;
    b->bandwidth = profile->bandwidth;
}

/* Launches one group for each window of each panel. */
static tamis_status run_windows(const build *b, const char *kernel, const tamis_gpu_named *own) {
    const tamis_problem *const p = &b->p->problem;
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->index_type, p->offset_type};
    tamis_gpu_named all[] = {tamis_gpu_integer("rows", p->rows),
                             tamis_gpu_integer("reach", b->reach),
                             tamis_gpu_integer("bandwidth", b->bandwidth),
                             tamis_gpu_integer("x_tile", b->tiling->x_tile),
                             tamis_gpu_integer("y_tile", b->tiling->y_tile),
                             tamis_gpu_integer("windows", b->windows),
                             tamis_gpu_memory("offsets", p->offsets),
                             tamis_gpu_memory("columns", p->columns),
                             own[0],
                             own[1],
                             own[1].name ? own[2] : own[1],
                             {.name = NULL}};
    return tamis_gpu_utility(b->p->device, p->stream, file, kernel, kinds, b->made->panels * b->windows, all);
}

static tamis_status run_sorted(const build *b, const char *kernel, int64_t items, const tamis_gpu_named *own) {
    tamis_gpu_named all[12] = {
        tamis_gpu_integer("nnz", b->p->problem.nnz),    tamis_gpu_integer("x_tile", b->tiling->x_tile),
        tamis_gpu_integer("y_tile", b->tiling->y_tile), tamis_gpu_memory("x", panels_along(b)),
        tamis_gpu_memory("y", places_along(b)),         tamis_gpu_memory("order", b->made->order)};
    for (int i = 0; own[i].name; i++) all[6 + i] = own[i];
    return tamis_gpu_index_run(b->p, file, kernel, items, all);
}

/* Panels of columns need no sort by places, since the rows of CSR are sorted already. */
static tamis_status sort_places(build *b) {
    const int64_t nnz = b->p->problem.nnz, panels = b->made->panels;
    TRY(need_rows(b));
    if (!b->tiling->columns_first) TRY(sort_by(b, places_along(b), b->tiling->y_tile, b->limit, false));
    if (panels > 1 || !b->made->order) TRY(sort_by(b, panels_along(b), b->tiling->x_tile, panels, false));
    TRY(take(b, nnz + 1, 8, "places of the nonzeros", &b->places));
    TRY(run_sorted(b, "mark_sorted", nnz + 1, TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("places", b->places))));
    TRY(sum(b, b->places, nnz + 1));
    return run_sorted(b, "start_sorted", panels + 1,
                      TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("panels", panels), tamis_gpu_memory("places", b->places),
                                          tamis_gpu_memory("sums", b->sums)));
}

/* Launches one group for each panel of a mask without a list of columns. */
static tamis_status run_runs(const build *b, const char *kernel, const tamis_gpu_named *own) {
    const tamis_problem *const p = &b->p->problem;
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->index_type, TAMIS_I32};
    const tamis_gpu_named all[] = {tamis_gpu_integer("rows", p->rows),
                                   tamis_gpu_integer("side", b->tiling->x_tile),
                                   TAMIS_GPU_RUNS(p, b->sums),
                                   own[0],
                                   own[1],
                                   {.name = NULL}};
    return tamis_gpu_utility(b->p->device, p->stream, "panel_runs.simt", kernel, kinds, b->made->panels, all);
}

/* Counts places and cells, and reads the totals, which follow the first cells' array. */
static tamis_status count(build *b) {
    tamis_gpu_index *const made = b->made;
    const tamis_gpu_runtime *const runtime = b->p->device->runtime;
    const int64_t panels = made->panels, counts = panels * b->windows;
    void *const stream = b->p->problem.stream;
    int64_t totals[3];
    TRY(take(b, counts + 1, 8, "places of the panels", &b->sums));
    TRY(keep(b, panels + 1, 8, "starts of the panels", &made->starts));
    TRY(take(b, panels + 3, 8, "cells of the panels", &made->first_cell));
    if (b->sorted) {
        TRY(sort_places(b));
    } else if (b->p->problem.mask) {
        TRY(run_runs(b, "count_runs", TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("counts", b->sums))));
        TRY(sum(b, b->sums, counts + 1));
    } else {
        TRY(run_windows(b, "count_places", TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("counts", b->sums))));
        TRY(sum(b, b->sums, counts + 1));
    }
    const tamis_place end = {made->first_cell, panels * 8};
    TRY(runtime->fill(b->p->device, stream, tamis_gpu_after(end, 8), 0, 8));
    TRY(tamis_gpu_index_run(
        b->p, file, "count_cells", panels + 1,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("panels", panels), tamis_gpu_integer("windows", b->windows),
                            tamis_gpu_integer("height", b->tiling->height ? b->tiling->height : INT64_MAX),
                            tamis_gpu_memory("sums", b->sums), tamis_gpu_memory("starts", made->starts),
                            tamis_gpu_memory("cells", made->first_cell))));
    TRY(sum(b, made->first_cell, panels + 1));
    TRY(runtime->read(b->p->device, stream, totals, end, sizeof totals));
    made->cell_count = totals[0];
    b->most = totals[1] < CELLS_OF_PASS ? CELLS_OF_PASS : totals[1] < INT32_MAX ? totals[1] : b->limit;
    made->count = totals[2];
    return TAMIS_OK;
}

static tamis_status list(build *b) {
    tamis_gpu_index *const made = b->made;
    const size_t size = tamis_index_size(b->p->problem.index_type);
    TRY(keep(b, made->count, size, "the places of panels", &made->list));
    if (b->p->problem.mask)
        return run_runs(
            b, "list_runs",
            TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("starts", made->starts), tamis_gpu_memory("list", made->list)));
    TRY(keep(b, b->p->problem.nnz, size, "places within panels", &made->within));
    if (b->sorted)
        return run_sorted(
            b, "list_sorted", b->p->problem.nnz,
            TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("places", b->places), tamis_gpu_memory("starts", made->starts),
                                tamis_gpu_memory("list", made->list), tamis_gpu_memory("within", made->within)));
    return run_windows(b, "list_places",
                       TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("sums", b->sums), tamis_gpu_memory("list", made->list),
                                           tamis_gpu_memory("within", made->within)));
}

/* ------------------------------------------------------------------------------------------ cells */

/* Panels of few nonzeros are not sorted separately, since each has its own histogram. Sorting the places has already
   ordered the cells of panels of columns, and cells of one place. */
static tamis_status sort_cells(build *b) {
    enum { NONZEROS_LEAST = 32 };
    const tamis_gpu_tiling *const tiling = b->tiling;
    const int64_t panels = b->made->panels;
    const bool in_panels = panels <= b->p->problem.nnz / NONZEROS_LEAST;
    if (b->sorted && (tiling->columns_first || tiling->height == 1)) return TAMIS_OK;
    tamis_gpu_release(b->p->device, b->p->problem.stream, b->made->order);
    b->made->order = NULL;
    TRY(sort_by(b, b->made->within, tiling->height, b->most, in_panels));
    return in_panels ? TAMIS_OK : sort_by(b, panels_along(b), tiling->x_tile, panels, false);
}

static tamis_status make_cells(build *b) {
    tamis_gpu_index *const made = b->made;
    const tamis_gpu_tiling *const tiling = b->tiling;
    if (!b->p->problem.mask) TRY(sort_cells(b));
    TRY(keep(b, made->cell_count + 1, 2 * 8, "the cells", &made->cells));
    TRY(tamis_gpu_index_run(
        b->p, file, "describe_cells", made->cell_count + 1,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("panels", made->panels), tamis_gpu_integer("count", made->cell_count),
                            tamis_gpu_integer("height", tiling->height), tamis_gpu_memory("starts", made->starts),
                            tamis_gpu_memory("first_cell", made->first_cell), tamis_gpu_memory("cells", made->cells))));
    if (b->p->problem.mask) return TAMIS_OK;
    TRY(keep(b, made->cell_count + 1, 8, "beginnings of the cells", &made->begins));
    return tamis_gpu_index_run(
        b->p, file, "begin_cells", b->p->problem.nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", b->p->problem.nnz), tamis_gpu_integer("x_tile", tiling->x_tile),
                            tamis_gpu_integer("height", tiling->height), tamis_gpu_memory("x", panels_along(b)),
                            tamis_gpu_memory("within", made->within), tamis_gpu_memory("first_cell", made->first_cell),
                            tamis_gpu_memory("order", made->order), tamis_gpu_memory("begins", made->begins)));
}

tamis_status tamis_gpu_index_build(tamis_prepared *p, const tamis_gpu_tiling *tiling, tamis_gpu_index *index) {
    tamis_status status = TAMIS_OK;
    const int64_t x = tiling->columns_first ? p->problem.cols : p->problem.rows;
    const int64_t y = tiling->columns_first ? p->problem.rows : p->problem.cols;
    build b = {.p = p, .tiling = tiling, .made = index, .limit = (y - 1) / tiling->y_tile + 1};
    *index = (tamis_gpu_index){.panels = (x - 1) / tiling->x_tile + 1};
    if (index->panels > INT64_MAX / 64)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld panels: their arrays do not fit 64 bits", p->method->name,
                          (long long)index->panels);
    find_reach(&b);
    b.windows = (b.reach - 1) / PLACES_OF_WINDOW + 1;
    b.sorted = !p->problem.mask && sorts(&b);
    if (b.sorted || p->problem.mask) b.windows = 1;
    if (tiling->height && !p->problem.mask) TRY_GOTO(done, need_rows(&b));
    TRY_GOTO(done, count(&b));
    TRY_GOTO(done, list(&b));
    if (tiling->height) TRY_GOTO(done, make_cells(&b));
done:
    tamis_gpu_release(p->device, p->problem.stream, b.sums);
    tamis_gpu_release(p->device, p->problem.stream, b.places);
    tamis_gpu_release(p->device, p->problem.stream, b.scratch);
    if (status != TAMIS_OK) tamis_gpu_index_release(p, index);
    return status;
}

void tamis_gpu_index_release(tamis_prepared *p, tamis_gpu_index *index) {
    void *const passing[] = {index->first_cell, index->order, index->row_indices};
    void *const kept[] = {index->starts, index->list, index->within, index->cells, index->begins};
    for (int i = 0; i < 3; i++) tamis_gpu_release(p->device, p->problem.stream, passing[i]);
    for (int i = 0; i < 5; i++) tamis_gpu_release(p->device, tamis_kept_stream(&p->problem), kept[i]);
    *index = (tamis_gpu_index){.panels = 0};
}

void *tamis_gpu_index_keep(tamis_prepared *p, void **array, int64_t count, size_t size) {
    void *const taken = *array;
    tamis_gpu_keep(p, taken, (size_t)count * size);
    *array = NULL;
    return taken;
}
