/* The peers that `tamis bench` knows, from the laboratory's table. */
#ifndef TOOL_PEERS_H
#define TOOL_PEERS_H

#include "bench/peer_table.h"
#include "cli/options.h"

extern const tool_choices tool_peer_names;

/* Returns the peer with that name, its library's or its contestant's; NULL if there is none. */
const tool_peer_kind *tool_peer_find(const char *name);

/* Returns true if the peer computes on that device. If not, `why` has the reason. */
bool tool_peer_serves(const tool_peer_kind *kind, const tool_device *device, char *why, size_t bytes);

/* Prepares a peer for the problem; the mirror has the problem's arrays on the device. Returns NULL, with the reason in
   `why`, if the peer does not support the problem. The reason is empty if it was already written to standard error, as
   for a missing library. */
tool_peer *tool_peer_make(const tool_peer_kind *kind, const tool_mirror *mirror, const tool_problem *host, int threads,
                          char *why, size_t bytes);
void tool_peer_free(tool_peer *peer);

#endif
