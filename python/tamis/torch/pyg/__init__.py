"""Layers of PyTorch Geometric: their names, arguments, parameters and numbers, without the messages in memory.

    from tamis.torch.pyg import GATConv        instead of torch_geometric.nn

A layer takes `edge_index` (2, edges), sources and then targets in any order, or a `tamis.torch.Pattern` whose rows are targets. Of an edge list the
first call makes a pattern, which is kept as long as the tensor: pass the same tensor again. `load_state_dict` takes what the layer of PyTorch Geometric
has saved. This module does not import torch_geometric. Nodes may have a batch, but of RGATConv and HGTConv: x of (..., nodes, features) is computed for
each of its members.

Different are gradients of `aggr="max"` and "min" where several messages are equal (the first gets all of it; PyTorch divides it), and that reductions
of sums, means and attention have the same bits each time. Aggregations of other names than the layers say, SparseTensor, and subclasses with messages of
their own are refused. Examples assume `import torch` and `from tamis.torch.pyg import *`.
"""
from __future__ import annotations

from typing import Any

from ._aggregations import GENConv
from ._attention import GATConv, GATv2Conv, TransformerConv
from ._edge_networks import ECConv, EdgeConv, GMMConv, NNConv
from ._hetero import HGTConv
from ._principal import PNAConv
from ._relations import FastRGCNConv, RGATConv, RGCNConv
from ._spectral import APPNP, ChebConv, GCNConv, SGConv
from ._sums import GatedGraphConv, GINConv, GINEConv, GraphConv, SAGEConv

__all__ = ["APPNP", "ChebConv", "ECConv", "EdgeConv", "FastRGCNConv", "GATConv", "GATv2Conv", "GCNConv", "GENConv", "GINConv", "GINEConv", "GMMConv", "GatedGraphConv",
           "GraphConv", "HGTConv", "NNConv", "PNAConv", "RGATConv", "RGCNConv", "SAGEConv", "SGConv", "TransformerConv"]


def __getattr__(name: str) -> Any:
    if name == "MessagePassing":  # needs torch_geometric
        from ._message_passing import MessagePassing
        return MessagePassing
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
