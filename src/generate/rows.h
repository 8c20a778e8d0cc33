/* Kinds that are made row by row. */
#ifndef TAMIS_GENERATE_ROWS_H
#define TAMIS_GENERATE_ROWS_H

#include "generate/recipe.h"
#include "generate/subset.h"
#include "sparse/index.h"

/* Parameters of a matrix, filled in once by the kind's `plan` and read by all threads. */
typedef struct tamis_row_plan {
    const tamis_recipe *recipe;
    int64_t longest;                          /* no row has more entries */
    int64_t group_longest;                    /* blocks: the most blocks in a row of blocks */
    int64_t bound, most;                      /* random subsets have up to `most` numbers below `bound` */
    int64_t band;                             /* banded and window: the recipe's, or one derived from the sizes */
    int64_t groups, group_bound, group_total; /* blocks: rows and columns of blocks, and how many to place */
    int64_t *reaches;                         /* fem: distances between connected nodes, rising from 0 */
    int64_t reach_count, nodes;
    int64_t partial, partial_total; /* fem: the distance at which only partial_total pairs are connected; -1: none */
} tamis_row_plan;

/* A thread's scratch. */
typedef struct tamis_row_room {
    int64_t *columns;
    tamis_subset_room subsets;
    int64_t group, chosen_count, *chosen; /* the latest row of blocks, and its blocks */
} tamis_row_room;

typedef struct tamis_row_kind {
    tamis_status (*plan)(tamis_row_plan *plan);
    /* Returns the number of entries of a row, and writes their sorted columns unless `columns` is NULL. */
    int64_t (*row)(const tamis_row_plan *plan, tamis_row_room *room, int64_t row, int64_t *columns);
} tamis_row_kind;

/* Makes a pattern with sorted columns and no duplicates. Its value type is not set. */
tamis_status tamis_make_rows(const tamis_recipe *recipe, const tamis_row_kind *kind, tamis_owned_sparse **matrix);

#endif
