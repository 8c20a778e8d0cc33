/* The rates of predictions on a device: built in for its chip, or fitted to its own timings, in the process and on
 * disk. */
#ifndef TAMIS_SELECT_RATES_H
#define TAMIS_SELECT_RATES_H

#include <stdio.h>

#include "backend/backend.h"
#include "base/text_buffer.h"

/* The rates that are built in for the device's chip; number -1: the first profile's, the same on all machines. Returns
   whose they are. */
tamis_rates_source tamis_rates_built_in(const tamis_backend *backend, int number, double rates[TAMIS_RATES_MOST]);

/* The rates of the device with this key (select/device_key.h), the same for all GPUs of one model: from the cache, else
   from the folder that TAMIS_CEILINGS names, else built in. Returns whose they are. */
tamis_rates_source tamis_rates_get(const tamis_backend *backend, int number, const char *key,
                                   double rates[TAMIS_RATES_MOST]);

/* The same in words. */
void tamis_rates_say(tamis_text_buffer *text, const tamis_rates_source *source);

/* Replaces the device's rates; NULL: by the site's or the built-in ones. False if they could not be written to the
 * cache. */
bool tamis_rates_set(const tamis_backend *backend, int number, int threads, const double *rates);

/* Writes the lines of a profile, as they are kept. */
void tamis_rates_write(FILE *file, const tamis_rate_table *table, const double *rates);

/* Removes the rates of all devices, on disk, too. Returns the number of devices that had some there. */
int64_t tamis_rates_clear(void);

#endif
