/* The loop over iterations, and its parts, shared by fits of data in memory and of streams. */
#ifndef TAMIS_ML_LOOP_H
#define TAMIS_ML_LOOP_H

#include "ml/model.h"

void ml_begin_iteration(tamis_model *model);
/* Reports a step, from 1, before the first iteration or after the last. Returns false if the callback stops the fit. */
bool ml_tell_step(const tamis_model *model, int64_t step);
/* Reports a mini-batch of the current iteration to the callback. batches: their total number, 0 if unknown. */
void ml_tell_batch(tamis_model *model, int64_t batch, int64_t batches);
/* Reports a finished mini-batch to the callback. Sets *go_on to false if it said stop. */
tamis_status ml_after_batch(tamis_model *model, int64_t batch, int64_t batches, bool *go_on);
/* Waits, collects times, loss and metric, calls the callback, and saves a checkpoint if it is due. */
tamis_status ml_end_iteration(tamis_model *model, const tamis_held_out *held_out);
/* If a factor is not finite, empties the model and fails; the message names the iteration and what to change. */
tamis_status ml_check_finite(tamis_model *model);
/* Resets the model to its state after creation. */
void ml_model_empty(tamis_model *model);
/* Saves a checkpoint, if options ask for one, when it is due or `now` is true. */
tamis_status ml_checkpoint(tamis_model *model, bool now);
static inline bool ml_unfinished(const tamis_model *model) {
    return model->iterations_done < model->options.iterations;
}
/* Recomputes the metric of a model that has done all iterations, since the held-out entries may be others, or none. */
tamis_status ml_measure_done(tamis_model *model, const tamis_held_out *held_out);
/* Calls begin() and does all iterations. */
tamis_status ml_run(tamis_model *model, const tamis_sparse *data, const tamis_held_out *held_out);
/* Returns TAMIS_ERROR_CANCELLED, with a message that gives the fit's progress. */
tamis_status ml_stopped(const tamis_model *model);

#endif
