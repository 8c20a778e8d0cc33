"""Layers of `tamis.torch.pyg` beside those of PyTorch Geometric, with the same parameters: what their tests share."""
from __future__ import annotations

import copy

import torch
import torch_geometric.nn as geometric

from tamis.torch import pyg

NODES, TARGETS, EDGES, IN, OUT, FEATURES, RELATIONS = 11, 8, 40, 6, 4, 5, 4


def graph(sources=NODES, targets=NODES, index=torch.int64, seed=1):
    """Edges in any order, some twice and some from a node to itself; the last two targets and the last source have none."""
    generator = torch.Generator().manual_seed(seed)
    ends = torch.stack([torch.randint(count, (EDGES,), generator=generator, device="cpu") for count in (sources - 1, targets - 2)])
    ends[:, :4] = torch.tensor([[0, 3, 2, 2], [0, 3, 5, 5]])
    return ends[:, torch.randperm(EDGES, generator=generator, device="cpu")].to(torch.empty(0).device, index)


def operand(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def small(inputs, width):
    return torch.nn.Sequential(torch.nn.Linear(inputs, 5), torch.nn.ReLU(), torch.nn.Linear(5, width))


def leaves(given):
    return [x for one in given for x in (one if isinstance(one, tuple) else (one,)) if isinstance(x, torch.Tensor) and x.requires_grad]


def pair(name, *arguments, dtype=torch.float64, **named):
    """Both layers with the parameters of PyTorch Geometric's, with the same first argument that may be a network."""
    torch.manual_seed(5)
    here = torch.empty(0).device  # some of theirs have parameters on the CPU, whatever the default
    theirs = getattr(geometric, name)(*copy.deepcopy(arguments), **named).to(here, dtype)
    ours = getattr(pyg, name)(*copy.deepcopy(arguments), **named).to(here, dtype)
    assert {key: value.shape for key, value in ours.state_dict().items()} == {key: value.shape for key, value in theirs.state_dict().items()}
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)  # biases too
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def compared(layers, *given, close=1e-5, gradients=True, **named):
    """The outputs, and the gradients of inputs and parameters."""
    ours, theirs = layers
    results = []
    for layer in (ours, theirs):
        torch.manual_seed(9)
        result = layer(*given, **named)
        out = result[0] if isinstance(result, tuple) else result
        weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
        found = torch.autograd.grad((out * weights).sum(), [*leaves(given), *(one for one in layer.parameters() if one.requires_grad)], allow_unused=True) if gradients else []
        results.append((result, found))
    (got, got_grads), (want, want_grads) = results
    torch.testing.assert_close(got, want, atol=close, rtol=close)
    for one, other in zip(got_grads, want_grads):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, atol=10 * close, rtol=10 * close)
    return got
