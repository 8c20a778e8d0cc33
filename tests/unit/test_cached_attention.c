/*
 * Attention to caches against plain loops in double: every type, several orders of dimensions, pages, windows, query
 * heads that share keys, lengths of 0 and of several parts; lengths and pages out of range; the same bits; what is
 * refused. What lies behind a length is NaN, and results are poisoned.
 */
#include "message_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tamis/cached_attention.h>

#include "drawn_device.h"
#include "sparse/index.h"
#include "support/refusals.h"
#include "support/works.h"

enum { SEQUENCES = 3, PAGE = 16 };

typedef enum order { POSITIONS_FIRST, HEADS_FIRST, PAGES, ORDERS } order;

/* Heads of queries and of keys, K and L: one lane and many, shared by none and by up to nine, with rests, and wide. */
static const int64_t shapes[][4] = {{1, 1, 1, 1},    {4, 4, 16, 16}, {8, 2, 64, 64},  {4, 1, 128, 128},
                                    {8, 1, 128, 96}, {9, 1, 37, 20}, {10, 2, 80, 80}, {2, 1, 256, 256},
                                    {3, 3, 24, 130}, {8, 1, 64, 8}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Room for how many positions, and how many there are. */
static const int64_t fills[][1 + SEQUENCES] = {{70, 0, 1, 70}, {33, 33, 17, 32}, {1500, 1499, 1025, 130}};
enum { FILLS = sizeof fills / sizeof *fills };

/* A call with its arrays on the host. */
typedef struct call {
    tamis_cached_attention_options o;
    order of;
    matrix q, k, v, out, log_sums;
    int64_t length[SEQUENCES];
    int64_t *pages; /* of all sequences */
    twin lengths, table;
} call;

/* ------------------------------------------------------------------------------------------ caches */

static int64_t pages_each(const call *c) { return (c->o.capacity + PAGE - 1) / PAGE; }

/* The row and the first column of a vector of keys, or of values. */
static int64_t row_of(const call *c, int64_t sequence, int64_t head, int64_t position) {
    if (c->of == POSITIONS_FIRST) return sequence * c->o.capacity + position;
    if (c->of == HEADS_FIRST) return (sequence * c->o.key_heads + head) * c->o.capacity + position;
    return c->pages[sequence * pages_each(c) + position / PAGE] * PAGE + position % PAGE;
}

static int64_t column_of(const call *c, int64_t head, int64_t width) { return c->of == HEADS_FIRST ? 0 : head * width; }

static tamis_vectors vectors_of(const call *c, const matrix *x, int64_t width) {
    const int64_t stride = x->here.stride;
    const int64_t positions = c->of == PAGES         ? PAGE
                              : c->of == HEADS_FIRST ? c->o.key_heads * c->o.capacity
                                                     : c->o.capacity;
    return (tamis_vectors){.data = x->there.data,
                           .sequence_stride = positions * stride,
                           .position_stride = stride,
                           .head_stride = c->of == HEADS_FIRST ? c->o.capacity * stride : width};
}

/* Numbers as one of the index types, on the device. */
static twin numbers_of(const int64_t *from, int64_t count, tamis_index_type type) {
    twin made = twin_make((size_t)count * tamis_index_size(type), 0);
    for (int64_t i = 0; i < count; i++) tamis_index_store(made.host, type, i, from[i]);
    twin_send(&made, device);
    return made;
}

/* Pages in no order: 7 has no factor in common with their number, which is no multiple of it. */
static void deal_pages(call *c) {
    const int64_t count = SEQUENCES * pages_each(c);
    c->o.pages = count % 7 ? count : count + 1;
    c->pages = malloc((size_t)(count + 1) * sizeof *c->pages);
    assert_non_null(c->pages);
    for (int64_t i = 0; i < count; i++) c->pages[i] = i * 7 % c->o.pages;
}

static void forget_behind(const call *c, matrix *x, int64_t width) {
    for (int64_t s = 0; s < SEQUENCES; s++)
        for (int64_t h = 0; h < c->o.key_heads; h++)
            for (int64_t p = c->length[s]; p < c->o.capacity; p++)
                for (int64_t i = 0; i < width; i++)
                    matrix_set(x, row_of(c, s, h, p), column_of(c, h, width) + i, (double)NAN);
}

static matrix cache_of(const call *c, int64_t width, int seed) {
    const int64_t heads = c->o.key_heads, rows = c->of == PAGES ? c->o.pages * PAGE : SEQUENCES * c->o.capacity;
    matrix x = c->of == HEADS_FIRST ? matrix_make(rows * heads, width, c->o.type, seed, 0)
                                    : matrix_make(rows, heads * width, c->o.type, seed, 0);
    forget_behind(c, &x, width);
    return x;
}

static call call_make(const int64_t shape[4], const int64_t fill[1 + SEQUENCES], order of, tamis_type type,
                      tamis_type output, int64_t window, tamis_index_type numbers_type) {
    call c = {.of = of,
              .o = {.type = type,
                    .output_type = output,
                    .sequences = SEQUENCES,
                    .heads = shape[0],
                    .key_heads = shape[1],
                    .inner = shape[2],
                    .width = shape[3],
                    .scale = 1 / sqrt((double)shape[2]) / 2,
                    .capacity = fill[0],
                    .window = window,
                    .length_type = numbers_type,
                    .table_type = numbers_type == TAMIS_I64 ? TAMIS_I32 : TAMIS_I64}};
    memcpy(c.length, fill + 1, sizeof c.length);
    deal_pages(&c);
    c.o.page = PAGE;
    c.o.table_stride = pages_each(&c);
    c.q = matrix_make(SEQUENCES, c.o.heads * c.o.inner, type, 1, 0);
    c.k = cache_of(&c, c.o.inner, 2);
    c.v = cache_of(&c, c.o.width, 3);
    c.out = matrix_poisoned(SEQUENCES, c.o.heads * c.o.width, output);
    c.log_sums = matrix_room(type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32, SEQUENCES * c.o.heads, 1,
                             (matrix_place){.front = 1, .behind = 1}); /* packed */
    c.lengths = numbers_of(c.length, SEQUENCES, c.o.length_type);
    c.table = numbers_of(c.pages, SEQUENCES * pages_each(&c), c.o.table_type);
    return c;
}

static void call_free(call *c) {
    matrix *const all[] = {&c->q, &c->k, &c->v, &c->out, &c->log_sums};
    for (int i = 0; i < 5; i++) matrix_free(all[i]);
    free(c->pages);
    twin_free(&c->lengths);
    twin_free(&c->table);
}

/* ------------------------------------------------------------------------------------------ running */

static void run(call *c, bool sums) {
    matrix *const all[] = {&c->q, &c->k, &c->v, &c->out, &c->log_sums};
    for (int i = 0; i < 5; i++) matrix_send(device, all[i]);
    tamis_cached_attention_options o = c->o;
    o.lengths = twin_there(&c->lengths);
    o.table = c->of == PAGES ? twin_there(&c->table) : NULL;
    const tamis_vectors k = vectors_of(c, &c->k, o.inner), v = vectors_of(c, &c->v, o.width);
    const tamis_vectors q = {.data = c->q.there.data, .sequence_stride = c->q.here.stride, .head_stride = o.inner};
    const tamis_vectors out = {
        .data = c->out.there.data, .sequence_stride = c->out.here.stride, .head_stride = o.width};
    works(tamis_cached_attention(device, &o, &q, &k, &v, &out, sums ? c->log_sums.there.data : NULL, NULL));
    for (int i = 3; i < 5; i++) matrix_fetch(all[i]);
}

/* ------------------------------------------------------------------------------------------ the oracle */

static double score_of(const call *c, int64_t s, int64_t h, int64_t p) {
    const int64_t key_head = h / (c->o.heads / c->o.key_heads), row = row_of(c, s, key_head, p);
    double sum = 0;
    for (int64_t i = 0; i < c->o.inner; i++)
        sum +=
            matrix_get(&c->q, s, h * c->o.inner + i) * matrix_get(&c->k, row, column_of(c, key_head, c->o.inner) + i);
    return c->o.scale * sum;
}

/* One head of a sequence; returns the logarithm of the sum. */
static double expect(const call *c, int64_t s, int64_t h, double *out) {
    const int64_t key_head = h / (c->o.heads / c->o.key_heads), end = c->length[s], window = c->o.window;
    const int64_t begin = window > 0 && window < end ? end - window : 0;
    double most = -(double)INFINITY, total = 0;
    for (int64_t p = begin; p < end; p++) most = fmax(most, score_of(c, s, h, p));
    for (int64_t p = begin; p < end; p++) {
        const double weight = exp(score_of(c, s, h, p) - most);
        total += weight;
        for (int64_t i = 0; i < c->o.width; i++)
            out[i] += weight * matrix_get(&c->v, row_of(c, s, key_head, p), column_of(c, key_head, c->o.width) + i);
    }
    for (int64_t i = 0; i < c->o.width && total > 0; i++) out[i] /= total;
    return most + log(total);
}

/* Scores have inner + 4 roundings, numbers are 7/4 at most; a weight has twice a score's error, and those of an
   exponential and of sums over all positions. */
static void compare(const call *c, bool sums) {
    const int64_t all = c->o.heads * c->o.width;
    const double u = c->o.type == TAMIS_F64 ? 0x1p-52 : 0x1p-24, largest = 1.75, positions = (double)c->o.capacity;
    const double inner = (double)c->o.inner, score = u * (inner + 4) * c->o.scale * inner * largest * largest;
    const double weight = 2 * score + u * (positions + 16), bound = largest * (weight + u * (positions + 4));
    double *const wanted = test_doubles(SEQUENCES * all);
    for (int64_t s = 0; s < SEQUENCES; s++)
        for (int64_t h = 0; h < c->o.heads; h++) {
            const double log_sum = expect(c, s, h, wanted + s * all + h * c->o.width);
            const double found = matrix_get(&c->log_sums, s * c->o.heads + h, 0);
            if (sums && isinf(log_sum)) assert_true(found == log_sum);
            if (sums && !isinf(log_sum)) assert_true(fabs(found - log_sum) <= score + weight + 4 * u * fabs(log_sum));
        }
    matrix_near(&c->out, wanted, bound);
    assert_int_equal(matrix_touched(&c->log_sums), -1);
    free(wanted);
}

static void try_call(const int64_t shape[4], const int64_t fill[1 + SEQUENCES], order of, tamis_type type, int turn) {
    const bool narrow = type == TAMIS_F16 || type == TAMIS_BF16, sums = turn % 2;
    matrices_aligned = turn / 2 % 2;
    call c = call_make(shape, fill, of, type, narrow && turn % 3 == 0 ? TAMIS_F32 : type,
                       turn % 4 == 3 ? fill[0] / 2 : 0, turn % 2 ? TAMIS_I64 : TAMIS_I32);
    run(&c, sums);
    compare(&c, sums);
    call_free(&c);
}

static void all_calls(void) {
    int turn = 0;
    for (int s = 0; s < SHAPES; s++)
        for (int fill = 0; fill < FILLS; fill++)
            for (int of = 0; of < ORDERS; of++)
                for (int type = 0; type < 4; type++, turn++)
                    if (is_drawn(s, of, type))
                        try_call(shapes[s], fills[fill], (order)of, (tamis_type)type, turn + turn / 4);
}

TEST(every_call) { on_each_instruction_set(all_calls); }

/* ------------------------------------------------------------------------------------------ what is promised */

/* Lengths below 0 and above the capacity, and pages that there are not, count as the nearest that there are. */
TEST(out_of_range) {
    const int64_t fill[] = {40, 0, 40, 40};
    call c = call_make(shapes[2], fill, PAGES, TAMIS_F32, TAMIS_F32, 0, TAMIS_I32);
    const int64_t lengths[] = {-7, 1000, 40}, pages = 3 * SEQUENCES, last = c.o.pages - 1;
    twin_free(&c.lengths);
    twin_free(&c.table);
    c.lengths = numbers_of(lengths, SEQUENCES, c.o.length_type);
    c.pages[3] = -5;
    c.pages[8] = 1 << 20;
    c.table = numbers_of(c.pages, pages, c.o.table_type);
    c.pages[3] = 0;
    c.pages[8] = last;
    matrix_free(&c.k);
    matrix_free(&c.v);
    c.k = matrix_make(c.o.pages * PAGE, c.o.key_heads * c.o.inner, TAMIS_F32, 2, 0); /* pages are shared */
    c.v = matrix_make(c.o.pages * PAGE, c.o.key_heads * c.o.width, TAMIS_F32, 3, 0);
    run(&c, true);
    compare(&c, true);
    call_free(&c);
}

/* The same bits each time, and with any number of threads. */
TEST(same_bits) {
    call first = call_make(shapes[2], fills[2], PAGES, TAMIS_F32, TAMIS_F32, 0, TAMIS_I32);
    run(&first, true);
    for (int threads = 1; threads < 4; threads++) {
        call again = call_make(shapes[2], fills[2], PAGES, TAMIS_F32, TAMIS_F32, 0, TAMIS_I32);
        works(tamis_device_set_threads(device, threads));
        run(&again, true);
        assert_memory_equal(first.out.twin.host, again.out.twin.host, first.out.twin.bytes);
        assert_memory_equal(first.log_sums.twin.host, again.log_sums.twin.host, first.log_sums.twin.bytes);
        call_free(&again);
    }
    works(tamis_device_set_threads(device, 0));
    call_free(&first);
}

/* A scale that is left at zero is the one that everybody uses. */
TEST(scale_by_default) {
    call given = call_make(shapes[2], fills[2], PAGES, TAMIS_F32, TAMIS_F32, 0, TAMIS_I32);
    call left = call_make(shapes[2], fills[2], PAGES, TAMIS_F32, TAMIS_F32, 0, TAMIS_I32);
    given.o.scale = 1 / sqrt((double)given.o.inner);
    left.o.scale = 0;
    run(&given, true);
    run(&left, true);
    assert_memory_equal(given.out.twin.host, left.out.twin.host, given.out.twin.bytes);
    assert_memory_equal(given.log_sums.twin.host, left.log_sums.twin.host, given.log_sums.twin.bytes);
    call_free(&given);
    call_free(&left);
}

/* ------------------------------------------------------------------------------------------ what is refused */

TEST(arguments) {
    twin given = numbers_of((int64_t[]){0}, 1, TAMIS_I64), numbers = numbers_of((int64_t[]){0}, 1, TAMIS_I64);
    void *const lengths = twin_there(&given), *const data = twin_there(&numbers);
    const tamis_cached_attention_options good = {
        .sequences = 1, .heads = 2, .key_heads = 1, .inner = 1, .width = 1, .capacity = 2, .lengths = lengths};
    const tamis_vectors x = {.data = data, .sequence_stride = 1, .head_stride = 1};
    tamis_cached_attention_options o = good;
#define CALL_WITH(o, x, out) tamis_cached_attention(device, o, x, x, x, out, NULL, NULL)
    SPOILT(o.type, (tamis_type)9, ARGUMENT, "options.type", CALL_WITH(&o, &x, &x));
    SPOILT(o.output_type, TAMIS_F64, ARGUMENT, "options.output_type", CALL_WITH(&o, &x, &x));
    SPOILT(o.sequences, -1, ARGUMENT, "options.sequences", CALL_WITH(&o, &x, &x));
    SPOILT(o.heads, 0, ARGUMENT, "options.heads", CALL_WITH(&o, &x, &x));
    SPOILT(o.key_heads, 3, ARGUMENT, "options.key_heads", CALL_WITH(&o, &x, &x));
    SPOILT(o.inner, 513, ARGUMENT, "options.inner", CALL_WITH(&o, &x, &x));
    SPOILT(o.width, 0, ARGUMENT, "options.width", CALL_WITH(&o, &x, &x));
    SPOILT(o.capacity, -1, ARGUMENT, "options.capacity", CALL_WITH(&o, &x, &x));
    SPOILT(o.scale, 0.0 / 0.0, ARGUMENT, "options.scale", CALL_WITH(&o, &x, &x));
    SPOILT(o.window, -1, ARGUMENT, "options.window", CALL_WITH(&o, &x, &x));
    SPOILT(o.lengths, NULL, ARGUMENT, "options.lengths", CALL_WITH(&o, &x, &x));
    SPOILT(o.length_type, (tamis_index_type)2, ARGUMENT, "options.length_type", CALL_WITH(&o, &x, &x));
    SPOILT(o.reserved[1], 1, UNSUPPORTED, "options.reserved", CALL_WITH(&o, &x, &x));
    o.table = lengths;
    o.page = o.pages = 1;
    SPOILT(o.page, 3, UNSUPPORTED, "options.page = 3", CALL_WITH(&o, &x, &x));
    o.sequences = 2;
    o.table_stride = 1;
    REFUSED(ARGUMENT, "options.table_stride", CALL_WITH(&o, &x, &x));
    SPOILT(o.pages, 0, ARGUMENT, "options.pages", CALL_WITH(&o, &x, &x));
    const tamis_vectors nowhere = {.data = NULL}, apart = {.data = data}, back = {.data = data, .head_stride = -1};
    REFUSED(ARGUMENT, "out.head_stride", CALL_WITH(&good, &x, &apart));
    REFUSED(ARGUMENT, "q.data", CALL_WITH(&good, &nowhere, &x));
    REFUSED(ARGUMENT, "q.head_stride", CALL_WITH(&good, &back, &x));
    REFUSED(ARGUMENT, "q = NULL", CALL_WITH(&good, NULL, &x));
    o = good;
    o.sequences = 0;
    works(tamis_cached_attention(device, &o, NULL, NULL, NULL, NULL, NULL, NULL));
    twin_free(&given);
    twin_free(&numbers);
}

TEST_RUN() {
    if (!device_is_drawn(argc, argv)) return 77;
    return test_run(NULL, NULL, set_up, tear_down);
}
