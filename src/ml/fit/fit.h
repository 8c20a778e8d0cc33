/* Checks of data, for fits on one device and on groups (fit.c, fit_group.c). */
#ifndef TAMIS_ML_FIT_H
#define TAMIS_ML_FIT_H

#include "ml/model.h"

/* Checks that a partly fitted model can continue with data of these sizes and this fingerprint, and that its names fit
   the sizes. */
tamis_status ml_check_same(const tamis_model *model, int64_t rows, int64_t cols, int64_t nnz, uint64_t sum);
/* Checks the sizes of held-out entries against the model's columns and the rows that are fitted. */
tamis_status ml_check_held_out(const tamis_model *model, const tamis_held_out *held_out, int64_t rows);

#endif
