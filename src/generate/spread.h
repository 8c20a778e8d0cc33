/* Uniform, banded and block patterns. */
#ifndef TAMIS_GENERATE_SPREAD_H
#define TAMIS_GENERATE_SPREAD_H

#include "generate/rows.h"

extern const tamis_row_kind tamis_row_kind_uniform, tamis_row_kind_banded, tamis_row_kind_block;

#endif
