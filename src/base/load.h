/* What else the processors do while something is measured. */
#ifndef TAMIS_BASE_LOAD_H
#define TAMIS_BASE_LOAD_H

#include <stdbool.h>

#include "base/private.h"

/* Processor time up to a moment, in seconds; NaN: not known. */
typedef struct tamis_load_point {
    double clock, all, own, stolen;
} tamis_load_point;

typedef struct tamis_load {
    double others, stolen; /* processors: of other processes, and of other machines on the same host; NaN: not known */
    bool disturbed;        /* too much of that for times to be trusted */
} tamis_load;

TAMIS_PRIVATE_API tamis_load_point tamis_load_begin(void);

/* From that moment to now. What fits beside our threads disturbs nobody; 0 threads: a GPU computes, which processors do
   not slow. Below a tenth of a second nothing is known. TAMIS_LOAD in the environment takes the place of `others`. */
TAMIS_PRIVATE_API tamis_load tamis_load_since(const tamis_load_point *begin, int threads);

/* Processor time that a process of ours has had: it is not another's. */
TAMIS_PRIVATE_API void tamis_load_add_own(double seconds);

#endif
