/* Monotonic time in seconds. */
#ifndef TAMIS_BASE_CLOCK_H
#define TAMIS_BASE_CLOCK_H

#include "base/private.h"

TAMIS_PRIVATE_API double tamis_clock_seconds(void);

#endif
