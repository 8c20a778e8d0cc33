/*
 * Damped biases of rows and columns, which are subtracted from ratings before factors are fitted, and the last column
 * of the factors, which holds them. All biases are in units of the model's scale.
 */
#ifndef TAMIS_ML_BIASES_H
#define TAMIS_ML_BIASES_H

#include "ml/model.h"

/* Sets rows[i] to the damped mean of row i's residuals: ratings minus the model's mean and the biases `columns` (NULL:
   zeros). Damping adds ML_BIAS_DAMPING residuals of 0. */
enum { ML_BIAS_DAMPING = 10 };
void ml_row_biases(const tamis_model *model, const tamis_sparse *data, const double *columns, double *rows);
/* Computes both biases by ML_BIAS_ROUNDS alternating rounds from zero. */
enum { ML_BIAS_ROUNDS = 5 };
tamis_status ml_damped_biases(const tamis_model *model, const tamis_sparse *data, double *rows, double *columns);
/* Computes (rating - ml_centre - scale * (biases)) / scale of each entry, in the data's type; NULL: no biases. It
   belongs to the scope. */
tamis_status ml_less_biases(const tamis_model *model, const tamis_sparse *data, const double *rows,
                            const double *columns, void **left);

/* Sets squares to the squared errors of the damped biases of `data`, at the ratings of `entries`, clamped to the
   range of `data`. */
tamis_status ml_biases_squares(const tamis_model *model, const tamis_sparse *data, const tamis_sparse *entries,
                               double *squares);

/* Vectors of `width` numbers: 1 but in the last place, where it is 0; and the reverse. */
typedef struct ml_units {
    tamis_dense first, last;
} ml_units;
tamis_status ml_units_make(const tamis_model *model, ml_units *units);
/* Returns a view of the first options.factors columns of factors. */
tamis_dense ml_features(const tamis_model *model, const tamis_dense *factors);
/* Write numbers from the host to the last column of factors on the device, and read it (the numbers belong to the
   scope). Both wait. */
tamis_status ml_last_write(const tamis_model *model, const tamis_dense *factors, const double *numbers);
tamis_status ml_last_read(const tamis_model *model, const tamis_dense *factors, double **numbers);

#endif
