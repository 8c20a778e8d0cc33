/* The load of the processors by other processes during a measurement. */
#ifndef TAMIS_BASE_LOAD_H
#define TAMIS_BASE_LOAD_H

#include <stdbool.h>

#include "base/private.h"

/* Processor time up to a moment, in seconds; NaN if it is not known. */
typedef struct tamis_load_point {
    double clock, all, own, stolen;
} tamis_load_point;

typedef struct tamis_load {
    double others, stolen; /* processors used by other processes, and by other virtual machines; NaN: not known */
    bool disturbed;        /* others use too much for times to be reliable */
} tamis_load;

TAMIS_PRIVATE_API tamis_load_point tamis_load_begin(void);

/* Returns the load since `begin`; not known for less than a tenth of a second. Load that fits beside `threads` threads
   does not disturb. threads = 0: a GPU computes, which load does not slow down. TAMIS_LOAD in the environment replaces
   `others`. */
TAMIS_PRIVATE_API tamis_load tamis_load_since(const tamis_load_point *begin, int threads);

/* Adds processor time of a process that we started, so that it does not count as others' load. */
TAMIS_PRIVATE_API void tamis_load_add_own(double seconds);

#endif
