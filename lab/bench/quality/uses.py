#!/usr/bin/env python3
"""Implicit ALS beside the `implicit` package on the same split: one use of each row held out, recall and NDCG of the first ten
recommendations, computed here for both; settings found as in ratings.py, with the same weights of entries.
  uses.py PROGRAM OUT.jsonl [--data msweb=anonymous-msweb.data.xz | NAME=FILE.mtx] [--seeds 1,2,3]"""
import argparse
import time

import numpy
import scipy.sparse

from common import Program, matrix_market, opened, ranking, record, search


def visits(path):
    """UCI's format: a line C begins a user, each V is a page visited."""
    rows, columns, pages, users = [], [], {}, -1
    with opened(path) as file:
        for line in file:
            if line[0] == "C":
                users += 1
            elif line[0] == "V":
                rows.append(users)
                columns.append(pages.setdefault(line.split(",")[1], len(pages)))
    return scipy.sparse.csr_matrix((numpy.ones(len(rows)), (rows, columns)), shape=(users + 1, len(pages)))


def clusters(rows, columns, groups, seed):
    """Uses of items of one's own group, four times as often as of others: a stand-in."""
    draw = numpy.random.default_rng(seed)
    group, of = draw.integers(groups, size=rows), draw.integers(groups, size=columns)
    chance = numpy.where(group[:, None] == of[None, :], 0.12, 0.03) * draw.beta(1, 3, size=columns)[None, :] * 4
    return scipy.sparse.csr_matrix((draw.random((rows, columns)) < chance).astype(float))


def leave_one_out(matrix, seed):
    draw = numpy.random.default_rng(seed)
    held = numpy.zeros(matrix.nnz, dtype=bool)
    for i in range(matrix.shape[0]):
        begin, end = matrix.indptr[i], matrix.indptr[i + 1]
        if end - begin >= 2:
            held[begin + draw.integers(end - begin)] = True
    rows = numpy.repeat(numpy.arange(matrix.shape[0]), numpy.diff(matrix.indptr))
    pick = lambda keep: scipy.sparse.csr_matrix((matrix.data[keep], (rows[keep], matrix.indices[keep])), shape=matrix.shape)
    return pick(~held), pick(held)


def ours(program, train, setting, seed):
    model, data = program.file("model"), program.write("train", train)
    words = [word for name, value in setting.items() for word in (f"--{name}", value)]
    _, seconds = program.run("train", "implicit-als", data, "-o", model, "--seed", seed, "--quiet", "--iterations", 15,
                             "--device", program.device, *words)
    text, _ = program.run("recommend", model, "--top", 10, "--seen", data)
    recommended = numpy.full((train.shape[0], 10), -1)
    for line in text.splitlines():
        fields = line.split("\t")
        if fields[0].isdigit():
            recommended[int(fields[0]), int(fields[1]) - 1] = int(fields[2])
    return recommended, seconds


def theirs(program, train, setting, seed):
    from implicit.als import AlternatingLeastSquares
    model = AlternatingLeastSquares(factors=setting.get("factors", 100), regularization=setting.get("regularization", 0.01), alpha=1.0,
                                    iterations=15, random_state=seed, use_gpu=False)
    weights = train.copy() # it weighs an entry by what it is given, where ours is 1 + confidence |r|
    if setting:
        weights.data = 1 + setting["confidence"] * train.data
    start = time.perf_counter()
    model.fit(weights, show_progress=False)
    seconds = time.perf_counter() - start
    return model.recommend(numpy.arange(train.shape[0]), train, N=10, filter_already_liked_items=True)[0], seconds


LADDERS = {"factors": [4, 8, 16, 32, 64, 128], "regularization": [0.01, 0.1, 1, 3, 10, 30, 100, 300], "confidence": [0.1, 0.3, 1, 3, 10, 30]}
# little lambda and weight, and much of both: between them there is a valley
STARTS = [{"factors": 2, "regularization": 4, "confidence": 2}, {"factors": 2, "regularization": 6, "confidence": 4}]
CONTESTANTS = {"tamis implicit-als, defaults": (ours, {}), "implicit AlternatingLeastSquares, defaults": (theirs, {}),
               "tamis implicit-als": (ours, LADDERS), "implicit AlternatingLeastSquares": (theirs, LADDERS)}


def compare(program, out, name, matrix, seeds):
    train, _ = leave_one_out(matrix, seeds[0])
    inner, validation = leave_one_out(train, seeds[0] + 1000)
    for contestant, (fit, ladders) in CONTESTANTS.items():
        best, _, tried = search(lambda setting: -ranking(fit(program, inner, setting, seeds[0])[0], validation)[1], ladders, STARTS) \
            if ladders else ({}, 0, 0)
        for seed in seeds:
            train, held = leave_one_out(matrix, seed)
            recommended, seconds = fit(program, train, best, seed)
            recall, ndcg = ranking(recommended, held)
            record(out, record="uses", data=name, rows=matrix.shape[0], cols=matrix.shape[1], nnz=int(matrix.nnz), seed=seed,
                   contestant=contestant, setting=best, tried=tried, recall=recall, ndcg=ndcg, seconds=seconds, version=program.version)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("out")
    parser.add_argument("--data", action="append", default=[])
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    program, seeds = Program(given.program, given.device), [int(seed) for seed in given.seeds.split(",")]
    with open(given.out, "a") as out:
        compare(program, out, "clusters (a stand-in)", clusters(1500, 600, 8, 7), seeds)
        for data in given.data:
            name, path = data.split("=", 1)
            compare(program, out, name, visits(path) if ".data" in path else matrix_market(path), seeds)


if __name__ == "__main__":
    main()
