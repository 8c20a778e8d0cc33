/* Rows or numbers per entry, from the rows at its ends. Moves a row of x per entry, if x is read, and the output. The
   row at this end stays in L1. */
#ifndef TAMIS_CPU_MESSAGES_ENTRIES_H
#define TAMIS_CPU_MESSAGES_ENTRIES_H

#include "cpu/messages/texts.h"
#include "sparse/index.h"

/* An entry, the rows at its ends, and its own data. */
typedef struct ends {
    const char *x, *y, *z;
    int64_t row, entry, number; /* number: the column of y, if y has numbers; else -1 */
} ends;

/* The term's vector at an element of a row, or at its tail. */
INLINE vector entry_vector(const pass *p, const ends *e, int64_t element, int tail, tamis_message_term term,
                           int taken) {
    vector v = pass_load(e->z + element * p->size, tail);
    if (term == TAMIS_TERM_ADD) v += (real)p->job->sign * pass_load(e->x + element * p->size, tail);
    if (term == TAMIS_TERM_MUL) v *= pass_load(e->x + element * p->size, tail);
    if (term == TAMIS_TERM_GATE) {
        const vector y = e->number < 0 ? pass_load(e->y + element * p->size, tail)
                                       : vector_of(element_load(e->y + e->number * p->size, TYPE));
        v = pass_gated(v, pass_load(e->x + element * p->size, tail) + y);
    }
    return taken ? vector_select(pass_taken(p, e->row, element, tail, e->entry), v, vector_zero()) : v;
}

INLINE void entry_row(const pass *p, const ends *e, real weight, tamis_message_term term, int taken) {
    char *const out = p->out.at + e->entry * p->out.stride;
    EACH_VECTOR(p->all, pass_store(out + t * p->size, tail, weight * entry_vector(p, e, t, tail, term, taken)));
}

INLINE void entry_numbers(const pass *p, ends *e, real weight, int64_t count, tamis_message_term term, int taken) {
    char *const out = p->out.at + e->entry * p->out.stride;
    const int64_t width = p->all / count;
    for (int64_t h = 0; h < count; h++) {
        vector sum = vector_zero();
        e->number = h;
        EACH_VECTOR(width, sum += entry_vector(p, e, h * width + t, tail, term, taken));
        element_store(out + h * p->size, TYPE, weight * vector_sum(sum));
    }
}

/* Sums of narrow heads, of 1, 2, 4 ... elements, several to a vector: a butterfly adds lanes 1, 2, 4 ... apart, then
   the first lane of each head is taken. */
typedef struct narrow {
    int steps; /* -1: heads are not narrow */
    vector_bits other[5], first;
} narrow;

static narrow narrow_of(int64_t width, tamis_message_term term) {
    narrow n = {.steps = -1};
    if (term == TAMIS_TERM_GATE || width >= LANES || width < 1 || (width & (width - 1))) return n;
    for (n.steps = 0; 1 << n.steps < width; n.steps++)
        for (int i = 0; i < LANES; i++) n.other[n.steps][i] = (real_bits)(i ^ (1 << n.steps));
    for (int i = 0; i < LANES; i++) n.first[i] = (real_bits)(i * width % LANES);
    return n;
}

INLINE void entry_narrow(const pass *p, const ends *e, real weight, int64_t width, const narrow *n,
                         tamis_message_term term, int taken) {
    char *out = p->out.at + e->entry * p->out.stride;
    const int64_t heads = LANES / width;
    for (int64_t i = 0; i < p->all; i += LANES, out += heads * p->size) {
        const int tail = p->all - i < LANES ? (int)(p->all - i) : 0;
        vector v = tail ? entry_vector(p, e, i, tail, term, taken) : entry_vector(p, e, i, 0, term, taken);
        for (int step = 0; step < n->steps; step++) v += vector_from(v, n->other[step]);
        v = weight * vector_from(v, n->first);
        const int count = (int)((tail ? tail : LANES) / width);
        if (count < LANES)
            vector_store_tail(out, TYPE, count, v);
        else
            vector_store(out, TYPE, v);
    }
}

INLINE void entries_of(const pass *p, int64_t t, int64_t end, int64_t row, tamis_message_term term, int taken) {
    const tamis_message_job *const job = p->job;
    const int64_t count = job->edge_data == TAMIS_E_HEAD ? job->heads : 1;
    const narrow n = narrow_of(p->all / count, term);
    int64_t from = order_offset(&p->order, row);
    int64_t stop = order_offset(&p->order, row + 1);
    for (; t < end; t++) {
        while (t >= stop) {
            row++;
            from = stop;
            stop = order_offset(&p->order, row + 1);
        }
        const real weight = job->mean ? (real)job->factor / (real)(stop - from) : (real)job->factor;
        ends e = {.row = row, .entry = order_entry(&p->order, t), .number = -1, .z = p->z.at + row * p->z.stride};
        if (term == TAMIS_TERM_GATE) e.y = p->y.at + e.entry * p->y.stride;
        if (term != TAMIS_TERM_X) {
            e.x = p->x.at + order_column(&p->order, t) * p->x.stride;
            if (p->ahead && t + p->ahead < end) {
                const int64_t column = order_column(&p->order, t + p->ahead), bytes = p->all * p->size;
                prefetch_bytes(p->x.at + column * p->x.stride, 0, bytes < 1024 ? bytes : 1024);
            }
        }
        if (job->edge_data == TAMIS_E_VECTOR)
            entry_row(p, &e, weight, term, taken);
        else if (n.steps >= 0)
            entry_narrow(p, &e, weight, p->all / count, &n, term, taken);
        else
            entry_numbers(p, &e, weight, count, term, taken);
    }
}

static void message_entries(const tamis_message_job *job, int64_t begin, int64_t end) {
    const pass p = pass_of(job);
    const int64_t row = tamis_index_first(p.order.offsets, job->order.offset_type, 1, job->order.rows, begin + 1) - 1;
    switch (job->term) {
    case TAMIS_TERM_ADD: entries_of(&p, begin, end, row, TAMIS_TERM_ADD, 0); return;
    case TAMIS_TERM_TEXT: text_entries(&p, begin, end, row); return;
    case TAMIS_TERM_GATE: entries_of(&p, begin, end, row, TAMIS_TERM_GATE, p.argument != NULL); return;
#define ENTRIES(term)                                                                                                  \
    if (p.argument)                                                                                                    \
        entries_of(&p, begin, end, row, term, 1);                                                                      \
    else                                                                                                               \
        entries_of(&p, begin, end, row, term, 0)
    case TAMIS_TERM_MUL: ENTRIES(TAMIS_TERM_MUL); return;
    default: ENTRIES(TAMIS_TERM_X);
#undef ENTRIES
    }
}

#endif
