/* Stands in for METIS: row i goes to part i % parts. INTEGER is its integers' type; FAILS what it returns instead. */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int METIS_SetDefaultOptions(INTEGER *options);
EXPORT int METIS_PartGraphKway(INTEGER *vertices, INTEGER *constraints, INTEGER *starts, INTEGER *neighbours,
                               INTEGER *weights, INTEGER *sizes, INTEGER *edge_weights, INTEGER *parts, float *shares,
                               float *tolerances, INTEGER *options, INTEGER *volume, INTEGER *part);

EXPORT int METIS_SetDefaultOptions(INTEGER *options) {
    for (int i = 0; i < 40; i++) options[i] = -1;
    return 1;
}

/* Whether the graph is what METIS asks for: each edge in both directions and once, none from a row to itself. */
static int is_graph(INTEGER vertices, const INTEGER *starts, const INTEGER *neighbours) {
    for (INTEGER i = 0; i < vertices; i++)
        for (INTEGER t = starts[i]; t < starts[i + 1]; t++) {
            const INTEGER j = neighbours[t];
            int back = 0;
            if (j == i || j < 0 || j >= vertices) return 0;
            for (INTEGER u = starts[j]; u < starts[j + 1]; u++) back += neighbours[u] == i;
            if (back != 1) return 0;
        }
    return 1;
}

EXPORT int METIS_PartGraphKway(INTEGER *vertices, INTEGER *constraints, INTEGER *starts, INTEGER *neighbours,
                               INTEGER *weights, INTEGER *sizes, INTEGER *edge_weights, INTEGER *parts, float *shares,
                               float *tolerances, INTEGER *options, INTEGER *volume, INTEGER *part) {
    const char *const code = getenv("STUB_METIS");
    if (code) return atoi(code);
    if (sizes || edge_weights || shares || tolerances || *constraints != 1) return -2;
    if (options[1] != 1 || options[8] != 1 || options[0] != -1 || options[39] != -1) return -2;
    if (!is_graph(*vertices, starts, neighbours)) return -4;
    for (INTEGER i = 0; i < *vertices; i++) {
        if (weights[i] < 1) return -2;
        part[i] = i % *parts;
    }
    *volume = 0;
    return 1;
}
