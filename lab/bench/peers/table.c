#include "kinds.h"

#include "bench/peer_table.h"

const tool_peer_kind *const tool_peer_kinds[] = {&tool_peer_cusparse,      &tool_peer_cublas,          &tool_peer_torch,
                                                 &tool_peer_torch_scatter, &tool_peer_torch_attention, &tool_peer_scipy,
                                                 &tool_peer_graphblas,     &tool_peer_openblas,        &tool_peer_mkl};
const int tool_peer_kind_count = sizeof tool_peer_kinds / sizeof tool_peer_kinds[0];
_Static_assert(sizeof tool_peer_kinds / sizeof tool_peer_kinds[0] <= TOOL_PEER_KINDS_MOST,
               "bench/peer_table.h has the most");
