/* Finds rows with the same columns: candidates have equal length and hash; the device then compares them entry by
   entry. */
#include "gpu/long_rows/alike.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "sparse/index.h"

/* ------------------------------------------------------------------------------------------ on the device */

/* Launches a kernel that fills `to` with `count` numbers, cleared before, and reads them back. */
static tamis_status ask(const tamis_prepared *p, const char *kernel, const tamis_gpu_named *own, const char *to,
                        int64_t count, int32_t *numbers) {
    enum { ENTRIES = 16 * TAMIS_GPU_GROUP /* of a group */, GROUPS_MOST = 65535 };
    tamis_status status = TAMIS_OK;
    const int64_t rows = p->problem.rows, slices = tamis_gpu_ceiling(p->profile.max, ENTRIES);
    const size_t bytes = tamis_bytes(count, sizeof *numbers);
    const tamis_gpu_kinds kinds = {TAMIS_F32, p->problem.index_type, p->problem.offset_type};
    void *made = NULL, *const stream = p->problem.stream;
    TRY(tamis_gpu_allocate(p->device, stream, bytes, "which rows are alike", &made));
    const tamis_gpu_named all[] = {tamis_gpu_integer("rows", rows),
                                   tamis_gpu_memory("offsets", p->problem.offsets),
                                   tamis_gpu_memory("columns", p->problem.columns),
                                   tamis_gpu_memory(to, made),
                                   *own,
                                   {.name = NULL}};
    TRY_GOTO(done, p->device->runtime->fill(p->device, stream, (tamis_place){made, 0}, 0, bytes));
    TRY_GOTO(done, tamis_gpu_utility(p->device, stream, "long_rows.simt", kernel, kinds,
                                     rows * tamis_gpu_max(tamis_gpu_min(slices, GROUPS_MOST / rows), 1), all));
    TRY_GOTO(done, p->device->runtime->read(p->device, stream, numbers, (tamis_place){made, 0}, bytes));
done:
    tamis_gpu_release(p->device, stream, made);
    return status;
}

/* Compares each row's columns with the first row of its set; *differ is 1 if any differ. */
static tamis_status compare(const tamis_prepared *p, const int64_t *leaders, int32_t *differ) {
    tamis_status status = TAMIS_OK;
    const size_t bytes = tamis_bytes(p->problem.rows, sizeof *leaders);
    void *list = NULL, *const stream = p->problem.stream;
    TRY(tamis_gpu_allocate(p->device, stream, bytes, "which rows are alike", &list));
    const tamis_gpu_named own = tamis_gpu_memory("leaders", list);
    TRY_GOTO(done, p->device->runtime->write(p->device, stream, (tamis_place){list, 0}, leaders, bytes));
    TRY_GOTO(done, ask(p, "long_rows_compare", &own, "differ", 1, differ));
done:
    tamis_gpu_release(p->device, stream, list);
    return status;
}

/* Gets the lengths and hashes of all rows. */
static tamis_status describe(const tamis_prepared *p, tamis_gpu_alike_row *rows) {
    tamis_status status = TAMIS_OK;
    const int64_t count = p->problem.rows;
    const size_t size = tamis_index_size(p->problem.offset_type);
    const tamis_place at = {(void *)(uintptr_t)p->problem.offsets, 0};
    const tamis_gpu_named none = {.name = NULL};
    char *offsets = NULL;
    int32_t *hashes = NULL;
    TRY_GOTO(done, tamis_allocate(count + 1, size, "offsets of rows", (void **)&offsets));
    TRY_GOTO(done, tamis_allocate(count, sizeof *hashes, "hashes of rows", (void **)&hashes));
    TRY_GOTO(done, p->device->runtime->read(p->device, p->problem.stream, offsets, at, (size_t)(count + 1) * size));
    TRY_GOTO(done, ask(p, "long_rows_hash", &none, "hashes", count, hashes));
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = tamis_index_load(offsets, p->problem.offset_type, i);
        const int64_t end = tamis_index_load(offsets, p->problem.offset_type, i + 1);
        rows[i] = (tamis_gpu_alike_row){.row = i, .length = end - begin, .hash = hashes[i]};
    }
done:
    tamis_release(hashes);
    tamis_release(offsets);
    return status;
}

/* ------------------------------------------------------------------------------------------ on the host */

static int order_of(int64_t x, int64_t y) { return x < y ? -1 : x > y; }

/* Orders rows by falling length, since the last groups of a launch determine its end; then by hash, then by number. */
static int compare_rows(const void *first, const void *second) {
    const tamis_gpu_alike_row *const x = first, *const y = second;
    if (x->length != y->length) return order_of(y->length, x->length);
    if (x->hash != y->hash) return order_of(x->hash, y->hash);
    return order_of(x->row, y->row);
}

static bool starts_set(const tamis_gpu_alike_row *rows, int64_t i, bool alone) {
    return alone || i == 0 || rows[i].length != rows[i - 1].length || rows[i].hash != rows[i - 1].hash;
}

/* Numbers the sets of alike rows; `alone`: each row is its own set. Returns the size of the largest set. */
static int64_t number_sets(tamis_gpu_alike_row *rows, int64_t count, bool alone) {
    int64_t most = 0, here = 0;
    for (int64_t i = 0; i < count; i++) {
        const bool starts = starts_set(rows, i, alone);
        here = starts ? 1 : here + 1;
        rows[i].alike = i == 0 ? 0 : rows[i - 1].alike + starts;
        if (here > most) most = here;
    }
    return most;
}

tamis_status tamis_gpu_alike_rows(const tamis_prepared *p, tamis_gpu_alike_row **made, int64_t *most) {
    tamis_status status = TAMIS_OK;
    const int64_t count = p->problem.rows;
    tamis_gpu_alike_row *rows = NULL;
    int64_t *leaders = NULL, leader = 0;
    int32_t differ = 0;
    *made = NULL;
    TRY_GOTO(failed, tamis_allocate(count, sizeof *rows, "which rows are alike", (void **)&rows));
    TRY_GOTO(failed, tamis_allocate(count, sizeof *leaders, "which rows are alike", (void **)&leaders));
    TRY_GOTO(failed, describe(p, rows));
    qsort(rows, (size_t)count, sizeof *rows, compare_rows);
    *most = number_sets(rows, count, false);
    for (int64_t i = 0; i < count; i++) {
        if (starts_set(rows, i, false)) leader = rows[i].row;
        leaders[rows[i].row] = leader;
    }
    if (*most > 1) TRY_GOTO(failed, compare(p, leaders, &differ));
    if (differ) *most = number_sets(rows, count, true); /* hash collisions */
    tamis_release(leaders);
    *made = rows;
    return TAMIS_OK;
failed:
    tamis_release(leaders);
    tamis_release(rows);
    return status;
}

tamis_status tamis_gpu_alike_blocks(tamis_prepared *p, const tamis_gpu_alike_row *rows, int64_t each, void **list,
                                    int64_t *count) {
    tamis_status status = TAMIS_OK;
    int64_t *places = NULL, used = 0;
    TRY(tamis_allocate(tamis_times(p->problem.rows, each), sizeof *places, "blocks of rows", (void **)&places));
    for (int64_t i = 0; i < p->problem.rows; i++) {
        if (i > 0 && rows[i].alike != rows[i - 1].alike)
            while (used % each) places[used++] = -1;
        places[used++] = rows[i].row;
    }
    while (used % each) places[used++] = -1;
    *count = used / each;
    TRY_GOTO(done, tamis_gpu_add_kept(p, list, used, sizeof *places, "blocks of rows"));
    TRY_GOTO(done, p->device->runtime->write(p->device, p->problem.stream, (tamis_place){*list, 0}, places,
                                             (size_t)used * sizeof *places));
done:
    tamis_release(places);
    return status;
}
