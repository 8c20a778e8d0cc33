/* Measured plans: prepares and times the best candidates of a choice, and keeps the fastest. */
#ifndef TAMIS_SELECT_MEASURE_H
#define TAMIS_SELECT_MEASURE_H

#include "backend/trial.h"
#include "select/choose.h"

/* Candidates that take at most this multiple of the fastest one's time are equal to it, and the prediction decides: so
   noise does not change the choice. */
#define TAMIS_TIE 1.02

/* Makes a candidate the choice, by the measured times of the candidates; those without one keep their reasons. `in`:
   what was measured, for the choice's reason. */
void tamis_choice_decide(tamis_choice *choice, const tamis_candidate *winner, const char *in);

/*
 * Prepares the algorithm if the caller leaves the choice to the library: the one remembered for such a problem on such
 * a chip, else the fastest candidate by measurement, which is then remembered. `choice` reports it, with all times.
 * Candidates that fail are skipped; if all fail, returns the last one's
 * error. `rival` (NULL: none) is timed beside the candidates; if it is the fastest, or as fast as the fastest,
 * *prepared is NULL. choice->rival_seconds is then its time, also when an algorithm wins.
 */
tamis_status tamis_choose_measured(const tamis_problem *problem, const tamis_device_description *device,
                                   const tamis_rival *rival, tamis_choice *choice, tamis_prepared **prepared);

#endif
