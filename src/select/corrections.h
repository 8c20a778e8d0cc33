/* What predictions are multiplied by on a device, as `tamis tune-device` found: kept for the process and on disk. */
#ifndef TAMIS_SELECT_CORRECTIONS_H
#define TAMIS_SELECT_CORRECTIONS_H

#include "backend/backend.h"

/* A handle of the corrections of a device (see select/device_key.h), which are read from disk; 0: there is no room. */
int tamis_corrections_of(const char *key);

/* Whether a row says something that can be used. */
bool tamis_correction_is_sound(const tamis_correction *row);

/* Keeps them in the place of earlier ones; count = 0 removes these. False if they could not be written. */
bool tamis_corrections_set(const tamis_backend *backend, int number, int threads, const tamis_correction *rows,
                           int64_t count);

/* Copies at most `most` of them, and returns how many there are. */
int64_t tamis_corrections_get(int corrections, tamis_correction *rows, int64_t most);

/* What the algorithm's predicted time is multiplied by. One that was not measured gets the mean of the others, so that
   it is neither preferred nor avoided; 1 if the operation or the type was not measured at all. */
double tamis_correction_factor(int corrections, const tamis_problem *problem, const char *algorithm);

/* The first returns how many devices have some on disk; the second removes them, and returns how many there were. */
int64_t tamis_corrections_count(void);
int64_t tamis_corrections_clear(void);

#endif
