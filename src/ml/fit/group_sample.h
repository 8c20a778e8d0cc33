/* The sample for choosing hyperparameters (choose.h), from data distributed over ranks. */
#ifndef TAMIS_ML_GROUP_SAMPLE_H
#define TAMIS_ML_GROUP_SAMPLE_H

#include "ml/data/rows.h"
#include "ml/fit/group.h"

/* Gathers on rank 0 the sample that one device would take; other ranks get no rows. data: canonical. Collective. The
   caller frees it with ml_rows_free, also after an error. */
tamis_status ml_group_sample(const ml_rank *rank, const tamis_sparse *data, ml_rows *sample);

#endif
