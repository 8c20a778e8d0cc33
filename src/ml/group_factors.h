/* The factors of all ranks together. */
#ifndef TAMIS_ML_GROUP_FACTORS_H
#define TAMIS_ML_GROUP_FACTORS_H

#include "ml/model.h"

/* From a whole model, the same on all ranks, to what is this rank's. */
tamis_status ml_group_take_own(tamis_model *model);
/* And back. */
tamis_status ml_group_take_whole(tamis_model *model);

/* The metric of all ranks' held-out entries: of each, value and weight as ml_metric has them. */
tamis_status ml_group_metric(tamis_model *model, const tamis_held_out *held_out, double *metric);

/* Rank 0 saves the whole where it has a checkpoint to write and that is due, as ml_checkpoint. */
tamis_status ml_group_checkpoint(tamis_model *model, bool due);

#endif
