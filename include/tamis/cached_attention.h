/*
 * Attention of new queries to caches of keys and values (KV caches), as in decoding: each sequence has one query for
 * each head, and its keys and values are in a growing cache.
 *
 *   out = softmax(scale * q K^T) V     for each sequence and head, over the positions of the sequence's cache
 *
 * There is no pattern and no plan. The lengths of the caches are an array in device memory, read when the call runs:
 * the next step adds one to each length and calls again, also in a captured graph. Query heads that share a key head
 * (grouped-query attention) read its keys and values together. A cache is
 *   contiguous   sequences x capacity x key_heads x width, or any order of these dimensions but the last, by strides;
 *   in pages     a pool of pages x page x key_heads x width, and a table with the page numbers of each sequence.
 *
 * On a GPU each cache is cut into parts that occupy the whole device, and a second launch adds their sums in order: the
 * same inputs give the same bits each time. On the CPU the threads share the caches, or the parts of long ones. This is
 * "flash decoding" with the online softmax of Milakov and Gimelshein, "Online normalizer calculation for softmax",
 * 2018. Paging follows Kwon et al., "Efficient memory management for large language model serving with PagedAttention",
 * SOSP 2023.
 */
#ifndef TAMIS_CACHED_ATTENTION_H
#define TAMIS_CACHED_ATTENTION_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors, one for each sequence (or page and position) and head. Strides are in elements; the elements of a vector are
   contiguous. The address is aligned to one element. */
typedef struct tamis_vectors {
    void *data;
    int64_t sequence_stride; /* from one sequence, or page of a pool, to the next */
    int64_t position_stride; /* of keys and values; ignored for queries and results */
    int64_t head_stride;
    uint64_t reserved[4]; /* zero */
} tamis_vectors;

/* Describes a call. Zero a structure before setting its fields. */
typedef struct tamis_cached_attention_options {
    tamis_type type;        /* of queries, keys and values */
    tamis_type output_type; /* of the result: `type`, or fp32 if that has 16 bits */
    int64_t sequences;
    int64_t heads, key_heads; /* heads of queries; heads of keys and values, a divisor: query head h uses key head h /
                                 (heads / key_heads) */
    int64_t inner, width; /* elements of a query and a key; of a value and a result. Each 1 to 512, in fp64 1 to 256 */
    double scale;         /* factor of the products; 0 means 1 / sqrt(inner) */
    int64_t capacity;     /* positions of a cache: the largest possible length */
    int64_t window;       /* use only the last `window` positions of each sequence; 0: all */
    const void *lengths;  /* by sequence, on the device: 0 .. capacity. Lengths are clamped to this range */
    tamis_index_type length_type;
    tamis_index_type table_type;
    const void *table; /* the page of positions p * page .. of each sequence is table[sequence * table_stride + p], on
                          the device; NULL: caches are contiguous. Page numbers are clamped to the pool */
    int64_t table_stride;
    int64_t page;         /* positions of a page, a power of two; ignored without a table */
    int64_t pages;        /* of the pool, likewise */
    uint64_t reserved[8]; /* zero */
} tamis_cached_attention_options;

/*
 * out = the attention of each sequence and head; a sequence of length 0 gives 0. log_sums (NULL: not wanted) receives
 * the logarithm of the sum of the exponentials of the scores, -infinity for an empty sequence: sequences x heads packed
 * numbers, fp64 if `type` is fp64, else fp32. They allow merging the parts of a context that is stored in several
 * caches.
 *
 * Only positions below a sequence's length are read, and nothing outside the arrays, whatever lengths and table
 * contain. All memory is the device's. The result must not overlap an input. stream is NULL on the CPU. The call
 * allocates, in stream order, memory for partial results: up to width + 2 sums for each head and each 128 positions of
 * capacity. It does not wait. After an argument error the outputs are unchanged.
 */
TAMIS_API tamis_status tamis_cached_attention(tamis_device *device, const tamis_cached_attention_options *options,
                                              const tamis_vectors *q, const tamis_vectors *k, const tamis_vectors *v,
                                              const tamis_vectors *out, void *log_sums, void *stream);

#ifdef __cplusplus
}
#endif

#endif
