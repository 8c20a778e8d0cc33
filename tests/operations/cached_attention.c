/* Attention to caches against plain loops: several orders of dimensions, pages, windows, heads that share keys, lengths
   and pages out of range. NaN lies behind a length. */
#include "support/operation.h"

#include <tamis/cached_attention.h>

#include "sparse/index.h"

enum { Q, K, V, LENGTHS, TABLE, OUT, SUMS };
enum { POSITIONS_FIRST, HEADS_FIRST, PAGES, ORDERS, SEQUENCES = 3, PAGE = 16 };

typedef struct own {
    tamis_cached_attention_options o;
    tamis_vectors v[4];                                      /* q, k, v, out, without data */
    bool lost, crowded;                                      /* q has no data; results lie on one another */
    bool wild;                                               /* lengths and pages are out of range */
    int64_t order, length[SEQUENCES], page[SEQUENCES * 100]; /* as they count */
} own;

static int64_t pages_each(const own *x) { return (x->o.capacity + PAGE - 1) / PAGE; }

/* The row and the first column of a vector of keys, or of values. */
static int64_t row_of(const own *x, int64_t sequence, int64_t head, int64_t position) {
    if (x->order == POSITIONS_FIRST) return sequence * x->o.capacity + position;
    if (x->order == HEADS_FIRST) return (sequence * x->o.key_heads + head) * x->o.capacity + position;
    return x->page[sequence * pages_each(x) + position / PAGE] * PAGE + position % PAGE;
}
static int64_t column_of(const own *x, int64_t head, int64_t width) {
    return x->order == HEADS_FIRST ? 0 : head * width;
}

static void add_cache(operation_case *c, int k, const char *name, int64_t width) {
    own *const x = c->own;
    const int64_t rows = x->order == PAGES ? x->o.pages * PAGE : x->o.sequences * x->o.capacity;
    const bool apart = x->order == HEADS_FIRST;
    operand_add(c, k, OPERAND_IN, -1, name, apart ? rows * x->o.key_heads : rows,
                apart ? width : width * x->o.key_heads);
    const int64_t stride = c->of[k].m.here.stride, each = x->order == PAGES ? PAGE : x->o.capacity;
    x->v[k] = (tamis_vectors){.sequence_stride = (apart ? x->o.key_heads : 1) * each * stride,
                              .position_stride = stride,
                              .head_stride = apart ? x->o.capacity * stride : width};
}

static void draw(operation_case *c) {
    /* heads of queries and of keys, K and L; room for how many positions, and how many there are */
    static const int64_t shapes[][4] = {{1, 1, 1, 1},    {4, 4, 16, 16}, {8, 2, 64, 64},  {4, 1, 128, 128},
                                        {8, 1, 128, 96}, {9, 1, 37, 20}, {10, 2, 80, 80}, {2, 1, 256, 256},
                                        {3, 3, 24, 130}, {8, 1, 64, 8}};
    static const int64_t fills[][4] = {{70, 0, 1, 70}, {33, 33, 17, 32}, {1500, 1499, 1025, 130}};
    own *const x = c->own;
    const bool narrow = tamis_type_size(c->type) == 2;
    x->order = operation_pick(c, ORDERS);
    const int64_t *const shape = shapes[operation_pick(c, 10)], *const fill = fills[operation_pick(c, 3)];
    x->wild = operation_once_in(c, 4);
    x->o = (tamis_cached_attention_options){.type = c->type,
                                            .output_type = narrow && operation_once_in(c, 3) ? TAMIS_F32 : c->type,
                                            /* where heads can still crowd, one sequence, whose table has no stride */
                                            .sequences = shape[0] > 1 && operation_once_in(c, 5) ? 1 : SEQUENCES,
                                            .heads = shape[0],
                                            .key_heads = shape[1],
                                            .inner = shape[2],
                                            .width = shape[3],
                                            .scale = operation_once_in(c, 4) ? 0 : 1 / sqrt((double)shape[2]) / 2,
                                            .capacity = fill[0],
                                            .window = operation_once_in(c, 4) ? fill[0] / 2 : 0,
                                            .length_type = (tamis_index_type)operation_below(c, 2),
                                            .table_type = (tamis_index_type)operation_below(c, 2),
                                            .page = PAGE};
    x->o.table_stride = x->o.sequences > 1 ? pages_each(x) : 0;
    x->o.pages = x->o.sequences * pages_each(x) + (x->o.sequences * pages_each(x) % 7 == 0);
    for (int64_t s = 0; s < x->o.sequences; s++) x->length[s] = fill[1 + s];
    operation_says(c, "order %d, heads %lld of %lld, capacity %lld, window %lld%s", (int)x->order,
                   (long long)x->o.heads, (long long)x->o.key_heads, (long long)x->o.capacity, (long long)x->o.window,
                   x->wild ? ", out of range" : "");
    operand_add(c, Q, OPERAND_IN, -1, "q", x->o.sequences, x->o.heads * x->o.inner);
    add_cache(c, K, "k", x->o.inner);
    add_cache(c, V, "v", x->o.width);
    operand_indices(c, LENGTHS, OPERAND_IN, "lengths", x->o.sequences, x->o.length_type);
    if (x->order == PAGES)
        operand_indices(c, TABLE, OPERAND_IN, "table", x->o.sequences * pages_each(x), x->o.table_type)->optional =
            true;
    c->place = (matrix_place){.padding = 5, .front = 1, .behind = 9};
    operand_typed(c, OUT, OPERAND_OUT, -1, "out", x->o.sequences, x->o.heads * x->o.width, x->o.output_type);
    c->place = (matrix_place){.front = 1, .behind = 1};
    operand_typed(c, SUMS, OPERAND_OUT, -1, "log_sums", x->o.sequences * x->o.heads, 1,
                  c->type == TAMIS_F64 ? TAMIS_F64 : TAMIS_F32)
        ->optional = true;
    x->v[0] = (tamis_vectors){.sequence_stride = c->of[Q].m.here.stride, .head_stride = x->o.inner};
    x->v[3] = (tamis_vectors){.sequence_stride = c->of[OUT].m.here.stride, .head_stride = x->o.width};
}

static void forget_behind(const own *x, matrix *m, int64_t width) {
    for (int64_t s = 0; s < x->o.sequences; s++)
        for (int64_t h = 0; h < x->o.key_heads; h++)
            for (int64_t p = x->length[s]; p < x->o.capacity; p++)
                for (int64_t i = 0; i < width; i++)
                    matrix_set(m, row_of(x, s, h, p), column_of(x, h, width) + i, (double)NAN);
}

/* Pages in no order: 7 has no factor in common with their number. What is out of range counts as the nearest. */
static void fill(operation_case *c) {
    own *const x = c->own;
    for (int64_t i = 0; i < x->o.sequences * pages_each(x); i++) {
        x->page[i] = i * 7 % x->o.pages;
        int64_t given = x->page[i];
        if (x->wild && i % 5 == 3) given = -5, x->page[i] = 0;
        if (x->wild && i % 5 == 4) given = 1 << 20, x->page[i] = x->o.pages - 1;
        if (x->order == PAGES) tamis_index_store(c->of[TABLE].m.twin.host, x->o.table_type, i, given);
    }
    if (!x->wild) forget_behind(x, &c->of[K].m, x->o.inner);
    if (!x->wild) forget_behind(x, &c->of[V].m, x->o.width);
    for (int64_t s = 0; s < x->o.sequences; s++) {
        const int64_t wild[] = {-7, 100000, x->length[s]};
        tamis_index_store(c->of[LENGTHS].m.twin.host, x->o.length_type, s, x->wild ? wild[s] : x->length[s]);
        if (x->wild && s < 2) x->length[s] = s == 0 ? 0 : x->o.capacity;
    }
}

static tamis_status pass(operation_case *c) {
    own *const x = c->own;
    static const int from[] = {Q, K, V, OUT};
    const tamis_vectors *given[4];
    tamis_vectors crowded;
    for (int i = 0; i < 4; i++) {
        const tamis_dense *const view = operand_there(c, from[i]);
        x->v[i].data = view && !(x->lost && i == 0) ? view->data : NULL;
        given[i] = view ? &x->v[i] : NULL;
    }
    crowded = x->v[3];
    *(x->o.heads > 1 ? &crowded.head_stride : &crowded.sequence_stride) = 0;
    if (x->crowded) given[3] = &crowded;
    tamis_cached_attention_options o = x->o;
    o.lengths = operand_array(c, LENGTHS);
    o.table = operand_array(c, TABLE);
    const tamis_dense *const sums = operand_there(c, SUMS);
    return tamis_cached_attention(c->device, &o, given[0], given[1], given[2], given[3], sums ? sums->data : NULL,
                                  c->stream);
}

static tamis_status open_device(operation_case *c) { return tamis_device_set_threads(c->device, c->threads); }

static double score_of(const operation_case *c, int64_t s, int64_t h, int64_t p) {
    const own *const x = c->own;
    const int64_t key_head = h / (x->o.heads / x->o.key_heads), row = row_of(x, s, key_head, p);
    double sum = 0;
    for (int64_t i = 0; i < x->o.inner; i++)
        sum += matrix_get(&c->of[Q].m, s, h * x->o.inner + i) *
               matrix_get(&c->of[K].m, row, column_of(x, key_head, x->o.inner) + i);
    return sum * (x->o.scale != 0 ? x->o.scale : 1 / sqrt((double)x->o.inner));
}

/* One head of a sequence; returns the logarithm of the sum. */
static double attend(const operation_case *c, int64_t s, int64_t h, double *out) {
    const own *const x = c->own;
    const int64_t key_head = h / (x->o.heads / x->o.key_heads), end = x->length[s], window = x->o.window;
    const int64_t begin = window > 0 && window < end ? end - window : 0;
    double *const scores = test_doubles(end), most = -(double)INFINITY, total = 0;
    for (int64_t p = begin; p < end; p++) most = fmax(most, scores[p] = score_of(c, s, h, p));
    for (int64_t p = begin; p < end; p++) {
        const double weight = exp(scores[p] - most);
        total += weight;
        for (int64_t i = 0; i < x->o.width; i++)
            out[i] +=
                weight * matrix_get(&c->of[V].m, row_of(x, s, key_head, p), column_of(x, key_head, x->o.width) + i);
    }
    for (int64_t i = 0; i < x->o.width && total > 0; i++) out[i] /= total;
    free(scores);
    return most + log(total);
}

/* Scores have inner + 4 roundings, numbers are 7/4 at most; a weight has twice a score's error, and those of an
   exponential and of sums over all positions. */
static void reference(operation_case *c) {
    const own *const x = c->own;
    const double u = operation_unit(c), largest = 1.75, positions = (double)x->o.capacity, inner = (double)x->o.inner;
    const double scale = x->o.scale != 0 ? x->o.scale : 1 / sqrt(inner);
    const double score = u * (inner + 4) * scale * inner * largest * largest;
    const double weight = 2 * score + u * (positions + 16);
    double *const out = operand_want(c, OUT), *const sums = operand_want(c, SUMS);
    for (int64_t i = 0; i < operand_count(c, OUT); i++) out[i] = 0;
    for (int64_t i = 0; i < x->o.sequences * x->o.heads; i++) {
        const double log_sum = attend(c, i / x->o.heads, i % x->o.heads, out + i * x->o.width);
        if (!sums) continue;
        sums[i] = log_sum;
        c->of[SUMS].bound[i] = isinf(log_sum) ? 0 : score + weight + 4 * u * fabs(log_sum);
    }
    operand_within(c, OUT, largest * (weight + u * (positions + 4)), NULL);
}

static const operation_refusal refusals[] = {
    SPOILS(own, o.type, 9, ARGUMENT, "options.type"),
    SPOILS(own, o.output_type, 7, ARGUMENT, "options.output_type"),
    SPOILS(own, o.sequences, -1, ARGUMENT, "options.sequences"),
    SPOILS(own, o.heads, 0, ARGUMENT, "options.heads"),
    SPOILS(own, o.key_heads, 7, ARGUMENT, "key_heads = 7"),
    SPOILS(own, o.inner, 513, ARGUMENT, "options.inner"),
    SPOILS(own, o.width, 0, ARGUMENT, "options.width"),
    SPOILS(own, o.capacity, -1, ARGUMENT, "options.capacity"),
    SPOILS_NUMBER(own, o.scale, (double)NAN, ARGUMENT, "options.scale"),
    SPOILS(own, o.window, -1, ARGUMENT, "options.window"),
    SPOILS(own, o.length_type, 2, ARGUMENT, "options.length_type"),
    SPOILS(own, o.reserved[1], 1, UNSUPPORTED, "options.reserved"),
    SPOILS(own, v[0].head_stride, -1, ARGUMENT, "q.head_stride"),
    SPOILS(own, v[3].head_stride, -1, ARGUMENT, "out.head_stride"),
    SPOILS(own, crowded, 1, ARGUMENT, "out."),
    SPOILS(own, lost, 1, ARGUMENT, "q.data"),
};

static const operation_row row = {.name = "cached attention",
                                  .own = sizeof(own),
                                  .tables = TEST_MESSAGES,
                                  .cases = 4 * ORDERS * 10 * 3,
                                  .no_views = true,
                                  .allocates = true,
                                  .draw = draw,
                                  .fill = fill,
                                  .open = open_device,
                                  .pass = pass,
                                  .reference = reference,
                                  OPERATION_REFUSES(refusals)};

OPERATION(row)
