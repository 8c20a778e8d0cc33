/* Correction factors of predictions on a device, found by `tamis tune-device`: cached in the process and on disk. */
#ifndef TAMIS_SELECT_CORRECTIONS_H
#define TAMIS_SELECT_CORRECTIONS_H

#include "backend/backend.h"

/* Handle of a device's corrections (see select/device_key.h), which are read from disk; 0: no room. */
int tamis_corrections_of(const char *key);

/* True if a row is usable. */
bool tamis_correction_is_sound(const tamis_correction *row);

/* Replaces the earlier corrections; count = 0 removes them. False if they could not be written. */
bool tamis_corrections_set(const tamis_backend *backend, int number, int threads, const tamis_correction *rows,
                           int64_t count);

/* Copies at most `most` of them, and returns their number. */
int64_t tamis_corrections_get(int corrections, tamis_correction *rows, int64_t most);

/* Factor of the algorithm's predicted time. An unmeasured algorithm gets the mean of the others, so that it is neither
   preferred nor avoided; 1 if the operation or the type was not measured at all. */
double tamis_correction_factor(int corrections, const tamis_problem *problem, const char *algorithm);

/* Removes the corrections of all devices, on disk, too. Returns the number of devices that had some there. */
int64_t tamis_corrections_clear(void);

#endif
