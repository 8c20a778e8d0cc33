/* The machine's ceilings: measured once, kept for the process and on disk. */
#ifndef TAMIS_SELECT_CEILINGS_H
#define TAMIS_SELECT_CEILINGS_H

#include "backend/backend.h"

/*
 * From memory, else from $XDG_CACHE_HOME/tamis (or ~/.cache/tamis), else measured and kept in both, else the built-in
 * defaults: this never fails. `may_measure` false leaves the measuring out. TAMIS_PROBE=0 in the environment always
 * does.
 */
void tamis_ceilings_get(const tamis_backend *backend, int number, int threads, bool may_measure,
                        tamis_ceilings *ceilings);

#endif
