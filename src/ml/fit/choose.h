/* What a fit chooses by a small inner split where the options do not say it. */
#ifndef TAMIS_ML_CHOOSE_H
#define TAMIS_ML_CHOOSE_H

#include "ml/model.h"

/* Of large data only the first rows are looked at: while these are too many, fewer. `entries` is how many they have. */
enum { ML_CHOICE_ENTRIES = 1 << 19 };
static inline bool ml_too_many(int64_t rows, double entries) { return rows > 1 && entries > ML_CHOICE_ENTRIES; }
static inline int64_t ml_fewer_rows(int64_t rows) { return rows / 2 + rows / 4; }

/* Whether there is anything to choose for a fit to data of so many columns. */
bool ml_chooses(const tamis_model *model, int64_t cols);

/* Sets *choice for a fit of the model to `data`, whose values are as they were given. */
tamis_status ml_choose(const tamis_model *model, const tamis_sparse *data, ml_choice *choice);

/* Sets *choice to what is taken where there is too little to choose by: mini-batches that come one after another. */
void ml_choose_nothing(const tamis_model *model, ml_choice *choice);

/* Makes the choice the model's own. */
void ml_take_choice(tamis_model *model, const ml_choice *choice);

#endif
