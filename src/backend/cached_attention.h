/* Attention to caches, as backends see it: src/core has checked everything except the contents of lengths and table. */
#ifndef TAMIS_BACKEND_CACHED_ATTENTION_H
#define TAMIS_BACKEND_CACHED_ATTENTION_H

#include <tamis/cached_attention.h>

#include "backend/backend.h"

/* Vectors; strides in elements. */
typedef struct tamis_cached_vectors {
    tamis_place at;
    int64_t sequence, position, head;
} tamis_cached_vectors;

/* Without a table, a cache is one page, numbered as its sequence. */
struct tamis_cached_job {
    void *device, *stream; /* of a GPU */
    int threads;           /* of the CPU */
    tamis_cached_attention_options o;
    tamis_cached_vectors q, k, v, out;
    tamis_place lengths, table, log_sums; /* table and log_sums: base NULL: none */
};

#endif
