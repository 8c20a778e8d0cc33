/* The machine's ceilings: measured once, kept for the process and on disk. */
#ifndef TAMIS_SELECT_CEILINGS_H
#define TAMIS_SELECT_CEILINGS_H

#include "backend/backend.h"

typedef enum tamis_probing { TAMIS_PROBE_NEVER, TAMIS_PROBE_IF_NEEDED, TAMIS_PROBE_ANEW } tamis_probing;

/*
 * From memory, else from $XDG_CACHE_HOME/tamis (or ~/.cache/tamis), else measured and kept in both, else the built-in
 * defaults: this never fails. TAMIS_PROBE=0 in the environment always leaves the measuring out.
 */
void tamis_ceilings_get(const tamis_backend *backend, int number, int threads, tamis_probing probing,
                        tamis_ceilings *ceilings);

/* How many are on disk; removing them there and from memory, which returns how many there were. */
int64_t tamis_ceilings_count(void);
int64_t tamis_ceilings_clear(void);

#endif
