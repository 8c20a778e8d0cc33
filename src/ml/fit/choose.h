/* Hyperparameters that a fit chooses by a small inner split where the options leave them open. */
#ifndef TAMIS_ML_CHOOSE_H
#define TAMIS_ML_CHOOSE_H

#include "ml/model.h"

/* The choice uses at most ML_CHOICE_ENTRIES entries: the number of first rows shrinks by ml_fewer_rows while
   ml_too_many of them. `entries`: how many entries these rows have. */
enum { ML_CHOICE_ENTRIES = 1 << 19 };
static inline bool ml_too_many(int64_t rows, double entries) { return rows > 1 && entries > ML_CHOICE_ENTRIES; }
static inline int64_t ml_fewer_rows(int64_t rows) { return rows / 2 + rows / 4; }

/* Returns true if a fit has anything to choose. */
bool ml_chooses(const tamis_model *model);

/* Sets *choice for a fit of the model to `data`, with values as the caller gave them. */
tamis_status ml_choose(const tamis_model *model, const tamis_sparse *data, ml_choice *choice);

/* Sets *choice to the defaults, for data that cannot be split: mini-batches that arrive one after another. */
void ml_choose_nothing(const tamis_model *model, ml_choice *choice);

/* Copies the choice to the model. */
void ml_take_choice(tamis_model *model, const ml_choice *choice);

#endif
