/*
 * The rows of successive edges, and sums of edges' vectors by row. A warp has a contiguous range of the edges of a CSR
 * pattern. A row that begins before the range gives part 2 w of warp w, one that goes on after it part 2 w + 1;
 * network_join.cu adds them in order, and zeroes rows without edges.
 */
/* The stage of eight edges: pieces of odd edges are exchanged, which avoids conflicts of banks. */
#define STAGE_TURN (ELEMENT == 32 ? (WIDTH % 32 == 0 ? 16 : 0) : 4)

#if PLACE == 64
typedef int64 place; /* of a row or an edge */
#else
typedef int32 place; /* whatever the arrays hold: half the registers */
#endif
FUNCTION place place_min(place x, place y) { return x < y ? x : y; }

typedef struct edge_range {
    place begin, end; /* edges */
    place row;        /* of the last edge so far */
} edge_range;

FUNCTION place edge_row(const offset *offsets, place rows, place edge) { /* the last row that begins at or before it */
    place low = 0, high = rows - 1;
    while (low < high) {
        const place middle = (low + high + 1) / 2;
        if (offsets[middle] <= edge)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The range of warp `number` of edges first .. nnz - 1 */
FUNCTION edge_range range_of(const offset *offsets, place rows, place first, place nnz, place number, place edges) {
    edge_range r;
    r.begin = place_min(first + number * edges, nnz);
    r.end = place_min(r.begin + edges, nnz);
    r.row = -1;
    if (r.begin < r.end) r.row = edge_row(offsets, rows, r.begin);
    return r;
}

/* Returns the row of edge `at` + lane % 16, or of the last edge. All lanes call it, with the next edges each time, and
   with the end of row r->row + lane. */
FUNCTION place rows_of_edges(edge_range *r, const offset *offsets, place rows, place at, place end) {
    const int lane = LOCAL_ID % 32;
    const place edge = place_min(at + lane % 16, r->end - 1);
    const int ends = end < at + 16; /* before the last of these edges; none ends before the first */
    const uint32 which = ends ? 1u << (int)(end - at) : 0; /* the edge that begins another row */
    const uint32 begins = __reduce_or_sync(0xffffffffu, which);
    const int all = bits_set(__ballot_sync(0xffffffffu, ends));
    place row = r->row + bits_set(begins & (2u << (int)(edge - at)) - 1);
    if (bits_set(begins) != all || all == 32) row = edge_row(offsets, rows, edge); /* some rows have no edges */
    r->row = __shfl_sync(0xffffffffu, row, 15);
    return row;
}

/* The sum of the row at hand: a lane has columns 4 lane .. 4 lane + 3 of each 128. */
#define SUM_ROUNDS ((WIDTH + 127) / 128)
typedef struct row_sums {
    place row, number;
    place begin; /* its first edge in the range */
    bool cut;    /* it begins before the range */
    float of[4 * SUM_ROUNDS];
} row_sums;

FUNCTION int has_columns(int round) { return WIDTH % 128 == 0 || 128 * round + 4 * (LOCAL_ID % 32) < WIDTH; }

FUNCTION void store_sums(element *to, const float *of) {
    UNROLL
    for (int i = 0; i < SUM_ROUNDS; i++) {
        if (!has_columns(i)) continue;
        element *const at = to + 128 * i + 4 * (LOCAL_ID % 32);
        if (!WIDE_STORES) {
            UNROLL
            for (int k = 0; k < 4; k++) at[k] = element_of(of[4 * i + k]);
            continue;
        }
#if ELEMENT == 32
        *(float4 *)at = make_float4(of[4 * i], of[4 * i + 1], of[4 * i + 2], of[4 * i + 3]);
#else
        *(uint2 *)at = make_uint2(pack_pair(of + 4 * i), pack_pair(of + 4 * i + 2));
#endif
    }
}

FUNCTION row_sums sums_begin(const edge_range *r, const offset *offsets, place number) {
    row_sums sum;
    sum.number = number;
    sum.row = r->row;
    sum.begin = r->begin;
    sum.cut = r->row >= 0 && offsets[r->row] < r->begin;
    UNROLL
    for (int i = 0; i < 4 * SUM_ROUNDS; i++) sum.of[i] = 0;
    return sum;
}

/* Stores the sum of a row whose last edge in the range is before `end`, or its part there. */
FUNCTION void sums_store(row_sums *sum, place end, bool cut_after, element *out, int32 out_stride, real *parts) {
    if (!sum->cut && !cut_after) {
        const float factor = MEAN ? 1.f / (float)(end - sum->begin) : 1.f;
        UNROLL
        for (int i = 0; i < 4 * SUM_ROUNDS; i++) sum->of[i] *= factor;
        store_sums(out + (int64)sum->row * out_stride, sum->of);
    } else {
        float *const to = parts + (int64)(2 * sum->number + (sum->cut ? 0 : 1)) * WIDTH;
        UNROLL
        for (int i = 0; i < SUM_ROUNDS; i++)
            if (has_columns(i))
                *(float4 *)(to + 128 * i + 4 * (LOCAL_ID % 32)) =
                    make_float4(sum->of[4 * i], sum->of[4 * i + 1], sum->of[4 * i + 2], sum->of[4 * i + 3]);
    }
    UNROLL
    for (int i = 0; i < 4 * SUM_ROUNDS; i++) sum->of[i] = 0;
    sum->begin = end;
    sum->cut = false;
}

/* to += this lane's columns of edge k of eight in `stage` */
FUNCTION void add_staged(float *to, const float *stage, int k) {
    UNROLL
    for (int i = 0; i < SUM_ROUNDS; i++) {
        if (!has_columns(i)) continue;
        const int column = (128 * i + 4 * (LOCAL_ID % 32)) ^ (k % 2 ? STAGE_TURN : 0);
        const float4 x = *(const float4 *)(stage + k * WIDTH + column);
        to[4 * i] += x.x, to[4 * i + 1] += x.y, to[4 * i + 2] += x.z, to[4 * i + 3] += x.w;
    }
}

/* Adds edges at .. at + 7, whose vectors are in `stage`; lane first + k has the row of edge at + k. */
FUNCTION void sums_add(row_sums *sum, const edge_range *r, const float *stage, place mine, place at, int first,
                       element *out, int32 out_stride, real *parts) {
    const int lane = LOCAL_ID % 32, end = first + (int)place_min(8, r->end - at);
    const place other = __shfl_up_sync(0xffffffffu, mine, 1), before = lane == first ? sum->row : other;
    uint32 begins = __ballot_sync(0xffffffffu, lane >= first && lane < end && mine != before);
    int k = first;
    ONE_BY_ONE
    while (1) {
        const int next = begins ? __ffs((int)begins) - 1 : end;
        UNROLL_BY_4
        for (; k < next; k++) add_staged(sum->of, stage, k - first);
        if (!begins) return;
        begins &= begins - 1;
        const place row = __shfl_sync(0xffffffffu, mine, next);
        sums_store(sum, at - first + next, false, out, out_stride, parts);
        sum->row = row;
    }
}

FUNCTION void sums_end(row_sums *sum, const edge_range *r, const offset *offsets, element *out, int32 out_stride,
                       real *parts) {
    if (r->begin == r->end) return;
    sums_store(sum, r->end, offsets[sum->row + 1] > r->end, out, out_stride, parts);
}
