/*
 * Messages that are texts: a program (kernels/expression.h) runs over a block of entries times a piece of the width.
 * The rows that it reads are copied into the block, since they are scattered; its results are reduced from there in the
 * order of the entries, as rows.h does. Each element is computed by itself, so results depend neither on the blocks nor
 * on how threads divide rows.
 */
#ifndef TAMIS_CPU_MESSAGES_TEXTS_H
#define TAMIS_CPU_MESSAGES_TEXTS_H

#include "cpu/kernels/expression.h"
#include "cpu/messages/pass.h"

/* Entries of a pass, one behind the other, and a piece of the width of each: element m of entry e is at e * wide + m.
 */
typedef struct text_block {
    const pass *p;
    int count;              /* entries */
    int64_t element, width; /* the first element of the piece, and how many there are */
    int64_t wide;           /* the same in whole vectors */
    int64_t row[PROGRAM_BLOCK / LANES], column[PROGRAM_BLOCK / LANES], entry[PROGRAM_BLOCK / LANES];
    real of[PROGRAM_BLOCK] __attribute__((aligned(64))); /* the results */
    program_state state;
} text_block;

/* The data of an entry, numbers that each apply to the elements of a head. */
static void text_numbers(const text_block *b, int64_t entry, real *to) {
    const tamis_message_job *const job = b->p->job;
    const char *const y = b->p->y.at + entry * b->p->y.stride;
    const int64_t each = job->edge_data == TAMIS_E_HEAD ? job->width : b->p->all;
    int64_t head = b->element / each, next = (head + 1) * each - b->element;
    real number = element_load(y + head * b->p->size, TYPE);
    for (int64_t m = 0; m < b->width; m++) {
        if (m == next) {
            number = element_load(y + ++head * b->p->size, TYPE);
            next += each;
        }
        to[m] = number;
    }
    for (int64_t m = b->width; m < b->wide; m++) to[m] = number;
}

static void text_place(const text_block *b, const int64_t *places, real *to) {
    for (int e = 0; e < b->count; e++)
        for (int64_t m = 0; m < b->wide; m += LANES)
            vector_store((char *)(to + e * b->wide + m), REAL, vector_of((real)places[e]));
}

/* The head of each element. */
static void text_heads(const text_block *b, real *to) {
    const int64_t width = b->p->job->width;
    int64_t head = b->element / width, next = (head + 1) * width - b->element;
    for (int64_t m = 0; m < b->wide; m++) {
        if (m == next) {
            head++;
            next += width;
        }
        for (int e = 0; e < b->count; e++) to[e * b->wide + m] = (real)head;
    }
}

static const real *text_leaf(const void *context, const tamis_step *step, real *to, int64_t first, int64_t n) {
    const text_block *const b = context;
    const pass *const p = b->p;
    const int kind = step->kind;
    const tamis_message_job *const job = p->job;
    const bool there = kind == tamis_message_leaf_there(job), data = kind == TAMIS_STEP_S;
    const rows_of from = data ? p->y : there ? p->x : p->z;
    const int64_t *const at = data ? b->entry : there ? b->column : b->row;
    (void)first;
    (void)n;
    if (kind == TAMIS_STEP_I || kind == TAMIS_STEP_J) {
        text_place(b, (kind == TAMIS_STEP_I) != job->turned ? b->row : b->column, to);
        return to;
    }
    if (kind == TAMIS_STEP_PART) {
        text_heads(b, to);
        return to;
    }
    for (int e = 0; e < b->count; e++) {
        real *const row = to + e * b->wide;
        if (data && job->edge_data != TAMIS_E_VECTOR)
            text_numbers(b, at[e], row);
        else
            program_copy(row, from.at + at[e] * from.stride + b->element * p->size, TYPE, b->width);
    }
    return to;
}

static void text_measure(text_block *b, int64_t width) {
    b->width = width < PROGRAM_BLOCK ? width : PROGRAM_BLOCK;
    b->wide = b->width > 0 ? (b->width + LANES - 1) / LANES * LANES : LANES;
}

static void text_begin(text_block *b, const pass *p) {
    const tamis_message_text *const text = p->job->text;
    b->p = p;
    b->state.leaf = text_leaf;
    b->state.context = b;
    program_begin(&b->state, &text->program, text->scalars, 0, false);
}

/* Fetches what a later entry reads at scattered places. */
static void text_prefetch(const text_block *b, int64_t t) {
    const pass *const p = b->p;
    const int64_t column = order_column(&p->order, t), from = b->element * p->size, bytes = b->width * p->size;
    if (p->x.at) prefetch_bytes(p->x.at + column * p->x.stride, from, bytes);
    if (p->w.at && !p->job->here) prefetch_bytes(p->w.at + column * p->w.stride, from, bytes);
    if (p->y.at && p->order.entries) /* otherwise y is read in order */
        prefetch_bytes(p->y.at + p->order.entries[t] * p->y.stride, p->job->edge_data == TAMIS_E_VECTOR ? from : 0,
                       p->job->edge_data == TAMIS_E_VECTOR ? bytes : 1);
}

/* Takes entries t .. end - 1, or as many as fit; *row is the row of entry t, or before, and becomes that of the last
   one. */
static void text_take(text_block *b, int64_t t, int64_t end, int64_t *row) {
    const pass *const p = b->p;
    const int64_t most = PROGRAM_BLOCK / b->wide;
    int64_t stop = order_offset(&p->order, *row + 1);
    b->count = (int)(end - t < most ? end - t : most);
    for (int e = 0; e < b->count; e++, t++) {
        while (t >= stop) stop = order_offset(&p->order, ++*row + 1);
        b->row[e] = *row;
        b->column[e] = order_column(&p->order, t);
        b->entry[e] = order_entry(&p->order, t);
        if (p->ahead && t + p->ahead < end) text_prefetch(b, t + p->ahead);
    }
}

/* ------------------------------------------------------------------------------------------ rows */

/* The state of a row: sums, or the largest and their places in the row. */
typedef struct text_row {
    int64_t row, begin, stop;
    real best[PROGRAM_BLOCK] __attribute__((aligned(64)));
    vector_bits place[PROGRAM_BLOCK / LANES];
} text_row;

static void text_open(text_row *r, const pass *p, int64_t row) {
    r->row = row;
    r->begin = order_offset(&p->order, row);
    r->stop = order_offset(&p->order, row + 1);
    for (int64_t m = 0; m < PROGRAM_BLOCK; m += LANES) vector_store((char *)(r->best + m), REAL, vector_zero());
    for (int64_t m = 0; m < PROGRAM_BLOCK / LANES; m++) r->place[m] = (vector_bits){0};
}

/* Adds an entry's piece; w, if it is not NULL, is the gradient at its other end, and `weight` applies to that. */
INLINE void text_add_as(real *best, const text_block *b, int e, const char *w, real weight, int taken) {
    const pass *const p = b->p;
    const real *const of = b->of + e * b->wide;
    const int64_t element = b->element, width = b->width, size = element_bytes(TYPE);
    const int64_t end = p->job->here ? b->row[e] : b->column[e]; /* whose arguments count */
    EACH_VECTOR(width, {
        vector add = part_load((const char *)(of + t), REAL, tail);
        if (w) add = weight * (add * pass_load(w + t * size, tail));
        if (taken) add = vector_select(pass_taken(p, end, element + t, tail, b->entry[e]), add, vector_zero());
        part_store((char *)(best + t), REAL, tail, part_load((const char *)(best + t), REAL, tail) + add);
    });
}

static void text_add(text_row *r, const text_block *b, int e) {
    const pass *const p = b->p;
    const bool weighed = p->w.at && !p->job->here, taken = p->job->kind == TAMIS_PASS_TAKEN;
    const char *const w = weighed ? p->w.at + b->column[e] * p->w.stride + b->element * p->size : NULL;
    const real weight = weighed ? pass_weight(p, b->column[e]) : 1;
    if (taken)
        text_add_as(r->best, b, e, w, weight, 1);
    else if (weighed)
        text_add_as(r->best, b, e, w, weight, 0);
    else
        text_add_as(r->best, b, e, NULL, 1, 0);
}

static void text_compare(text_row *r, const text_block *b, int e, int64_t place) {
    const real factor = (real)b->p->job->factor, *const of = b->of + e * b->wide;
    const vector_bits here = (real_bits)place - (vector_bits){0}, all = (vector_bits){0} - (real_bits)(place == 0);
    const int64_t width = b->width;
    real *const to = r->best;
    vector_bits *const places = r->place;
    EACH_VECTOR(width, {
        const vector best = part_load((const char *)(to + t), REAL, tail);
        const vector next = factor * part_load((const char *)(of + t), REAL, tail);
        const vector_bits take = all | pass_larger(next, best);
        part_store((char *)(to + t), REAL, tail, vector_select(take, next, best));
        places[t / LANES] = (here & take) | (places[t / LANES] & ~take);
    });
}

static void text_close(text_row *r, const text_block *b) {
    const pass *const p = b->p;
    const tamis_message_job *const job = p->job;
    const bool largest = job->kind == TAMIS_PASS_LARGEST;
    const int64_t from = b->element * p->size;
    const char *const w = job->here && p->w.at ? p->w.at + r->row * p->w.stride + from : NULL;
    char *const out = p->out.at + r->row * p->out.stride + from;
    const real divisor = job->mean && r->stop > r->begin ? (real)(r->stop - r->begin) : 1;
    EACH_VECTOR(b->width, {
        vector v = (real)job->factor * part_load((char *)(r->best + t), REAL, tail) / divisor;
        if (w) v *= pass_load(w + t * p->size, tail);
        pass_store(out + t * p->size, tail, r->begin < r->stop ? v : vector_zero());
        if (largest && p->argument)
            store_arguments(p, r->row, b->element + t, tail ? tail : LANES, r->begin, r->stop, r->place[t / LANES]);
    });
}

/* A piece of rows begin .. end - 1, from b->element on. */
static void text_piece(text_block *b, int64_t begin, int64_t end) {
    const pass *const p = b->p;
    const int64_t last = order_offset(&p->order, end);
    int64_t row = begin;
    text_row r;
    text_open(&r, p, begin);
    for (int64_t t = r.begin; t < last; t += b->count) {
        text_take(b, t, last, &row);
        program_block(&b->state, b->of, 0, b->count * b->wide);
        for (int e = 0; e < b->count; e++) {
            while (r.row < b->row[e]) {
                text_close(&r, b);
                text_open(&r, p, r.row + 1);
            }
            if (p->job->kind == TAMIS_PASS_LARGEST)
                text_compare(&r, b, e, t + e - r.begin);
            else
                text_add(&r, b, e);
        }
    }
    for (text_close(&r, b); r.row + 1 < end; text_close(&r, b)) text_open(&r, p, r.row + 1);
}

static void text_rows(const pass *p, int64_t begin, int64_t end, int64_t first, int64_t last) {
    text_block b;
    text_begin(&b, p);
    for (b.element = first; b.element < last && begin < end; b.element += b.width) {
        text_measure(&b, last - b.element);
        text_piece(&b, begin, end);
    }
}

/* ------------------------------------------------------------------------------------------ entries */

/* Stores the piece of each entry of the block, or adds it to the sums of a number. */
static void text_store(const text_block *b, vector *sums) {
    const pass *const p = b->p;
    const tamis_message_job *const job = p->job;
    for (int e = 0; e < b->count; e++) {
        const char *const w = p->w.at + b->row[e] * p->w.stride + b->element * p->size;
        char *const out = p->out.at + b->entry[e] * p->out.stride + b->element * p->size;
        const int64_t row = b->row[e];
        const real weight =
            job->mean ? (real)job->factor / (real)(order_offset(&p->order, row + 1) - order_offset(&p->order, row))
                      : (real)job->factor;
        EACH_VECTOR(b->width, {
            vector v =
                part_load((const char *)(b->of + e * b->wide + t), REAL, tail) * pass_load(w + t * p->size, tail);
            if (p->argument) v = vector_select(pass_taken(p, row, b->element + t, tail, b->entry[e]), v, vector_zero());
            if (sums)
                sums[e] += weight * v;
            else
                pass_store(out + t * p->size, tail, weight * v);
        });
    }
}

/* One number of each entry of a block, from all pieces of its head. */
static void text_number(text_block *b, int64_t head, int64_t width, int64_t t, int64_t end, int64_t *row) {
    const pass *const p = b->p;
    vector sums[PROGRAM_BLOCK / LANES];
    b->element = head * width;
    text_measure(b, width);
    text_take(b, t, end, row);
    for (int e = 0; e < b->count; e++) sums[e] = vector_zero();
    for (; b->element < (head + 1) * width; b->element += b->width) {
        text_measure(b, (head + 1) * width - b->element);
        program_block(&b->state, b->of, 0, b->count * b->wide);
        text_store(b, sums);
    }
    for (int e = 0; e < b->count; e++)
        element_store(p->out.at + b->entry[e] * p->out.stride + head * p->size, TYPE, vector_sum(sums[e]));
}

static void text_entries(const pass *p, int64_t begin, int64_t end, int64_t first_row) {
    const tamis_message_job *const job = p->job;
    const int64_t numbers = job->edge_data == TAMIS_E_VECTOR ? 0 : job->edge_data == TAMIS_E_HEAD ? job->heads : 1;
    text_block b;
    text_begin(&b, p);
    for (int64_t h = 0; h < numbers; h++) {
        int64_t row = first_row;
        for (int64_t t = begin; t < end; t += b.count) text_number(&b, h, p->all / numbers, t, end, &row);
    }
    if (numbers > 0) return;
    for (b.element = 0; b.element < p->all; b.element += b.width) {
        int64_t row = first_row;
        text_measure(&b, p->all - b.element);
        for (int64_t t = begin; t < end; t += b.count) {
            text_take(&b, t, end, &row);
            program_block(&b.state, b.of, 0, b.count * b.wide);
            text_store(&b, NULL);
        }
    }
}

#endif
