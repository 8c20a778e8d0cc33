#!/usr/bin/env python3
"""ALS, CCD++, SFA and neighbours beside scikit-surprise, on the same splits, with settings found the same way for each: those of least error
on a tenth of the first seed's training entries, by steps along ladders of values (common.search), and their defaults.
  ratings.py PROGRAM OUT.jsonl [--data jester=FILE.mtx.xz] [--seeds 1,2,3] [--device cpu]
Without --data a generated set of known rank alone."""
import numpy

from common import arguments, begun, compare, errors, hold_out_entries, seconds_of
from standins import known_rank


def measures(predicted, held, scale, seconds):
    return dict(zip(("rmse", "mae"), errors(predicted, held, *scale)), seconds=seconds)


def of_program(method, *fixed):
    def fit(program, train, held, scale, setting, seed):
        model, data, seconds = program.train(method, train, seed, *fixed, **setting)
        rows = ("--new", data) if method in ("sfa", "rating-knn") else ()  # they keep none
        text, _ = program.run("predict", model, program.write("held", held), *rows)
        predicted = numpy.array([float(line.split("\t")[2]) for line in text.splitlines() if line and line[0].isdigit()])
        # predictions are in the order of held's entries
        return measures(predicted, held, scale, seconds)
    return fit


def of_surprise(name, **fixed):
    def fit(program, train, held, scale, setting, seed):
        import surprise
        coo = train.tocoo()
        dataset = surprise.Dataset(surprise.Reader(rating_scale=scale))
        data = dataset.construct_trainset(list(zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), [None] * coo.nnz)))
        numpy.random.seed(seed)
        algorithm = getattr(surprise, name)(**fixed, **setting, **({"random_state": seed} if name.startswith("SVD") else {}))
        seconds = seconds_of(algorithm.fit, data)
        test = held.tocoo()
        predicted = numpy.array([algorithm.predict(u, i, clip=False).est for u, i in zip(test.row.tolist(), test.col.tolist())])
        return measures(predicted, held, scale, seconds)
    return fit


FACTORS = [1, 2, 5, 10, 20, 40, 80]
LAMBDAS = [0.003, 0.006, 0.0125, 0.025, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28]
OURS = {"factors": FACTORS, "regularization": LAMBDAS}
SVD = {"n_factors": FACTORS, "reg_all": [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64], "lr_all": [0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04],
       "n_epochs": [10, 20, 40, 80, 160, 320]}

# for each: its fit, the ladders of its options, and the start of the search: the middle of our ladders, the defaults of
# the others except factors, which all begin with 10
CONTESTANTS = {
    "tamis als, defaults": (of_program("als"), {}, []),
    "tamis ccd, defaults": (of_program("ccd"), {}, []),
    "tamis sfa, defaults": (of_program("sfa"), {}, []),
    "tamis rating-knn, defaults": (of_program("rating-knn"), {}, []),
    "tamis als": (of_program("als"), OURS, [{"factors": 3, "regularization": 6}]),
    "tamis als without biases": (of_program("als", "--no-biases"), OURS, [{"factors": 3, "regularization": 6}]),
    "tamis ccd": (of_program("ccd"), OURS, [{"factors": 3, "regularization": 6}]),
    "tamis sfa": (of_program("sfa"), {**OURS, "column-regularization": LAMBDAS},
                  [{"factors": 3, "regularization": 6, "column-regularization": 6}]),
    "surprise SVD": (of_surprise("SVD"), SVD, [{"n_factors": 3, "reg_all": 1, "lr_all": 2, "n_epochs": 1}]),
    "surprise SVD without biases": (of_surprise("SVD", biased=False), SVD, [{"n_factors": 3, "reg_all": 1, "lr_all": 2, "n_epochs": 1}]),
    "surprise SVD, defaults": (of_surprise("SVD"), {}, []),
    "surprise SVDpp, defaults": (of_surprise("SVDpp"), {}, []),
    "surprise KNNBaseline, defaults": (of_surprise("KNNBaseline", verbose=False), {}, []),
    "surprise KNNBaseline of items": (of_surprise("KNNBaseline", verbose=False, sim_options={"name": "pearson_baseline", "user_based": False}), {}, []),
    "surprise BaselineOnly": (of_surprise("BaselineOnly", verbose=False), {}, []),
}


def main():
    given, program, results, files = begun(arguments(__doc__))
    for name, matrix in (("known rank 5, noise 0.5", known_rank(2000, 500, 5, 0.1, 0.5, 7)), *files):
        scale = float(matrix.data.min()), float(matrix.data.max())
        inner = hold_out_entries(hold_out_entries(matrix, 0.2, given.seeds[0])[0], 0.1, given.seeds[0] + 1000)
        compare(results, "ratings", name, matrix, CONTESTANTS, given, lambda fit, setting: fit(program, *inner, scale, setting, given.seeds[0])["rmse"],
                lambda fit, setting, seed: fit(program, *hold_out_entries(matrix, 0.2, seed), scale, setting, seed))


if __name__ == "__main__":
    main()
