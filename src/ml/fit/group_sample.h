/* The rows that a choice is made by (choose.h), out of data whose rows are on several ranks. */
#ifndef TAMIS_ML_GROUP_SAMPLE_H
#define TAMIS_ML_GROUP_SAMPLE_H

#include "ml/fit/group.h"

/* A CSR matrix and its arrays. */
typedef struct ml_sample {
    tamis_sparse view;
    int64_t *offsets, *columns;
    void *values;
} ml_sample;

/* Puts on rank 0 the rows that one device would choose by; the other ranks get no rows. `data` are
   canonical, and all ranks call it. ml_sample_free after it, also where it failed. */
tamis_status ml_group_sample(const ml_rank *rank, const tamis_sparse *data, ml_sample *sample);
void ml_sample_free(ml_sample *sample);

#endif
