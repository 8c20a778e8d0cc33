#!/usr/bin/env python3
"""ALS, CCD++ and SFA beside scikit-surprise, on the same split, with settings found the same way for each: those of least
error on a tenth of the training entries, of the same number of candidates.
  ratings.py PROGRAM OUT.jsonl [--data jester=FILE.mtx.xz] [--seeds 1,2,3] [--device cpu]
Without --data a generated set of known rank alone."""
import argparse
import itertools
import time

import numpy

from common import Program, errors, hold_out_entries, known_rank, matrix_market, record


def of_program(method, *fixed):
    def fit(program, train, held, least, most, setting, seed):
        model, data = program.file("model"), program.write("train", train)
        words = [word for name, value in setting.items() for word in (f"--{name}", value)]
        _, seconds = program.run("train", method, data, "-o", model, "--seed", seed, "--quiet", "--device", program.device,
                                 *fixed, *words)
        rows = ("--new", data) if method == "sfa" else ()  # it keeps none
        text, _ = program.run("predict", model, program.write("held", held), *rows)
        predicted = numpy.array([float(line.split("\t")[2]) for line in text.splitlines() if line and line[0].isdigit()])
        # predictions are in the order of held's entries
        return errors(predicted, held, least, most), seconds
    return fit


def of_surprise(name, **fixed):
    def fit(program, train, held, least, most, setting, seed):
        import surprise
        coo = train.tocoo()
        reader = surprise.Reader(rating_scale=(least, most))
        dataset = surprise.Dataset(reader)
        data = dataset.construct_trainset(list(zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), [None] * coo.nnz)))
        numpy.random.seed(seed)
        algorithm = getattr(surprise, name)(**fixed, **setting, **({"random_state": seed} if name == "SVD" else {}))
        start = time.perf_counter()
        algorithm.fit(data)
        seconds = time.perf_counter() - start
        test = held.tocoo()
        predicted = numpy.array([algorithm.predict(u, i, clip=False).est for u, i in zip(test.row.tolist(), test.col.tolist())])
        return errors(predicted, held, least, most), seconds
    return fit


def grid(**values):
    return [dict(zip(values, choice)) for choice in itertools.product(*values.values())]


# six candidates each
CONTESTANTS = {
    "tamis als": (of_program("als", "--iterations", 15), grid(factors=[10, 20], regularization=[0.03, 0.1, 0.2])),
    "tamis als with biases": (of_program("als", "--iterations", 15, "--biases"),
                              grid(factors=[10, 20], regularization=[0.03, 0.1, 0.2])),
    "tamis ccd": (of_program("ccd", "--iterations", 15), grid(factors=[10, 20], regularization=[0.03, 0.1, 0.2])),
    "tamis sfa": (of_program("sfa", "--iterations", 20), grid(factors=[10, 20], regularization=[1, 5, 20])),
    "surprise SVD": (of_surprise("SVD", n_epochs=20), grid(n_factors=[10, 20], reg_all=[0.02, 0.05, 0.1])),
    "surprise SVD without biases": (of_surprise("SVD", n_epochs=20, biased=False),
                                    grid(n_factors=[10, 20], reg_all=[0.02, 0.05, 0.1])),
    "surprise BaselineOnly": (of_surprise("BaselineOnly", verbose=False), [{}]),
}


def compare(program, out, name, matrix, seeds):
    least, most = float(matrix.data.min()), float(matrix.data.max())
    for seed in seeds:
        train, held = hold_out_entries(matrix, 0.2, seed)
        inner, validation = hold_out_entries(train, 0.1, seed + 1000)
        for contestant, (fit, settings) in CONTESTANTS.items():
            best = settings[0] if len(settings) == 1 else min(
                settings, key=lambda setting: fit(program, inner, validation, least, most, setting, seed)[0][0])
            (rmse, mae), seconds = fit(program, train, held, least, most, best, seed)
            record(out, record="ratings", data=name, rows=matrix.shape[0], cols=matrix.shape[1], nnz=int(matrix.nnz), seed=seed,
                   contestant=contestant, setting=best, rmse=rmse, mae=mae, seconds=seconds, version=program.version)


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
        compare(program, out, "known rank 5, noise 0.5", known_rank(2000, 500, 5, 0.1, 0.5, 7), seeds)
        for data in given.data:
            name, path = data.split("=", 1)
            compare(program, out, name, matrix_market(path), seeds)


if __name__ == "__main__":
    main()
