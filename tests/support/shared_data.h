/* Where the collection of real matrices is, for tests that use it when it is there: the one place that knows. */
#ifndef TAMIS_TEST_SHARED_DATA_H
#define TAMIS_TEST_SHARED_DATA_H

#include <stdio.h>
#include <stdlib.h>
#include <tamis/matrix.h>
#include <unistd.h>

/* The folder, NULL when there is none: TAMIS_SHARED_DATA, or shared/data beside the source folder. */
static inline const char *shared_data_folder(void) {
    const char *const named = getenv("TAMIS_SHARED_DATA");
    const char *const folder = named && *named ? named : TAMIS_SOURCE_FOLDER "/../shared/data";
    return access(folder, R_OK) == 0 ? folder : NULL;
}

/* A graph of the folder, without values, to be freed; `edges`: its file is a list of undirected edges. NULL, with the
   reason printed, where it cannot be read. */
static inline tamis_owned_sparse *shared_graph(const char *file, bool edges) {
    const char *const folder = shared_data_folder();
    char path[600];
    tamis_read_options o = TAMIS_READ_OPTIONS_INIT;
    tamis_owned_sparse *graph = NULL;
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "", file);
    o.values = TAMIS_VALUES_NONE;
    o.undirected = o.relabel = edges;
    if (tamis_read_sparse(path, &o, &graph) != TAMIS_OK) printf("skipped: %s\n", tamis_last_error());
    return graph;
}

#endif
