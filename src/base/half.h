/* Scalar conversions of fp16 and bf16, stored as 16-bit words; rounding to nearest even. Kernels have their own vector
   versions. */
#ifndef TAMIS_BASE_HALF_H
#define TAMIS_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tamis_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float tamis_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float tamis_bf16_load(uint16_t bits) { return tamis_float_of_bits((uint32_t)bits << 16); }

static inline uint16_t tamis_bf16_store(float value) {
    const uint32_t bits = tamis_bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u); /* NaN becomes a quiet NaN */
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float tamis_f16_load(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) return tamis_float_of_bits(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude >= 0x0400u) return tamis_float_of_bits(sign | ((magnitude << 13) + 0x38000000u));
    const float subnormal = (float)magnitude * 0x1p-24f; /* exact: at most ten bits */
    return sign ? -subnormal : subnormal;
}

static inline uint16_t tamis_f16_store(float value) {
    const uint32_t bits = tamis_bits_of_float(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and up round to infinity */
    if (magnitude < 0x38800000u) { /* below 2^-14: adding 0.5 shifts the bits so that the FPU rounds at 2^-24 */
        const float shifted = tamis_float_of_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (tamis_bits_of_float(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
    return (uint16_t)(sign | (rounded >> 13));
}

#endif
