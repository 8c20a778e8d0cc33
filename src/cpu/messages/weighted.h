/*
 * Sums of rows times a number each, by SpMM's loops (kernels/accumulate.h): out_i = factor * sum of w_t x_j over the
 * entries t = (i, j) of row i, for a mean divided by their number. The numbers are all 1, or the edges' where they lie,
 * or they are first gathered in the order of the entries: one head's, converted, divided by the length of row j.
 *
 * Each element is summed in the order of the entries, so results do not depend on how threads divide a row. Moves: a
 * row of x and a number for each entry; each output row once.
 */
#ifndef TAMIS_CPU_MESSAGES_WEIGHTED_H
#define TAMIS_CPU_MESSAGES_WEIGHTED_H

#include "cpu/messages/pass.h"

/* Numbers gathered at once; elements of a longer row that are summed at once; bytes of rows that are divided before
   they leave L1. */
enum { WEIGHTS = 1024, WEIGHTED_SLAB = 64, MEAN_BYTES = 16 << 10 };

typedef struct weighted_call {
    const pass *p;
    sum_function *sum;
    sum_arguments arguments;
    const char *y;     /* the number of entry 0; NULL: all are 1 */
    const real *ready; /* the same, if they need not be gathered */
} weighted_call;

static void gather_weights(const weighted_call *call, int64_t begin, int64_t count, real *to) {
    const pass *const p = call->p;
    const int64_t *const entries = p->order.entries ? p->order.entries + begin : NULL;
    for (int64_t i = 0; !call->y && i < count; i++) to[i] = 1;
    for (int64_t i = 0; call->y && i < count; i++)
        to[i] = element_load(call->y + (entries ? entries[i] : begin + i) * p->y.stride, TYPE);
    for (int64_t i = 0; p->other_offsets && i < count; i++) to[i] *= pass_weight(p, order_column(&p->order, begin + i));
}

/* One row at a time: a row with more numbers than are gathered at once, or a mean of 16 bits, which is rounded once. */
static void weighted_row(const weighted_call *call, int64_t row) {
    real weights[WEIGHTS], sums[WEIGHTED_SLAB + LANES];
    const pass *const p = call->p;
    const int64_t begin = order_offset(&p->order, row), end = order_offset(&p->order, row + 1);
    const int64_t width = call->arguments.width;
    const real factor = call->arguments.alpha;
    segment part = {.row = row,
                    .begin = begin,
                    .accumulator = sums,
                    .load_scale = 1,
                    .final_scale = p->job->mean && end > begin ? factor / (real)(end - begin) : factor};
    for (int64_t first = 0; first < width; first += WEIGHTED_SLAB) {
        sum_arguments slab = call->arguments;
        slab.b += first * p->size;
        slab.out += first * p->size;
        slab.width = width - first < WEIGHTED_SLAB ? width - first : WEIGHTED_SLAB;
        part.begin = begin;
        do {
            part.count = end - part.begin < WEIGHTS ? end - part.begin : WEIGHTS;
            part.flags =
                (part.begin > begin ? SEGMENT_CONTINUE : 0) | (part.begin + part.count < end ? SEGMENT_KEEP : 0);
            if (!slab.ones) gather_weights(call, part.begin, part.count, weights);
            call->sum(&slab, &part, 1, weights);
            part.begin += part.count;
        } while (part.begin < end);
    }
}

static void divide_rows(const weighted_call *call, int64_t row, int64_t end) {
    for (; row < end; row++) {
        const real count = (real)(order_offset(&call->p->order, row + 1) - order_offset(&call->p->order, row));
        real *const out = (real *)(void *)(call->arguments.out + row * call->arguments.out_stride);
        for (int64_t k = 0; count > 1 && k < call->arguments.width; k++) out[k] /= count;
    }
}

static void weighted_all(weighted_call *call, int64_t row, int64_t end) {
    const pass *const p = call->p;
    const bool gathers = !call->ready && !call->arguments.ones, mean = p->job->mean;
    const int64_t rows = mean ? MEAN_BYTES / (call->arguments.width * p->size) + 1 : INT64_MAX;
    while (row < end) {
        real weights[WEIGHTS];
        const int64_t begin = order_offset(&p->order, row), last = rows < end - row ? row + rows : end;
        int64_t stop = gathers ? row : last;
        while (stop < last && order_offset(&p->order, stop + 1) - begin <= WEIGHTS) stop++;
        if (stop == row || (mean && TYPE != REAL)) {
            weighted_row(call, row++);
            continue;
        }
        if (gathers) gather_weights(call, begin, order_offset(&p->order, stop) - begin, weights);
        call->arguments.row = row;
        call->sum(&call->arguments, NULL, stop - row, call->ready ? call->ready + begin : weights);
        if (mean) divide_rows(call, row, stop);
        row = stop;
    }
}

/* Elements first .. last - 1 of some rows; there y has the column `number`, if it has numbers. */
static void weighted_rows(const pass *p, int64_t begin, int64_t end, int64_t first, int64_t last, int64_t number) {
    const tamis_message_job *const job = p->job;
    const bool multiplies = job->term == TAMIS_TERM_MUL;
    const bool in_place =
        multiplies && TYPE == REAL && !p->order.entries && !p->other_offsets && p->y.stride == p->size;
    if (first >= last) return;
    weighted_call call = {.p = p,
                          .sum = TAMIS_KERNEL_SUMS(p->order.wide_columns),
                          .y = multiplies ? p->y.at + number * p->size : NULL,
                          .ready = in_place ? (const real *)(const void *)p->y.at : NULL};
    call.arguments = (sum_arguments){.b = p->x.at + first * p->size,
                                     .b_stride = p->x.stride,
                                     .columns = p->order.columns,
                                     .out = p->out.at + first * p->size,
                                     .out_stride = p->out.stride,
                                     .width = last - first,
                                     .prefetch = p->ahead,
                                     .nnz = job->order.nnz,
                                     .prefetch_end = job->order.nnz - p->ahead,
                                     .ones = !multiplies && !p->other_offsets,
                                     .in_order = 1,
                                     .offsets = p->order.offsets,
                                     .wide_offsets = p->order.wide_offsets,
                                     .alpha = (real)job->factor};
    weighted_all(&call, begin, end);
}

#endif
