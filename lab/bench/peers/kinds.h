/* The peers, one per file; table.c lists them. */
#ifndef TAMIS_LAB_BENCH_PEERS_KINDS_H
#define TAMIS_LAB_BENCH_PEERS_KINDS_H

#include "bench/peer.h"

extern const tool_peer_kind tool_peer_cusparse, tool_peer_cublas, tool_peer_torch, tool_peer_torch_scatter,
    tool_peer_torch_attention, tool_peer_scipy, tool_peer_graphblas, tool_peer_openblas, tool_peer_mkl;

#endif
