/*
 * Timing algorithms that have been made ready, on operands of the trial alone: row-major, packed, random. Measured
 * plans use it (select/measure.h), and methods of papers that choose their parameters by measuring.
 */
#ifndef TAMIS_BACKEND_TRIAL_H
#define TAMIS_BACKEND_TRIAL_H

#include "backend/backend.h"

enum { TAMIS_TRIAL_ARRAYS = 5 };

typedef struct tamis_trial {
    const tamis_problem *problem;
    tamis_operands operands;
    void *arrays[TAMIS_TRIAL_ARRAYS], *scratch, *events[2];
    int64_t bytes, scratch_bytes; /* of the operands; of the scratch, which grows to what the algorithms need */
    bool by_clock;                /* the caller's queue keeps no times of its events (OpenCL without profiling) */
} tamis_trial;

/* Operands for `members` members of the problem's batch, in the problem's stream. Release it after an error, too. */
tamis_status tamis_trial_begin(const tamis_problem *problem, int64_t members, tamis_trial *trial);
void tamis_trial_end(tamis_trial *trial);

/* Seconds of one execution, over `calls` of them in a row: by the device's events, or the clock on the CPU and where
   events tell no times. */
tamis_status tamis_trial_time(tamis_trial *trial, const tamis_prepared *prepared, int calls, double *seconds);

#endif
