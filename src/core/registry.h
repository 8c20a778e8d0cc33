/* The backends that this build has. */
#ifndef TAMIS_CORE_REGISTRY_H
#define TAMIS_CORE_REGISTRY_H

#include "base/backend.h"

/* By number; NULL past the end. */
const tamis_backend *tamis_backend_at(int number);

#endif
