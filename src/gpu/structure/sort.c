/* Prefix sums and sorting in device memory, by the kernels of sort.simt. */
#include "gpu/structure/sort.h"

#include "base/status.h"
#include "gpu/compile/utility.h"
#include "sparse/index.h"

static const char *const sort_file = "sort.simt";
enum { SCAN_TILE = TAMIS_GPU_GROUP * 8, SCAN_LEVELS = 6 };
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, SORT_CHUNK = TAMIS_GPU_GROUP * 16 }; /* as in sort.simt */

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

/* How a sort is launched: its items in chunks, none across the bounds of segments. */
typedef struct sorting {
    tamis_gpu_device *device;
    void *stream;
    const tamis_gpu_sorting *what;
    int64_t segments, groups;
    void *chunks, *digits, *counts, *scratch;
} sorting;

/* `own`: up to five arguments, ended. */
static tamis_status launch(const sorting *s, const char *kernel, const void *order, const tamis_gpu_named *own) {
    const tamis_gpu_sorting *const x = s->what;
    tamis_gpu_named all[16] = {tamis_gpu_integer("count", x->count),       tamis_gpu_integer("segments", s->segments),
                               tamis_gpu_integer("rows", x->rows),         tamis_gpu_integer("height", x->height),
                               tamis_gpu_memory("offsets", x->offsets),    tamis_gpu_memory("chunks", s->chunks),
                               tamis_gpu_memory("digits", s->digits),      tamis_gpu_memory("order", order),
                               tamis_gpu_integer("ordered", order != NULL)};
    for (int i = 0; own[i].name; i++) all[9 + i] = own[i];
    return tamis_gpu_utility(s->device, s->stream, sort_file, kernel, kinds_of(x->index_type, x->order_type), s->groups,
                             all);
}

static tamis_status sort_pass(const sorting *s, int shift, const void *from, void *to) {
    const tamis_gpu_sorting *const x = s->what;
    TRY(launch(s, "sort_count", from,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("of", x->of), tamis_gpu_integer("by", x->by),
                                   tamis_gpu_integer("shift", shift), tamis_gpu_memory("counts", s->counts))));
    TRY(tamis_gpu_scan(s->device, s->stream, s->counts, DIGITS * s->groups, place_of(s->scratch)));
    return launch(s, "sort_move", from,
                  TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("starts", s->counts), tamis_gpu_memory("new_order", to)));
}

/* Where the chunks of each segment begin. There are at most `groups` chunks: how many does not come to the host. */
static tamis_status cut(sorting *s) {
    const tamis_gpu_sorting *const x = s->what;
    const int64_t chunks = (x->count + SORT_CHUNK - 1) / SORT_CHUNK;
    s->segments = x->offsets ? (x->rows + x->height - 1) / x->height : 0;
    s->groups = chunks + s->segments;
    TRY(tamis_gpu_allocate(s->device, s->stream, (size_t)x->count * 2, "digits of a sort", &s->digits));
    TRY(tamis_gpu_allocate(s->device, s->stream, (size_t)(DIGITS * s->groups) * 8, "counts of a sort", &s->counts));
    TRY(tamis_gpu_allocate(s->device, s->stream, tamis_gpu_scan_scratch(DIGITS * s->groups), "sums of a sort",
                           &s->scratch));
    if (s->segments == 0) return TAMIS_OK;
    TRY(tamis_gpu_allocate(s->device, s->stream, (size_t)(s->segments + 1) * 8, "chunks of a sort", &s->chunks));
    TRY(tamis_gpu_utility(
        s->device, s->stream, sort_file, "sort_chunks", kinds_of(x->index_type, x->order_type),
        tamis_gpu_groups(s->segments + 1),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("segments", s->segments), tamis_gpu_integer("rows", x->rows),
                            tamis_gpu_integer("height", x->height), tamis_gpu_memory("offsets", x->offsets),
                            tamis_gpu_memory("chunks", s->chunks))));
    return tamis_gpu_scan(s->device, s->stream, s->chunks, s->segments + 1, place_of(s->scratch));
}

tamis_status tamis_gpu_sort(tamis_gpu_device *device, void *stream, const tamis_gpu_sorting *what, void **order,
                            void *kept) {
    tamis_status status = TAMIS_OK;
    sorting s = {.device = device, .stream = stream, .what = what};
    void *orders[2] = {*order, NULL};
    const size_t bytes = (size_t)what->count * tamis_index_size(what->order_type);
    int now = 0;
    if (what->count <= 0) return TAMIS_OK;
    TRY_GOTO(done, cut(&s));
    for (int shift = 0; shift < 64 && (shift == 0 || (uint64_t)(what->limit - 1) >> shift); shift += DIGIT_BITS) {
        if (!orders[1 - now])
            TRY_GOTO(done, tamis_gpu_allocate(device, kept, bytes, "a sorted order", &orders[1 - now]));
        TRY_GOTO(done, sort_pass(&s, shift, orders[now], orders[1 - now]));
        now = 1 - now;
    }
done:
    tamis_gpu_release(device, stream, s.chunks);
    tamis_gpu_release(device, stream, s.digits);
    tamis_gpu_release(device, stream, s.counts);
    tamis_gpu_release(device, stream, s.scratch);
    tamis_gpu_release(device, kept, orders[1 - now]);
    *order = orders[now];
    return status;
}
