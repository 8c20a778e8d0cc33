/* Minimum weighted vertex cover of a bipartite graph with one price per side. */
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

/* Finds a minimum cover. covers[u]: left vertex u is in the cover; every right vertex with an edge to another left
   vertex is in it, too. Among several minimum covers the result is unique: the one with the most left vertices. There
   may be up to 2^31 - 1 edges. */
tamis_status tamis_vertex_cover(const tamis_bipartite *graph, bool *covers);

#endif
