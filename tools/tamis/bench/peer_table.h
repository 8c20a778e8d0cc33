/* The table of peers, which the laboratory fills. */
#ifndef TOOL_PEER_TABLE_H
#define TOOL_PEER_TABLE_H

#include "bench/peer.h"

/* The laboratory's: lab/bench/peers/table.c lists them. None without TAMIS_LAB. */
enum { TOOL_PEER_KINDS_MOST = 16 };
extern const tool_peer_kind *const tool_peer_kinds[];
extern const int tool_peer_kind_count;

#endif
