/* EASE by neighbourhoods, for more columns than a weight for each pair has room for. */
#ifndef TAMIS_ML_LOCAL_H
#define TAMIS_ML_LOCAL_H

#include "ml/fit/place.h"

typedef struct ml_local ml_local;

/* Returns the bytes that a fit takes beside its data, with the model, and without what depends on them. */
double ml_local_bytes(const tamis_model *model, int neighbours, int64_t cols, int threads);
/* Makes what a fit needs, of the scope. */
tamis_status ml_local_make(const tamis_model *model, const tamis_sparse *data, ml_local **local);
/* Computes the weights from which each column takes (serve/lists.h), and writes them to the model. The result does not
   depend on the number of threads. */
tamis_status ml_local_fit(tamis_model *model, ml_local *local);

#endif
