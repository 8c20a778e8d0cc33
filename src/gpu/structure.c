/* Checking, ordering, profiling and sorting in device memory, by the kernels of structure.simt and sort.simt. */
#include "gpu/structure.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "gpu/call.h"
#include "gpu/order.h"
#include "gpu/utility.h"
#include "sparse/index.h"
#include "sparse/locality.h"
#include "sparse/structure.h"

static const char *const structure_file = "structure.simt", *const sort_file = "sort.simt";
enum { SCAN_TILE = TAMIS_GPU_GROUP * 8, PROFILE_GROUPS = 512, FACTS = 6, SCAN_LEVELS = 6 };

static tamis_gpu_kinds kinds_of(tamis_index_type index, tamis_index_type offset) {
    return (tamis_gpu_kinds){TAMIS_F32, index, offset};
}

static tamis_place place_of(const void *memory) { return (tamis_place){(void *)(uintptr_t)memory, 0}; }

/* ------------------------------------------------------------------------------------------ checking */

/* Asks a kernel a question of yes or no. */
typedef struct question {
    tamis_gpu_device *device;
    void *stream, *flag;
} question;

static tamis_status open_question(tamis_gpu_device *device, void *stream, question *q) {
    *q = (question){.device = device, .stream = stream};
    TRY(tamis_gpu_allocate(device, stream, sizeof(int32_t), "a flag", &q->flag));
    return device->runtime->fill(device, stream, place_of(q->flag), 0, sizeof(int32_t));
}

static tamis_status ask(const question *q, const char *kernel, tamis_gpu_kinds kinds, int64_t items,
                        tamis_gpu_call *call) {
    tamis_gpu_add_memory(call, q->flag);
    return tamis_gpu_utility(q->device, q->stream, structure_file, kernel, kinds, tamis_gpu_groups(items), call);
}

static tamis_status answer(const question *q, bool *yes) {
    int32_t flag = 0;
    TRY(q->device->runtime->read(q->device, q->stream, &flag, place_of(q->flag), sizeof flag));
    *yes = flag != 0;
    return TAMIS_OK;
}

static tamis_status ask_indices(const question *q, tamis_index_type type, const void *indices, int64_t count,
                                int64_t size) {
    tamis_gpu_call call = {.count = 0};
    if (count == 0) return TAMIS_OK;
    tamis_gpu_add_int64(&call, count);
    tamis_gpu_add_int64(&call, size);
    tamis_gpu_add_memory(&call, indices);
    return ask(q, "check_indices", kinds_of(type, TAMIS_I32), count, &call);
}

/* Something is wrong: the host's check of a copy says what, in the same words for every device. */
static tamis_status say_what(tamis_gpu_device *device, void *stream, const tamis_sparse *S) {
    tamis_status status = TAMIS_OK;
    void *offsets = NULL, *rows = NULL, *columns = NULL;
    tamis_sparse copy = *S;
    const bool csr = S->format == TAMIS_CSR;
    const int64_t index_bytes = (int64_t)tamis_index_size(S->index_type) * S->nnz;
    const int64_t offset_bytes = csr ? (int64_t)tamis_index_size(S->offset_type) * (S->rows + 1) : 0;
    TRY_GOTO(done, tamis_allocate(offset_bytes, 1, "a copy of the offsets", &offsets));
    TRY_GOTO(done, tamis_allocate(csr ? 0 : index_bytes, 1, "a copy of the row indices", &rows));
    TRY_GOTO(done, tamis_allocate(index_bytes, 1, "a copy of the columns", &columns));
    TRY_GOTO(done, device->runtime->read(device, stream, offsets, place_of(S->offsets), (size_t)offset_bytes));
    if (!csr)
        TRY_GOTO(done, device->runtime->read(device, stream, rows, place_of(S->row_indices), (size_t)index_bytes));
    TRY_GOTO(done, device->runtime->read(device, stream, columns, place_of(S->columns), (size_t)index_bytes));
    copy.offsets = offsets;
    copy.row_indices = rows;
    copy.columns = columns;
    copy.location = TAMIS_HOST;
    copy.values = NULL;
    status = tamis_validate_threads(&copy, 0);
    if (status == TAMIS_OK)
        status = tamis_fail(TAMIS_ERROR_INTERNAL, "%s found a broken pattern, the host did not", device->limits.name);
done:
    tamis_release(offsets);
    tamis_release(rows);
    tamis_release(columns);
    return status;
}

static tamis_status validate_from_0(tamis_gpu_device *device, void *stream, const tamis_sparse *S) {
    tamis_status status = TAMIS_OK;
    question q = {.flag = NULL};
    bool wrong = false;
    TRY_GOTO(done, open_question(device, stream, &q));
    if (S->format == TAMIS_CSR) {
        tamis_gpu_call call = {.count = 0};
        tamis_gpu_add_int64(&call, S->rows);
        tamis_gpu_add_int64(&call, S->nnz);
        tamis_gpu_add_memory(&call, S->offsets);
        TRY_GOTO(done, ask(&q, "check_offsets", kinds_of(TAMIS_I32, S->offset_type), S->rows + 1, &call));
    } else {
        TRY_GOTO(done, ask_indices(&q, S->index_type, S->row_indices, S->nnz, S->rows));
    }
    TRY_GOTO(done, ask_indices(&q, S->index_type, S->columns, S->nnz, S->cols));
    TRY_GOTO(done, answer(&q, &wrong));
    if (wrong) TRY_GOTO(done, say_what(device, stream, S));
done:
    tamis_gpu_release(device, stream, q.flag);
    return status;
}

tamis_status tamis_gpu_validate(tamis_gpu_device *device, void *stream, const tamis_sparse *S) {
    tamis_gpu_rebased rebased;
    TRY(tamis_gpu_rebase(device, stream, stream, S, &rebased));
    const tamis_status status = validate_from_0(device, stream, &rebased.view);
    tamis_gpu_rebased_release(device, stream, &rebased);
    return status;
}

tamis_status tamis_gpu_rows_rise(const tamis_problem *p, const tamis_sparse *S, bool *rise) {
    tamis_status status = TAMIS_OK;
    question q = {.flag = NULL};
    tamis_gpu_call call = {.count = 0};
    bool falls = false;
    tamis_gpu_add_int64(&call, S->nnz);
    tamis_gpu_add_memory(&call, S->row_indices);
    TRY_GOTO(done, open_question(p->device, p->stream, &q));
    TRY_GOTO(done, ask(&q, "check_rising", kinds_of(S->index_type, TAMIS_I32), S->nnz, &call));
    TRY_GOTO(done, answer(&q, &falls));
    *rise = !falls;
done:
    tamis_gpu_release(p->device, p->stream, q.flag);
    return status;
}

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
        tamis_gpu_call call = {.count = 0};
        level[levels + 1] = scratch;
        size[levels + 1] = tiles;
        scratch.bytes += tiles * (int64_t)sizeof(int64_t);
        tamis_gpu_add_int64(&call, size[levels]);
        tamis_gpu_add_place(&call, level[levels]);
        tamis_gpu_add_place(&call, level[levels + 1]);
        TRY(tamis_gpu_utility(device, stream, sort_file, "scan_tiles", kinds, tiles, &call));
        if (tiles == 1) break;
    }
    for (int i = levels - 1; i >= 0; i--) { /* and back down */
        tamis_gpu_call call = {.count = 0};
        tamis_gpu_add_int64(&call, size[i]);
        tamis_gpu_add_place(&call, level[i]);
        tamis_gpu_add_place(&call, level[i + 1]);
        TRY(tamis_gpu_utility(device, stream, sort_file, "scan_add", kinds, size[i + 1], &call));
    }
    return TAMIS_OK;
}

static tamis_status sort_pass(tamis_gpu_device *device, void *stream, int64_t count, int shift, void *const from[2],
                              void *const to[2], void *counts, void *scratch) {
    const tamis_gpu_kinds kinds = kinds_of(TAMIS_I32, TAMIS_I32);
    const int64_t groups = (count + SCAN_TILE - 1) / SCAN_TILE;
    tamis_gpu_call counting = {.count = 0}, moving = {.count = 0};
    tamis_gpu_add_int64(&counting, count);
    tamis_gpu_add_memory(&counting, from[0]);
    tamis_gpu_add_int32(&counting, shift);
    tamis_gpu_add_memory(&counting, counts);
    TRY(tamis_gpu_utility(device, stream, sort_file, "sort_count", kinds, groups, &counting));
    TRY(tamis_gpu_scan(device, stream, counts, 16 * groups, place_of(scratch)));
    tamis_gpu_add_int64(&moving, count);
    tamis_gpu_add_memory(&moving, from[0]);
    tamis_gpu_add_memory(&moving, from[1]);
    tamis_gpu_add_int32(&moving, shift);
    tamis_gpu_add_memory(&moving, counts);
    tamis_gpu_add_memory(&moving, to[0]);
    tamis_gpu_add_memory(&moving, to[1]);
    return tamis_gpu_utility(device, stream, sort_file, "sort_move", kinds, groups, &moving);
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

/* ------------------------------------------------------------------------------------------ profile */

static tamis_status read_facts(tamis_gpu_device *device, const tamis_problem *p, int64_t *facts, int64_t groups) {
    tamis_status status = TAMIS_OK;
    tamis_gpu_call call = {.count = 0};
    void *memory = NULL;
    const size_t bytes = (size_t)groups * FACTS * sizeof(int64_t);
    TRY_GOTO(done, tamis_gpu_allocate(device, p->stream, bytes, "a profile", &memory));
    tamis_gpu_add_int64(&call, p->rows);
    tamis_gpu_add_memory(&call, p->offsets);
    tamis_gpu_add_memory(&call, p->columns);
    tamis_gpu_add_memory(&call, memory);
    TRY_GOTO(done, tamis_gpu_utility(device, p->stream, structure_file, "profile_rows",
                                     kinds_of(p->index_type, p->offset_type), groups, &call));
    TRY_GOTO(done, device->runtime->read(device, p->stream, facts, place_of(memory), bytes));
done:
    tamis_gpu_release(device, p->stream, memory);
    return status;
}

/* Distinct columns in windows of consecutive nonzeros, of which a few are copied to the host. */
static tamis_status sample_columns(tamis_gpu_device *device, tamis_problem *p) {
    int64_t window[TAMIS_LOCALITY_MOST], seen = 0, fresh = 0, begin, end;
    const size_t size = tamis_index_size(p->index_type);
    p->fresh_share = 1;
    for (int w = 0; tamis_fresh_window(p->nnz, TAMIS_LOCALITY_MOST, w, &begin, &end); w++) {
        const tamis_place from = {(void *)(uintptr_t)p->columns, begin * (int64_t)size};
        TRY(device->runtime->read(device, p->stream, window, from, (size_t)(end - begin) * size));
        seen += end - begin;
        fresh += tamis_fresh_count(window, p->index_type, end - begin);
    }
    if (seen) p->fresh_share = (double)fresh / (double)seen;
    return TAMIS_OK;
}

/* ------------------------------------------------------------------------------------------ panels */

enum { PANELS = 6, PANEL_MOST = 1 << 18 /* nonzeros of a panel that are looked at */ };

/* Distinct columns of one panel, counted in a bitmap; a panel of more nonzeros than are worth a look is taken to use
   every column that it could. */
static tamis_status count_panel(tamis_gpu_device *device, const tamis_problem *p, int64_t row, int64_t height,
                                uint64_t *seen, void *columns, int64_t *count, int64_t *distinct) {
    int64_t bounds[2] = {0, 0};
    const size_t offset_size = tamis_index_size(p->offset_type), size = tamis_index_size(p->index_type);
    for (int i = 0; i < 2; i++) {
        unsigned char word[8];
        const int64_t at = i ? (row + height < p->rows ? row + height : p->rows) : row;
        const tamis_place from = {(void *)(uintptr_t)p->offsets, at * (int64_t)offset_size};
        TRY(device->runtime->read(device, p->stream, word, from, offset_size));
        bounds[i] = tamis_index_load(word, p->offset_type, 0);
    }
    *count = bounds[1] - bounds[0];
    *distinct = *count < p->cols ? *count : p->cols;
    if (*count == 0 || *count > PANEL_MOST) return TAMIS_OK;
    const tamis_place from = {(void *)(uintptr_t)p->columns, bounds[0] * (int64_t)size};
    TRY(device->runtime->read(device, p->stream, columns, from, (size_t)*count * size));
    memset(seen, 0, (size_t)(p->cols / 64 + 1) * 8);
    *distinct = 0;
    for (int64_t t = 0; t < *count; t++) {
        const int64_t column = tamis_index_load(columns, p->index_type, t);
        const uint64_t bit = (uint64_t)1 << (column % 64);
        *distinct += !(seen[column / 64] & bit);
        seen[column / 64] |= bit;
    }
    return TAMIS_OK;
}

/* How far rows near each other share columns, from some panels spread over the matrix. */
static tamis_status sample_panels(tamis_gpu_device *device, tamis_problem *p) {
    tamis_status status = TAMIS_OK;
    void *columns = NULL, *seen = NULL;
    int64_t total[2] = {0, 0}, distinct[2] = {0, 0};
    TRY_GOTO(done, tamis_allocate(PANEL_MOST, tamis_index_size(p->index_type), "columns of a panel", &columns));
    TRY_GOTO(done, tamis_allocate(p->cols / 64 + 1, 8, "a panel's bitmap", &seen));
    for (int i = 0; i < PANELS; i++)
        for (int wide = 0; wide < 2; wide++) {
            const int64_t height = wide ? 256 : 128;
            const int64_t row = (p->rows > height ? p->rows - height : 0) / PANELS * i;
            int64_t nonzeros = 0, columns_used = 0;
            TRY_GOTO(done, count_panel(device, p, row, height, seen, columns, &nonzeros, &columns_used));
            total[wide] += nonzeros;
            distinct[wide] += columns_used;
        }
    for (int wide = 0; wide < 2; wide++)
        p->panel_fresh[wide] = total[wide] > 0 ? (double)distinct[wide] / (double)total[wide] : 1;
done:
    tamis_release(columns);
    tamis_release(seen);
    return status;
}

/* Whether columns rise within every row. */
static tamis_status look_at_order(tamis_gpu_device *device, const tamis_problem *p, bool *sorted) {
    tamis_status status = TAMIS_OK;
    question q = {.flag = NULL};
    tamis_gpu_call call = {.count = 0};
    bool falls = false;
    tamis_gpu_add_int64(&call, p->rows);
    tamis_gpu_add_memory(&call, p->offsets);
    tamis_gpu_add_memory(&call, p->columns);
    TRY_GOTO(done, open_question(device, p->stream, &q));
    TRY_GOTO(done, ask(&q, "check_sorted", kinds_of(p->index_type, p->offset_type), p->rows * 32, &call));
    TRY_GOTO(done, answer(&q, &falls));
    *sorted = !falls;
done:
    tamis_gpu_release(device, p->stream, q.flag);
    return status;
}

tamis_status tamis_gpu_look(tamis_gpu_device *device, tamis_problem *p, tamis_profile *profile) {
    int64_t facts[PROFILE_GROUPS * FACTS], spans = 0, filled;
    double squares = 0;
    int64_t groups = tamis_gpu_groups(p->rows);
    if (groups > PROFILE_GROUPS) groups = PROFILE_GROUPS;
    *profile = (tamis_profile){.rows = p->rows, .cols = p->cols, .nnz = p->nnz, .duplicates = -1};
    p->fresh_share = p->panel_fresh[0] = p->panel_fresh[1] = 1;
    profile->sorted = true;
    if (p->rows == 0) return TAMIS_OK;
    TRY(read_facts(device, p, facts, groups));
    profile->min = INT64_MAX;
    for (int64_t g = 0; g < groups; g++) {
        const int64_t *const f = facts + g * FACTS;
        if (f[0] > profile->max) profile->max = f[0];
        if (f[1] < profile->min) profile->min = f[1];
        profile->empty_rows += f[2];
        if (f[3] > profile->bandwidth) profile->bandwidth = f[3];
        spans += f[4];
        squares += (double)f[5];
    }
    profile->mean = (double)p->nnz / (double)p->rows;
    const double variance = squares / (double)p->rows - profile->mean * profile->mean;
    profile->variation = profile->mean > 0 && variance > 0 ? sqrt(variance) / profile->mean : 0;
    filled = p->rows - profile->empty_rows;
    profile->mean_span = filled ? (double)spans / (double)filled : 0;
    if (p->cols > 0) profile->density = profile->mean / (double)p->cols;
    if (p->nnz == 0) return TAMIS_OK;
    TRY(look_at_order(device, p, &profile->sorted));
    TRY(sample_columns(device, p));
    return p->once ? TAMIS_OK : sample_panels(device, p); /* only plans prepare panels */
}
