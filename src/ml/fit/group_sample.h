/* The sample for choosing hyperparameters (choose.h), from data distributed over ranks. */
#ifndef TAMIS_ML_GROUP_SAMPLE_H
#define TAMIS_ML_GROUP_SAMPLE_H

#include "ml/fit/group.h"

/* A CSR matrix and its arrays. */
typedef struct ml_sample {
    tamis_sparse view;
    int64_t *offsets, *columns;
    void *values;
} ml_sample;

/* Gathers on rank 0 the sample that one device would take; other ranks get no rows. data: canonical. Collective. The
   caller frees it with ml_sample_free, also after an error. */
tamis_status ml_group_sample(const ml_rank *rank, const tamis_sparse *data, ml_sample *sample);
void ml_sample_free(ml_sample *sample);

#endif
