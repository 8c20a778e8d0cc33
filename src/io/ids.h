/* Numbering the ids that occur in a list anew: 0, 1, ... by rising id. */
#ifndef TAMIS_IO_IDS_H
#define TAMIS_IO_IDS_H

#include "io/entries.h"

/* Rows and columns name the same things (a graph): one numbering. The entries hold 64-bit indices. */
tamis_status tamis_relabel_shared(tamis_entries *entries);

/* Rows and columns name different things (ratings): a numbering each. */
tamis_status tamis_relabel_separately(tamis_entries *entries);

#endif
