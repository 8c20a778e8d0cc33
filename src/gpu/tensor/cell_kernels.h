/*
 * Shared by the kernels of cells: the records that cell_entries.cu writes, and how groups share cells.
 */
typedef struct cell_record {
    int64 entries, list; /* begin of its entries and of its columns; 16 bits with masks: their number, for entries */
    int64 panel, next_panel;    /* its panel, and the next cell's */
    int32 begins[8 + 1];        /* of the entries of each 16 rows, relative to `entries`; and the end */
    int32 last;                 /* the last of its columns */
    int32 first_cell, end_cell; /* of the panel */
} cell_record;

/* A thread's data about a cell, loaded ahead of its copies: the addresses of columns and rows depend on it. */
typedef struct next_record {
    int64 panel, list, entries;
    int32 last, count; /* last column; number of entries */
    int32 start;       /* the first of contiguous columns; -1: gathered */
} next_record;

FUNCTION void load_record(next_record &record, const int64 *records, int64 c) {
    const cell_record *const at = (const cell_record *)records + c;
    record.panel = at->panel;
    record.list = at->list;
    record.entries = at->entries;
    record.last = at->last;
    record.count = at->begins[8];
}

/* The same for a mix of aligned and gathered cells. */
FUNCTION void load_mixed_record(next_record &record, const int64 *records, const int32 *together, int64 c) {
    record.start = together[c];
    load_record(record, records, c);
}

/* The first cell of group g: each group has `each` cells, the first `more` groups one more. */
FUNCTION int first_cell(int g, int each, int more) { return g * each + min(g, more); }

/* The group that has cell c. */
FUNCTION int group_of_cell(int c, int each, int more) {
    const int larger = more * (each + 1);
    return c < larger ? c / (each + 1) : more + (c - larger) / each;
}

/* First cell of a group. Panels of at most `each` cells are not shared: they belong to the group that has most of the
   panel. */
FUNCTION int begin_of(const cell_record *cells, int group, int each, int more) {
    const int at = first_cell(group, each, more);
    if (at == 0 || at == first_cell((int)GROUPS_X, each, more)) return at;
    const int first = cells[at].first_cell, end = cells[at].end_cell;
    return end - first > each ? at : at - first < end - at ? first : end;
}

/* A panel whose cells several groups have: groups `first` to `last`. */
typedef struct panel_parts {
    int64 panel;
    int first, last;
} panel_parts;

/* The panel that crosses the boundary between `group` and the next; first = -1 if none does, or if it began before
   `group`. */
FUNCTION panel_parts find_parts(const cell_record *cells, int group, int each, int more) {
    const int before = first_cell(group, each, more), at = first_cell(group + 1, each, more);
    const int begin = cells[at].first_cell, end = cells[at].end_cell;
    panel_parts parts = {cells[at].panel, begin >= before && begin < at ? group : -1,
                         group_of_cell(end - 1, each, more)};
    return parts;
}

/* The next number for all lanes of a warp to recompute together: the first lane with a bit in `again`, and its lowest
   bit. lane = -1: none. */
typedef struct asked {
    int lane, number;
} asked;

FUNCTION asked next_asked(uint64 again) {
    const uint32 asking = __ballot_sync(0xffffffffu, again != 0);
    asked of = {-1, 0};
    if (!asking) return of;
    of.lane = __ffs((int)asking) - 1;
    of.number = __shfl_sync(0xffffffffu, __ffsll((long long)again) - 1, of.lane);
    return of;
}

FUNCTION float sum_of_warp(float x) {
#pragma unroll
    for (int other = 16; other > 0; other /= 2) x += __shfl_xor_sync(0xffffffffu, x, other);
    return x;
}

/* Sums a number of each of two rows over the four lanes that share them; all four get the sums. */
FUNCTION void sum_of_four(float *x) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        for (int other = 1; other < 4; other *= 2) x[i] += __shfl_xor_sync(0xffffffffu, x[i], other);
}

/* Writes two adjacent results, at an address aligned to both. */
FUNCTION void write_pair(output *at, float x, float y) {
#if OUTPUT == 32
    *(float2 *)at = make_float2(x, y);
#else
    *(uint32 *)at = (uint32)output_of(x) | (uint32)output_of(y) << 16;
#endif
}

FUNCTION uint32 halves_of(float x, float y) { /* x in the lower half */
    uint32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    return both;
}

#define LOG2_E     1.44269504f
#define LOG2_E_LOW 1.92596303e-8f /* LOG2_E minus its fp32 value */
FUNCTION float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Online softmax: replaces `most` by the larger of `most` and `other`, and returns the factors that rescale the sums
   relative to each. */
FUNCTION void take_larger(float &most, float other, float &before, float &factor) {
    const float largest = fmaxf(most, other), against = SHIFT(largest);
    before = power_of_two(most - against);
    factor = power_of_two(other - against);
    most = largest;
}

/* Programmatic dependent launch: an `early` launch begins while the previous one ends. This waits until the previous
   launch has ended and its writes are visible. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900 /* no launch is */
FUNCTION void wait_for_last_launch(void) {}
FUNCTION void let_next_launch_begin(void) {}
#else
FUNCTION void wait_for_last_launch(void) { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/* Lets an `early` next launch begin once all groups have come here. */
FUNCTION void let_next_launch_begin(void) { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#endif

/* Orders this thread's earlier writes before its later ones for the whole device. */
FUNCTION void fence_of_device(void) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/* Times K: products below this may show the bits that fp16 has lost, in rows with small numbers (negative scales). */
#define DOUBT (ELEMENT == 32 ? 8.0f : 0x1p14f)

/* The operand `bytes` further. */
FUNCTION uint64 operand_after(uint64 first, int bytes) {
    return (first & 0xffffffff00000000u) | (uint32)((uint32)first + (bytes >> 4));
}

/* Called by a warp that has stored its part of a shared panel. Returns 1 if it is the last one, after `others`; then it
   sees all parts. */
FUNCTION int arrives_last(int32 *arrived, int others, int lane) {
    int last = 0;
    fence_of_device();
    __syncwarp();
    if (lane == 0) last = atomic_add_int(arrived, 1) == others;
    last = __shfl_sync(0xffffffffu, last, 0);
    if (last) fence_of_device();
    return last;
}
