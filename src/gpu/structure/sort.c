/* Prefix sums and sorting in device memory, by the kernels of sort.simt. */
#include "gpu/structure/sort.h"

#include "base/sizes.h"
#include "base/status.h"
#include "gpu/compile/utility.h"
#include "sparse/index.h"

static const char *const sort_file = "sort.simt";
enum { SCAN_TILE = TAMIS_GPU_GROUP * 8, SCAN_LEVELS = 6 };
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, SORT_CHUNK = TAMIS_GPU_GROUP * 16 }; /* as in sort.simt */
enum { KEY_BITS = 32, PASSES_OF_KEYS = KEY_BITS / DIGIT_BITS, ALIGNMENT = 256 };

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

static tamis_status scan_stretches(tamis_gpu_device *device, void *stream, tamis_place values, int64_t count,
                                   int64_t length, tamis_place totals) {
    return tamis_gpu_utility(device, stream, sort_file, "scan_stretches", kinds_of(TAMIS_I32, TAMIS_I32),
                             (count + length - 1) / length,
                             TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", count), tamis_gpu_integer("length", length),
                                                 tamis_gpu_place("x", values), tamis_gpu_place("totals", totals)));
}

tamis_status tamis_gpu_scan(tamis_gpu_device *device, void *stream, tamis_place values, int64_t count,
                            tamis_place scratch) {
    const tamis_gpu_kinds kinds = kinds_of(TAMIS_I32, TAMIS_I32);
    tamis_place level[SCAN_LEVELS + 1] = {values};
    int64_t size[SCAN_LEVELS + 1] = {count};
    int levels = 0;
    if (count <= 0) return TAMIS_OK;
    for (; levels < SCAN_LEVELS; levels++) { /* up: sums of tiles, of tiles of tiles, ... */
        const int64_t tiles = (size[levels] + SCAN_TILE - 1) / SCAN_TILE;
        level[levels + 1] = scratch;
        size[levels + 1] = tiles;
        scratch.bytes += tiles * (int64_t)sizeof(int64_t);
        TRY(scan_stretches(device, stream, level[levels], size[levels], SCAN_TILE, level[levels + 1]));
        if (tiles == 1) break;
    }
    for (int i = levels - 1; i >= 0; i--) { /* and down */
        TRY(tamis_gpu_utility(device, stream, sort_file, "scan_add", kinds, size[i + 1],
                              TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("count", size[i]), tamis_gpu_place("x", level[i]),
                                                  tamis_gpu_place("before", level[i + 1]))));
    }
    return TAMIS_OK;
}

/* Launch data of a sort. Its items are divided into chunks, which do not cross the boundaries of segments. */
typedef struct sorting {
    tamis_gpu_device *device;
    void *stream;
    const tamis_gpu_sorting *what;
    int64_t segments, groups;
    int passes;
    void *memory; /* one allocation for all that follows; keys[p % 2]: keys of pass p */
    tamis_place keys[2], order, counts, sums, chunks;
} sorting;

/* `own`: up to seven arguments, terminated. */
static tamis_status launch(const sorting *s, const char *kernel, tamis_place order, const tamis_gpu_named *own) {
    const tamis_gpu_sorting *const x = s->what;
    tamis_gpu_named all[16] = {
        tamis_gpu_integer("count", x->count),    tamis_gpu_integer("segments", s->segments),
        tamis_gpu_integer("rows", x->rows),      tamis_gpu_integer("height", x->height),
        tamis_gpu_memory("offsets", x->offsets), tamis_gpu_place("chunks", s->chunks),
        tamis_gpu_place("order", order),         tamis_gpu_integer("ordered", order.base != NULL)};
    for (int i = 0; own[i].name; i++) all[8 + i] = own[i];
    return tamis_gpu_utility(s->device, s->stream, sort_file, kernel, kinds_of(x->index_type, x->order_type), s->groups,
                             all);
}

/* Runs a radix pass. The first pass looks up keys, and so does each pass after the 32 bits that are stored of them. The
   last pass stores no keys, unless asked to. */
static tamis_status sort_pass(const sorting *s, int pass, tamis_place from, tamis_place to) {
    const tamis_gpu_sorting *const x = s->what;
    const bool last = pass == s->passes - 1, looked_up = pass % PASSES_OF_KEYS == 0;
    const tamis_place new_keys = last ? place_of(x->sorted_keys) : s->keys[(pass + 1) % 2];
    const bool keep = new_keys.base && (last || (pass + 1) % PASSES_OF_KEYS != 0);
    TRY(launch(s, "sort_count", from,
               TAMIS_GPU_ARGUMENTS(tamis_gpu_memory("of", x->of), tamis_gpu_integer("by", x->by),
                                   tamis_gpu_integer("first_bit", looked_up ? pass / PASSES_OF_KEYS * KEY_BITS : -1),
                                   tamis_gpu_integer("shift", pass % PASSES_OF_KEYS * DIGIT_BITS),
                                   tamis_gpu_place("keys", s->keys[pass % 2]), tamis_gpu_place("counts", s->counts))));
    if (s->segments)
        TRY(tamis_gpu_scan(s->device, s->stream, s->counts, DIGITS * s->groups, s->sums));
    else
        TRY(scan_stretches(s->device, s->stream, s->counts, DIGITS * s->groups, s->groups, s->sums));
    return launch(s, "sort_move", from,
                  TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("shift", pass % PASSES_OF_KEYS * DIGIT_BITS),
                                      tamis_gpu_place("keys", s->keys[pass % 2]), tamis_gpu_place("starts", s->counts),
                                      tamis_gpu_place("totals", s->sums), tamis_gpu_integer("keep", keep),
                                      tamis_gpu_place("new_keys", new_keys), tamis_gpu_place("new_order", to)));
}

/* Reserves a place after the first *bytes. */
static tamis_place behind(int64_t *bytes, int64_t more) {
    const tamis_place place = {NULL, *bytes};
    *bytes += (more + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return place;
}

/* Allocates all memory except the result, in one piece. */
static tamis_status allocate(sorting *s, bool needs_order) {
    const tamis_gpu_sorting *const x = s->what;
    tamis_place *const places[] = {&s->keys[0], &s->keys[1], &s->order, &s->counts, &s->sums, &s->chunks};
    int64_t bytes = 0;
    s->keys[0] = behind(&bytes, x->count * (KEY_BITS / 8));
    s->keys[1] = behind(&bytes, s->passes > 1 ? x->count * (KEY_BITS / 8) : 0);
    s->order = behind(&bytes, needs_order ? x->count * (int64_t)tamis_index_size(x->order_type) : 0);
    s->counts = behind(&bytes, DIGITS * s->groups * 8);
    s->sums = behind(&bytes, s->segments ? (int64_t)tamis_gpu_scan_scratch(DIGITS * s->groups) : DIGITS * 8);
    s->chunks = behind(&bytes, s->segments ? (s->segments + 1) * 8 : 0);
    TRY(tamis_gpu_allocate(s->device, s->stream, (size_t)bytes, "a sort", &s->memory));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) places[i]->base = s->memory;
    return TAMIS_OK;
}

/* Computes where the chunks of each segment begin. There are at most `groups` chunks; the exact number stays on the
   device. */
static tamis_status cut(const sorting *s) {
    const tamis_gpu_sorting *const x = s->what;
    if (s->segments == 0) return TAMIS_OK;
    TRY(tamis_gpu_utility(
        s->device, s->stream, sort_file, "sort_chunks", kinds_of(x->index_type, x->order_type),
        tamis_gpu_groups(s->segments + 1),
        TAMIS_GPU_ARGUMENTS(tamis_gpu_integer("segments", s->segments), tamis_gpu_integer("rows", x->rows),
                            tamis_gpu_integer("height", x->height), tamis_gpu_memory("offsets", x->offsets),
                            tamis_gpu_place("chunks", s->chunks))));
    return tamis_gpu_scan(s->device, s->stream, s->chunks, s->segments + 1, s->sums);
}

/* Passes alternate between the result and another order: the one given, or a temporary one. */
tamis_status tamis_gpu_sort(tamis_gpu_device *device, void *stream, const tamis_gpu_sorting *what, void **order,
                            void *kept) {
    tamis_status status = TAMIS_OK;
    sorting s = {.device = device, .stream = stream, .what = what, .passes = 1};
    tamis_place from = place_of(*order), to[2];
    void *made = NULL;
    if (what->count <= 0) return TAMIS_OK;
    s.segments = what->offsets ? (what->rows + what->height - 1) / what->height : 0;
    s.groups = (what->count + SORT_CHUNK - 1) / SORT_CHUNK + s.segments;
    while (s.passes < 8 && (uint64_t)(what->limit - 1) >> (s.passes * DIGIT_BITS)) s.passes++;
    const bool stays = *order && s.passes % 2 == 0; /* the result is where the given order was */
    TRY(allocate(&s, *order ? stays : s.passes > 1));
    if (!stays)
        TRY_GOTO(done, tamis_gpu_allocate(device, kept, tamis_bytes(what->count, tamis_index_size(what->order_type)),
                                          "a sorted order", &made));
    to[0] = place_of(stays ? *order : made);
    to[1] = *order && !stays ? from : s.order;
    TRY_GOTO(done, cut(&s));
    for (int pass = 0; pass < s.passes; pass++) {
        const tamis_place next = to[(s.passes - 1 - pass) % 2];
        TRY_GOTO(done, sort_pass(&s, pass, from, next));
        from = next;
    }
    if (!stays) {
        tamis_gpu_release(device, kept, *order);
        *order = made;
        made = NULL;
    }
done:
    tamis_gpu_release(device, kept, made);
    tamis_gpu_release(device, stream, s.memory);
    return status;
}
