/* The backends of this build. */
#ifndef TAMIS_CORE_REGISTRY_H
#define TAMIS_CORE_REGISTRY_H

#include "backend/backend.h"

/* Backend `number`; NULL past the last. */
const tamis_backend *tamis_backend_at(int number);

#endif
