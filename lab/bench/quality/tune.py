#!/usr/bin/env python3
"""`tamis tune` beside a fine grid of the same options: the error of tune's choice, of the best of the grid, and the shares of the grid's
cost. All errors are of fits to the end, over three folds. The grid has steps of a fifth to a half where tune's lists have steps of 2 to 10.
  tune.py PROGRAM OUT.jsonl [--data jester=FILE.mtx.xz] [--data msweb=FILE.data.xz] [--data kos=docword.kos.txt.gz] [--only METHOD]"""
import numpy

from tamis import tune

from common import arguments, begun


def ladder(least, most, step):
    """Return rounded values from least to most; each is `step` times the one before."""
    count = round(numpy.log(most / least) / numpy.log(step))
    return [float(f"{least * (most / least) ** (k / count):.3g}") for k in range(count + 1)]


WEIGHTS = {"factors": [16, 32], "regularization": ladder(1, 256, 2), "confidence": ladder(1, 40, 2), "weights": ["log", "bm25"]}
# for each data set, the methods with their fine grids; tune has its own lists, except for factors and weights, which it
# gets from here
GRIDS = {
    "jester": {"als": {"factors": [8, 16, 32, 64], "regularization": ladder(0.02, 0.2, 1.25), "biases": [True, False]}},
    "msweb": {"implicit-als": WEIGHTS, "item-knn": {"neighbours": [int(k) for k in ladder(5, 285, 1.25)], "weights": ["bm25", "ones", "log"]},
              "ease": {"regularization": ladder(3, 3000, 1.25)}, "bpr": {"factors": [16, 32, 64], "regularization": ladder(0.003, 0.1, 1.5)}},
    "kos": {"implicit-als": {**WEIGHTS, "weights": ["log"]}, "item-knn": {"neighbours": [int(k) for k in ladder(5, 400, 1.25)], "weights": ["bm25", "ones", "log"]}},
}


def main():
    given, _, results, files = begun(arguments(__doc__))
    for name, matrix in files:
        X = matrix.astype(numpy.float32)
        for of, fine in GRIDS[name].items():
            key = dict(record="tune", data=name, method=of)
            if results.found(**key) or given.only and of not in given.only:
                continue
            method, space = tune.METHODS[of], dict(tune.SPACES[of])
            space.update({option: fine[option] for option in ("factors", "weights") if option in space})
            state = lambda what: f"{given.out}.{name}.{of}.{what}"
            found = tune.tune(method, X, space, devices=[given.device], state=state("tune"))
            chosen = tune.tune(method, X, {option: [value] for option, value in found["best"].items()}, devices=[given.device])
            grid = tune.tune(method, X, fine, devices=[given.device], state=state("grid"), grid=True)
            results.add(**key, candidates=len(tune.candidates(space)), chosen=found["best"], chosen_error=chosen["error"],
                        grid=len(tune.candidates(fine)), grid_best=grid["rows"][0]["values"], grid_error=grid["error"],
                        ratio=chosen["error"] / grid["error"], cost=found["cost"] / grid["cost"], seconds=found["seconds"],
                        grid_seconds=grid["seconds"])


if __name__ == "__main__":
    main()
