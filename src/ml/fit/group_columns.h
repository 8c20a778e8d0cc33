/* The entries of a group by columns. */
#ifndef TAMIS_ML_GROUP_COLUMNS_H
#define TAMIS_ML_GROUP_COLUMNS_H

#include "ml/fit/group.h"

/* Assigns columns with about equal entries to ranks, and moves their entries there: fills column_starts, which is
   allocated, and by_columns. */
tamis_status ml_group_columns(ml_rank *rank, const tamis_sparse *data);

#endif
