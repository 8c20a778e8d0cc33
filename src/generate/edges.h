/* Kinds whose entries are drawn one by one. */
#ifndef TAMIS_GENERATE_EDGES_H
#define TAMIS_GENERATE_EDGES_H

#include "generate/recipe.h"

enum { TAMIS_MOST_DRAWS = 32 };

typedef struct tamis_coordinates {
    int64_t row, column;
} tamis_coordinates;

typedef struct tamis_edge_plan tamis_edge_plan;
struct tamis_edge_plan {
    const tamis_recipe *recipe;
    int64_t diagonal; /* (0, 0) .. (diagonal - 1, diagonal - 1) are always present */
    int draws;        /* random numbers per entry, up to TAMIS_MOST_DRAWS */
    tamis_coordinates (*draw)(const tamis_edge_plan *plan, const uint64_t *bits);
    int levels;                        /* rmat: number of halvings of the longer side */
    int64_t *row_names, *column_names; /* rmat: random permutations; the same array in a square matrix */
};

/* Makes a pattern with sorted columns and no duplicates. Its value type is not set. `fill_plan` completes a plan that
   has the recipe. */
tamis_status tamis_make_edges(const tamis_recipe *recipe, tamis_status (*fill_plan)(tamis_edge_plan *plan),
                              tamis_owned_sparse **matrix);

#endif
