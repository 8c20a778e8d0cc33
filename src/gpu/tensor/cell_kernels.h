/*
 * Shared by the kernels of cells: what cell_entries.cu writes for each cell, and how groups share
 * cells.
 */
typedef struct cell_record {
    int64 entries, list;        /* where its entries and its columns begin */
    int64 panel, next_panel;    /* its panel, and that of the next cell */
    int32 begins[8 + 1];        /* of the entries of 16 rows each, counted from `entries`; and the end */
    int32 last;                 /* of its columns */
    int32 first_cell, end_cell; /* of the panel */
} cell_record;

/* What a thread reads of a cell ahead of its copies: the cell's columns and rows depend on it. */
typedef struct next_record {
    int64 panel, list, entries;
    int32 last, count; /* of its columns, the last; of its entries */
    int32 start;       /* the first of neighbouring columns; -1: gathered */
} next_record;

FUNCTION void load_record(next_record &record, const int64 *records, int64 c) {
    const cell_record *const at = (const cell_record *)records + c;
    record.panel = at->panel;
    record.list = at->list;
    record.entries = at->entries;
    record.last = at->last;
    record.count = at->begins[8];
}

/* The same where cells of neighbouring columns and gathered ones are mixed. */
FUNCTION void load_mixed_record(next_record &record, const int64 *records, const int32 *together, int64 c) {
    record.start = together[c];
    load_record(record, records, c);
}

/* The first cell of group g: all have `each`, and the first few one more. */
FUNCTION int first_cell(int g, int each, int more) { return g * each + min(g, more); }

/* The group that has a cell. */
FUNCTION int group_of_cell(int c, int each, int more) {
    const int larger = more * (each + 1);
    return c < larger ? c / (each + 1) : more + (c - larger) / each;
}

/* Where the cells of a group begin. Panels of no more cells than a group has are not shared: they go to the group that
   has most of one. */
FUNCTION int begin_of(const cell_record *cells, int group, int each, int more) {
    const int at = first_cell(group, each, more);
    if (at == 0 || at == first_cell((int)GROUPS_X, each, more)) return at;
    const int first = cells[at].first_cell, end = cells[at].end_cell;
    return end - first > each ? at : at - first < end - at ? first : end;
}

/* A panel whose cells several groups have: group `first` the first of them, `last` the last. */
typedef struct panel_parts {
    int64 panel;
    int first, last;
} panel_parts;

/* That of the place where the cells of `group` end and those of the next begin; first = -1 where no panel goes over it,
   or one that began in a group before. */
FUNCTION panel_parts find_parts(const cell_record *cells, int group, int each, int more) {
    const int before = first_cell(group, each, more), at = first_cell(group + 1, each, more);
    const int begin = cells[at].first_cell, end = cells[at].end_cell;
    panel_parts parts = {cells[at].panel, begin >= before && begin < at ? group : -1,
                         group_of_cell(end - 1, each, more)};
    return parts;
}

/* The next number that all lanes of a warp compute again together: the first lane that has a bit in `again`, and
   its lowest. lane = -1: none has. */
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

/* Two neighbours of the result, at an address that is a multiple of both. */
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
#define LOG2_E_LOW 1.92596303e-8f /* what LOG2_E lacks */
FUNCTION float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Sums of exponentials relative to `most` and to `other` come to be relative to the larger one, which `most` becomes:
   what the former and the latter are then times. */
FUNCTION void take_larger(float &most, float other, float &before, float &factor) {
    const float largest = fmaxf(most, other), against = largest == -INFINITY ? 0 : largest;
    before = power_of_two(most - against);
    factor = power_of_two(other - against);
    most = largest;
}

/* A kernel whose launch is `early` begins while the launch before it ends. Here it waits until that has ended, and from
   here on it sees what that wrote. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900 /* no launch is */
FUNCTION void wait_for_last_launch(void) {}
FUNCTION void let_next_launch_begin(void) {}
#else
FUNCTION void wait_for_last_launch(void) { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/* The next launch may begin, if it is `early`, when all groups have come here. */
FUNCTION void let_next_launch_begin(void) { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
#endif

/* Other threads of the device see what this thread has written before what it writes next. */
FUNCTION void fence_of_device(void) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/* Times K: smaller products show what fp16 has not kept of rows with small numbers, whose scales are negative. */
#define DOUBT (ELEMENT == 32 ? 8.0f : 0x1p14f)

/* The operand of hopper.h so many bytes further. */
FUNCTION uint64 operand_after(uint64 first, int bytes) {
    return (first & 0xffffffff00000000u) | (uint32)((uint32)first + (bytes >> 4));
}

/* A warp has left its part of a panel that several groups share: whether it is the last of them, after `others`. If so,
   it sees the parts of all. */
FUNCTION int arrives_last(int32 *arrived, int others, int lane) {
    int last = 0;
    fence_of_device();
    __syncwarp();
    if (lane == 0) last = atomic_add_int(arrived, 1) == others;
    last = __shfl_sync(0xffffffffu, last, 0);
    if (last) fence_of_device();
    return last;
}
