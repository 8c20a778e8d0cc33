/* The entries of a group by columns. */
#ifndef TAMIS_ML_GROUP_COLUMNS_H
#define TAMIS_ML_GROUP_COLUMNS_H

#include "ml/fit/group.h"

/* Gives each rank columns with about as many entries in all, and brings their entries there: fills column_starts,
   which has its memory, and by_columns. */
tamis_status ml_group_columns(ml_rank *rank, const tamis_sparse *data);
void ml_rank_free(ml_rank *rank);

#endif
