/* Host side of panels.simt: two sorts and three prefix sums. Two numbers come to the host: how many cells, how many
   parts. */
#include "gpu/panels/panels_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "gpu/launch/utility.h"
#include "gpu/structure/order.h"
#include "sparse/index.h"

static const char *const file = "panels.simt";

typedef struct kept_panels {
    void *parts;    /* int64, three a part */
    void *cells;    /* int64, two a cell, and an end */
    void *lists;    /* index: the columns of each cell, one list after another */
    void *entry;    /* uint32 a nonzero: row within the panel, place in the cell's list */
    void *position; /* index a nonzero: where S keeps it */
    int64_t part_count, cell_count, distinct;
    size_t bytes;
} kept_panels;

/* What lives while the cells are made. */
typedef struct build {
    tamis_gpu_device *device;
    const tamis_problem *problem;
    tamis_gpu_kinds kinds;
    int64_t panel_rows, columns_most, part_most, panels;
    int64_t keys_most; /* panels times columns, which keys count */
    void *rows, *keys, *order, *distinct, *first_cell, *cell_of, *place, *begins, *padded, *first_part, *scratch;
    int64_t entries; /* nonzeros, and what fills the cells up */
    kept_panels *made;
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
    b->made->bytes += (size_t)bytes; /* of memory that is there */
    return TAMIS_OK;
}

static tamis_status launch(const build *b, const char *kernel, int64_t items, const tamis_gpu_call *call) {
    return tamis_gpu_utility(b->device, b->problem->stream, file, kernel, b->kinds, tamis_gpu_groups(items), call);
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
    tamis_gpu_call call = {.count = 0}, heads = {.count = 0};
    TRY(take(b, p->nnz, tamis_index_size(p->index_type), "rows of the nonzeros", &b->rows));
    TRY(take(b, p->nnz, 8, "keys of the nonzeros", &b->keys));
    TRY(take(b, p->nnz, 8, "an order of the nonzeros", &b->order));
    TRY(take(b, p->nnz + 1, 8, "numbers of the columns", &b->distinct));
    TRY(tamis_gpu_expand_rows(b->device, b->problem->stream, p, b->rows));
    tamis_gpu_add_int64(&call, p->nnz);
    tamis_gpu_add_int64(&call, p->cols);
    tamis_gpu_add_int64(&call, b->panel_rows);
    tamis_gpu_add_memory(&call, b->rows);
    tamis_gpu_add_memory(&call, p->columns);
    tamis_gpu_add_memory(&call, b->keys);
    tamis_gpu_add_memory(&call, b->order);
    TRY(launch(b, "panel_keys", p->nnz, &call));
    TRY(tamis_gpu_sort(b->device, p->stream, p->nnz, (uint64_t)b->keys_most, &b->keys, &b->order, p->stream));
    tamis_gpu_add_int64(&heads, p->nnz);
    tamis_gpu_add_memory(&heads, b->keys);
    tamis_gpu_add_memory(&heads, b->distinct);
    TRY(launch(b, "panel_heads", p->nnz + 1, &heads));
    TRY(sum(b, b->distinct, p->nnz + 1));
    return last_of(b, b->distinct, p->nnz, &b->made->distinct);
}

static tamis_status make_cells(build *b) {
    const tamis_problem *const p = b->problem;
    tamis_gpu_call counting = {.count = 0}, describing = {.count = 0}, placing = {.count = 0};
    TRY(take(b, b->panels + 1, 8, "cells of the panels", &b->first_cell));
    tamis_gpu_add_int64(&counting, p->rows);
    tamis_gpu_add_int64(&counting, b->panels);
    tamis_gpu_add_int64(&counting, b->panel_rows);
    tamis_gpu_add_int64(&counting, b->columns_most);
    tamis_gpu_add_memory(&counting, p->offsets);
    tamis_gpu_add_memory(&counting, b->distinct);
    tamis_gpu_add_memory(&counting, b->first_cell);
    TRY(launch(b, "panel_cells", b->panels + 1, &counting));
    TRY(sum(b, b->first_cell, b->panels + 1));
    TRY(last_of(b, b->first_cell, b->panels, &b->made->cell_count));
    TRY(keep(b, b->made->cell_count + 1, 2 * 8, "the cells", &b->made->cells));
    tamis_gpu_add_int64(&describing, p->rows);
    tamis_gpu_add_int64(&describing, b->panels);
    tamis_gpu_add_int64(&describing, b->panel_rows);
    tamis_gpu_add_int64(&describing, b->columns_most);
    tamis_gpu_add_memory(&describing, p->offsets);
    tamis_gpu_add_memory(&describing, b->distinct);
    tamis_gpu_add_memory(&describing, b->first_cell);
    tamis_gpu_add_memory(&describing, b->made->cells);
    TRY(launch(b, "describe_cells", b->panels, &describing));
    TRY(keep(b, b->made->distinct, tamis_index_size(p->index_type), "the columns of the cells", &b->made->lists));
    TRY(take(b, p->nnz, 8, "cells of the nonzeros", &b->cell_of));
    TRY(take(b, p->nnz, 4, "places of the nonzeros", &b->place));
    tamis_gpu_add_int64(&placing, p->nnz);
    tamis_gpu_add_int64(&placing, p->cols);
    tamis_gpu_add_int64(&placing, b->panel_rows);
    tamis_gpu_add_int64(&placing, b->columns_most);
    tamis_gpu_add_memory(&placing, b->keys);
    tamis_gpu_add_memory(&placing, b->order);
    tamis_gpu_add_memory(&placing, b->distinct);
    tamis_gpu_add_memory(&placing, p->offsets);
    tamis_gpu_add_memory(&placing, b->first_cell);
    tamis_gpu_add_memory(&placing, b->made->lists);
    tamis_gpu_add_memory(&placing, b->cell_of);
    tamis_gpu_add_memory(&placing, b->place);
    return launch(b, "place_columns", p->nnz, &placing);
}

static tamis_status sort_by_cell(build *b) {
    const tamis_problem *const p = b->problem;
    tamis_gpu_call call = {.count = 0};
    tamis_gpu_add_int64(&call, p->nnz);
    tamis_gpu_add_memory(&call, b->order);
    TRY(launch(b, "count_up", p->nnz, &call));
    return tamis_gpu_sort(b->device, p->stream, p->nnz, (uint64_t)b->made->cell_count, &b->cell_of, &b->order,
                          p->stream);
}

static tamis_status count_entries(build *b) {
    const int64_t cells = b->made->cell_count;
    tamis_gpu_call call = {.count = 0};
    TRY(take(b, cells + 1, 8, "beginnings of the cells", &b->begins));
    TRY(take(b, cells + 1, 8, "entries of the cells", &b->padded));
    TRY(take(b, cells + 1, 8, "parts of the cells", &b->first_part));
    tamis_gpu_add_int64(&call, b->problem->nnz);
    tamis_gpu_add_int64(&call, cells);
    tamis_gpu_add_int64(&call, b->part_most);
    tamis_gpu_add_memory(&call, b->cell_of);
    tamis_gpu_add_memory(&call, b->begins);
    tamis_gpu_add_memory(&call, b->padded);
    tamis_gpu_add_memory(&call, b->first_part);
    TRY(launch(b, "count_entries", cells + 1, &call));
    TRY(sum(b, b->padded, cells + 1));
    TRY(sum(b, b->first_part, cells + 1));
    TRY(last_of(b, b->padded, cells, &b->entries));
    return last_of(b, b->first_part, cells, &b->made->part_count);
}

static tamis_status pack_entries(build *b) {
    const tamis_problem *const p = b->problem;
    const tamis_gpu_runtime *const runtime = b->device->runtime;
    const size_t index_size = tamis_index_size(p->index_type);
    tamis_gpu_call packing = {.count = 0}, describing = {.count = 0};
    TRY(keep(b, b->entries, 4, "entries of the cells", &b->made->entry));
    TRY(keep(b, b->entries, index_size, "places of the entries", &b->made->position));
    TRY(keep(b, b->made->part_count, 3 * 8, "the parts", &b->made->parts));
    /* what fills cells up: row 0, place 0, and -1 for where to put the sample */
    TRY(runtime->fill(b->device, p->stream, place_of(b->made->entry, 0), 0, (size_t)b->entries * 4));
    TRY(runtime->fill(b->device, p->stream, place_of(b->made->position, 0), 0xff, (size_t)b->entries * index_size));
    tamis_gpu_add_int64(&packing, p->nnz);
    tamis_gpu_add_int64(&packing, b->panel_rows);
    tamis_gpu_add_memory(&packing, b->cell_of);
    tamis_gpu_add_memory(&packing, b->begins);
    tamis_gpu_add_memory(&packing, b->padded);
    tamis_gpu_add_memory(&packing, b->order);
    tamis_gpu_add_memory(&packing, b->rows);
    tamis_gpu_add_memory(&packing, b->place);
    tamis_gpu_add_memory(&packing, b->made->entry);
    tamis_gpu_add_memory(&packing, b->made->position);
    TRY(launch(b, "pack_entries", p->nnz, &packing));
    tamis_gpu_add_int64(&describing, b->made->cell_count);
    tamis_gpu_add_memory(&describing, b->padded);
    tamis_gpu_add_memory(&describing, b->first_part);
    tamis_gpu_add_memory(&describing, b->made->parts);
    return launch(b, "describe_parts", b->made->cell_count, &describing);
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

bool tamis_gpu_panels_accept(const tamis_problem *problem, char *reason, size_t bytes) {
    /* long rows come in slices that fit shared memory */
    return places_fit(problem, reason, bytes) && keys_fit(problem, reason, bytes);
}

bool tamis_gpu_tensor_accept(const tamis_problem *problem, char *reason, size_t bytes) {
    const tamis_gpu_device *const device = problem->device;
    enum { ARCHITECTURE = 80, SHARED = 72 << 10 };
    const char *why = NULL;
    if (strcmp(device->runtime->name, "cuda") != 0)
        why = "tensor cores are programmed for CUDA only";
    else if (problem->type != TAMIS_F32)
        why = "it splits fp32 numbers for tensor cores: other types are not its business";
    else if (strtol(device->limits.architecture + 3, NULL, 10) < ARCHITECTURE || device->limits.shared_most < SHARED)
        why = "it needs tensor cores for TF32 and 72 KiB of shared memory: compute capability 8.0 and up";
    if (!why) return tamis_gpu_panels_accept(problem, reason, bytes);
    snprintf(reason, bytes, "%s", why);
    return false;
}

int64_t tamis_gpu_panel_part(int64_t nnz, int multiprocessors) {
    return nnz < (int64_t)multiprocessors * 20480 ? 4096 : 8192;
}

static tamis_status build_panels(tamis_gpu_device *device, const tamis_problem *problem, int64_t panel_rows,
                                 int64_t columns_most, int64_t part_most, kept_panels *panels) {
    tamis_status status = TAMIS_OK;
    memset(panels, 0, sizeof *panels);
    build b = {.device = device,
               .problem = problem,
               .kinds = {TAMIS_F32, problem->index_type, problem->offset_type},
               .panel_rows = panel_rows,
               .columns_most = columns_most,
               .part_most = part_most,
               .made = panels};
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
        tamis_gpu_release(device, problem->stream, temporary[i]);
    if (status == TAMIS_OK) return TAMIS_OK;
    void *const kept[] = {panels->parts, panels->cells, panels->lists, panels->entry, panels->position};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        tamis_gpu_release(device, tamis_kept_stream(problem), kept[i]);
    memset(panels, 0, sizeof *panels);
    return status;
}

enum { PARTS, CELLS, LISTS, ENTRY, POSITION, KEPT }; /* kept memory */

tamis_status tamis_gpu_panels_keep(tamis_prepared *p, int64_t panel_rows, int64_t columns_most, int64_t part_most,
                                   int64_t *parts) {
    kept_panels made;
    TRY(build_panels(p->device, &p->problem, panel_rows, columns_most, part_most, &made));
    p->memories[PARTS] = made.parts;
    p->memories[CELLS] = made.cells;
    p->memories[LISTS] = made.lists;
    p->memories[ENTRY] = made.entry;
    p->memories[POSITION] = made.position;
    p->prepared_bytes += made.bytes;
    *parts = made.part_count;
    return TAMIS_OK;
}

void tamis_gpu_panels_arguments(const tamis_prepared *p, int64_t panel_rows, tamis_gpu_call *call) {
    tamis_gpu_add_int64(call, panel_rows);
    for (int i = 0; i < KEPT; i++) tamis_gpu_add_memory(call, p->memories[i]);
}
