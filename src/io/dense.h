/* Readers of dense matrices, and element types on the way in and out. */
#ifndef TAMIS_IO_DENSE_H
#define TAMIS_IO_DENSE_H

#include <tamis/matrix.h>

#include "base/half.h"
#include "io/text.h"

tamis_status tamis_read_npy(const tamis_text *text, tamis_type type, tamis_array **array);
tamis_status tamis_read_market_array(const tamis_text *text, tamis_type type, tamis_array **array);

/* Half types are rounded by way of float, as everywhere in the library. */
static inline void tamis_store_element(void *data, tamis_type type, int64_t at, double value) {
    switch (type) {
    case TAMIS_F32: ((float *)data)[at] = (float)value; return;
    case TAMIS_F64: ((double *)data)[at] = value; return;
    case TAMIS_F16: ((uint16_t *)data)[at] = tamis_f16_store((float)value); return;
    case TAMIS_BF16: ((uint16_t *)data)[at] = tamis_bf16_store((float)value); return;
    }
}

static inline double tamis_load_element(const void *data, tamis_type type, int64_t at) {
    switch (type) {
    case TAMIS_F32: return ((const float *)data)[at];
    case TAMIS_F64: return ((const double *)data)[at];
    case TAMIS_F16: return tamis_f16_load(((const uint16_t *)data)[at]);
    case TAMIS_BF16: return tamis_bf16_load(((const uint16_t *)data)[at]);
    }
    return 0;
}

#endif
