/*
 * Other libraries as contestants of the benchmark, on the same data in the same run: cuSPARSE and cuBLAS on CUDA's
 * devices, GraphBLAS and OpenBLAS on the CPU, and PyTorch and SciPy in a Python process of their own. They are opened
 * at run time where they are installed; nothing of them is needed to build.
 */
#ifndef TOOL_PEER_H
#define TOOL_PEER_H

#include "cli/mirror.h"
#include "cli/text.h"

typedef struct tool_peer tool_peer;
struct tool_peer {
    const char *name; /* as tables show it */
    char variant[64]; /* which of its algorithms runs */
    double setup;     /* seconds to make it ready for the problem; without opening the library and trials */
    int threads;      /* in: requested threads on the CPU; out: those that the peer uses */
    bool edge;        /* the peer computes the problem's edge, not mask */
    const tool_mirror *mirror;
    const tool_problem *host; /* the same with the host's arrays */
    void *own;
    char why[256]; /* set by make(): why the peer cannot serve the problem; empty if a message has said so */
    /* Executes once; on CUDA in the default stream. */
    tamis_status (*execute)(tool_peer *peer, double beta);
    /* NULL, or executes `count` times and measures each with the peer's own clock. */
    tamis_status (*timed)(tool_peer *peer, double beta, int count, double *seconds);
    /* Brings what the oracle compares into the host's output; NULL: the mirror's output is fetched. */
    tamis_status (*fetch)(tool_peer *peer, const tool_problem *host, const tamis_oracle *oracle);
    void (*release)(tool_peer *peer);
};

/* Devices on which a peer computes: a sum of these. */
enum { TOOL_PEER_CPU = 1, TOOL_PEER_CUDA = 2 };

/* One row for each peer. */
typedef struct tool_peer_kind {
    const char *library; /* as --peers takes it */
    const char *name;    /* as tables show it, and --baseline takes it */
    int places;
    const char *variable;
    const char *const *candidates;
    const char *setting, *value; /* a variable of the environment that it is opened with, unless it is set */
    /* Fills the functions from the library, once; the name of the first that it lacks, or NULL. A peer without it is no
       library of this process. */
    const char *(*load)(void *library);
    /* Fills all but name, mirror and host. False when it cannot serve the problem. */
    bool (*make)(tool_peer *peer);
} tool_peer_kind;

/* Opens the first of the files that loads, or the one that the variable names. `tried` gets those that do not. */
void *tool_peer_open_library(const char *variable, const char *const *candidates, tool_text *tried);

/* Makes the primary context of the device the thread's: CUDA's libraries use the one that is current. */
bool tool_peer_enter(const tool_device *device);

/* Sets the reason, and returns false. */
bool tool_peer_decline(tool_peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes free on the device, and on the host; 0 when that is not known. */
size_t tool_peer_free_memory(void);
size_t tool_peer_free_host_memory(void);

/* One of CUDA's data types, or -1. */
int tool_peer_type(tamis_type type);

/* One symbol of a library, and where its address goes. */
typedef struct tool_peer_symbol {
    const char *name;
    void *to;
} tool_peer_symbol;
/* Fills them all. Returns the first that is missing, or NULL. */
const char *tool_peer_load(void *library, const tool_peer_symbol *symbols, size_t count);

/* Return why peers on the host's arrays cannot serve the problem, whatever the library, or NULL when they can. The
   first is for peers that know no edge but mask, the second for those that look at the edge themselves. */
const char *tool_peer_refusal(const tool_problem *problem);
const char *tool_peer_refusal_of_form(const tool_problem *problem);

#endif
