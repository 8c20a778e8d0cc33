"""AGNN and GAT on citation graphs (Cora, Citeseer): ten seeds, the mean and the deviation of the accuracy on the test nodes.

    planetoid.py FOLDER [--graphs cora citeseer] [--models AGNN GAT] [--seeds 10] [--threads 1]

FOLDER has GRAPH.graph.mtx.xz (Matrix Market, the lower triangle), GRAPH.features.mtx.xz, GRAPH.labels.txt.xz (the class of node i on line
i + 1, -1 if it has none) and GRAPH.split.txt.xz ("test" and numbers of nodes, from 0); 20 nodes of each class come first and are trained
on, the 500 after them are for validation. A run ends when the validation loss has not fallen for 100 epochs, and takes the weights of the
epoch in which it was least, as is common for these graphs.
"""
from __future__ import annotations

import argparse
import copy
import lzma
import pathlib
import time

import torch

import tamis
import tamis.torch as tt
from tamis.torch import nn

SETTINGS = {"AGNN": {"lr": 0.01, "weight_decay": 5e-4}, "GAT": {"lr": 0.005, "weight_decay": 5e-4}}
EPOCHS, PATIENCE, VALIDATION = 500, 100, 500


class Words(torch.nn.Module):
    """A linear layer on bags of words, which are sparse: their values, with dropout, times the weights."""

    def __init__(self, pattern: tt.Pattern, out: int):
        super().__init__()
        self.pattern = pattern
        self.weight = torch.nn.Parameter(torch.empty(pattern.cols, out))
        torch.nn.init.xavier_uniform_(self.weight)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return tt.spmm(self.pattern, self.weight, values)


class AGNN(torch.nn.Module):
    def __init__(self, words: tt.Pattern, classes: int):
        super().__init__()
        self.inner, self.bias, self.outer = Words(words, 16), torch.nn.Parameter(torch.zeros(16)), torch.nn.Linear(16, classes)
        self.layers = torch.nn.ModuleList([nn.AGNNConv(learn=False), nn.AGNNConv()])

    def forward(self, pattern: tt.Pattern, values: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.inner(torch.dropout(values, 0.5, self.training)) + self.bias)
        for layer in self.layers:
            x = layer(pattern, x)
        return self.outer(torch.dropout(x, 0.5, self.training))


class GAT(torch.nn.Module):
    def __init__(self, words: tt.Pattern, classes: int):
        super().__init__()
        self.inner = nn.GATConv(1, 8, heads=8, dropout=0.6)
        self.inner.weight = Words(words, 64)
        self.outer = nn.GATConv(64, classes, heads=1, dropout=0.6, concat=False)

    def forward(self, pattern: tt.Pattern, values: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.elu(self.inner(pattern, torch.dropout(values, 0.6, self.training)).flatten(1))
        return self.outer(pattern, torch.dropout(x, 0.6, self.training))


MODELS = {"AGNN": AGNN, "GAT": GAT}


def read(path: pathlib.Path) -> list[list[str]]:
    with lzma.open(path, "rt") as file:
        return [line.split() for line in file if not line.startswith("%")]


def load(folder: pathlib.Path, name: str) -> dict:
    """The graph with edges both ways and to each node itself, the words of each node with unit sum, labels, and the split."""
    (nodes, *_), *edges = read(folder / f"{name}.graph.mtx.xz")
    ends = torch.tensor([[int(a) - 1, int(b) - 1] for a, b in edges]).t()
    own = torch.arange(int(nodes)).expand(2, -1)
    graph = tt.Pattern.from_edge_index(torch.cat([ends, ends.flip(0), own], 1), int(nodes))
    (_, words, _), *places = read(folder / f"{name}.features.mtx.xz")
    rows, columns = torch.tensor([[int(a) - 1, int(b) - 1] for a, b, *_ in places]).t().contiguous()
    counts = torch.bincount(rows, minlength=int(nodes))
    labels = torch.tensor([int(line[0]) for line in read(folder / f"{name}.labels.txt.xz")])
    test = next(torch.tensor([int(word) for word in line[1:]]) for line in read(folder / f"{name}.split.txt.xz") if line[0] == "test")
    classes = int(labels.max()) + 1
    return {"graph": graph, "words": tt.Pattern.from_coo(rows, columns, (int(nodes), int(words))), "values": 1 / counts[rows].float(),
            "labels": labels, "classes": classes, "train": torch.arange(20 * classes),
            "validation": torch.arange(20 * classes, 20 * classes + VALIDATION), "test": test}


def accuracy(data: dict, model: str, seed: int, epochs: int = EPOCHS) -> tuple[float, int]:
    """Trains once; the share of right test nodes, and the epochs done."""
    torch.manual_seed(seed)
    net = MODELS[model](data["words"], data["classes"])
    optimizer = torch.optim.Adam(net.parameters(), **SETTINGS[model])
    entropy, labels = torch.nn.functional.cross_entropy, data["labels"]
    least, since, best = float("inf"), 0, copy.deepcopy(net.state_dict())
    for epoch in range(epochs):
        net.train()
        optimizer.zero_grad()
        entropy(net(data["graph"], data["values"])[data["train"]], labels[data["train"]]).backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            loss = float(entropy(net(data["graph"], data["values"])[data["validation"]], labels[data["validation"]]))
        since += 1
        if loss < least:
            least, since, best = loss, 0, copy.deepcopy(net.state_dict())
        if since == PATIENCE:
            break
    net.load_state_dict(best)
    with torch.no_grad():
        right = net(data["graph"], data["values"]).argmax(1) == labels
    return float(right[data["test"]].float().mean()), epoch + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", nargs="+", default=["cora", "citeseer"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    tamis.set_threads(given.threads)
    print("| graph | model | seeds | test accuracy, % | least and most | epochs | CPU seconds a run |\n|---|---|---|---|---|---|---|", flush=True)
    for graph in given.graphs:
        data = load(given.folder, graph)
        for model in given.models:
            start = time.process_time()
            runs = [accuracy(data, model, seed) for seed in range(1, given.seeds + 1)]
            found = 100 * torch.tensor([share for share, _ in runs])
            deviation = float(found.std()) if len(runs) > 1 else 0.0
            print(f"| {graph} | {model} | {given.seeds} | {found.mean():.1f} ± {deviation:.1f} | {found.min():.1f}, {found.max():.1f} | "
                  f"{sum(epochs for _, epochs in runs) / len(runs):.0f} | {(time.process_time() - start) / len(runs):.0f} |", flush=True)


if __name__ == "__main__":
    main()
