#include "gpu/tensor/cells.h"

#include <math.h>

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/mask/runs.h"
#include "gpu/structure/panel_index.h"
#include "gpu/structure/sort.h"

enum { RECORD_BYTES = TAMIS_GPU_CELL_RECORD };

static const char *const file = "cell_entries.cu";

static tamis_gpu_kinds kinds_of(const tamis_problem *problem) {
    return (tamis_gpu_kinds){TAMIS_F32, problem->index_type, problem->offset_type};
}

static tamis_status launch(const tamis_prepared *p, const char *kernel, int64_t groups,
                           const tamis_gpu_named *arguments) {
    return tamis_gpu_utility(p->device, p->problem.stream, file, kernel, kinds_of(&p->problem), groups, arguments);
}

static int64_t shift_of(const tamis_gpu_tensor_cells *cells) { return cells->columns == 64 ? 6 : 7; }
static int64_t panels_of(const tamis_problem *problem, int64_t rows) {
    return tamis_gpu_round_up(problem->rows, rows) / rows;
}

static tamis_status keep_cells(tamis_prepared *p, tamis_gpu_tensor_cells *to) {
    static const char rows[] = "rows of the cells", entries[] = "entries of the cells";
    const int64_t count = to->count * to->rows, most = p->problem.nnz + 8; /* kernels copy whole pieces of 16 bytes */
    const size_t size = tamis_index_size(p->problem.index_type);
    TRY(tamis_gpu_add_kept(p, &to->records, to->count, RECORD_BYTES, "records of the cells"));
    if (to->masked) {
        TRY(tamis_gpu_allocate(p->device, p->problem.stream, tamis_bytes(count, size), rows, &to->row_offsets));
        return tamis_gpu_allocate(p->device, p->problem.stream, tamis_bytes(most, 2), entries, &to->entries);
    }
    TRY(tamis_gpu_add_kept(p, &to->row_offsets, count, size, rows));
    return tamis_gpu_add_kept(p, &to->entries, most, 2, entries);
}

static void release_masked(const tamis_prepared *p, tamis_gpu_tensor_cells *cells) {
    if (!cells->masked) return;
    tamis_gpu_release(p->device, p->problem.stream, cells->row_offsets);
    tamis_gpu_release(p->device, p->problem.stream, cells->entries);
    tamis_gpu_release(p->device, tamis_kept_stream(&p->problem), cells->panel_lists);
    cells->row_offsets = cells->entries = cells->panel_lists = NULL;
}

/* Builds gathered cells: some of the columns that a panel has, at a time. */
static tamis_status gather_cells(tamis_prepared *p, tamis_gpu_tensor_cells *to) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_tiling tiling = {.x_tile = to->rows, .y_tile = 1, .height = to->columns};
    tamis_gpu_index index;
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    to->count = index.cell_count;
    TRY_GOTO(done, keep_cells(p, to));
    TRY_GOTO(done,
             launch(p, "gathered_records", to->count,
                    TAMIS_GPU_ARGUMENTS(
                        tamis_gpu_memory("cells", index.cells), tamis_gpu_memory("begins", index.begins),
                        tamis_gpu_memory("order", index.order), tamis_gpu_memory("within", index.within),
                        tamis_gpu_memory("starts", index.starts), tamis_gpu_memory("offsets", problem->offsets),
                        tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("side", to->rows),
                        tamis_gpu_integer("shift", shift_of(to)), tamis_gpu_memory("records", to->records),
                        tamis_gpu_memory("row_offsets", to->row_offsets), tamis_gpu_memory("entries", to->entries))));
    to->lists = tamis_gpu_index_keep(p, &index.list, index.count, tamis_index_size(problem->index_type));
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

/* Temporary memory for building aligned cells. */
typedef struct tiling {
    int64_t panels, tiles;
    void *begins, *counts, *scratch;
} tiling;

static tamis_status fill_tiles(tamis_prepared *p, tamis_gpu_tensor_cells *to, const tiling *t) {
    const tamis_problem *const problem = &p->problem;
    TRY(launch(
        p, "tile_begins", tamis_gpu_groups(t->panels * to->rows * 32),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("panels", t->panels),
                            tamis_gpu_integer("tiles", t->tiles), tamis_gpu_integer("side", to->rows),
                            tamis_gpu_integer("shift", shift_of(to)), tamis_gpu_memory("offsets", problem->offsets),
                            tamis_gpu_memory("columns", problem->columns), tamis_gpu_memory("begins", t->begins))));
    TRY(launch(p, "tile_records", to->count,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("cols", problem->cols),
                                   tamis_gpu_integer("panels", t->panels), tamis_gpu_integer("tiles", t->tiles),
                                   tamis_gpu_integer("side", to->rows), tamis_gpu_integer("shift", shift_of(to)),
                                   tamis_gpu_memory("offsets", problem->offsets), tamis_gpu_memory("begins", t->begins),
                                   tamis_gpu_memory("records", to->records),
                                   tamis_gpu_memory("row_offsets", to->row_offsets),
                                   tamis_gpu_memory("counts", t->counts))));
    TRY(tamis_gpu_scan(p->device, problem->stream, (tamis_place){t->counts, 0}, to->count + 1,
                       (tamis_place){t->scratch, 0}));
    return launch(
        p, "tile_entries", to->count,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", problem->rows), tamis_gpu_integer("tiles", t->tiles),
                            tamis_gpu_integer("side", to->rows), tamis_gpu_integer("shift", shift_of(to)),
                            tamis_gpu_memory("offsets", problem->offsets),
                            tamis_gpu_memory("columns", problem->columns), tamis_gpu_memory("begins", t->begins),
                            tamis_gpu_memory("row_offsets", to->row_offsets), tamis_gpu_memory("counts", t->counts),
                            tamis_gpu_memory("records", to->records), tamis_gpu_memory("entries", to->entries)));
}

/* Builds aligned cells: nothing is copied to the host. */
static tamis_status align_cells(tamis_prepared *p, tamis_gpu_tensor_cells *to) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    void *const stream = problem->stream;
    tiling t = {.panels = panels_of(problem, to->rows),
                .tiles = tamis_gpu_round_up(problem->cols, to->columns) / to->columns};
    to->count = t.panels * t.tiles;
    TRY(keep_cells(p, to));
    TRY_GOTO(done, tamis_gpu_allocate(p->device, stream,
                                      tamis_bytes(tamis_times(tamis_times(t.panels, t.tiles + 1), to->rows), 4),
                                      "where tiles begin in rows", &t.begins));
    TRY_GOTO(done,
             tamis_gpu_allocate(p->device, stream, tamis_bytes(to->count + 1, 8), "entries of the cells", &t.counts));
    TRY_GOTO(done,
             tamis_gpu_allocate(p->device, stream, tamis_gpu_scan_scratch(to->count + 1), "prefix sums", &t.scratch));
    TRY_GOTO(done, fill_tiles(p, to, &t));
done:
    tamis_gpu_release(p->device, stream, t.begins);
    tamis_gpu_release(p->device, stream, t.counts);
    tamis_gpu_release(p->device, stream, t.scratch);
    return status;
}

/* True if panels use nearly all columns: a list would save little, and contiguous tiles are copied in bulk. */
bool tamis_gpu_cells_align(const tamis_problem *problem) {
    const double cells = (double)panels_of(problem, 128) * (double)problem->cols;
    return problem->evidence->panel_fresh[0] * (double)problem->nnz > 0.8 * cells;
}

/* For cells of 64 rows: assumes that halving panels of 128 rows loses as much sharing as halving panels of 256. */
double tamis_gpu_cells_about(const tamis_problem *p, int64_t side) {
    const double *const fresh = p->evidence->panel_fresh;
    const double more = side == 64 && fresh[1] > 0 && fresh[1] < fresh[0] ? fmin(2, fresh[0] / fresh[1]) : 1;
    return (double)p->nnz * fresh[0] * more / (double)side;
}

/* Builds the cells of a mask without a list of columns; they have no entries, only masks. */
static tamis_status cells_of_runs(tamis_prepared *p, tamis_gpu_tensor_cells *to) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    const tamis_gpu_tiling panels = {.x_tile = to->rows, .y_tile = 1, .height = to->columns};
    const int64_t tiles = tamis_gpu_round_up(problem->cols, to->columns) / to->columns;
    tamis_gpu_index index = {.panels = 0};
    if (!to->aligned) TRY(tamis_gpu_index_build(p, &panels, &index));
    to->count = to->aligned ? tamis_times(panels_of(problem, to->rows), tiles) : index.cell_count;
    TRY_GOTO(done, tamis_gpu_add_kept(p, &to->records, to->count, RECORD_BYTES, "records of the cells"));
    TRY_GOTO(done, launch(p, "records_of_runs", tamis_gpu_groups(to->count),
                          TAMIS_GPU_ARGUMENTS(
                              tamis_gpu_integer("count", to->count), tamis_gpu_integer("cols", problem->cols),
                              tamis_gpu_integer("tiles", tiles), tamis_gpu_integer("shift", shift_of(to)),
                              tamis_gpu_integer("aligned", to->aligned), tamis_gpu_memory("cells", index.cells),
                              tamis_gpu_memory("starts", index.starts), tamis_gpu_memory("records", to->records))));
    to->panel_lists = index.list;
    index.list = NULL;
done:
    tamis_gpu_index_release(p, &index);
    return status;
}

static tamis_status build(tamis_prepared *p, tamis_gpu_tensor_cells *cells) {
    TRY(p->problem.mask ? cells_of_runs(p, cells) : cells->aligned ? align_cells(p, cells) : gather_cells(p, cells));
    if (cells->count > INT32_MAX)
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "gpu-tensor: %lld cells are more than 31 bits count",
                          (long long)cells->count);
    return TAMIS_OK;
}

tamis_status tamis_gpu_tensor_cells_build(tamis_prepared *p, tamis_gpu_tensor_cells *cells) {
    const tamis_status status = build(p, cells);
    if (status != TAMIS_OK) release_masked(p, cells);
    return status;
}

/* Temporary memory for the masks of a mask without a list of columns. */
typedef struct storing {
    void *counts, *places, *scratch;
} storing;

/* Finds which cells have masks of their own, and columns of their own: prefix sums, whose ends are totals. */
static tamis_status find_shapes(tamis_prepared *p, const tamis_gpu_tensor_cells *cells, const tamis_gpu_cell_masks *to,
                                storing *s, int64_t *totals) {
    tamis_gpu_device *const device = p->device;
    void *const stream = p->problem.stream;
    const int64_t count = cells->count + 1;
    TRY(tamis_gpu_allocate(device, stream, tamis_bytes(count, 8), "masks of the cells", &s->counts));
    TRY(tamis_gpu_allocate(device, stream, tamis_bytes(count, 8), "columns of the cells", &s->places));
    TRY(tamis_gpu_allocate(device, stream, tamis_gpu_scan_scratch(count), "prefix sums", &s->scratch));
    TRY(launch(p, "shapes_of_runs", cells->count,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("records", cells->records),
                                   tamis_gpu_integer("rows", p->problem.rows), TAMIS_GPU_RUNS(&p->problem, NULL),
                                   tamis_gpu_memory("lists", cells->panel_lists),
                                   tamis_gpu_integer("side", cells->rows), tamis_gpu_integer("shift", shift_of(cells)),
                                   tamis_gpu_integer("aligned", cells->aligned), tamis_gpu_integer("apart", to->apart),
                                   tamis_gpu_integer("filled", to->filled), tamis_gpu_memory("together", *to->together),
                                   tamis_gpu_memory("counts", s->counts), tamis_gpu_memory("places", s->places))));
    void *const sums[] = {s->counts, s->places};
    for (int i = 0; i < 2; i++) {
        TRY(tamis_gpu_scan(device, stream, (tamis_place){sums[i], 0}, count, (tamis_place){s->scratch, 0}));
        TRY(device->runtime->read(device, stream, &totals[i], (tamis_place){sums[i], cells->count * 8}, 8));
    }
    return TAMIS_OK;
}

/* Full cells share their masks, and only cells of scattered columns keep these: a long window has few others. */
static tamis_status masks_of_runs(tamis_prepared *p, tamis_gpu_tensor_cells *cells, const tamis_gpu_cell_masks *to) {
    tamis_status status = TAMIS_OK;
    const size_t size = (size_t)(cells->rows * cells->columns / 8); /* of a cell's masks */
    storing s = {NULL, NULL, NULL};
    int64_t totals[2] = {0, 0};
    TRY(tamis_gpu_add_kept(p, to->together, cells->count, 4, "columns of the cells"));
    TRY_GOTO(done, find_shapes(p, cells, to, &s, totals));
    TRY_GOTO(done, tamis_gpu_add_kept(p, to->masks, totals[0] + 1, size, "masks of the cells"));
    TRY_GOTO(done, p->device->runtime->fill(p->device, p->problem.stream, (tamis_place){*to->masks, 0}, 0xff, size));
    if (totals[1] > 0)
        TRY_GOTO(done, tamis_gpu_add_kept(p, &cells->lists, totals[1], tamis_index_size(p->problem.index_type),
                                          "columns of the cells"));
    TRY_GOTO(done, launch(p, "masks_of_runs", cells->count,
                          TAMIS_GPU_ARGUMENTS(
                              tamis_gpu_memory("records", cells->records), tamis_gpu_integer("rows", p->problem.rows),
                              TAMIS_GPU_RUNS(&p->problem, NULL), tamis_gpu_memory("lists", cells->panel_lists),
                              tamis_gpu_integer("side", cells->rows), tamis_gpu_integer("shift", shift_of(cells)),
                              tamis_gpu_integer("aligned", cells->aligned), tamis_gpu_memory("counts", s.counts),
                              tamis_gpu_memory("places", s.places), tamis_gpu_memory("masks", *to->masks),
                              tamis_gpu_memory("kept", cells->lists))));
done:
    tamis_gpu_release(p->device, p->problem.stream, s.counts);
    tamis_gpu_release(p->device, p->problem.stream, s.places);
    tamis_gpu_release(p->device, p->problem.stream, s.scratch);
    return status;
}

static tamis_status make_masks(tamis_prepared *p, tamis_gpu_tensor_cells *cells, const tamis_gpu_cell_masks *to) {
    if (p->problem.mask) return masks_of_runs(p, cells, to);
    const int64_t rows = cells->count * cells->rows;
    const size_t size = (size_t)cells->columns / 8; /* of a row's bits */
    TRY(tamis_gpu_add_kept(p, to->masks, rows, size, "masks of the cells"));
    TRY(tamis_gpu_add_kept(p, to->together, cells->count, 4, "columns of the cells"));
    if (to->row_masks) TRY(tamis_gpu_add_kept(p, to->row_masks, rows, size, "masks of the cells' rows"));
    if (to->firsts)
        TRY(tamis_gpu_add_kept(p, to->firsts, rows, tamis_index_size(p->problem.index_type), "rows of the masks"));
    TRY(launch(p, "cell_masks", cells->count,
               TAMIS_GPU_ARGUMENTS(
                   tamis_gpu_memory("records", cells->records), tamis_gpu_memory("entries", cells->entries),
                   tamis_gpu_memory("row_offsets", cells->row_offsets), tamis_gpu_memory("lists", cells->lists),
                   tamis_gpu_integer("side", cells->rows), tamis_gpu_integer("shift", shift_of(cells)),
                   tamis_gpu_integer("aligned", cells->aligned), tamis_gpu_integer("apart", to->apart),
                   tamis_gpu_integer("filled", to->filled), tamis_gpu_memory("together", *to->together),
                   tamis_gpu_memory("masks", *to->masks), tamis_gpu_integer("by_rows", to->row_masks && to->firsts),
                   tamis_gpu_memory("row_masks", to->row_masks ? *to->row_masks : NULL),
                   tamis_gpu_memory("firsts", to->firsts ? *to->firsts : NULL))));
    if (!to->numbered) return TAMIS_OK;
    return launch(
        p, "number_masks", tamis_gpu_groups(cells->count),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", cells->count), tamis_gpu_memory("records", cells->records)));
}

tamis_status tamis_gpu_tensor_cells_mask(tamis_prepared *p, tamis_gpu_tensor_cells *cells,
                                         const tamis_gpu_cell_masks *to) {
    const tamis_status status = make_masks(p, cells, to);
    release_masked(p, cells);
    return status;
}

/* A group that goes from panel to panel reads most rows of a panel again for the next one. Half as many members have
   twice as many groups each, whose rows overlap, down to all rows of one member. All members where that cannot help, or
   would leave groups few panels. Measured: lab/notes/attention.md. */
int64_t tamis_gpu_tensor_members_near(const tamis_prepared *p, const tamis_gpu_tensor_cells *cells, int64_t resident,
                                      int64_t row_bytes, double worth) {
    enum { PANELS_LEAST = 3 /* of a group */ };
    const double l2 = (double)p->device->limits.cache_l2, fits = 0.6 * l2;
    const double panels = (double)tamis_gpu_ceiling(p->problem.rows, cells->rows);
    const double of_panel = (double)(row_bytes * cells->count * cells->columns) / fmax(panels, 1);
    const double of_member = (double)(row_bytes * p->problem.cols);
    if ((double)resident * of_panel <= worth * l2) return p->problem.batch;
    for (int64_t members = p->problem.batch;; members /= 2) {
        const double groups = fmax(floor((double)resident / (double)members), 1);
        if ((double)members * fmin(of_member, groups * of_panel) <= fits) return members;
        if (members % 2 != 0 || 2 * groups * PANELS_LEAST > panels) return p->problem.batch;
    }
}
