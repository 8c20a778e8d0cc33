/* Elements of any type as doubles, one at a time. */
#ifndef TAMIS_SPARSE_ELEMENT_H
#define TAMIS_SPARSE_ELEMENT_H

#include "base/half.h"
#include "sparse/index.h"

TAMIS_INLINE double tamis_element_load(const void *array, tamis_type type, int64_t i) {
    switch (type) {
    case TAMIS_F32: return (double)((const float *)array)[i];
    case TAMIS_F64: return ((const double *)array)[i];
    case TAMIS_F16: return (double)tamis_f16_load(((const uint16_t *)array)[i]);
    case TAMIS_BF16: return (double)tamis_bf16_load(((const uint16_t *)array)[i]);
    }
    return 0;
}

/* A half type is rounded twice: to float, and to the type. */
TAMIS_INLINE void tamis_element_store(void *array, tamis_type type, int64_t i, double value) {
    switch (type) {
    case TAMIS_F32: ((float *)array)[i] = (float)value; return;
    case TAMIS_F64: ((double *)array)[i] = value; return;
    case TAMIS_F16: ((uint16_t *)array)[i] = tamis_f16_store((float)value); return;
    case TAMIS_BF16: ((uint16_t *)array)[i] = tamis_bf16_store((float)value); return;
    }
}

#endif
