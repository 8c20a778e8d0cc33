#!/usr/bin/env python3
"""SciPy's products of sparse by dense beside the same under `tamis.scipy.accelerate`, from the smallest on: where does a call pay off?

A line for each format and number of columns: medians in microseconds of calls in turn, and how many times as long SciPy takes. Results are compared.
"""
from __future__ import annotations

import statistics

import numpy as np
import scipy.sparse
from turns import clocked, in_turn, options

import tamis
import tamis.scipy


def main() -> None:
    given = options(__doc__, threads=2, rounds=9, formats=["csr", "csc", "coo"]).parse_args()
    tamis.set_threads(given.threads)
    print(f"{given.threads} threads, SciPy {scipy.__version__}, float64; us of SciPy, of Tamis, and their ratio by nonzeros")
    random = np.random.default_rng(1)
    for form in given.formats:
        for columns in (1, 8, 64, 256):
            cells = []
            for nonzeros in (1_000, 10_000, 100_000, 1_000_000):
                rows = max(nonzeros // 10, 100)
                A = scipy.sparse.random_array((rows, rows), density=nonzeros / rows**2, format=form, rng=random)
                B = random.random((rows, columns)) if columns > 1 else random.random(rows)

                def ours(A=A, B=B):
                    with tamis.scipy.accelerate(least=0):
                        return A @ B

                assert np.allclose(ours(), A @ B)
                calls = {"theirs": lambda A=A, B=B: A @ B, "ours": ours}
                theirs, own = (1e6 * statistics.median(times) for times in in_turn(calls, given.rounds, lambda name: clocked(calls[name])).values())
                cells.append(f"{nonzeros:>9,}: {theirs:9.1f} {own:9.1f} {theirs / own:5.2f}")
            print(f"{form} {columns:4} columns  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
