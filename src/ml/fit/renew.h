/* Models that go on with other data: the parts of a warm start that a fit does. */
#ifndef TAMIS_ML_RENEW_H
#define TAMIS_ML_RENEW_H

#include "ml/model.h"

/* Makes room for the rows and columns of `data`, with fingerprint `sum`, and asks for as many iterations more as
   options.iterations says. */
tamis_status ml_renew(tamis_model *model, const tamis_sparse *data, uint64_t sum);

#endif
