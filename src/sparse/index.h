/* Indices and offsets of either width: reading and writing an entry, searching, and limits. */
#ifndef TAMIS_SPARSE_INDEX_H
#define TAMIS_SPARSE_INDEX_H

#include <stdint.h>
#include <tamis/tamis.h>

/* Always inlined, so that a call with a constant type compiles only that type's code. */
#define TAMIS_INLINE static inline __attribute__((always_inline))

/* Returns entry i of an array of 32- or 64-bit integers. */
TAMIS_INLINE int64_t tamis_index_load(const void *array, tamis_index_type type, int64_t i) {
    return type == TAMIS_I32 ? (int64_t)((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

/* Sets entry i. The value must fit the type. */
TAMIS_INLINE void tamis_index_store(void *array, tamis_index_type type, int64_t i, int64_t value) {
    if (type == TAMIS_I32)
        ((int32_t *)array)[i] = (int32_t)value;
    else
        ((int64_t *)array)[i] = value;
}

/* Returns the largest value of the type. */
TAMIS_INLINE int64_t tamis_index_limit(tamis_index_type type) { return type == TAMIS_I32 ? INT32_MAX : INT64_MAX; }

/* Returns true if indices 0 .. size - 1 fit the type. The size itself may be one more than the largest value. */
TAMIS_INLINE bool tamis_index_spans(tamis_index_type type, int64_t size) { return size - 1 <= tamis_index_limit(type); }

/* Returns true if an offset of `nnz` fits the type. */
TAMIS_INLINE bool tamis_index_holds(tamis_index_type type, int64_t nnz) { return nnz <= tamis_index_limit(type); }

/* Lower bound by binary search: returns the first i in low .. high - 1 with array[i] >= least, or high. The entries
   must be sorted. */
TAMIS_INLINE int64_t tamis_index_first(const void *array, tamis_index_type type, int64_t low, int64_t high,
                                       int64_t least) {
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (tamis_index_load(array, type, middle) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the first entry of a row of a CSR; of row S->rows, the end. */
TAMIS_INLINE int64_t tamis_row_start(const tamis_sparse *S, int64_t row) {
    return tamis_index_load(S->offsets, S->offset_type, row);
}

/* Returns the address of entry i. */
TAMIS_INLINE const void *tamis_index_at(const void *array, tamis_index_type type, int64_t i) {
    return (const char *)array + i * (type == TAMIS_I32 ? 4 : 8);
}

#endif
