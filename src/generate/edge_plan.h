/* What a kind whose entries are drawn one by one consists of. */
#ifndef TAMIS_GENERATE_EDGE_PLAN_H
#define TAMIS_GENERATE_EDGE_PLAN_H

#include "generate/recipe.h"

enum { TAMIS_MOST_DRAWS = 32 };

typedef struct tamis_coordinates {
    int64_t row, column;
} tamis_coordinates;

typedef struct tamis_edge_plan tamis_edge_plan;
struct tamis_edge_plan {
    const tamis_recipe *recipe;
    int64_t diagonal; /* (0, 0) .. (diagonal - 1, diagonal - 1) are always there */
    int draws;        /* random numbers for an entry, up to TAMIS_MOST_DRAWS */
    tamis_coordinates (*draw)(const tamis_edge_plan *plan, const uint64_t *bits);
    int levels;                        /* rmat: halvings of the longer side */
    int64_t *row_names, *column_names; /* rmat: what rows and columns become; the same in a square matrix */
};

tamis_status tamis_plan_rmat(tamis_edge_plan *plan);
tamis_status tamis_plan_scatter(tamis_edge_plan *plan);

#endif
