/* Kinds of matrices, made row by row or drawn entry by entry. */
#ifndef TAMIS_GENERATE_KINDS_H
#define TAMIS_GENERATE_KINDS_H

#include "generate/edges.h"
#include "generate/rows.h"

extern const tamis_row_kind tamis_row_kind_uniform, tamis_row_kind_banded, tamis_row_kind_block, tamis_row_kind_fem,
    tamis_row_kind_window;

tamis_status tamis_plan_rmat(tamis_edge_plan *plan);
tamis_status tamis_plan_scatter(tamis_edge_plan *plan);

#endif
