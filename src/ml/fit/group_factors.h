/* The factors of all ranks together. */
#ifndef TAMIS_ML_GROUP_FACTORS_H
#define TAMIS_ML_GROUP_FACTORS_H

#include "ml/model.h"

/* Keeps this rank's part of a whole model, which is the same on all ranks. */
tamis_status ml_group_take_own(tamis_model *model);
/* Collects the parts of all ranks into the whole model. */
tamis_status ml_group_take_whole(tamis_model *model);

/* Computes the metric of all ranks' held-out entries from the value and weight that ml_metric gives each rank. */
tamis_status ml_group_metric(tamis_model *model, const tamis_held_out *held_out, double *metric);

/* Saves the whole model on rank 0 if a checkpoint is due there, as ml_checkpoint does. */
tamis_status ml_group_checkpoint(tamis_model *model, bool due);

#endif
