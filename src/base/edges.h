/* Properties of edges on the host, from the table in edge_rows.h. */
#ifndef TAMIS_BASE_EDGES_H
#define TAMIS_BASE_EDGES_H

#include <tamis/types.h>

#include "base/edge_rows.h"

#define ROW(...) +1
enum { TAMIS_EDGE_COUNT = TAMIS_EDGES(ROW) };
#undef ROW

/* Returns how S's value enters the edge's value: TAMIS_S_.... */
static inline int tamis_edge_entry(tamis_edge edge) {
    switch (edge) {
#define ROW(NAME, number, name, entry, ...)                                                                            \
    case TAMIS_EDGE_##NAME: return entry;
        TAMIS_EDGES(ROW)
#undef ROW
    }
    return TAMIS_S_MULTIPLIES;
}

/* Returns how f depends on x: TAMIS_F_.... */
static inline int tamis_edge_shape(tamis_edge edge) {
    switch (edge) {
#define ROW(NAME, number, name, entry, shape, ...)                                                                     \
    case TAMIS_EDGE_##NAME: return shape;
        TAMIS_EDGES(ROW)
#undef ROW
    }
    return TAMIS_F_CURVED;
}

#endif
