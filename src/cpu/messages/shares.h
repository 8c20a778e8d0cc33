/*
 * How threads share the rows of an order. They take ranges of whole rows with equal shares of the entries. A row that
 * is longer than a part of a thread's share (a hub) is cut into ranges of elements or heads instead, one for each
 * thread: so each of them is still computed by one thread, in the same order, and nothing has to be merged. Hubs of few
 * elements are therefore one thread's work. A share has parts, which threads that are done take from those that are
 * late: other libraries' threads, which look for work for some milliseconds after a call, may keep a processor.
 */
#ifndef TAMIS_CPU_MESSAGES_SHARES_H
#define TAMIS_CPU_MESSAGES_SHARES_H

#include "backend/message.h"
#include "base/threads.h"

/* Of an order: the rows that may be hubs, rising, which nobody has to look for at each call. */
typedef struct tamis_long_rows {
    int64_t count;
    int64_t rows[];
} tamis_long_rows;

/* Entries of tamis_message_functions. */
tamis_status tamis_cpu_find_long_rows(void *device, void *stream, const tamis_message_order *order, void **found);
void tamis_cpu_forget_long_rows(void *device, void *found);

/* Computes units first .. last - 1 of rows begin .. end - 1. */
typedef void tamis_cpu_shared_rows(const void *job, int64_t begin, int64_t end, int64_t first, int64_t last);

/* What is shared: rows of `units` elements or heads, which are cut at multiples of `cut`. */
typedef struct tamis_cpu_sharing {
    const tamis_message_order *order;
    tamis_cpu_shared_rows *rows;
    const void *job;
    int64_t units, cut;
} tamis_cpu_sharing;

/* Runs body(context, part, parts) for the parts of `threads` shares, of which each thread begins with its own. */
void tamis_cpu_run_parts(int threads, tamis_thread_body *body, void *context);

/* Runs all rows with up to `threads` threads, where `elements` are computed for each entry and row. */
void tamis_cpu_share_rows(const tamis_cpu_sharing *sharing, int threads, int64_t elements);

/* The threads, of `threads`, that pay for the elements of all entries and rows. */
int tamis_cpu_threads_for(const tamis_message_order *order, int threads, int64_t elements);

#endif
