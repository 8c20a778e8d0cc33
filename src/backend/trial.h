/*
 * Timing of prepared algorithms on the trial's own operands: row-major, packed, random. Used by measured plans
 * (select/measure.h), and by papers' methods that tune their parameters.
 */
#ifndef TAMIS_BACKEND_TRIAL_H
#define TAMIS_BACKEND_TRIAL_H

#include "backend/backend.h"

enum { TAMIS_TRIAL_ARRAYS = 5 };

typedef struct tamis_trial {
    const tamis_problem *problem;
    tamis_operands operands;
    void *arrays[TAMIS_TRIAL_ARRAYS], *scratch, *events[2];
    int64_t bytes, scratch_bytes; /* of the operands; of the scratch, which grows on demand */
    bool by_clock;                /* the caller's queue cannot time events (OpenCL without profiling) */
} tamis_trial;

/* Makes operands for `members` members of the problem's batch, in the problem's stream. Call tamis_trial_end also after
   an error. */
tamis_status tamis_trial_begin(const tamis_problem *problem, int64_t members, tamis_trial *trial);
void tamis_trial_end(tamis_trial *trial);

/* A call of another kind on the same operands, all members at once: what a call on a graph takes without a plan. */
typedef struct tamis_rival {
    const char *name; /* as the tuning cache knows it: no algorithm has it */
    tamis_status (*run)(const void *context, const tamis_operands *x);
    const void *context;
} tamis_rival;

/* Seconds of one execution of `prepared`, or of `rival` if that is not NULL: the mean of `calls` consecutive ones, by
   the device's events, or by the clock if events have no times. */
tamis_status tamis_trial_time(tamis_trial *trial, const tamis_prepared *prepared, const tamis_rival *rival, int calls,
                              double *seconds);

#endif
