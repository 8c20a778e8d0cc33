/* Ids of lists, renumbered. */
#ifndef TAMIS_IO_IDS_H
#define TAMIS_IO_IDS_H

#include "io/rows/entries.h"

/* Replace the ids that occur by 0, 1, ... in the order of ids. Rows and columns share one numbering if they mean the
   same things (a graph), or get one each (ratings). */
tamis_status tamis_relabel_shared(const tamis_reading *reading, tamis_entries *entries);
tamis_status tamis_relabel_separately(const tamis_reading *reading, tamis_entries *entries);

#endif
