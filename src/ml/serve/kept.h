/* Cache of a model: values computed once for all calls that use it, and valid until its factors change. Any number of
   threads may ask at the same time: if two find nothing, both compute the value and one of them discards its own. */
#ifndef TAMIS_ML_KEPT_H
#define TAMIS_ML_KEPT_H

#include <stdatomic.h>

#include "ml/model.h"

struct ml_kept {
    _Atomic(void *) scales[2]; /* of rows, of columns */
    _Atomic(void *) gram;
    _Atomic(void *) terms; /* see chance.h */
    _Atomic(void *) lists; /* see lists.h */
};

/* Publishes `made` atomically and returns the cached value, which may be from another thread that was first. */
void *ml_kept_publish(_Atomic(void *) *place, void *made);

/* Returns the reciprocal norm of each row's or column's features, without biases, on the host, in the model's type; NaN
   for zeros, which are similar to nothing. */
tamis_status ml_kept_scales(const tamis_model *model, bool rows, const void **scales);

/* Y^T Y + lambda of the columns' factors, on the model's device, and its inverse on the host, in double; NULL if fold.h
   does not need it. */
typedef struct ml_gram_kept {
    tamis_dense G;
    double *inverse;
} ml_gram_kept;
tamis_status ml_kept_gram(const tamis_model *model, const ml_gram_kept **gram);

/* Clears the cache, before or after factors change. */
void ml_forget(const tamis_model *model);

#endif
