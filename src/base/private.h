/* Marks functions below the core that libtamis_ml and the program use. They are exported and listed in tamis.map, but
   are not in a public header. */
#ifndef TAMIS_BASE_PRIVATE_H
#define TAMIS_BASE_PRIVATE_H

#include <tamis/types.h>

#define TAMIS_PRIVATE_API TAMIS_API

#endif
