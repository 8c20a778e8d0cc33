/* Measured plans: the best candidates of a choice are prepared and timed, and the fastest is kept. */
#ifndef TAMIS_SELECT_MEASURE_H
#define TAMIS_SELECT_MEASURE_H

#include "select/choose.h"

/*
 * Prepares the algorithm if the caller leaves the choice to the library: the one remembered for such a problem on such
 * a chip, else the fastest of the candidates as measured, which is then remembered. `choice` says which one it was,
 * with all times. `staged`: members of a batch come one at a time. Candidates that fail are passed over; if all fail,
 * the last one's error is returned.
 */
tamis_status tamis_choose_measured(const tamis_problem *problem, const tamis_device_description *device, bool staged,
                                   tamis_choice *choice, tamis_prepared **prepared);

#endif
