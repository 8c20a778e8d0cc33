#include "gpu/structure/profile_host.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "sparse/index.h"
#include "sparse/mask_runs.h"

enum { LONGEST, SHORTEST, EMPTY, BANDWIDTH, SPANS, SQUARES, FALLS, WRONG, REPEATS, ALIKE };
enum { FACTS = TAMIS_GPU_PROFILE_FACTS, WINDOWS = TAMIS_GPU_PROFILE_WINDOWS, SLOTS = TAMIS_GPU_PROFILE_SLOTS };
enum { PANELS = TAMIS_GPU_PROFILE_PANELS, PANEL_SLOTS = TAMIS_GPU_PROFILE_PANEL_SLOTS };

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

static int64_t offset(const tamis_problem *p, int64_t i) { return tamis_index_load(p->offsets, p->offset_type, i); }
static int64_t column(const tamis_problem *p, int64_t t) { return tamis_index_load(p->columns, p->index_type, t); }

/* The distance of any two numbers without overflow: an invalid column may be anything. */
static int64_t distance(int64_t x, int64_t y) {
    return x > y ? (int64_t)((uint64_t)x - (uint64_t)y) : (int64_t)((uint64_t)y - (uint64_t)x);
}

/* `mixed` of dialect/simt.h. */
static uint32_t mixed(uint64_t x) {
    uint32_t y = (uint32_t)(x ^ (x >> 32));
    y = (y ^ (y >> 16)) * 0x7feb352du;
    y = (y ^ (y >> 15)) * 0x846ca68bu;
    return y ^ (y >> 16);
}

/* ------------------------------------------------------------------------------------------ rows */

static void profile_row(const tamis_problem *p, int64_t row, int64_t begin, int64_t end, int64_t *facts) {
    const int64_t first = column(p, begin), last = column(p, end - 1), length = end - begin;
    facts[LONGEST] = most(facts[LONGEST], length);
    facts[SHORTEST] = least(facts[SHORTEST], length);
    facts[SQUARES] += length * length;
    facts[BANDWIDTH] = most(facts[BANDWIDTH], most(distance(first, row), distance(last, row)));
    facts[SPANS] = (int64_t)((uint64_t)facts[SPANS] + (uint64_t)distance(last, first) + 1);
    if (begin > 0 && first < column(p, begin - 1)) facts[FALLS]--;
    if (begin > 0 && first == column(p, begin - 1)) facts[REPEATS]--;
}

static void profile_rows(const tamis_problem *p, int64_t *facts) {
    const int64_t rows = p->rows, nnz = p->nnz;
    facts[SHORTEST] = (int64_t)1 << 62;
    for (int64_t i = 0; i <= rows; i++) {
        const int64_t begin = offset(p, i), end = i < rows ? offset(p, i + 1) : nnz;
        if (begin < 0 || end < begin || end > nnz || (i == 0 && begin != 0) || (i == rows && begin != end)) {
            facts[WRONG] = 1;
        } else if (i < rows && begin == end) {
            facts[SHORTEST] = 0;
            facts[EMPTY]++;
        } else if (i < rows) {
            profile_row(p, i, begin, end, facts);
        }
    }
}

/* alike_nonzeros of profile.simt for a row. */
static int64_t alike_nonzeros(const tamis_problem *p, int64_t before, int64_t begin, int64_t end) {
    const int64_t length = end - begin;
    int64_t alike = length;
    if (length <= 0 || begin - before != length || column(p, before) != column(p, begin)) return 0;
    for (int64_t t = begin + 1; t < end; t++)
        if (column(p, t) != column(p, t - length) && column(p, t - 1) == column(p, t - length - 1)) alike -= length;
    return alike;
}

static void compare_rows(const tamis_problem *p, int64_t *facts) {
    for (int64_t i = 1; i < p->rows && p->rows <= TAMIS_GPU_PROFILE_ALIKE_ROWS; i++) {
        const int64_t before = offset(p, i - 1), end = offset(p, i + 1);
        if (before >= 0 && end <= p->nnz) facts[ALIKE] += alike_nonzeros(p, before, offset(p, i), end);
    }
}

/* Compiled for each index type, since most of the time is spent here. */
TAMIS_INLINE void profile_entries(const tamis_problem *p, tamis_index_type type, int64_t *facts) {
    int64_t before = -1, falls = 0, repeats = 0, wrong = 0;
    for (int64_t t = 0; t < p->nnz; t++) {
        const int64_t here = tamis_index_load(p->columns, type, t);
        wrong |= here < 0 || here >= p->cols;
        falls += here < before;
        repeats += here == before;
        before = here;
    }
    facts[WRONG] |= wrong;
    facts[FALLS] += falls;
    facts[REPEATS] += repeats;
}

/* ------------------------------------------------------------------------------------------ columns */

/* Counts the table slots that a window's columns hit; stored in place of the spans. */
static void profile_windows(const tamis_problem *p, int64_t *facts) {
    int64_t begin, end;
    for (int w = 0; tamis_fresh_window(p->nnz, TAMIS_LOCALITY_MOST, w, &begin, &end); w++) {
        unsigned char slots[SLOTS] = {0};
        int64_t hit = 0;
        for (int64_t t = begin; t < end; t++) {
            unsigned char *const slot = &slots[mixed((uint64_t)column(p, t)) % SLOTS];
            hit += !*slot;
            *slot = 1;
        }
        facts[w * FACTS + SPANS] = hit;
    }
}

static int64_t panel_hits(const tamis_problem *p, int64_t begin, int64_t end) {
    uint32_t bits[PANEL_SLOTS / 32];
    const bool exact = p->cols <= PANEL_SLOTS;
    const int64_t words = exact ? (p->cols + 31) / 32 : PANEL_SLOTS / 32;
    int64_t hit = 0;
    if (begin < 0 || end < begin || end > p->nnz) return 0;
    const int64_t apart = tamis_gpu_profile_apart(end - begin);
    memset(bits, 0, sizeof bits);
    for (int64_t i = 0; i < (end - begin) / apart; i++) {
        const uint64_t x = (uint64_t)column(p, begin + i * apart + mixed((uint64_t)i) % apart);
        const uint32_t slot = (exact ? (uint32_t)x : mixed(x)) % PANEL_SLOTS;
        bits[slot / 32] |= 1u << slot % 32;
    }
    for (int64_t i = 0; i < words; i++) hit += __builtin_popcount(bits[i]);
    return hit;
}

static void find_panels(const tamis_problem *p, int64_t *ends) {
    for (int i = 0; i < 2 * PANELS; i++) {
        const int64_t height = i % 2 ? 256 : 128, about = (p->rows > height ? p->rows - height : 0) / PANELS * (i / 2);
        const int64_t row = about - about % height;
        ends[2 * i] = offset(p, row);
        ends[2 * i + 1] = offset(p, least(row + height, p->rows));
    }
}

void tamis_gpu_profile_host(const tamis_problem *copy, bool panels, int64_t *facts) {
    int64_t *const ends = facts + (1 + WINDOWS) * FACTS, *const hits = ends + 4 * PANELS;
    memset(facts, 0, TAMIS_GPU_PROFILE_NUMBERS * sizeof *facts);
    profile_rows(copy, facts);
    if (copy->index_type == TAMIS_I32)
        profile_entries(copy, TAMIS_I32, facts);
    else
        profile_entries(copy, TAMIS_I64, facts);
    compare_rows(copy, facts);
    profile_windows(copy, facts + FACTS);
    find_panels(copy, ends);
    for (int i = 0; panels && i < 2 * PANELS; i++) hits[i] = panel_hits(copy, ends[2 * i], ends[2 * i + 1]);
}

/* ------------------------------------------------------------------------------------------ masks without a list */

static tamis_runs runs_of(const tamis_problem *p, int64_t row) { return tamis_mask_runs(p->mask, p->mask_turned, row); }

/* starts[i]: nonzeros before row i. */
static void profile_runs(const tamis_problem *p, int64_t *starts, int64_t *facts) {
    tamis_runs before = {{0, 0}, {0, 0}};
    facts[SHORTEST] = (int64_t)1 << 62;
    starts[0] = 0;
    for (int64_t i = 0; i < p->rows; i++) {
        const tamis_runs runs = runs_of(p, i);
        const int64_t length = tamis_runs_length(&runs);
        const bool in_first = runs.ends[0] > runs.begins[0], in_second = runs.ends[1] > runs.begins[1];
        const int64_t begin = in_first ? runs.begins[0] : runs.begins[1], end = in_second ? runs.ends[1] : runs.ends[0];
        starts[i + 1] = starts[i] + length;
        facts[LONGEST] = most(facts[LONGEST], length);
        facts[SHORTEST] = least(facts[SHORTEST], length);
        facts[SQUARES] += length * length;
        facts[EMPTY] += length == 0;
        if (length > 0) {
            facts[BANDWIDTH] = most(facts[BANDWIDTH], most(distance(begin, i), distance(end - 1, i)));
            facts[SPANS] += end - begin;
            if (p->rows <= TAMIS_GPU_PROFILE_ALIKE_ROWS && memcmp(&runs, &before, sizeof runs) == 0)
                facts[ALIKE] += length;
        }
        before = runs;
    }
}

static int64_t row_at(const int64_t *starts, int64_t rows, int64_t t) {
    int64_t low = 0, high = rows;
    while (low + 1 < high) {
        const int64_t middle = (low + high) / 2;
        if (starts[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void profile_windows_of_runs(const tamis_problem *p, const int64_t *starts, int64_t *facts) {
    int64_t begin, end;
    for (int w = 0; tamis_fresh_window(p->nnz, TAMIS_LOCALITY_MOST, w, &begin, &end); w++) {
        unsigned char slots[SLOTS] = {0};
        int64_t hit = 0;
        for (int64_t t = begin, i = row_at(starts, p->rows, begin); t < end; i++) {
            const tamis_runs runs = runs_of(p, i);
            const int64_t first = most(runs.ends[0] - runs.begins[0], 0);
            for (; t < end && t < starts[i + 1]; t++) {
                const int64_t k = t - starts[i], at = k < first ? runs.begins[0] + k : runs.begins[1] + k - first;
                unsigned char *const slot = &slots[mixed((uint64_t)at) % SLOTS];
                hit += !*slot;
                *slot = 1;
            }
        }
        facts[w * FACTS + SPANS] = hit;
    }
}

typedef struct run {
    int64_t begin, end;
} run;

static int by_begin(const void *x, const void *y) {
    const run *const a = x, *const b = y;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Number of columns of the rows first .. end - 1, at most 256. */
static int64_t columns_of_panel(const tamis_problem *p, int64_t first, int64_t end) {
    run all[2 * 256];
    int count = 0;
    int64_t columns = 0, up_to = 0;
    for (int64_t i = first; i < end; i++) {
        const tamis_runs runs = runs_of(p, i);
        for (int k = 0; k < 2; k++)
            if (runs.ends[k] > runs.begins[k]) all[count++] = (run){runs.begins[k], runs.ends[k]};
    }
    qsort(all, (size_t)count, sizeof *all, by_begin);
    for (int i = 0; i < count; i++) {
        columns += most(all[i].end - most(all[i].begin, up_to), 0);
        up_to = most(up_to, all[i].end);
    }
    return columns;
}

/* The same panels as find_panels. */
static void compare_panels_of_runs(const tamis_problem *p, const int64_t *starts, double *fresh) {
    double total[2] = {0, 0}, distinct[2] = {0, 0};
    for (int i = 0; i < 2 * PANELS; i++) {
        const int64_t height = i % 2 ? 256 : 128, about = (p->rows > height ? p->rows - height : 0) / PANELS * (i / 2);
        const int64_t row = about - about % height, end = least(row + height, p->rows);
        total[i % 2] += (double)(starts[end] - starts[row]);
        distinct[i % 2] += (double)columns_of_panel(p, row, end);
    }
    for (int wide = 0; wide < 2; wide++) fresh[wide] = total[wide] > 0 ? distinct[wide] / total[wide] : 1;
}

tamis_status tamis_gpu_profile_runs(const tamis_problem *copy, int64_t *facts, double *fresh, int64_t *nnz) {
    int64_t *starts = NULL;
    memset(facts, 0, TAMIS_GPU_PROFILE_NUMBERS * sizeof *facts);
    TRY(tamis_allocate(copy->rows + 1, sizeof *starts, "the offsets of a mask", (void **)&starts));
    profile_runs(copy, starts, facts);
    *nnz = starts[copy->rows];
    if (*nnz == copy->nnz) {
        profile_windows_of_runs(copy, starts, facts + FACTS);
        compare_panels_of_runs(copy, starts, fresh);
    }
    tamis_release(starts);
    return TAMIS_OK;
}
