/*
 * Divides the rows of an order among threads. A thread gets a range of whole rows, with an equal share of the entries.
 * A row that is longer than a part of a thread's share (a hub) is divided into ranges of elements or heads instead, one
 * per thread: so each element is still computed by one thread, in the same order, and nothing has to be merged. Hubs of
 * few elements are therefore one thread's work. A share has several parts, which idle threads steal from late ones:
 * threads of other libraries may occupy a processor, since they spin for some milliseconds after a call.
 */
#ifndef TAMIS_CPU_MESSAGES_SHARES_H
#define TAMIS_CPU_MESSAGES_SHARES_H

#include "backend/message.h"
#include "base/threads.h"
#include "cpu/messages/kernels.h"
#include "sparse/index.h"

/* Where a row begins; `row` may be the number of rows. */
static inline int64_t tamis_cpu_order_offset(const tamis_message_order *order, int64_t row) {
    return tamis_index_load(order->offsets, order->offset_type, row);
}

/* The rows of an order that may be hubs, sorted, found once. */
typedef struct tamis_long_rows {
    int64_t count;
    int64_t rows[];
} tamis_long_rows;

/* Entries of tamis_message_functions. */
tamis_status tamis_cpu_find_long_rows(void *device, void *stream, const tamis_message_order *order, void **found);
void tamis_cpu_forget_long_rows(void *device, void *found);
void tamis_cpu_explain_long_rows(const tamis_message_order *order, tamis_text_buffer *text);

/* The work to divide: rows of `units` elements or heads, which may be cut at multiples of `cut`. */
typedef struct tamis_cpu_sharing {
    const tamis_message_order *order;
    tamis_cpu_shared_rows *rows;
    const void *job;
    int64_t units, cut;
} tamis_cpu_sharing;

/* Runs body(context, part, parts) for the parts of `threads` shares; each thread begins with its own share, then
   steals. */
void tamis_cpu_run_parts(int threads, tamis_thread_body *body, void *context);

/* Computes all rows with up to `threads` threads; `elements`: computed per entry and row. */
void tamis_cpu_share_rows(const tamis_cpu_sharing *sharing, int threads, int64_t elements);

/* Number of threads, up to `threads`, that this work pays for. */
int tamis_cpu_threads_for(const tamis_message_order *order, int threads, int64_t elements);

#endif
