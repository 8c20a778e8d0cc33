/* What a kind that is made row by row consists of. */
#ifndef TAMIS_GENERATE_ROW_PLAN_H
#define TAMIS_GENERATE_ROW_PLAN_H

#include "generate/recipe.h"
#include "generate/subset.h"
#include "sparse/index.h"

/* Worked out once for a matrix, then read by all threads. */
typedef struct tamis_row_plan {
    const tamis_recipe *recipe;
    int64_t longest;                          /* no row has more entries */
    int64_t group_longest;                    /* the same in blocks, where rows are made in groups */
    int64_t bound, most;                      /* for random subsets of up to `most` numbers below `bound` */
    int64_t band;                             /* banded and window: what the recipe says or what the sizes suggest */
    int64_t groups, group_bound, group_total; /* blocks: rows and columns of blocks, and how many to place */
    int64_t *reaches;                         /* fem: distances between connected nodes, rising from 0 */
    int64_t reach_count, nodes;
    int64_t partial, partial_total; /* fem: the distance at which only so many pairs are connected; -1: none */
} tamis_row_plan;

/* Memory of one thread. */
typedef struct tamis_row_room {
    int64_t *columns;
    tamis_subset_room subsets;
    int64_t group, chosen_count, *chosen; /* the row of blocks at hand, and its blocks */
} tamis_row_room;

typedef struct tamis_row_kind {
    tamis_status (*plan)(tamis_row_plan *plan);
    /* The number of entries of a row, and, unless columns is NULL, their columns, rising. */
    int64_t (*row)(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns);
} tamis_row_kind;

extern const tamis_row_kind tamis_row_kind_uniform, tamis_row_kind_banded, tamis_row_kind_block, tamis_row_kind_window,
    tamis_row_kind_fem;

#endif
