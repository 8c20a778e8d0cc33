/* The peers that `tamis bench` knows, from the laboratory's table. */
#ifndef TOOL_PEERS_H
#define TOOL_PEERS_H

#include "bench/peer_table.h"
#include "cli/options.h"

extern const tool_choices tool_peer_names;

/* Returns the peer of that name, of its library or as a contestant; NULL: there is none. */
const tool_peer_kind *tool_peer_find(const char *name);

/* Whether the peer computes on that device. If not, `why` has the reason. */
bool tool_peer_serves(const tool_peer_kind *kind, const tool_device *device, char *why, size_t bytes);

/* Makes a peer ready for the problem, of which the mirror has the device's arrays. NULL when it cannot serve it, with
   the reason; the reason is empty when it has been written to standard error before, as of a library that is not there.
 */
tool_peer *tool_peer_make(const tool_peer_kind *kind, const tool_mirror *mirror, const tool_problem *host, int threads,
                          char *why, size_t bytes);
void tool_peer_free(tool_peer *peer);

#endif
