/* Prefix sums and sorting in device memory, by the kernels of sort.simt. */
#include "gpu/structure/sort.h"

#include "base/status.h"
#include "gpu/compile/utility.h"

static const char *const sort_file = "sort.simt";
enum { SCAN_TILE = TAMIS_GPU_GROUP * 8, SCAN_LEVELS = 6 };

static tamis_gpu_kinds kinds_of(tamis_index_type index, tamis_index_type offset) {
    return (tamis_gpu_kinds){TAMIS_F32, index, offset};
}

static tamis_place place_of(const void *memory) { return (tamis_place){(void *)(uintptr_t)memory, 0}; }

/* ------------------------------------------------------------------------------------------ prefix sums, sorting */

size_t tamis_gpu_scan_scratch(int64_t count) {
    size_t bytes = 0;
    for (int64_t n = count; n > 1;) {
        n = (n + SCAN_TILE - 1) / SCAN_TILE;
        bytes += (size_t)n * sizeof(int64_t);
        if (n == 1) break;
    }
    return bytes + sizeof(int64_t);
}

tamis_status tamis_gpu_scan(tamis_gpu_device *device, void *stream, void *values, int64_t count, tamis_place scratch) {
    const tamis_gpu_kinds kinds = kinds_of(TAMIS_I32, TAMIS_I32);
    tamis_place level[SCAN_LEVELS + 1] = {{values, 0}};
    int64_t size[SCAN_LEVELS + 1] = {count};
    int levels = 0;
    if (count <= 0) return TAMIS_OK;
    for (; levels < SCAN_LEVELS; levels++) { /* sums of tiles, of tiles of tiles, ... */
        const int64_t tiles = (size[levels] + SCAN_TILE - 1) / SCAN_TILE;
        level[levels + 1] = scratch;
        size[levels + 1] = tiles;
        scratch.bytes += tiles * (int64_t)sizeof(int64_t);
        TRY(tamis_gpu_utility(device, stream, sort_file, "scan_tiles", kinds, tiles,
                              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", size[levels]),
                                                  tamis_gpu_place("x", level[levels]),
                                                  tamis_gpu_place("totals", level[levels + 1]))));
        if (tiles == 1) break;
    }
    for (int i = levels - 1; i >= 0; i--) { /* and back down */
        TRY(tamis_gpu_utility(device, stream, sort_file, "scan_add", kinds, size[i + 1],
                              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", size[i]), tamis_gpu_place("x", level[i]),
                                                  tamis_gpu_place("before", level[i + 1]))));
    }
    return TAMIS_OK;
}

static tamis_status sort_pass(tamis_gpu_device *device, void *stream, int64_t count, int shift, void *const from[2],
                              void *const to[2], void *counts, void *scratch) {
    const tamis_gpu_kinds kinds = kinds_of(TAMIS_I32, TAMIS_I32);
    const int64_t groups = (count + SCAN_TILE - 1) / SCAN_TILE;
    TRY(tamis_gpu_utility(device, stream, sort_file, "sort_count", kinds, groups,
                          TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count), tamis_gpu_memory("keys", from[0]),
                                              tamis_gpu_integer("shift", shift), tamis_gpu_memory("counts", counts))));
    TRY(tamis_gpu_scan(device, stream, counts, 16 * groups, place_of(scratch)));
    return tamis_gpu_utility(device, stream, sort_file, "sort_move", kinds, groups,
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count), tamis_gpu_memory("keys", from[0]),
                                                 tamis_gpu_memory("order", from[1]), tamis_gpu_integer("shift", shift),
                                                 tamis_gpu_memory("starts", counts),
                                                 tamis_gpu_memory("new_keys", to[0]),
                                                 tamis_gpu_memory("new_order", to[1])));
}

tamis_status tamis_gpu_sort(tamis_gpu_device *device, void *stream, int64_t count, uint64_t limit, void **keys,
                            void **order, void *kept) {
    tamis_status status = TAMIS_OK;
    void *pairs[2][2] = {{*keys, *order}, {NULL, NULL}}, *counts = NULL, *scratch = NULL;
    const int64_t groups = (count + SCAN_TILE - 1) / SCAN_TILE;
    int now = 0;
    if (count <= 1) return TAMIS_OK;
    TRY_GOTO(done, tamis_gpu_allocate(device, stream, (size_t)count * 8, "sorted keys", &pairs[1][0]));
    TRY_GOTO(done, tamis_gpu_allocate(device, kept, (size_t)count * 8, "a sorted order", &pairs[1][1]));
    TRY_GOTO(done, tamis_gpu_allocate(device, stream, (size_t)groups * 16 * 8, "counts of a sort", &counts));
    TRY_GOTO(done, tamis_gpu_allocate(device, stream, tamis_gpu_scan_scratch(16 * groups), "sums of a sort", &scratch));
    for (int shift = 0; shift < 64 && (shift == 0 || (limit - 1) >> shift); shift += 4, now = 1 - now)
        TRY_GOTO(done, sort_pass(device, stream, count, shift, pairs[now], pairs[1 - now], counts, scratch));
done:
    tamis_gpu_release(device, stream, counts);
    tamis_gpu_release(device, stream, scratch);
    if (status != TAMIS_OK) now = 0; /* the caller keeps what it had */
    *keys = pairs[now][0];
    *order = pairs[now][1];
    if (pairs[1 - now][0] != *keys) tamis_gpu_release(device, stream, pairs[1 - now][0]);
    if (pairs[1 - now][1] != *order) tamis_gpu_release(device, kept, pairs[1 - now][1]);
    return status;
}
