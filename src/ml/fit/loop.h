/* The loop over iterations, and its parts that fits of data in memory and of streams share. */
#ifndef TAMIS_ML_LOOP_H
#define TAMIS_ML_LOOP_H

#include "ml/model.h"

void ml_begin_iteration(tamis_model *model);
/* Tells the callback about a mini-batch of the iteration under way. batches: how many there will be, 0 if that is not
   known. */
void ml_tell_batch(tamis_model *model, int64_t batch, int64_t batches);
/* Tells the callback about a finished mini-batch. *go_on is false if it said stop. */
tamis_status ml_after_batch(tamis_model *model, int64_t batch, int64_t batches, bool *go_on);
/* Waits, takes times, loss and metric, tells the callback, saves a checkpoint when it is due. */
tamis_status ml_end_iteration(tamis_model *model, const tamis_held_out *held_out);
/* Unless all factors are finite, makes the model an empty one and fails, naming the iteration and what to change. */
tamis_status ml_check_finite(tamis_model *model);
/* Makes the model one that was just made. */
void ml_model_empty(tamis_model *model);
/* Saves the checkpoint, where there is one to be made, when it is due or `now`. */
tamis_status ml_checkpoint(tamis_model *model, bool now);
static inline bool ml_unfinished(const tamis_model *model) {
    return model->iterations_done < model->options.iterations;
}
/* Computes the metric of a model that has all its iterations: it may be that of other entries, or of none now. */
tamis_status ml_measure_done(tamis_model *model, const tamis_held_out *held_out);
/* Calls begin() and does all iterations; the caller calls ml_end(). */
tamis_status ml_run(tamis_model *model, const tamis_sparse *data, const tamis_held_out *held_out);
/* Returns TAMIS_ERROR_CANCELLED, and says where the fit stands. */
tamis_status ml_stopped(const tamis_model *model);

#endif
