/* The cheapest vertex cover of a bipartite graph whose two sides have one price each. */
#ifndef TAMIS_GROUP_COVER_VERTEX_COVER_H
#define TAMIS_GROUP_COVER_VERTEX_COVER_H

#include "base/status.h"

/* The edges of left vertex u go to ends[starts[u]] .. ends[starts[u + 1] - 1]. */
typedef struct tamis_bipartite {
    int32_t left, right; /* vertices */
    const int64_t *starts;
    const int32_t *ends;
    int32_t left_price, right_price; /* of a vertex in the cover, positive */
} tamis_bipartite;

/* Chooses vertices that touch each edge, at the lowest price; covers[u]: left vertex u is one of them, and each right
   vertex to which another left vertex has an edge is one. Of several it is always the same, with the most left ones.
   There may be up to 2^31 - 1 edges. */
tamis_status tamis_vertex_cover(const tamis_bipartite *graph, bool *covers);

#endif
