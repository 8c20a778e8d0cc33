/* The table of methods, by tamis_method. */
#include "ml/model.h"

const ml_method *const ml_methods[ML_METHODS] = {&ml_als, &ml_implicit_als, &ml_ccd, &ml_lda, &ml_sfa, &ml_gap};
