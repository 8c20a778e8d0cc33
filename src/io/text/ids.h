/* Ids of lists, renumbered. */
#ifndef TAMIS_IO_IDS_H
#define TAMIS_IO_IDS_H

#include "io/rows/entries.h"

/* Turn the ids that occur into 0, 1, ... by rising id. Rows and columns may name the same things (a graph), which
   get one numbering; or different ones (ratings), which get a numbering each. */
tamis_status tamis_relabel_shared(const tamis_reading *reading, tamis_entries *entries);
tamis_status tamis_relabel_separately(const tamis_reading *reading, tamis_entries *entries);

#endif
