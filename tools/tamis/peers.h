/*
 * Other libraries as contestants of the benchmark, on the same data in the same run: cuSPARSE, and cuBLAS's dense
 * product. They are opened at run time where they are installed; nothing of them is needed to build.
 */
#ifndef TOOL_PEERS_H
#define TOOL_PEERS_H

#include "mirror.h"
#include "oracle.h"

typedef struct tool_peer tool_peer;
struct tool_peer {
    const char *name; /* as tables show it */
    char variant[64]; /* which of its algorithms runs */
    double setup;     /* seconds to make it ready for the problem; without opening the library and trials */
    const tool_mirror *mirror;
    void *own;
    /* Puts one execution into the default stream. */
    tamis_status (*execute)(tool_peer *peer, double beta);
    /* Brings what the oracle compares into the host's output; NULL: the mirror's output is fetched. */
    tamis_status (*fetch)(tool_peer *peer, const tool_problem *host, const tool_oracle *oracle);
    void (*release)(tool_peer *peer);
};

/* One row for each peer, in the order of tool_peer_names. */
typedef struct tool_peer_kind {
    const char *library; /* as --peers takes it */
    const char *name;    /* as tables show it, and --baseline takes it */
    const char *variable;
    const char *const *candidates;
    /* Fills the functions from the library, once; the name of the first that it lacks, or NULL. */
    const char *(*load)(void *library);
    /* Fills all but mirror and name. False when it cannot serve the problem, with the reason. */
    bool (*make)(tool_peer *peer, char *why, size_t bytes);
} tool_peer_kind;

extern const tool_peer_kind tool_peer_cusparse, tool_peer_cublas;

/* The peer called so, by its library or as a contestant; NULL where there is none. */
const tool_peer_kind *tool_peer_find(const char *name);

/* Makes a peer ready for the problem of the mirror. NULL when it cannot serve it, with the reason; the reason is empty
   when it has been written to standard error before, as of a library that is not there. */
tool_peer *tool_peer_make(const tool_peer_kind *kind, const tool_mirror *mirror, char *why, size_t bytes);
void tool_peer_free(tool_peer *peer);

/* Bytes free on the device; 0 when that is not known. */
size_t tool_peer_free_memory(void);

/* For peers: one of CUDA's data types, or -1. */
int tool_peer_type(tamis_type type);

#endif
