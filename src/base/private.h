/* Marks what libtamis_ml and the program take from the layers below the core. These functions are exported and listed
   in tamis.map, but are in no public header. */
#ifndef TAMIS_BASE_PRIVATE_H
#define TAMIS_BASE_PRIVATE_H

#include <tamis/types.h>

#define TAMIS_PRIVATE_API TAMIS_API

#endif
