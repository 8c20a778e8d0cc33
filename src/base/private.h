/* What libtamis_ml and the program take from the layers below the core: exported, in no public header. Named in
 * tamis.map too. */
#ifndef TAMIS_BASE_PRIVATE_H
#define TAMIS_BASE_PRIVATE_H

#include <tamis/types.h>

#define TAMIS_PRIVATE_API TAMIS_API

#endif
