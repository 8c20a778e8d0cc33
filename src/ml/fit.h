/* The parts of an iteration that fits of data in memory and of streams share (fit.c, fit_stream.c). */
#ifndef TAMIS_ML_FIT_H
#define TAMIS_ML_FIT_H

#include "ml/model.h"

void ml_begin_iteration(tamis_model *model);
/* Tells the callback of a mini-batch of the iteration under way. batches: how many there will be, 0 where that is not
   known. */
void ml_tell_batch(tamis_model *model, int64_t batch, int64_t batches);
/* Waits, takes times, loss and metric, tells the callback, saves a checkpoint when it is due. */
tamis_status ml_end_iteration(tamis_model *model, const tamis_held_out *held_out);
/* Saves the checkpoint, where there is one to be made, when it is due or `now`. */
tamis_status ml_checkpoint(tamis_model *model, bool now);
/* TAMIS_ERROR_CANCELLED, with where the fit stands. */
tamis_status ml_stopped(const tamis_model *model);
/* The sizes of held-out entries, against the model's columns and the rows that are fitted. */
tamis_status ml_check_held_out(const tamis_model *model, const tamis_held_out *held_out, int64_t rows);

#endif
