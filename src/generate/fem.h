/* Finite elements. */
#ifndef TAMIS_GENERATE_FEM_H
#define TAMIS_GENERATE_FEM_H

#include "generate/rows.h"

extern const tamis_row_kind tamis_row_kind_fem;

#endif
