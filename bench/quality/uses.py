#!/usr/bin/env python3
"""Implicit ALS beside the `implicit` package on the same split: one use of each row held out, recall and NDCG of the first ten
recommendations, computed here for both; settings as in ratings.py.
  uses.py PROGRAM OUT.jsonl [--data msweb=anonymous-msweb.data.xz | NAME=FILE.mtx] [--seeds 1,2,3]"""
import argparse
import time

import numpy
import scipy.sparse

from common import Program, matrix_market, opened, ranking, record
from ratings import grid


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
    model = AlternatingLeastSquares(factors=setting["factors"], regularization=setting["regularization"],
                                    alpha=setting["confidence"], iterations=15, random_state=seed, use_gpu=False)
    start = time.perf_counter()
    model.fit(train, show_progress=False)
    seconds = time.perf_counter() - start
    return model.recommend(numpy.arange(train.shape[0]), train, N=10, filter_already_liked_items=True)[0], seconds


CONTESTANTS = {"tamis implicit-als": ours, "implicit AlternatingLeastSquares": theirs}
SETTINGS = grid(factors=[16, 32], regularization=[0.01, 1, 100], confidence=[1, 40])


def compare(program, out, name, matrix, seeds):
    for seed in seeds:
        train, held = leave_one_out(matrix, seed)
        inner, validation = leave_one_out(train, seed + 1000)
        for contestant, fit in CONTESTANTS.items():
            best = max(SETTINGS, key=lambda setting: ranking(fit(program, inner, setting, seed)[0], validation)[1])
            recommended, seconds = fit(program, train, best, seed)
            recall, ndcg = ranking(recommended, held)
            record(out, record="uses", data=name, rows=matrix.shape[0], cols=matrix.shape[1], nnz=int(matrix.nnz), seed=seed,
                   contestant=contestant, setting=best, recall=recall, ndcg=ndcg, seconds=seconds, version=program.version)


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
