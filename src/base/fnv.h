/* FNV-1a in 64 bits, for hash tables and for checksums against accidents, not against attacks. Its values name and
   check cached kernels, and are stored in models, so the function must never change. */
#ifndef TAMIS_BASE_FNV_H
#define TAMIS_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TAMIS_FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t tamis_fnv_step(uint64_t sum, uint64_t word) { return (sum ^ word) * UINT64_C(0x100000001b3); }

/* Adds bytes one by one, as FNV-1a is defined; for texts. */
static inline uint64_t tamis_fnv_bytes(uint64_t sum, const void *data, size_t bytes) {
    const unsigned char *const at = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) sum = tamis_fnv_step(sum, at[i]);
    return sum;
}

/* Adds words of eight bytes, then the remaining bytes; for arrays, as it takes an eighth of the steps. A product only
   carries upwards, so each step folds the upper half of the sum into the lower one. NULL adds nothing. */
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
