/* What a kind whose entries are drawn one by one consists of. */
#ifndef TAMIS_SPARSE_GENERATE_EDGES_H
#define TAMIS_SPARSE_GENERATE_EDGES_H

#include "sparse/generate.h"

typedef struct tamis_place {
    int64_t row, column;
} tamis_place;

typedef struct tamis_edge_plan tamis_edge_plan;
struct tamis_edge_plan {
    const tamis_recipe *recipe;
    int64_t diagonal; /* (0, 0) .. (diagonal - 1, diagonal - 1) are always there */
    tamis_place (*draw)(const tamis_edge_plan *plan, uint64_t number);
    int levels;                         /* rmat: halvings of the longer side */
    int64_t *row_names, *column_names;  /* rmat: what rows and columns become; the same in a square matrix */
};

tamis_status tamis_plan_rmat(tamis_edge_plan *plan);
tamis_status tamis_plan_scatter(tamis_edge_plan *plan);

#endif
