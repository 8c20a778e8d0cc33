/* FNV-1a in 64 bits, for tables and for telling accidents; nothing here defends against intent. Its values name the
   files of cached kernels, and stand in these and in models: they never change. */
#ifndef TAMIS_BASE_FNV_H
#define TAMIS_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TAMIS_FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t tamis_fnv_step(uint64_t sum, uint64_t word) { return (sum ^ word) * UINT64_C(0x100000001b3); }

/* Adds bytes one by one, as FNV-1a is defined: for texts. */
static inline uint64_t tamis_fnv_bytes(uint64_t sum, const void *data, size_t bytes) {
    const unsigned char *const at = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) sum = tamis_fnv_step(sum, at[i]);
    return sum;
}

/* Adds words of eight bytes, then the bytes that are left: for arrays, an eighth of the steps. A product carries
   upwards only, so the upper half of the sum is folded into the lower one after each word. Of no data (NULL) nothing is
   added. */
static inline uint64_t tamis_fnv_words(uint64_t sum, const void *data, size_t bytes) {
    const char *at = (const char *)data;
    if (!at) return sum;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = tamis_fnv_step(sum, word);
        sum ^= sum >> 32;
    }
    return tamis_fnv_bytes(sum, at, bytes);
}

#endif
