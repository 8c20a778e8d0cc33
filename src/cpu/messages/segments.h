/*
 * Segment reductions: a row's values are processed as vectors, whose lanes are heads (heads last) or entries of one
 * head (heads first, or a single head). Moves each value once from memory; for a softmax three times, if the caches do
 * not hold the row.
 */
#ifndef TAMIS_CPU_MESSAGES_SEGMENTS_H
#define TAMIS_CPU_MESSAGES_SEGMENTS_H

#include "cpu/kernels/softmax.h"
#include "cpu/messages/pass.h"

enum { ITEMS = 64 }; /* vectors of a row that are kept between the passes of a softmax */

/* A matrix of edge values or of rows; distances in bytes. */
typedef struct values {
    char *at;
    int64_t row, head;
    int packed; /* 1: a vector's lanes are contiguous */
} values;

typedef struct segments {
    const tamis_segment_job *job;
    values x, out, d_out;
    entry_order order;
    int wide_argument, across; /* across: lanes are entries */
    char *argument;
    int64_t size;
} segments;

/* A row, and the heads of a vector: one, if lanes are entries. */
typedef struct segment_row {
    int64_t row, begin, count, items;
    int64_t head;
    int heads; /* lanes, if lanes are heads */
} segment_row;

static values values_of(const segments *s, tamis_matrix x, int of_entries) {
    const int64_t between = s->across ? x.stride : x.batch_stride; /* stride between lanes */
    return (values){.at = pass_address(x.at),
                    .row = x.stride * s->size,
                    .head = x.batch_stride * s->size,
                    .packed = of_entries && between == 1 && !(s->across && s->order.entries)};
}

static segments segments_of(const tamis_segment_job *job) {
    const tamis_matrix *const edges = job->x.at.base ? &job->x : &job->out;
    const int softmax = job->op == TAMIS_SEGMENT_SOFTMAX;
    segments s = {.job = job,
                  .order = entry_order_of(&job->order),
                  .wide_argument = job->argument_type == TAMIS_I64,
                  .across = job->heads == 1 || edges->batch_stride != 1,
                  .argument = pass_address(job->argument),
                  .size = element_bytes(TYPE)};
    s.x = values_of(&s, job->x, 1);
    s.out = values_of(&s, job->out, job->back || softmax);
    s.d_out = values_of(&s, job->d_out, softmax);
    return s;
}

/* Valid lanes of item k of a row. */
INLINE int item_lanes(const segment_row *r, int64_t k, int across) {
    const int64_t left = across ? r->count - k * LANES : r->heads;
    return left < LANES ? (int)left : LANES;
}

/* The address of a lane of item k. */
INLINE char *item_at(const segments *s, const values *v, const segment_row *r, int64_t k, int lane, int across) {
    const int64_t t = r->begin + (across ? k * LANES + lane : k);
    return v->at + order_entry(&s->order, t) * v->row + (r->head + (across ? 0 : lane)) * v->head;
}

/* Loads item k, zero-padded. */
INLINE vector item_load(const segments *s, const values *v, const segment_row *r, int64_t k, int across) {
    const int lanes = item_lanes(r, k, across);
    if (v->packed) return pass_load(item_at(s, v, r, k, 0, across), lanes < LANES ? lanes : 0);
    vector x = vector_zero();
    for (int i = 0; i < lanes; i++) x[i] = element_load(item_at(s, v, r, k, i, across), TYPE);
    return x;
}

INLINE void item_store(const segments *s, const values *v, const segment_row *r, int64_t k, vector x, int across) {
    const int lanes = item_lanes(r, k, across);
    if (v->packed) {
        pass_store(item_at(s, v, r, k, 0, across), lanes < LANES ? lanes : 0, x);
        return;
    }
    for (int i = 0; i < lanes; i++) element_store(item_at(s, v, r, k, i, across), TYPE, x[i]);
}

/* Loads item k; if lanes are entries, padding is -infinity. */
INLINE vector item_score(const segments *s, const segment_row *r, int64_t k, int across) {
    const vector x = item_load(s, &s->x, r, k, across);
    const int lanes = item_lanes(r, k, across);
    return part_or(x, across && lanes < LANES ? lanes : 0, SOFTMAX_NONE);
}

/* Loads a row's numbers for the heads of a vector; broadcast, if lanes are entries. */
INLINE vector row_load(const segments *s, const values *v, const segment_row *r, int across) {
    const char *const at = v->at + r->row * v->row + r->head * v->head;
    if (across) return vector_of(element_load(at, TYPE));
    if (v->head == s->size) return pass_load(at, r->heads < LANES ? r->heads : 0);
    vector x = vector_zero();
    for (int i = 0; i < r->heads; i++) x[i] = element_load(at + i * v->head, TYPE);
    return x;
}

INLINE void row_store(const segments *s, const segment_row *r, vector x) {
    char *const at = s->out.at + r->row * s->out.row + r->head * s->out.head;
    for (int i = 0; i < r->heads; i++) element_store(at + i * s->out.head, TYPE, x[i]);
}

/* ------------------------------------------------------------------------------------------ softmax */

INLINE void segment_softmax(const segments *s, const segment_row *r, int across) {
    vector kept[ITEMS], most = vector_of(SOFTMAX_NONE), sum = vector_zero();
    const int keep = r->items <= ITEMS;
    for (int64_t k = 0; k < r->items; k++) {
        const vector x = item_score(s, r, k, across);
        if (keep) kept[k] = x;
        most = vector_max(x, most);
    }
    if (across) most = vector_of(vector_largest(most));
    most = softmax_shifts(most);
    for (int64_t k = 0; k < r->items; k++) {
        const vector p = vector_exp((keep ? kept[k] : item_score(s, r, k, across)) - most);
        if (keep) kept[k] = p;
        sum += p;
    }
    if (across) sum = vector_of(vector_sum(sum));
    sum = softmax_divisors(sum);
    for (int64_t k = 0; k < r->items; k++)
        item_store(s, &s->out, r, k, (keep ? kept[k] : vector_exp(item_score(s, r, k, across) - most)) / sum, across);
}

INLINE void segment_softmax_back(const segments *s, const segment_row *r, int across) {
    vector sum = vector_zero();
    for (int64_t k = 0; k < r->items; k++)
        sum += item_load(s, &s->x, r, k, across) * item_load(s, &s->d_out, r, k, across);
    if (across) sum = vector_of(vector_sum(sum));
    for (int64_t k = 0; k < r->items; k++)
        item_store(s, &s->out, r, k, item_load(s, &s->x, r, k, across) * (item_load(s, &s->d_out, r, k, across) - sum),
                   across);
}

/* ------------------------------------------------------------------------------------------ sums */

INLINE void segment_sum(const segments *s, const segment_row *r, int across) {
    const real divisor = s->job->op == TAMIS_SEGMENT_MEAN && r->count ? (real)r->count : 1;
    vector sum = vector_zero();
    for (int64_t k = 0; k < r->items; k++) sum += item_load(s, &s->x, r, k, across);
    if (across) sum = vector_of(vector_sum(sum));
    row_store(s, r, sum / divisor);
}

INLINE void segment_sum_back(const segments *s, const segment_row *r, int across) {
    const real divisor = s->job->op == TAMIS_SEGMENT_MEAN ? (real)r->count : 1;
    const vector x = row_load(s, &s->d_out, r, across) / divisor;
    for (int64_t k = 0; k < r->items; k++) item_store(s, &s->out, r, k, x, across);
}

/* ------------------------------------------------------------------------------------------ max and min */

INLINE char *segment_argument(const segments *s, const segment_row *r, int lane) {
    return s->argument + (r->row * s->job->heads + r->head + lane) * (s->wide_argument ? 8 : 4);
}

static void store_argument(const segments *s, const segment_row *r, int lane, int64_t place) {
    const int64_t entry = r->count ? order_entry(&s->order, r->begin + place) : -1;
    column_store(segment_argument(s, r, lane), 0, s->wide_argument, entry);
}

/* True if a value ranks before another: NaN first, then larger ones; of equal ones the first. */
INLINE int counts_before(real x, int64_t place, real other, int64_t other_place) {
    if ((x != x) != (other != other)) return x != x;
    return x > other || (!(x < other) && place < other_place);
}

INLINE void segment_largest(const segments *s, const segment_row *r, int across) {
    static const real_bits lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const real factor = s->job->op == TAMIS_SEGMENT_MIN ? -1 : 1;
    vector best = vector_zero();
    vector_bits place = {0}, lanes = {0};
    if (across) memcpy(&lanes, lane_numbers, sizeof lanes);
    for (int64_t k = 0; k < r->items; k++) {
        const int used = item_lanes(r, k, across);
        vector next = factor * item_load(s, &s->x, r, k, across);
        next = part_or(next, across && used < LANES ? used : 0, SOFTMAX_NONE);
        const vector_bits here = lanes + (real_bits)(across ? k * LANES : k);
        const vector_bits take = k ? pass_larger(next, best) : ~(vector_bits){0};
        best = vector_select(take, next, best);
        place = (here & take) | (place & ~take);
    }
    for (int i = 1; across && i < LANES && i < r->count; i++)
        if (counts_before(best[i], place[i], best[0], place[0])) {
            best[0] = best[i];
            place[0] = place[i];
        }
    row_store(s, r, factor * best);
    for (int i = 0; s->argument && i < r->heads; i++) store_argument(s, r, i, place[i]);
}

INLINE void segment_largest_back(const segments *s, const segment_row *r, int across) {
    const vector x = row_load(s, &s->d_out, r, across);
    for (int64_t k = 0; k < r->items; k++) {
        vector taken = vector_zero();
        for (int i = 0; i < item_lanes(r, k, across); i++) {
            const int64_t place = order_entry(&s->order, r->begin + (across ? k * LANES + i : k));
            if (column_at(segment_argument(s, r, across ? 0 : i), 0, s->wide_argument) == place) taken[i] = x[i];
        }
        item_store(s, &s->out, r, k, taken, across);
    }
}

/* ------------------------------------------------------------------------------------------ rows */

typedef void segment_function(const segments *s, const segment_row *r);

#define SEGMENT(name)                                                                                                  \
    static void name##_heads(const segments *s, const segment_row *r) { name(s, r, 0); }                               \
    static void name##_across(const segments *s, const segment_row *r) { name(s, r, 1); }
SEGMENT(segment_softmax)
SEGMENT(segment_softmax_back)
SEGMENT(segment_sum)
SEGMENT(segment_sum_back)
SEGMENT(segment_largest)
SEGMENT(segment_largest_back)

/* By operation, direction, and whether lanes are entries. */
static segment_function *const segment_functions[5][2][2] = {
    {{segment_softmax_heads, segment_softmax_across}, {segment_softmax_back_heads, segment_softmax_back_across}},
    {{segment_sum_heads, segment_sum_across}, {segment_sum_back_heads, segment_sum_back_across}},
    {{segment_sum_heads, segment_sum_across}, {segment_sum_back_heads, segment_sum_back_across}},
    {{segment_largest_heads, segment_largest_across}, {segment_largest_back_heads, segment_largest_back_across}},
    {{segment_largest_heads, segment_largest_across}, {segment_largest_back_heads, segment_largest_back_across}},
};

static void segment_pass(const void *context, int64_t begin, int64_t end, int64_t first, int64_t last) {
    const tamis_segment_job *const job = context;
    const segments s = segments_of(job);
    segment_function *const run = segment_functions[job->op][job->back][s.across];
    const int64_t step = s.across ? 1 : LANES;
    segment_row r = {.begin = order_offset(&s.order, begin)};
    for (r.row = begin; r.row < end; r.row++) {
        r.count = order_offset(&s.order, r.row + 1) - r.begin;
        r.items = s.across ? (r.count + LANES - 1) / LANES : r.count;
        for (r.head = first; r.head < last; r.head += step) {
            r.heads = last - r.head < step ? (int)(last - r.head) : (int)step;
            run(&s, &r);
        }
        r.begin += r.count;
    }
}

#endif
