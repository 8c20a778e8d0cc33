/* Properties of edges on the host, from the table in edge_rows.h. */
#ifndef TAMIS_BASE_EDGES_H
#define TAMIS_BASE_EDGES_H

#include <tamis/types.h>

#include "base/edge_rows.h"

#define ROW(...) +1
enum { TAMIS_EDGE_COUNT = TAMIS_EDGES(ROW) };
#undef ROW

_Static_assert((int)TAMIS_EDGE_TEXT >= TAMIS_EDGE_COUNT, "the edge that is a text is no row");

/* True if it is a row or a text. */
static inline bool tamis_edge_is_valid(tamis_edge edge) {
    return (unsigned)edge < TAMIS_EDGE_COUNT || edge == TAMIS_EDGE_TEXT;
}

/* Returns how S's value enters the edge's value: TAMIS_S_.... */
static inline int tamis_edge_entry(tamis_edge edge) {
    switch (edge) {
#define ROW(NAME, number, name, entry, ...)                                                                            \
    case TAMIS_EDGE_##NAME: return entry;
        TAMIS_EDGES(ROW)
#undef ROW
    case TAMIS_EDGE_TEXT: break; /* it may read s, and x */
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
    case TAMIS_EDGE_TEXT: break;
    }
    return TAMIS_F_CURVED;
}

#endif
