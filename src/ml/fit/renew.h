/* Models that continue with other data: the part of a warm start that a fit does. */
#ifndef TAMIS_ML_RENEW_H
#define TAMIS_ML_RENEW_H

#include "ml/model.h"

/* Enlarges the model to the rows and columns of `data`, with fingerprint `sum`, and schedules options.iterations more
   iterations. */
tamis_status ml_renew(tamis_model *model, const tamis_sparse *data, uint64_t sum);

#endif
