/*
 * Timing of prepared algorithms on the trial's own operands: row-major, packed, random. Measured plans use it
 * (select/measure.h), and papers' methods that choose their parameters by measuring.
 */
#ifndef TAMIS_BACKEND_TRIAL_H
#define TAMIS_BACKEND_TRIAL_H

#include "backend/backend.h"

enum { TAMIS_TRIAL_ARRAYS = 5 };

typedef struct tamis_trial {
    const tamis_problem *problem;
    tamis_operands operands;
    void *arrays[TAMIS_TRIAL_ARRAYS], *scratch, *events[2];
    int64_t bytes, scratch_bytes; /* of the operands; of the scratch, which grows as algorithms need it */
    bool by_clock;                /* the caller's queue does not time events (OpenCL without profiling) */
} tamis_trial;

/* Makes operands for `members` members of the problem's batch, in the problem's stream. Call tamis_trial_end after an
   error, too. */
tamis_status tamis_trial_begin(const tamis_problem *problem, int64_t members, tamis_trial *trial);
void tamis_trial_end(tamis_trial *trial);

/* Seconds of one execution, the mean of `calls` of them in a row, by the device's events, or by the clock if events
   have no times. */
tamis_status tamis_trial_time(tamis_trial *trial, const tamis_prepared *prepared, int calls, double *seconds);

#endif
