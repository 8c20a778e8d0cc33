"""What a call costs in Python: operations on so small a matrix that computing takes less than a microsecond, with a Pattern and with a plan,
by NumPy and, where it is installed, by PyTorch with and without recording for gradients: python_calls.py

Prints the median of seven rounds of 2,000 calls each, in microseconds. One thread, since two wait for each other longer than this takes."""
from __future__ import annotations

import statistics
from typing import Any, Callable

import numpy as np
from turns import repeated, seconds

import tamis

ROWS, INNER, EACH = 16, 8, 4  # nonzeros of a row


def median_us(call: Callable[[], Any], rounds: int = 7, calls: int = 2000) -> float:
    repeated(call, calls // 4)
    return 1e6 * statistics.median(seconds(call, "cpu", calls) for _ in range(rounds))


def show(name: str, call: Callable[[], Any]) -> None:
    print(f"{name:58} {median_us(call):6.1f} us", flush=True)


def main() -> None:
    tamis.set_threads(1)
    random = np.random.default_rng(1)
    offsets = np.arange(0, ROWS * EACH + 1, EACH, dtype="int32")
    columns = np.concatenate([np.sort(random.choice(ROWS, EACH, replace=False)) for _ in range(ROWS)]).astype("int32")
    values = random.random(ROWS * EACH, dtype="float32")
    A, B, D = (random.random((ROWS, INNER), dtype="float32") for _ in range(3))
    pattern = tamis.Pattern((offsets, columns, values), shape=(ROWS, ROWS))
    samples, sums = np.empty(ROWS * EACH, "float32"), np.empty((ROWS, INNER), "float32")
    with tamis.plan("sddmm", pattern, inner=INNER) as plan:
        show("plan(A, B, out=samples)", lambda: plan(A, B, out=samples))
    show("tamis.sddmm(pattern, A, B, out=samples)", lambda: tamis.sddmm(pattern, A, B, out=samples))
    show("tamis.sddmm(pattern, A, B)", lambda: tamis.sddmm(pattern, A, B))
    show("tamis.spmm(pattern, D, out=sums)", lambda: tamis.spmm(pattern, D, out=sums))
    show("tamis.fused(pattern, A, B, D, out=sums)", lambda: tamis.fused(pattern, A, B, D, out=sums))
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed")
        return
    import tamis.torch as tt
    torch.set_num_threads(1)
    place = tt.Pattern.from_csr(torch.from_numpy(offsets), torch.from_numpy(columns), (ROWS, ROWS))
    a, b, d, v = (torch.from_numpy(x) for x in (A, B, D, values))
    recorded = [x.clone().requires_grad_() for x in (a, b, d, v)]
    for what, (p, q, r, w) in (("", (a, b, d, v)), (", recorded", recorded)):
        show(f"tamis.torch.sddmm(pattern, a, b, v){what}", lambda: tt.sddmm(place, p, q, w))
        show(f"tamis.torch.spmm(pattern, d, v){what}", lambda: tt.spmm(place, r, w))
        show(f"tamis.torch.fused(pattern, a, b, d, v){what}", lambda: tt.fused(place, p, q, r, w))


if __name__ == "__main__":
    main()
