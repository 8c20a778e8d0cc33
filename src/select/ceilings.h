/* Ceilings of the machine: measured once, then cached in the process and on disk. */
#ifndef TAMIS_SELECT_CEILINGS_H
#define TAMIS_SELECT_CEILINGS_H

#include "backend/backend.h"

typedef enum tamis_probing { TAMIS_PROBE_NEVER, TAMIS_PROBE_IF_NEEDED, TAMIS_PROBE_ANEW } tamis_probing;

/*
 * Gets the ceilings from memory; else from $XDG_CACHE_HOME/tamis (or ~/.cache/tamis) or the folder TAMIS_CEILINGS; else
 * measures them and caches them in both. Without a cache it measures briefly: some of them, in 0.1 s; the rest, and all
 * of a GPU's, are the built-in defaults. It never fails. With TAMIS_PROBE=0 in the environment nothing is measured.
 * rates and source: NULL, or the rates of predictions (select/rates.h), with TAMIS_PROBE=0 the first profile's, and
 * whose they are.
 */
void tamis_ceilings_get(const tamis_backend *backend, int number, int threads, tamis_probing probing,
                        tamis_ceilings *ceilings, double *rates, tamis_rates_source *source);

/* The first returns the number on disk. The second removes them there and from memory, and returns their number. */
int64_t tamis_ceilings_count(void);
int64_t tamis_ceilings_clear(void);

#endif
