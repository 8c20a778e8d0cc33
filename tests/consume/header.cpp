// The public headers must be C++ too.
#include <tamis/algorithms.h>
#include <tamis/cache.h>
#include <tamis/cached_attention.h>
#include <tamis/ceilings.h>
#include <tamis/data.h>
#include <tamis/dense.h>
#include <tamis/edge_network.h>
#include <tamis/generate.h>
#include <tamis/gradient.h>
#include <tamis/graph_attention.h>
#include <tamis/group.h>
#include <tamis/slabs.h>
#include <tamis/mask.h>
#include <tamis/matrix.h>
#include <tamis/message.h>
#include <tamis/ml.h>
#include <tamis/reference.h>
#include <tamis/shard.h>
#include <tamis/stream.h>
#include <tamis/structure.h>
#include <tamis/tamis.h>
#include <tamis/transport.h>
#include <tamis/types.h>

int main() { return tamis_version()[0] == 0; }
