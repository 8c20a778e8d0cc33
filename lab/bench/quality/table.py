#!/usr/bin/env python3
"""Tables of the comparisons, as Markdown: table.py RESULTS.jsonl[.xz]...   Medians over the seeds, least and most in brackets."""
import lzma
import json
import statistics
import sys

TABLES = {
    "ratings": ("Ratings: a fifth of each row's held out", ("data",), [("rmse", "RMSE", 4), ("mae", "MAE", 4), ("seconds", "seconds", 2)]),
    "uses": ("Uses: one of each row held out", ("data",), [("recall", "recall at 10", 4), ("ndcg", "NDCG at 10", 4), ("seconds", "seconds", 2)]),
    "topics": ("Documents: half of a tenth's words held out", ("data", "topics", "passes"),
               [("perplexity", "perplexity", 0), ("coherence", "NPMI", 3), ("seconds", "seconds", 2)]),
}


def shown(values, digits):
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 or digits == 2 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def main():
    lines = []
    for path in sys.argv[1:]:
        with (lzma.open if path.endswith(".xz") else open)(path, "rt") as file:
            lines += [json.loads(line) for line in file]
    for kind, (title, keys, numbers) in TABLES.items():
        cases = {}
        for line in lines:
            if line["record"] == kind:
                cases.setdefault(tuple(line[key] for key in keys), {}).setdefault(line["contestant"], []).append(line)
        if not cases:
            continue
        print(f"\n## {title}\n")
        print("| " + " | ".join([*keys, "method", *(name for _, name, _ in numbers)]) + " |")
        print("|" + "---|" * (len(keys) + 1 + len(numbers)))
        for case, contestants in cases.items():
            for contestant, found in contestants.items():
                print("| " + " | ".join([*(str(part) for part in case), contestant,
                                         *(shown([line[field] for line in found], digits) for field, _, digits in numbers)]) + " |")


if __name__ == "__main__":
    main()
