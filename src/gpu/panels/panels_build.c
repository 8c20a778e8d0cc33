/* Host side of panels.simt: two sorts and three prefix sums. Two numbers come to the host: how many cells, how many
   parts. */
#include "gpu/panels/panels_build.h"

#include <stdio.h>

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "gpu/structure/order.h"
#include "sparse/index.h"

static const char *const file = "panels.simt";

/* What lives while the cells are made. */
typedef struct build {
    tamis_gpu_device *device;
    const tamis_problem *problem;
    tamis_gpu_kinds kinds;
    int64_t panel_rows, columns_most, part_most, panels, cell_count, distinct_count;
    int64_t keys_most; /* panels times columns, which keys count */
    void *rows, *keys, *order, *distinct, *first_cell, *cell_of, *place, *begins, *padded, *first_part, *scratch;
    int64_t entries; /* nonzeros, and what fills the cells up */
    size_t kept_bytes;
    tamis_gpu_cells *made;
} build;

static tamis_place place_of(void *memory, int64_t bytes) { return (tamis_place){memory, bytes}; }

static tamis_status bytes_of(int64_t count, size_t size, const char *what, int64_t *bytes) {
    if (__builtin_mul_overflow(count, (int64_t)size, bytes))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "%s: %lld times %zu bytes do not fit 64 bits", what, (long long)count,
                          size);
    return TAMIS_OK;
}

static tamis_status take(const build *b, int64_t count, size_t size, const char *what, void **memory) {
    int64_t bytes;
    TRY(bytes_of(count, size, what, &bytes));
    return tamis_gpu_allocate(b->device, b->problem->stream, (size_t)bytes, what, memory);
}

/* The same for what stays. */
static tamis_status keep(build *b, int64_t count, size_t size, const char *what, void **memory) {
    int64_t bytes;
    TRY(bytes_of(count, size, what, &bytes));
    TRY(tamis_gpu_allocate(b->device, tamis_kept_stream(b->problem), (size_t)bytes, what, memory));
    b->kept_bytes += (size_t)bytes; /* of memory that is there */
    return TAMIS_OK;
}

static tamis_status launch(const build *b, const char *kernel, int64_t items, const tamis_gpu_named *arguments) {
    return tamis_gpu_utility(b->device, b->problem->stream, file, kernel, b->kinds, tamis_gpu_groups(items), arguments);
}

static tamis_status sum(build *b, void *values, int64_t count) {
    tamis_gpu_release(b->device, b->problem->stream, b->scratch);
    b->scratch = NULL;
    TRY(tamis_gpu_allocate(b->device, b->problem->stream, tamis_gpu_scan_scratch(count), "prefix sums", &b->scratch));
    return tamis_gpu_scan(b->device, b->problem->stream, values, count, place_of(b->scratch, 0));
}

static tamis_status last_of(const build *b, void *values, int64_t number, int64_t *value) {
    return b->device->runtime->read(b->device, b->problem->stream, value, place_of(values, number * 8), sizeof *value);
}

static tamis_status sort_by_column(build *b) {
    const tamis_problem *const p = b->problem;
    TRY(take(b, p->nnz, tamis_index_size(p->index_type), "rows of the nonzeros", &b->rows));
    TRY(take(b, p->nnz, 8, "keys of the nonzeros", &b->keys));
    TRY(take(b, p->nnz, 8, "an order of the nonzeros", &b->order));
    TRY(take(b, p->nnz + 1, 8, "numbers of the columns", &b->distinct));
    TRY(tamis_gpu_expand_rows(b->device, b->problem->stream, p, b->rows));
    TRY(launch(b, "panel_keys", p->nnz,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->nnz), tamis_gpu_integer("cols", p->cols),
                                   tamis_gpu_integer("panel_rows", b->panel_rows), tamis_gpu_memory("rows", b->rows),
                                   tamis_gpu_memory("columns", p->columns), tamis_gpu_memory("keys", b->keys),
                                   tamis_gpu_memory("order", b->order))));
    TRY(tamis_gpu_sort(b->device, p->stream, p->nnz, (uint64_t)b->keys_most, &b->keys, &b->order, p->stream));
    TRY(launch(b, "panel_heads", p->nnz + 1,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->nnz), tamis_gpu_memory("keys", b->keys),
                                   tamis_gpu_memory("heads", b->distinct))));
    TRY(sum(b, b->distinct, p->nnz + 1));
    return last_of(b, b->distinct, p->nnz, &b->distinct_count);
}

static tamis_status make_cells(build *b) {
    const tamis_problem *const p = b->problem;
    TRY(take(b, b->panels + 1, 8, "cells of the panels", &b->first_cell));
    TRY(launch(b, "panel_cells", b->panels + 1,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("rows", p->rows), tamis_gpu_integer("panels", b->panels),
                                   tamis_gpu_integer("panel_rows", b->panel_rows),
                                   tamis_gpu_integer("columns_most", b->columns_most),
                                   tamis_gpu_memory("offsets", p->offsets), tamis_gpu_memory("distinct", b->distinct),
                                   tamis_gpu_memory("counts", b->first_cell))));
    TRY(sum(b, b->first_cell, b->panels + 1));
    TRY(last_of(b, b->first_cell, b->panels, &b->cell_count));
    TRY(keep(b, b->cell_count + 1, 2 * 8, "the cells", &b->made->cells));
    TRY(launch(b, "describe_cells", b->panels,
               TAMIS_GPU_ARGUMENTS(
                   tamis_gpu_integer("rows", p->rows), tamis_gpu_integer("panels", b->panels),
                   tamis_gpu_integer("panel_rows", b->panel_rows), tamis_gpu_integer("columns_most", b->columns_most),
                   tamis_gpu_memory("offsets", p->offsets), tamis_gpu_memory("distinct", b->distinct),
                   tamis_gpu_memory("first_cell", b->first_cell), tamis_gpu_memory("cells", b->made->cells))));
    TRY(keep(b, b->distinct_count, tamis_index_size(p->index_type), "the columns of the cells", &b->made->lists));
    TRY(take(b, p->nnz, 8, "cells of the nonzeros", &b->cell_of));
    TRY(take(b, p->nnz, 4, "places of the nonzeros", &b->place));
    return launch(
        b, "place_columns", p->nnz,
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->nnz), tamis_gpu_integer("cols", p->cols),
                            tamis_gpu_integer("panel_rows", b->panel_rows),
                            tamis_gpu_integer("columns_most", b->columns_most), tamis_gpu_memory("keys", b->keys),
                            tamis_gpu_memory("order", b->order), tamis_gpu_memory("distinct", b->distinct),
                            tamis_gpu_memory("offsets", p->offsets), tamis_gpu_memory("first_cell", b->first_cell),
                            tamis_gpu_memory("lists", b->made->lists), tamis_gpu_memory("cell_of", b->cell_of),
                            tamis_gpu_memory("place", b->place)));
}

static tamis_status sort_by_cell(build *b) {
    const tamis_problem *const p = b->problem;
    TRY(launch(b, "count_up", p->nnz,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->nnz), tamis_gpu_memory("order", b->order))));
    return tamis_gpu_sort(b->device, p->stream, p->nnz, (uint64_t)b->cell_count, &b->cell_of, &b->order, p->stream);
}

static tamis_status count_entries(build *b) {
    const int64_t cells = b->cell_count;
    TRY(take(b, cells + 1, 8, "beginnings of the cells", &b->begins));
    TRY(take(b, cells + 1, 8, "entries of the cells", &b->padded));
    TRY(take(b, cells + 1, 8, "parts of the cells", &b->first_part));
    TRY(launch(b, "count_entries", cells + 1,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", b->problem->nnz), tamis_gpu_integer("cells", cells),
                                   tamis_gpu_integer("most", b->part_most),
                                   tamis_gpu_memory("sorted_cells", b->cell_of), tamis_gpu_memory("begins", b->begins),
                                   tamis_gpu_memory("padded", b->padded), tamis_gpu_memory("parts", b->first_part))));
    TRY(sum(b, b->padded, cells + 1));
    TRY(sum(b, b->first_part, cells + 1));
    TRY(last_of(b, b->padded, cells, &b->entries));
    return last_of(b, b->first_part, cells, &b->made->part_count);
}

static tamis_status pack_entries(build *b) {
    const tamis_problem *const p = b->problem;
    const tamis_gpu_runtime *const runtime = b->device->runtime;
    const size_t index_size = tamis_index_size(p->index_type);
    TRY(keep(b, b->entries, 4, "entries of the cells", &b->made->entry));
    TRY(keep(b, b->entries, index_size, "places of the entries", &b->made->position));
    TRY(keep(b, b->made->part_count, 3 * 8, "the parts", &b->made->parts));
    /* what fills cells up: row 0, place 0, and -1 for where to put the sample */
    TRY(runtime->fill(b->device, p->stream, place_of(b->made->entry, 0), 0, (size_t)b->entries * 4));
    TRY(runtime->fill(b->device, p->stream, place_of(b->made->position, 0), 0xff, (size_t)b->entries * index_size));
    TRY(launch(b, "pack_entries", p->nnz,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("nnz", p->nnz), tamis_gpu_integer("panel_rows", b->panel_rows),
                                   tamis_gpu_memory("sorted_cells", b->cell_of), tamis_gpu_memory("begins", b->begins),
                                   tamis_gpu_memory("padded", b->padded), tamis_gpu_memory("order", b->order),
                                   tamis_gpu_memory("rows", b->rows), tamis_gpu_memory("place", b->place),
                                   tamis_gpu_memory("entry", b->made->entry),
                                   tamis_gpu_memory("position", b->made->position))));
    return launch(b, "describe_parts", b->cell_count,
                  TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("cells", b->cell_count), tamis_gpu_memory("padded", b->padded),
                                      tamis_gpu_memory("first_part", b->first_part),
                                      tamis_gpu_memory("parts", b->made->parts)));
}

/* Places of nonzeros are kept as column indices are. */
static bool places_fit(const tamis_problem *problem, char *reason, size_t bytes) {
    if (tamis_index_spans(problem->index_type, problem->nnz)) return true;
    snprintf(reason, bytes, "its %lld nonzeros are more than 32-bit indices count: int64 columns would do",
             (long long)problem->nnz);
    return false;
}

/* How many panels there are, and keys of nonzeros; false where 64 bits do not count them. */
static bool count_keys(const tamis_problem *problem, int64_t panel_rows, int64_t *panels, int64_t *keys) {
    *panels = problem->rows / panel_rows + (problem->rows % panel_rows != 0);
    return *panels < INT64_MAX && !__builtin_mul_overflow(*panels, problem->cols, keys);
}

/* Nonzeros are sorted by numbers of panels and columns. */
static bool keys_fit(const tamis_problem *problem, char *reason, size_t bytes) {
    enum { LOWEST = 128 }; /* of the panels that are not asked for by name */
    int64_t panels, keys;
    if (count_keys(problem, LOWEST, &panels, &keys)) return true;
    snprintf(reason, bytes, "its %lld panels times %lld columns are more than 64 bits count", (long long)panels,
             (long long)problem->cols);
    return false;
}

bool tamis_gpu_cells_accept(const tamis_problem *problem, char *reason, size_t bytes) {
    /* long rows come in slices that fit shared memory */
    return places_fit(problem, reason, bytes) && keys_fit(problem, reason, bytes);
}

tamis_status tamis_gpu_cells_build(tamis_prepared *p, int64_t panel_rows, int64_t columns_most, int64_t part_most,
                                   tamis_gpu_cells *cells) {
    tamis_status status = TAMIS_OK;
    const tamis_problem *const problem = &p->problem;
    *cells = (tamis_gpu_cells){.panel_rows = panel_rows};
    build b = {.device = p->device,
               .problem = problem,
               .kinds = {TAMIS_F32, problem->index_type, problem->offset_type},
               .panel_rows = panel_rows,
               .columns_most = columns_most,
               .part_most = part_most,
               .made = cells};
    if (!count_keys(problem, panel_rows, &b.panels, &b.keys_most))
        return tamis_fail(TAMIS_ERROR_OVERFLOW, "panels of %lld rows: %lld times %lld columns do not fit 64 bits",
                          (long long)panel_rows, (long long)b.panels, (long long)problem->cols);
    TRY_GOTO(done, sort_by_column(&b));
    TRY_GOTO(done, make_cells(&b));
    TRY_GOTO(done, sort_by_cell(&b));
    TRY_GOTO(done, count_entries(&b));
    TRY_GOTO(done, pack_entries(&b));
done:;
    void *const temporary[] = {b.rows,  b.keys,   b.order,  b.distinct,   b.first_cell, b.cell_of,
                               b.place, b.begins, b.padded, b.first_part, b.scratch};
    for (size_t i = 0; i < sizeof temporary / sizeof temporary[0]; i++)
        tamis_gpu_release(p->device, problem->stream, temporary[i]);
    void *const kept[] = {cells->parts, cells->cells, cells->lists, cells->entry, cells->position};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (status == TAMIS_OK)
            tamis_gpu_keep(p, kept[i], 0);
        else
            tamis_gpu_release(p->device, tamis_kept_stream(problem), kept[i]);
    cells->entry_count = b.entries;
    if (status == TAMIS_OK) p->prepared_bytes += b.kept_bytes;
    return status;
}
