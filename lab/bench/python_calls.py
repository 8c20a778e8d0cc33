"""What a call costs in Python: the host's microseconds until it returns.

python_calls.py                on the CPU: a matrix so small that computing takes less than a microsecond, one thread
python_calls.py --device cuda  100,000 edges, width 64, beside torch.sparse and PyTorch's gather and index_add

The first number is the median of seven streams of calls that follow each other; on a GPU the second is the median of bursts of four calls after other
work, until the GPU has finished. "step" is a call and its gradients; the last rows are what PyTorch takes for a gradient that needs no library."""
from __future__ import annotations

import statistics
from typing import Any, Callable

import numpy as np
from turns import clocked, options, repeated, seconds, use_threads

import tamis

Calls = dict[str, Callable[[], Any]]


def stream(call: Callable[[], Any], wait: Callable[[], Any], calls: int, rounds: int = 7) -> float:
    """Microseconds of one of several successive calls, until the last returns."""
    repeated(call, calls // 4)
    found = []
    for _ in range(rounds):
        wait()
        found.append(seconds(call, "cpu", calls))
    return 1e6 * statistics.median(found)


def burst(call: Callable[[], Any], wait: Callable[[], Any], other: Callable[[], Any], calls: int = 4, rounds: int = 60) -> float:
    """Microseconds of one of a few calls after other work, until the GPU has finished."""
    found = []
    for _ in range(rounds):
        other()
        wait()
        found.append(clocked(lambda: (repeated(call, calls), wait())) / calls)
    return 1e6 * statistics.median(found)


def of_arrays(rows: int, inner: int, each: int) -> Calls:
    """Calls with arrays of NumPy, by a pattern and by a plan."""
    random = np.random.default_rng(1)
    offsets = np.arange(0, rows * each + 1, each, dtype="int32")
    columns = np.concatenate([np.sort(random.choice(rows, each, replace=False)) for _ in range(rows)]).astype("int32")
    A, B, D = (random.random((rows, inner), dtype="float32") for _ in range(3))
    S = tamis.Pattern((offsets, columns, random.random(rows * each, dtype="float32")), shape=(rows, rows))
    samples, sums = np.empty(rows * each, "float32"), np.empty((rows, inner), "float32")
    plan = tamis.plan("sddmm", S, inner=inner)
    return {
        "plan(A, B, out=samples)": lambda: plan(A, B, out=samples),
        "tamis.sddmm(pattern, A, B, out=samples)": lambda: tamis.sddmm(S, A, B, out=samples),
        "tamis.sddmm(pattern, A, B)": lambda: tamis.sddmm(S, A, B),
        "tamis.spmm(pattern, D, out=sums)": lambda: tamis.spmm(S, D, out=sums),
        "tamis.fused(pattern, A, B, D, out=sums)": lambda: tamis.fused(S, A, B, D, out=sums),
    }


def of_tensors(torch: Any, device: str, nodes: int, edges: int, width: int) -> Calls:
    """Calls with tensors, without recording, recorded, and with their gradients; and of PyTorch."""
    import tamis.torch as tt
    torch.manual_seed(1)
    edge_index = torch.randint(0, nodes, (2, edges)).to(device)
    S, (source, target) = tt.Pattern.from_edge_index(edge_index, num_nodes=nodes), edge_index
    matrix = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(edges, device=device), (nodes, nodes)).coalesce().to_sparse_csr()
    plain = [torch.randn(nodes, width, device=device), torch.rand(edges, device=device)]
    recorded, weights = [x.clone().requires_grad_() for x in plain], torch.randn(nodes, width, device=device)
    made: Calls = {}
    kinds: dict[str, Callable[..., Any]] = {
        "message copy_u": lambda x, e: tt.message(S, "copy_u", x),
        "message mul": lambda x, e: tt.message(S, "mul", x, e),
        "spmm": lambda x, e: tt.spmm(S, x, e),
        "sddmm": lambda x, e: tt.sddmm(S, x, x, e),
        "fused": lambda x, e: tt.fused(S, x, x, x, e),
        "torch.sparse.mm": lambda x, e: torch.sparse.mm(matrix, x),
        "gather, index_add": lambda x, e: torch.zeros(nodes, width, device=device).index_add(0, target, x[source]),
        "2 x": lambda x, e: 2 * x,
    }

    def stepped(call: Callable[..., Any]) -> Callable[[], Any]:
        read = [x for x, change in zip(recorded, torch.autograd.grad(call(*recorded).sum(), recorded, allow_unused=True)) if change is not None]
        return lambda: torch.autograd.grad(call(*recorded), read, weights)

    for name, call in kinds.items():
        made[name] = lambda call=call: call(*plain)  # type: ignore[misc]
        made[f"{name}, recorded"] = lambda call=call: call(*recorded)  # type: ignore[misc]
        if name != "sddmm":
            made[f"{name}, step"] = stepped(call)
    return made


def main() -> None:
    given = options(__doc__, {"device": "where the tensors are"}, {"device": ["cpu", "cuda"]}, device="cpu").parse_args()
    try:
        import torch
    except ImportError:
        torch = None  # type: ignore[assignment]
    if torch is not None:
        use_threads(1)
    tamis.set_threads(1)
    gpu = given.device == "cuda"
    if not gpu:
        for name, call in of_arrays(16, 8, 4).items():
            print(f"{name:42} {stream(call, lambda: None, 2000):8.1f}", flush=True)
    if torch is None:
        print("PyTorch is not installed")
        return
    wait = torch.cuda.synchronize if gpu else lambda: None
    large = torch.randn(4096, 4096, device="cuda") if gpu else None

    def other() -> None:
        torch.nn.functional.gelu(torch.mm(large, large).sort().values)  # type: ignore[arg-type]

    for name, call in of_tensors(torch, given.device, *((10_000, 100_000, 64) if gpu else (16, 64, 8))).items():
        print(f"{name:42} {stream(call, wait, 400 if gpu else 2000):8.1f}{f' {burst(call, wait, other):8.1f}' if gpu else ''}", flush=True)


if __name__ == "__main__":
    main()
