#!/usr/bin/env python3
"""The defaults of als, ccd, sfa and implicit-als on data of many kinds, beside their baselines and beside a constant lambda: a fifth of
each row's ratings, one of each row's uses held out.
  defaults.py PROGRAM OUT.jsonl [--data jester=FILE.mtx.xz] [--data msweb=FILE.data.xz] [--data kos=docword.kos.txt.gz]"""
import numpy

from common import arguments, begun, hold_out_entries, leave_one_out, part
from standins import RATINGS, USES, clusters, communities, known_rank, popular, stars

CONSTANTS = {"als": 0.1, "ccd": 0.1, "sfa": 0.1, "implicit-als": 0.01}  # lambda's former, constant defaults


def share(matrix, kept, seed=3):
    return part(matrix, numpy.random.default_rng(seed).random(matrix.nnz) < kept)


def rating_sets(files):
    if "jester" in files:
        jester = files["jester"]
        yield "jester", jester
        yield "jester, a fifth", share(jester, 0.2)
        yield "jester, a twentieth", share(jester, 0.05)
    yield "stars", stars(1500, 1000, 85, 6, 0.5, 0.6, 0.7, 1)
    yield "stars, sparse", stars(6000, 1200, 13, 6, 0.5, 0.6, 0.7, 2)
    yield "stars, a heavy tail", stars(2000, 1500, 60, 6, 0.5, 0.6, 0.8, 3, 0.8, 0.8)
    yield "stars, a heavy tail, sparse", stars(6000, 2500, 15, 6, 0.5, 0.6, 0.8, 4, 0.8, 0.8)
    yield "stars, few users", stars(200, 60, 10, 2, 0.7, 0.6, 0.5, 10)
    yield "stars, few users, dense", stars(150, 40, 30, 2, 0.7, 0.6, 0.5, 11)
    yield "a weak signal", stars(1500, 1000, 40, 3, 0.2, 0.5, 0.9, 5)
    yield "biases", stars(1500, 1000, 60, 1, 0, 0.6, 0.8, 6)
    yield "biases, sparse", stars(4000, 1000, 8, 1, 0, 0.6, 0.8, 7)
    yield "noise alone", stars(1500, 600, 40, 1, 0, 0, 1, 8, rounded=False)
    yield "rank 5, noise 0.5", known_rank(2000, 500, 5, 0.1, 0.5, 7)
    yield "rank 5, noise 0.05", known_rank(2000, 500, 5, 0.1, 0.05, 7)
    yield "rank 20, dense", known_rank(600, 400, 20, 0.6, 0.3, 9)
    for name, make in RATINGS.items():
        yield name, make()


def use_sets(files):
    for name in ("msweb", "kos"):
        if name in files:
            yield name, files[name]
    yield "clusters", clusters(1500, 600, 8, 7)
    yield "communities", communities(3000, 3000, 100, 20, 5)
    yield "popularity alone", popular(4000, 300, 6, 5)
    for name, make in USES.items():
        yield name, make()


def measure(program, results, name, method, train, held):
    data, away = program.write("train", train), program.write("held", held)
    for setting in ("default", "constant"):
        key = dict(record="defaults", data=name, method=method, setting=setting)
        if results.found(**key):
            continue
        words = ["--factors", 32, "--regularization", CONSTANTS[method]] if setting == "constant" else []
        if words and method == "implicit-als":
            words += ["--weights", "log"]
        found = program.json_lines("train", method, data, "-o", program.file("model"), "--held-out", away, "--device", program.device, "--quiet", *words)[-1]
        results.add(**key, metric=found["metric_name"], value=found["metric"], baseline=found["baseline"], factors=found["factors"],
                    regularization=found["regularization"], weights=found.get("weights"), fit_seconds=found["fit_seconds"],
                    choice_seconds=found.get("choice_seconds", 0))


def main():
    _, program, results, data = begun(arguments(__doc__))
    files = dict(data)
    for name, matrix in rating_sets(files):
        train, held = hold_out_entries(matrix, 0.2, 1)
        for method in ("als", "ccd", "sfa"):
            measure(program, results, name, method, train, held)
    for name, matrix in use_sets(files):
        measure(program, results, name, "implicit-als", *leave_one_out(matrix, 1))


if __name__ == "__main__":
    main()
