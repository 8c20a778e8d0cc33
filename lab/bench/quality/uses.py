#!/usr/bin/env python3
"""Models of uses beside those of the `implicit` package on the same split: one use of each row held out, recall and NDCG of the first ten
recommendations, computed here for both; settings found as in ratings.py, with the same weights of entries.
  uses.py PROGRAM OUT.jsonl [--data msweb=anonymous-msweb.data.xz | kos=docword.kos.txt.gz | NAME=FILE.mtx] [--seeds 1,2,3]"""
import numpy

from common import arguments, begun, compare, leave_one_out, ranking, seconds_of
from standins import clusters, communities


def of_program(method, *fixed, pairs=False):
    def fit(program, train, setting, seed):
        model, data, seconds = program.train(method, train, seed, *fixed, **setting)
        text, _ = program.run("recommend", model, "--top", 10, "--new" if pairs else "--seen", data)  # models of pairs keep no rows
        recommended = numpy.full((train.shape[0], 10), -1)
        for line in text.splitlines():
            fields = line.split("\t")
            if fields[0].isdigit():
                recommended[int(fields[0]), int(fields[1]) - 1] = int(fields[2])
        return recommended, seconds
    return fit


def of_implicit(make, weigh=None):
    """Arguments: make(setting, seed) makes a model of `implicit`; weigh(train, setting) makes the matrix to fit."""
    def fit(program, train, setting, seed):
        model = make(setting, seed)
        given = train.copy() if weigh is None else weigh(train.copy(), setting)
        seconds = seconds_of(model.fit, given.astype(numpy.float32), show_progress=False)
        return model.recommend(numpy.arange(train.shape[0]), train.tocsr().astype(numpy.float32), N=10, filter_already_liked_items=True)[0], seconds
    return fit


def top_of(scores, train):
    """The ten items of the highest scores that a row does not have."""
    scores[train.nonzero()] = -numpy.inf
    return numpy.argsort(-scores, axis=1, kind="stable")[:, :10]


def most_popular(program, train, setting, seed):
    return top_of(numpy.broadcast_to(train.getnnz(axis=0).astype(float), train.shape).copy(), train), 0.0


def their_als(setting, seed):
    from implicit.als import AlternatingLeastSquares
    return AlternatingLeastSquares(factors=setting.get("factors", 100), regularization=setting.get("regularization", 0.01), alpha=1.0,
                                   iterations=15, random_state=seed, use_gpu=False)


def their_weights(train, setting):
    """Return our weights 1 + confidence |r| as the matrix's values: `implicit` takes a value as the weight."""
    if setting:
        train.data = 1 + setting["confidence"] * train.data
    return train


def their_bpr(setting, seed):
    from implicit.bpr import BayesianPersonalizedRanking
    return BayesianPersonalizedRanking(**setting, random_state=seed, use_gpu=False, num_threads=1)


def of_lightfm(loss):
    def fit(program, train, setting, seed):
        from lightfm import LightFM
        options = {name: value for name, value in setting.items() if name != "epochs"}
        model = LightFM(loss=loss, random_state=seed, **options)
        seconds = seconds_of(model.fit, train.tocoo().astype(numpy.float32), epochs=setting.get("epochs", 30), num_threads=1)
        (_, users), (biases, items) = model.get_user_representations(), model.get_item_representations()
        return top_of(users @ items.T + biases[None, :], train), seconds
    return fit


def their_neighbours(name):
    def make(setting, _):
        import implicit.nearest_neighbours
        return getattr(implicit.nearest_neighbours, name)(**setting, num_threads=1)
    return make


LADDERS = {"factors": [4, 8, 16, 32, 64, 128], "regularization": [0.01, 0.1, 1, 3, 10, 30, 100, 300, 1000],
           "confidence": [0.1, 0.3, 1, 3, 10, 30, 100]}
# start with both lambda and weight small, and with both large: a valley lies between
STARTS = [{"factors": 2, "regularization": 4, "confidence": 2}, {"factors": 2, "regularization": 6, "confidence": 4}]
PAIRWISE = {"factors": [8, 16, 32, 64, 128], "regularization": [0.001, 0.003, 0.01, 0.03, 0.1]}
RATES = [0.005, 0.01, 0.02, 0.05, 0.1]
EPOCHS = {"no_components": [8, 16, 32, 64, 128], "learning_rate": [0.005, 0.01, 0.02, 0.05, 0.1], "epochs": [10, 20, 40, 80]}
MIDDLE = {"factors": 2, "regularization": 2}
NEAR = [5, 10, 20, 50, 100, 200]
CONTESTANTS = {
    "the most popular": (most_popular, {}, ()),
    "tamis implicit-als, defaults": (of_program("implicit-als"), {}, ()),
    "implicit AlternatingLeastSquares, defaults": (of_implicit(their_als, their_weights), {}, ()),
    "tamis implicit-als": (of_program("implicit-als"), LADDERS, STARTS),
    "implicit AlternatingLeastSquares": (of_implicit(their_als, their_weights), LADDERS, STARTS),
    "tamis bpr, defaults": (of_program("bpr"), {}, ()),
    "implicit BayesianPersonalizedRanking, defaults": (of_implicit(their_bpr), {}, ()),
    "tamis bpr": (of_program("bpr"), {**PAIRWISE, "rate": RATES}, [{**MIDDLE, "rate": 3}]),
    "implicit BayesianPersonalizedRanking": (of_implicit(their_bpr), {**PAIRWISE, "learning_rate": RATES}, [{**MIDDLE, "learning_rate": 1}]),
    "LightFM WARP, defaults": (of_lightfm("warp"), {}, ()),
    "LightFM WARP": (of_lightfm("warp"), EPOCHS, [{"no_components": 2, "learning_rate": 3, "epochs": 1}]),
    "LightFM BPR": (of_lightfm("bpr"), EPOCHS, [{"no_components": 2, "learning_rate": 3, "epochs": 1}]),
    "tamis item-knn, defaults": (of_program("item-knn", pairs=True), {}, ()),
    "implicit BM25Recommender, defaults": (of_implicit(their_neighbours("BM25Recommender")), {}, ()),
    "tamis item-knn": (of_program("item-knn", pairs=True), {"neighbours": NEAR, "weights": ["bm25", "ones"]}, [{"neighbours": 2, "weights": 0}]),
    "implicit BM25Recommender": (of_implicit(their_neighbours("BM25Recommender")), {"K": NEAR}, [{"K": 2}]),
    "implicit CosineRecommender": (of_implicit(their_neighbours("CosineRecommender")), {"K": NEAR}, [{"K": 2}]),
    "tamis ease, defaults": (of_program("ease", pairs=True), {}, ()),
    "tamis ease": (of_program("ease", pairs=True), {"regularization": [3, 10, 30, 100, 300, 1000, 3000]}, [{"regularization": 3}]),
}


def main():
    given, program, results, files = begun(arguments(__doc__))

    def measure(fit, train, held, setting, seed):
        recommended, seconds = fit(program, train, setting, seed)
        return dict(zip(("recall", "ndcg"), ranking(recommended, held)), seconds=seconds)

    for name, matrix in (("clusters (a stand-in)", clusters(1500, 600, 8, 7)), ("communities (a stand-in)", communities(3000, 3000, 100, 20, 5)), *files):
        inner = leave_one_out(leave_one_out(matrix, given.seeds[0])[0], given.seeds[0] + 1000)
        compare(results, "uses", name, matrix, CONTESTANTS, given, lambda fit, setting: -measure(fit, *inner, setting, given.seeds[0])["ndcg"],
                lambda fit, setting, seed: measure(fit, *leave_one_out(matrix, seed), setting, seed))


if __name__ == "__main__":
    main()
