"""One training step of a language model with sparse attention: losses, time and memory by Tamis and by what PyTorch has for a mask.

    language_model.py [--positions 2048] [--kept 1 2 5 10 25 50] [--device cpu] [--type float32] [--methods tamis sdpa ...] [--plot FILE]
    language_model.py --records FILE --plot FILE      draw what was printed before

The model has two layers; position i attends to a window before it and to the first 4 positions, and the window is as wide as it must be for
that share (per cent) of all pairs of positions. Every method starts from the same weights and reads the same text, so the losses must agree.
Each measurement is a process of its own: its peak memory is its own (on a CPU what it grows by after its imports, with weights and all), and
one that fails leaves the others standing. Prints a line of JSON for each, and draws them as a figure (matplotlib).
"""
from __future__ import annotations

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time
from typing import Any, Callable

import torch

FIRST = 4  # positions that all may see
LETTERS = 64
Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


class Mask:
    """Row i keeps the first positions and those from i - window to i, in every form that a method asks for."""

    def __init__(self, positions: int, kept: float, device: str):
        self.positions, self.device = positions, device
        windows = range(positions)
        self.window = min(windows, key=lambda window: abs(self._count(window) - kept * positions**2))

    def _count(self, window: int) -> float:
        whole = max(self.positions - window - FIRST, 0)  # rows with a full window that does not touch the first positions
        head = self.positions - whole
        return whole * (window + 1 + FIRST) + head * (head + 1) / 2

    def places(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows and columns of what is kept, in order."""
        i = torch.arange(self.positions, device=self.device)
        begin = (i - self.window).clamp(min=0)
        heads = torch.minimum(begin, torch.tensor(FIRST, device=self.device))
        lengths = heads + i + 1 - begin
        rows = torch.repeat_interleave(i, lengths)
        at = torch.arange(len(rows), device=self.device) - torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
        return rows, torch.where(at < heads[rows], at, at - heads[rows] + begin[rows])

    def dense(self) -> torch.Tensor:
        i, j = torch.arange(self.positions, device=self.device)[:, None], torch.arange(self.positions, device=self.device)
        return (j <= i) & ((i - j <= self.window) | (j < FIRST))


def by_tamis(mask: Mask) -> Attend:
    import tamis.torch

    pattern = tamis.torch.Pattern.window(mask.positions, mask.window, 0, causal=True, global_tokens=FIRST, device=mask.device)
    return lambda q, k, v: tamis.torch.attention(q, k, v, pattern)


def by_sdpa(mask: Mask) -> Attend:
    dense = mask.dense()
    return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=dense)


def by_flex(mask: Mask) -> Attend:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    window = mask.window
    blocks = create_block_mask(lambda b, h, i, j: (j <= i) & ((i - j <= window) | (j < FIRST)), None, None, mask.positions, mask.positions,
                               device=mask.device)
    compiled = torch.compile(flex_attention)
    return lambda q, k, v: compiled(q, k, v, block_mask=blocks)


def by_gather(mask: Mask) -> Attend:
    """Rows of q, k and v gathered for each pair, as graph libraries do without a kernel of their own."""
    rows, columns = mask.places()

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = (q[..., rows, :] * k[..., columns, :]).sum(-1) * q.shape[-1]**-0.5
        index = rows.expand_as(scores)
        most = torch.full(q.shape[:-1], -torch.inf, device=q.device, dtype=q.dtype).scatter_reduce(-1, index, scores.detach(), "amax")
        powers = (scores - most[..., rows]).exp()
        shares = powers / torch.zeros_like(most).scatter_add(-1, index, powers)[..., rows]
        return torch.zeros_like(v).index_add(-2, rows, shares[..., None] * v[..., columns, :])

    return attend


def by_torch_sparse(mask: Mask) -> Attend:
    """torch.sparse head by head; its softmax takes COO alone."""
    rows, columns = mask.places()
    size = (mask.positions, mask.positions)
    offsets = torch.searchsorted(rows, torch.arange(mask.positions + 1, device=mask.device))

    def head(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        empty = torch.sparse_csr_tensor(offsets, columns, torch.zeros(len(columns), device=q.device, dtype=q.dtype), size)
        scores = torch.sparse.sampled_addmm(empty, q, k.t(), beta=0.0, alpha=q.shape[-1]**-0.5)
        return torch.sparse.mm(torch.sparse.softmax(scores.to_sparse_coo(), 1), v)

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        flat = [head(*parts) for parts in zip(*(x.flatten(0, 1) for x in (q, k, v)))]
        return torch.stack(flat).view_as(v)

    return attend


METHODS: dict[str, Callable[[Mask], Attend]] = {"tamis": by_tamis, "sdpa": by_sdpa, "flex": by_flex, "gather": by_gather,
                                                "torch.sparse": by_torch_sparse}
NAMES = {"tamis": "Tamis", "sdpa": "PyTorch, dense mask", "flex": "flex_attention", "gather": "gather and scatter", "torch.sparse": "torch.sparse"}


class Layer(torch.nn.Module):
    def __init__(self, features: int, heads: int, attend: Attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.norm, self.project = torch.nn.LayerNorm(features), torch.nn.Linear(features, 3 * features)
        self.mlp = torch.nn.Sequential(torch.nn.LayerNorm(features), torch.nn.Linear(features, 4 * features), torch.nn.GELU(),
                                       torch.nn.Linear(4 * features, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        members, positions, features = x.shape
        q, k, v = self.project(self.norm(x)).view(members, positions, 3, self.heads, -1).permute(2, 0, 3, 1, 4).contiguous()
        x = x + self.attend(q, k, v).transpose(1, 2).reshape(members, positions, features)
        return x + self.mlp(x)


class Model(torch.nn.Module):
    def __init__(self, positions: int, features: int, heads: int, attend: Attend):
        super().__init__()
        self.letters, self.places = torch.nn.Embedding(LETTERS, features), torch.nn.Embedding(positions, features)
        self.layers = torch.nn.Sequential(*(Layer(features, heads, attend) for _ in range(2)))
        self.out = torch.nn.Linear(features, LETTERS)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(self.letters(text) + self.places.weight[:text.shape[1]]))


def resident() -> int:
    """The most memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(given: argparse.Namespace, method: str, kept: float) -> dict[str, Any]:
    """Trains by one method; the first steps warm up and are not timed."""
    device, type_ = given.device, getattr(torch, given.type)
    if device == "cpu":
        torch.set_num_threads(given.threads)
        if method == "tamis":
            import tamis.torch

            tamis.set_threads(given.threads)
    before = resident()
    mask = Mask(given.positions, kept / 100, device)
    torch.manual_seed(1)
    model = Model(given.positions, given.features, given.heads, METHODS[method](mask)).to(device, type_)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(2)
    steps = torch.randint(1, 4, (given.members, given.positions + 1), generator=generator)  # text that can be foretold in part
    text = (steps.cumsum(1) % LETTERS).to(device)
    losses, seconds = [], []
    for step in range(given.warm + given.steps):
        if device != "cpu":
            torch.cuda.synchronize()
        start = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1).float(), text[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # waits for the device
        if step >= given.warm:
            seconds.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() if device != "cpu" else resident() - before
    return {"method": method, "positions": given.positions, "kept_percent": kept, "window": mask.window, "members": given.members,
            "heads": given.heads, "features": given.features, "type": given.type, "device": given.device, "threads": given.threads,
            "torch": torch.__version__, "median_ms": 1e3 * statistics.median(seconds), "least_ms": 1e3 * min(seconds), "peak_bytes": peak,
            "losses": losses}


def draw(records: list[dict[str, Any]], file: pathlib.Path) -> None:
    """Time and memory over the share of pairs that is kept, a line for each method."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, member, scale, name in ((axes[0], "median_ms", 1, "a training step, ms"), (axes[1], "peak_bytes", 2**-20, "peak memory, MiB")):
        for method in METHODS:
            line = sorted((record["kept_percent"], scale * record[member]) for record in records if record["method"] == method and member in record)
            if line:
                ax.plot(*zip(*line), marker="o", markersize=4, label=NAMES[method])
        ax.set(xscale="log", yscale="log", xlabel="pairs of positions kept, %", ylabel=name)
        shares = sorted({record["kept_percent"] for record in records})
        ax.set_xticks(shares, [f"{share:g}" for share in shares])
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        ax.minorticks_off()
        ax.grid(alpha=0.25)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(METHODS), frameon=False)
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=2048)
    parser.add_argument("--kept", type=float, nargs="+", default=[1, 2, 5, 10, 25, 50], help="per cent of all pairs of positions")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--type", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--members", type=int, default=1, help="texts in a step")
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds that one measurement may take")
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--records", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "KEPT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given, given.one[0], float(given.one[1]))))
        return 0
    if given.records:
        draw([json.loads(line) for line in given.records.read_text().splitlines()], given.plot)
        return 0
    records, reference, wrong = [], {}, 0
    for kept in given.kept:
        for method in given.methods:
            record = {"method": method, "kept_percent": kept}
            try:
                done = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--one", method, str(kept)], capture_output=True, text=True,
                                      timeout=given.limit, check=False)
                record = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {
                    **record, "failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
            except subprocess.TimeoutExpired:
                record["failed"] = f"more than {given.limit:g} s"
            if "losses" in record:
                first = reference.setdefault(kept, record["losses"])
                record["loss_difference"] = max(abs(a - b) for a, b in zip(first, record["losses"]))
                wrong += record["loss_difference"] > (1e-3 if given.type == "float32" else 0.05)
            records.append(record)
            print(json.dumps(record), flush=True)
    if given.plot:
        draw(records, given.plot)
    if wrong:
        print(f"{wrong} of {len(records)}: other losses than {given.methods[0]}", file=sys.stderr)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
