/* The peers, one per file; table.c lists them. */
#ifndef TAMIS_LAB_BENCH_PEERS_KINDS_H
#define TAMIS_LAB_BENCH_PEERS_KINDS_H

#include "bench/peer.h"

extern const tool_peer_kind tool_peer_cusparse, tool_peer_cublas, tool_peer_torch, tool_peer_torch_scatter,
    tool_peer_torch_attention, tool_peer_scipy, tool_peer_graphblas, tool_peer_openblas, tool_peer_mkl;

/* tool_peer_refusal() for peers that have fp32 and fp64 alone. */
const char *tool_peer_refusal_of_reals(const tool_problem *problem);

/* Declines sizes that do not fit an int, and a matrix of rows x cols (`what`) of more than a quarter of `left` bytes.
 */
bool tool_peer_takes_dense(tool_peer *peer, const tool_problem *problem, const char *what, size_t left,
                           const char *left_words);

/* The host's values of S in the problem's type, or ones; the caller frees them. */
void *tool_peer_values(const tool_problem *problem);

#endif
