/*
 * Gathering rows: an output row is computed in pieces of up to PIECE vectors, which stay in registers while the row's
 * entries are processed in order. Moves: for each entry a piece of x, of y, or of both; each output piece once.
 *
 * A lane's operations and their order do not depend on its piece, so results do not depend on how threads divide the
 * elements of a row.
 */
#ifndef TAMIS_CPU_MESSAGES_ROWS_H
#define TAMIS_CPU_MESSAGES_ROWS_H

#include "cpu/messages/texts.h"
#include "cpu/messages/weighted.h"

#define PIECE 8

/* Bytes of gathered rows after which the next piece is computed: they are still in L2. */
enum { GATHERED = 256 << 10 };

typedef struct piece {
    int64_t element;          /* its first element */
    int64_t number;           /* the column of y, if y has numbers */
    int tail;                 /* elements of a piece shorter than a vector; else 0 */
    const vector_bits *heads; /* head of each lane of each vector, if y has FEW_HEADS */
} piece;

/* numbers: 0: y has a vector per entry; 1: a number; FEW_HEADS: a few numbers, which fit a vector. */
enum { FEW_HEADS = 2 };

/* The inputs of an entry for a piece: x, and y as a vector or a number; and z, the row at this end. */
typedef struct brought {
    const char *x, *y, *z;
    int64_t entry, column;
    vector heads; /* the numbers of y */
} brought;

INLINE brought bring(const pass *p, const piece *q, int64_t t, tamis_message_term term, int numbers, int count) {
    brought b = {.entry = order_entry(&p->order, t), .column = order_column(&p->order, t)};
    const int64_t from = q->element * p->size, next = t + p->ahead;
    if (term != TAMIS_TERM_Y) b.x = p->x.at + b.column * p->x.stride + from;
    if (term != TAMIS_TERM_X) b.y = p->y.at + b.entry * p->y.stride + (numbers ? q->number * p->size : from);
    if (numbers == FEW_HEADS)
        b.heads = p->job->heads < LANES ? vector_load_tail(b.y, TYPE, (int)p->job->heads) : vector_load(b.y, TYPE);
    if (p->ahead && next < p->job->order.nnz) {
        const int64_t bytes = count * (int64_t)LANES * p->size;
        if (term != TAMIS_TERM_Y) prefetch_bytes(p->x.at + order_column(&p->order, next) * p->x.stride, from, bytes);
        if (term != TAMIS_TERM_X && p->order.entries) /* otherwise y is read in order */
            prefetch_bytes(p->y.at + p->order.entries[next] * p->y.stride, numbers ? q->number * p->size : from,
                           numbers ? 1 : bytes);
    }
    return b;
}

INLINE vector y_vector(const pass *p, const brought *b, const piece *q, int numbers, int k) {
    if (numbers == FEW_HEADS) return vector_from(b->heads, q->heads[k]);
    return numbers ? vector_of(element_load(b->y, TYPE)) : pass_load(b->y + k * LANES * p->size, q->tail);
}

INLINE vector x_vector(const pass *p, const brought *b, const piece *q, int k) {
    return pass_load(b->x + k * LANES * p->size, q->tail);
}

INLINE vector z_vector(const pass *p, const brought *b, const piece *q, int k) {
    return pass_load(b->z + k * LANES * p->size, q->tail);
}

INLINE vector term_of(const pass *p, const brought *b, const piece *q, tamis_message_term term, int numbers, int k) {
    switch (term) {
    case TAMIS_TERM_X: return x_vector(p, b, q, k);
    case TAMIS_TERM_ADD: {
        const vector sum = x_vector(p, b, q, k) + (real)p->job->sign * y_vector(p, b, q, numbers, k);
        return vector_select((vector_bits)(sum <= vector_of(p->least)), vector_of(p->least), sum);
    }
    case TAMIS_TERM_GATE: return pass_gated(x_vector(p, b, q, k), z_vector(p, b, q, k) + y_vector(p, b, q, numbers, k));
    case TAMIS_TERM_MUL: return x_vector(p, b, q, k) * y_vector(p, b, q, numbers, k);
    default: return y_vector(p, b, q, numbers, k);
    }
}

/* TAMIS_PASS_SUM and TAMIS_PASS_TAKEN. taken: 0, 1, or -1 for "if there are arguments". */
INLINE void sum_rows(const pass *p, int64_t row, int64_t end, const piece *q, tamis_message_term term, int numbers,
                     int taken, int count) {
    const tamis_message_job *const job = p->job;
    int64_t t = order_offset(&p->order, row);
    for (; row < end; row++) {
        const int64_t begin = t, stop = order_offset(&p->order, row + 1);
        char *const out = p->out.at + row * p->out.stride + q->element * p->size;
        vector sum[PIECE];
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) sum[k] = vector_zero();
        for (; t < stop; t++) {
            brought b = bring(p, q, t, term, numbers, count);
            const real weight = term == TAMIS_TERM_ADD || term == TAMIS_TERM_Y ? 1 : pass_weight(p, b.column);
            if (term == TAMIS_TERM_GATE) b.z = p->z.at + row * p->z.stride + q->element * p->size;
#pragma GCC unroll 8
            for (int k = 0; k < count; k++) {
                const vector add = weight * term_of(p, &b, q, term, numbers, k);
                if (taken > 0 || (taken < 0 && p->argument))
                    sum[k] += vector_select(pass_taken(p, b.column, q->element + k * (int64_t)LANES, q->tail, b.entry),
                                            add, vector_zero());
                else
                    sum[k] += add;
            }
        }
        const real divisor = job->mean && stop > begin ? (real)(stop - begin) : 1;
#pragma GCC unroll 8
        for (int k = 0; k < count; k++)
            pass_store(out + k * LANES * p->size, q->tail, (real)job->factor * sum[k] / divisor);
    }
}

/* TAMIS_PASS_LARGEST. Places are relative to the row, so that they fit a lane. */
INLINE void largest_rows(const pass *p, int64_t row, int64_t end, const piece *q, tamis_message_term term, int numbers,
                         int count) {
    const real factor = (real)p->job->factor;
    int64_t t = order_offset(&p->order, row);
    for (; row < end; row++) {
        const int64_t begin = t, stop = order_offset(&p->order, row + 1);
        char *const out = p->out.at + row * p->out.stride + q->element * p->size;
        vector best[PIECE];
        vector_bits place[PIECE];
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) {
            best[k] = vector_zero();
            place[k] = (vector_bits){0};
        }
        if (t < stop) {
            const brought b = bring(p, q, t++, term, numbers, count);
#pragma GCC unroll 8
            for (int k = 0; k < count; k++) best[k] = factor * term_of(p, &b, q, term, numbers, k);
        }
        for (; t < stop; t++) {
            const brought b = bring(p, q, t, term, numbers, count);
            const vector_bits here = (real_bits)(t - begin) - (vector_bits){0};
#pragma GCC unroll 8
            for (int k = 0; k < count; k++) {
                const vector next = factor * term_of(p, &b, q, term, numbers, k);
                const vector_bits take = pass_larger(next, best[k]);
                best[k] = vector_select(take, next, best[k]);
                place[k] = (here & take) | (place[k] & ~take);
            }
        }
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) {
            pass_store(out + k * LANES * p->size, q->tail, begin < stop ? factor * best[k] : vector_zero());
            if (p->argument)
                store_arguments(p, row, q->element + k * (int64_t)LANES, q->tail ? q->tail : LANES, begin, stop,
                                place[k]);
        }
    }
}

/* ------------------------------------------------------------------------------------------ instances */

typedef void rows_function(const pass *p, int64_t begin, int64_t end, const piece *q);

/* The instances of a term: pieces of 8, 4, 2 and 1 vectors, and of less than one. */
#define INSTANCE(name, size, part, count, rows, ...)                                                                   \
    static void name##_##size(const pass *p, int64_t begin, int64_t end, const piece *q) {                             \
        rows(p, begin, end, &(piece){q->element, q->number, part, q->heads}, __VA_ARGS__, count);                      \
    }
#define INSTANCES(name, rows, ...)                                                                                     \
    INSTANCE(name, 8, 0, 8, rows, __VA_ARGS__)                                                                         \
    INSTANCE(name, 4, 0, 4, rows, __VA_ARGS__)                                                                         \
    INSTANCE(name, 2, 0, 2, rows, __VA_ARGS__)                                                                         \
    INSTANCE(name, 1, 0, 1, rows, __VA_ARGS__)                                                                         \
    INSTANCE(name, 0, q->tail, 1, rows, __VA_ARGS__)
#define SUMS(name, ...)    INSTANCES(name, sum_rows, __VA_ARGS__)
#define LARGEST(name, ...) INSTANCES(name, largest_rows, __VA_ARGS__)
SUMS(sum_add, TAMIS_TERM_ADD, 0, 0)
SUMS(sum_add_number, TAMIS_TERM_ADD, 1, 0)
SUMS(sum_mul, TAMIS_TERM_MUL, 0, 0)
SUMS(sum_mul_heads, TAMIS_TERM_MUL, FEW_HEADS, 0)
SUMS(sum_y, TAMIS_TERM_Y, 0, 0)
SUMS(sum_y_number, TAMIS_TERM_Y, 1, 0)
SUMS(sum_gate, TAMIS_TERM_GATE, 0, -1)
SUMS(sum_gate_number, TAMIS_TERM_GATE, 1, -1)
SUMS(taken_x, TAMIS_TERM_X, 0, 1)
SUMS(taken_mul, TAMIS_TERM_MUL, 0, 1)
SUMS(taken_mul_number, TAMIS_TERM_MUL, 1, 1)
LARGEST(largest_x, TAMIS_TERM_X, 0)
LARGEST(largest_add, TAMIS_TERM_ADD, 0)
LARGEST(largest_add_number, TAMIS_TERM_ADD, 1)
LARGEST(largest_mul, TAMIS_TERM_MUL, 0)
LARGEST(largest_mul_number, TAMIS_TERM_MUL, 1)
LARGEST(largest_y, TAMIS_TERM_Y, 0)
LARGEST(largest_y_number, TAMIS_TERM_Y, 1)

/* By kind of pass, term (RELU is ADD) and whether y has numbers. weighted.h has the others; core uses no more. */
#define SIZES(name)                                                                                                    \
    { name##_0, name##_1, name##_2, name##_4, name##_8 }
static rows_function *const functions[3][5][2][5] = {
    {{{0}},
     {SIZES(sum_add), SIZES(sum_add_number)},
     {SIZES(sum_mul)},
     {SIZES(sum_y), SIZES(sum_y_number)},
     {SIZES(sum_gate), SIZES(sum_gate_number)}},
    {{SIZES(largest_x)},
     {SIZES(largest_add), SIZES(largest_add_number)},
     {SIZES(largest_mul), SIZES(largest_mul_number)},
     {SIZES(largest_y), SIZES(largest_y_number)}},
    {{SIZES(taken_x)},
     {{0}},
     {SIZES(taken_mul), SIZES(taken_mul_number)},
     {{0}},
     {SIZES(sum_gate), SIZES(sum_gate_number)}},
};

static rows_function *const few_heads[5] = SIZES(sum_mul_heads);

/* ------------------------------------------------------------------------------------------ rows */

/* The heads of a piece's lanes; lanes past the tail are arbitrary. */
static void find_heads(int64_t element, int64_t width, int count, vector_bits *heads) {
    for (int k = 0; k < count; k++)
        for (int i = 0; i < LANES; i++) heads[k][i] = (real_bits)((element + k * (int64_t)LANES + i) / width % LANES);
}

/* Runs the pieces of elements first .. last - 1 of some rows. There y has the column `number`, if it has numbers.
   width: of a head, if y has FEW_HEADS, else 0. */
static void run_pieces(const pass *p, rows_function *const sizes[5], int64_t begin, int64_t end, int64_t first,
                       int64_t last, int64_t number, int64_t width) {
    vector_bits heads[PIECE] = {{0}};
    for (int size = 4, vectors = PIECE; size > 0; size--, vectors /= 2)
        for (; last - first >= (int64_t)vectors * LANES; first += (int64_t)vectors * LANES) {
            if (width) find_heads(first, width, vectors, heads);
            sizes[size](p, begin, end, &(piece){first, number, 0, heads});
        }
    if (first >= last) return;
    if (width) find_heads(first, width, 1, heads);
    sizes[0](p, begin, end, &(piece){first, number, (int)(last - first), heads});
}

static void message_rows(const void *context, int64_t begin, int64_t end, int64_t first, int64_t last) {
    const tamis_message_job *const job = context;
    const pass p = pass_of(job);
    if (job->term == TAMIS_TERM_TEXT) {
        text_rows(&p, begin, end, first, last);
        return;
    }
    const int numbers = job->edge_data == TAMIS_E_NUMBER || job->edge_data == TAMIS_E_HEAD;
    const tamis_message_term term = job->term == TAMIS_TERM_RELU ? TAMIS_TERM_ADD : job->term;
    rows_function *const *const sizes = functions[job->kind][term][numbers && term != TAMIS_TERM_X];
    const bool heads = job->edge_data == TAMIS_E_HEAD && job->term != TAMIS_TERM_X;
    const bool sums = job->kind == TAMIS_PASS_SUM, multiplied = sums && term == TAMIS_TERM_MUL && numbers;
    const bool few = multiplied && heads && job->heads <= LANES && job->width % LANES != 0;
    const bool weighted = ((sums && term == TAMIS_TERM_X) || multiplied) && !few;
    const int64_t most = GATHERED / (p.all * p.size + 1) + 1; /* entries before the next piece */
    if (weighted && !heads) {
        weighted_rows(&p, begin, end, first, last, 0);
        return;
    }
    while (begin < end) {
        const int64_t from = order_offset(&p.order, begin);
        int64_t stop = begin + 1;
        while (stop < end && order_offset(&p.order, stop + 1) - from <= most && stop - begin < most) stop++;
        if (few)
            run_pieces(&p, few_heads, begin, stop, first, last, 0, job->width);
        else if (!heads)
            run_pieces(&p, sizes, begin, stop, first, last, 0, 0);
        for (int64_t h = 0; heads && !few && h < job->heads; h++) {
            const int64_t low = h * job->width, high = low + job->width;
            const int64_t from_here = low > first ? low : first, to_here = high < last ? high : last;
            if (weighted)
                weighted_rows(&p, begin, stop, from_here, to_here, h);
            else
                run_pieces(&p, sizes, begin, stop, from_here, to_here, h, 0);
        }
        begin = stop;
    }
}

#endif
