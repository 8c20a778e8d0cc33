/* Estimation of lambda from the noise of the ratings: options.regularization = 0 of als, ccd and implicit-als. */
#ifndef TAMIS_ML_NOISE_H
#define TAMIS_ML_NOISE_H

#include "ml/model.h"

/* Checks options.regularization: positive, or 0 to find lambda by the noise. */
tamis_status ml_check_lambda(const tamis_model_options *options);

/* Scratch for estimating lambda, made before the first iteration: a Gram matrix of features on the device and on the
   host. */
typedef struct ml_noise {
    tamis_dense gram;
    void *narrow;
    double *numbers;
} ml_noise;
tamis_status ml_noise_make(const tamis_model *model, int64_t features, ml_noise *noise);

/* Sets model->lambda for the first iteration, which takes all ratings for noise. */
tamis_status ml_noise_begin(tamis_model *model, const tamis_sparse *data);
/* Sets it for a later iteration, from the current factors. squares: the sum of squared residuals of this rank's
   ratings, in units of the model's scale. features: this rank's rows and columns (NULL: no degrees of freedom are
   taken); last_is_bias: their last column is a bias, fitted with them, that multiplies a one. Waits. */
tamis_status ml_noise_lambda(tamis_model *model, const ml_noise *noise, double squares,
                             const tamis_dense *const *features, bool last_is_bias);

/* Sets it for implicit-als. logarithms: the sum of logarithms of this rank's weights c p; uses: their number. */
tamis_status ml_noise_of_uses(tamis_model *model, double logarithms, double uses);
/* Sets it for ease. squares: the sum of the squares of all weights. */
tamis_status ml_noise_of_pairs(tamis_model *model, double squares);

#endif
