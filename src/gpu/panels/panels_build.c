/* Host side of panels.simt: packs the index of panels (structure/panel_index.h) for the kernels, and cuts cells into
   parts. */
#include "gpu/panels/panels_build.h"

#include <stdio.h>

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/panel_index.h"
#include "gpu/structure/sort.h"
#include "sparse/index.h"

static const char *const file = "panels.simt";

/* Prefix sums: sums[c] and sums[cells + 1 + c] are the entries and parts before cell c; the latter include all
   entries. */
static tamis_status count_entries(const tamis_prepared *p, const tamis_gpu_index *index, int64_t part_most, void *sums,
                                  int64_t *entries, int64_t *parts) {
    tamis_status status = TAMIS_OK;
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    void *const stream = p->problem.stream, *scratch = NULL;
    const int64_t cells = index->cell_count, count = 2 * (cells + 1);
    int64_t totals[2];
    TRY(tamis_gpu_allocate(p->device, stream, tamis_gpu_scan_scratch(count), "prefix sums", &scratch));
    TRY_GOTO(done,
             tamis_gpu_index_run(
                 p, file, "count_entries", cells + 1,
                 TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cells", cells), tamis_gpu_integer("most", part_most),
                                     tamis_gpu_memory("begins", index->begins), tamis_gpu_memory("counts", sums))));
    TRY_GOTO(done, tamis_gpu_scan(p->device, stream, (tamis_place){sums, 0}, count, (tamis_place){scratch, 0}));
    /* adjacent, so that one copy reads both */
    TRY_GOTO(done, runtime->copy(p->device, stream, (tamis_place){sums, count * 8}, (tamis_place){sums, cells * 8}, 8));
    TRY_GOTO(done, runtime->read(p->device, stream, totals, (tamis_place){sums, (count - 1) * 8}, sizeof totals));
    *entries = totals[1];
    *parts = totals[0] - totals[1];
done:
    tamis_gpu_release(p->device, stream, scratch);
    return status;
}

static tamis_status pack_entries(tamis_prepared *p, const tamis_gpu_index *index, int64_t columns_most,
                                 const void *sums, int64_t entries, tamis_gpu_cells *made) {
    const tamis_gpu_runtime *const runtime = p->device->runtime;
    void *const stream = p->problem.stream;
    const size_t size = tamis_index_size(p->problem.index_type);
    TRY(tamis_gpu_add_kept(p, &made->entry, entries, 4, "entries of the cells"));
    TRY(tamis_gpu_add_kept(p, &made->position, entries, size, "places of the entries"));
    TRY(tamis_gpu_add_kept(p, &made->parts, made->part_count, 3 * 8, "the parts"));
    /* padding entries: row 0, place 0, and position -1 */
    TRY(runtime->fill(p->device, stream, (tamis_place){made->entry, 0}, 0, (size_t)entries * 4));
    TRY(runtime->fill(p->device, stream, (tamis_place){made->position, 0}, 0xff, (size_t)entries * size));
    TRY(tamis_gpu_index_run(
        p, file, "pack_entries", p->problem.nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->problem.nnz), tamis_gpu_integer("panel_rows", made->panel_rows),
                            tamis_gpu_integer("columns_most", columns_most),
                            tamis_gpu_memory("rows", index->row_indices), tamis_gpu_memory("within", index->within),
                            tamis_gpu_memory("first_cell", index->first_cell), tamis_gpu_memory("order", index->order),
                            tamis_gpu_memory("begins", index->begins), tamis_gpu_memory("padded", sums),
                            tamis_gpu_memory("entry", made->entry), tamis_gpu_memory("position", made->position))));
    return tamis_gpu_index_run(p, file, "describe_parts", index->cell_count,
                               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cells", index->cell_count),
                                                   tamis_gpu_memory("sums", sums),
                                                   tamis_gpu_memory("parts", made->parts)));
}

/* Places of nonzeros are stored as column indices. Long rows are sliced to fit shared memory. */
bool tamis_gpu_cells_accept(const tamis_problem *problem, char *reason, size_t bytes) {
    if (tamis_index_spans(problem->index_type, problem->nnz)) return true;
    snprintf(reason, bytes, "its %lld nonzeros are more than 32-bit indices count: int64 columns would do",
             (long long)problem->nnz);
    return false;
}

tamis_status tamis_gpu_cells_build(tamis_prepared *p, int64_t panel_rows, int64_t columns_most, int64_t part_most,
                                   tamis_gpu_cells *cells) {
    tamis_status status = TAMIS_OK;
    const size_t size = tamis_index_size(p->problem.index_type);
    tamis_gpu_index index;
    void *sums = NULL;
    int64_t entries;
    *cells = (tamis_gpu_cells){.panel_rows = panel_rows};
    const tamis_gpu_tiling tiling = {.x_tile = panel_rows, .y_tile = 1, .height = columns_most};
    TRY(tamis_gpu_index_build(p, &tiling, &index));
    TRY_GOTO(done, tamis_gpu_index_allocate(p, p->problem.stream, 2 * index.cell_count + 3, 8,
                                            "entries and parts of cells", &sums));
    TRY_GOTO(done, count_entries(p, &index, part_most, sums, &entries, &cells->part_count));
    TRY_GOTO(done, pack_entries(p, &index, columns_most, sums, entries, cells));
    cells->cells = tamis_gpu_index_keep(p, &index.cells, index.cell_count + 1, 2 * 8);
    cells->lists = tamis_gpu_index_keep(p, &index.list, index.count, size);
done:
    tamis_gpu_release(p->device, p->problem.stream, sums);
    tamis_gpu_index_release(p, &index);
    return status;
}
