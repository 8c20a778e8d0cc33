/*
 * Other libraries as contestants of the benchmark, on the same data in the same run: cuSPARSE and cuBLAS on CUDA's
 * devices, GraphBLAS and OpenBLAS on the CPU, and PyTorch and SciPy in separate Python processes. They are opened at
 * run time if installed; the build does not need them.
 */
#ifndef TOOL_PEER_H
#define TOOL_PEER_H

#include "cli/mirror.h"
#include "cli/text.h"

typedef struct tool_peer tool_peer;
struct tool_peer {
    const char *name; /* as tables show it */
    char variant[64]; /* the peer's algorithm */
    double setup;     /* seconds of set-up for the problem, without opening the library and trials */
    int threads;      /* in: requested threads on the CPU; out: those that the peer uses */
    bool edge;        /* the peer computes the problem's edge, not mask */
    const tool_mirror *mirror;
    const tool_problem *host; /* the same with the host's arrays */
    const struct tool_peer_kind *kind;
    void *own;     /* the state of the kind, zeros before make() */
    char why[256]; /* set by make(): why the peer cannot serve the problem; empty if a message has said so */
};

/* Devices on which a peer computes: a sum of these. */
enum { TOOL_PEER_CPU = 1, TOOL_PEER_CUDA = 2 };

/* A symbol of a library, and the variable for its address. */
typedef struct tool_peer_symbol {
    const char *name;
    void *to;
} tool_peer_symbol;
/* Resolves the symbols of a list that ends with an empty one. Returns the first missing one, or NULL. */
const char *tool_peer_load(void *library, const tool_peer_symbol *symbols);

/* One row for each peer. */
typedef struct tool_peer_kind {
    const char *library; /* as --peers takes it */
    const char *name;    /* as tables show it, and --baseline takes it */
    int places;
    const char *variable;
    const char *const *candidates;
    const char *setting, *value;     /* environment variable to set for opening it, unless it is already set */
    const tool_peer_symbol *symbols; /* resolved once; a peer without symbols is not a library in this process */
    /* Begins with the library once its symbols are resolved; returns what it lacks, or NULL. NULL: nothing to do. */
    const char *(*begin)(void);
    size_t state_bytes;
    /* Fills the variant, the set-up and `own`. Returns false if the peer does not support the problem. */
    bool (*make)(tool_peer *peer);
    /* Executes once; on CUDA in the default stream. */
    tamis_status (*execute)(tool_peer *peer, double beta);
    /* Executes `count` times and measures each with the peer's own clock; NULL: not supported. */
    tamis_status (*timed)(tool_peer *peer, double beta, int count, double *seconds);
    /* Copies the rows that the oracle compares to the host's output; NULL: the mirror's output is fetched. */
    tamis_status (*fetch)(tool_peer *peer, const tool_problem *host, const tamis_oracle *oracle);
    /* Releases what `own` holds, also after a make() that failed in its middle. */
    void (*release)(tool_peer *peer);
} tool_peer_kind;

/* Opens the first of the candidates that loads, or the file that the variable names. Failures are appended to
   `tried`. */
void *tool_peer_open_library(const char *variable, const char *const *candidates, tool_text *tried);

/* Makes the device's primary context current for this thread, since CUDA's libraries use the current context. */
bool tool_peer_enter(const tool_device *device);

/* Sets the reason, and returns false. */
bool tool_peer_decline(tool_peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Return the free bytes on the device, and on the host; 0 if not known. */
size_t tool_peer_free_memory(void);
size_t tool_peer_free_host_memory(void);

/* Returns CUDA's data type, or -1. */
int tool_peer_type(tamis_type type);

/* Return why no peer on the host's arrays supports the problem, or NULL. tool_peer_refusal is for peers that only have
   the edge mask; the second function is for peers that check the edge themselves. */
const char *tool_peer_refusal(const tool_problem *problem);
const char *tool_peer_refusal_of_form(const tool_problem *problem);

#endif
