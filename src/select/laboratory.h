/* Names of the laboratory's methods, known even to a library without them, for its messages. */
#ifndef TAMIS_SELECT_LABORATORY_H
#define TAMIS_SELECT_LABORATORY_H

#include <stdbool.h>
#include <tamis/types.h>

#include "base/private.h"

/* Message of a library without TAMIS_LAB about such a method, after the name. */
#define TAMIS_LABORATORY_MISSING "is a paper's method, and this library " TAMIS_LABORATORY_BUILD
/* The end of such a message. */
#define TAMIS_LABORATORY_BUILD "was built without the laboratory: build it with -DTAMIS_LAB=ON"

/* True if the laboratory has a method of that name for devices with such memory. */
TAMIS_PRIVATE_API bool tamis_laboratory_has(tamis_location location, const char *name);

#endif
