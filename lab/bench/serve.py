#!/usr/bin/env python3
"""How long a service waits for one user or item, and what batches take, beside implicit where it is installed: serve.py [--items N] ...

Uses are generated with a heavy tail. Models are fitted once; then all calls take turns, ours and implicit's, and each line has the medians of the rounds and
their ratio. Both get what they take: one row of the uses, cut out before. TAMIS_NUM_THREADS and OPENBLAS_NUM_THREADS set the threads; implicit gets --threads."""
import itertools
import os
import resource
import statistics
import sys

import turns

options = turns.options(__doc__, users=20_000, items=10_000, uses=1_000_000, factors=128, rounds=15, calls=20, threads=1,
                        kinds="implicit-als,bpr,item-knn,als,ccd,sfa,ease").parse_args()
os.environ.setdefault("OPENBLAS_NUM_THREADS", str(options.threads))

import numpy  # noqa: E402  the variable comes first
import scipy.sparse  # noqa: E402
from tamis import ml  # noqa: E402

try:
    import implicit
    from implicit.nearest_neighbours import CosineRecommender
except ImportError:
    implicit = None


def generated():
    random = numpy.random.default_rng(1)
    popular, busy = (1 / numpy.arange(10, n + 10) ** 0.8 for n in (options.items, options.users))
    users = random.permutation(options.users)[random.choice(options.users, options.uses, p=busy / busy.sum())]
    items = random.permutation(options.items)[random.choice(options.items, options.uses, p=popular / popular.sum())]
    X = scipy.sparse.coo_matrix((numpy.ones(options.uses, "float32"), (users, items)), (options.users, options.items)).tocsr()
    X.data[:] = 1 + random.integers(0, 5, X.nnz)
    return X


def peers(X):
    if implicit is None:
        return {}
    common = {"num_threads": options.threads, "random_state": 1}
    return {"implicit-als": implicit.als.AlternatingLeastSquares(factors=options.factors, iterations=3, use_gpu=False, **common),
            "bpr": implicit.bpr.BayesianPersonalizedRanking(factors=options.factors - 1, iterations=3, use_gpu=False, **common),
            "item-knn": CosineRecommender(K=20, num_threads=options.threads)}


def ours():
    common = {"threads": options.threads}
    return {"implicit-als": lambda: ml.ImplicitALS(factors=options.factors, iterations=3, weights="linear", regularization=0.01, **common),
            "bpr": lambda: ml.BPR(factors=options.factors - 1, iterations=3, regularization=0.01, **common),
            "item-knn": lambda: ml.ItemKNN(neighbours=20, weights="linear", **common),
            "als": lambda: ml.ALS(factors=options.factors - 1, iterations=3, regularization=0.1, **common),
            "ccd": lambda: ml.CCD(factors=options.factors - 1, iterations=3, regularization=0.1, **common),
            "sfa": lambda: ml.SFA(factors=options.factors - 1, iterations=3, **common),
            "ease": lambda: ml.EASE(regularization=100.0, **common)}


def single(function, many):
    def call(round):
        for i in range(options.calls):
            function(many[(round * options.calls + i) % len(many)])
    return call


def calls_of(kind, model, peer, X, users, rows):
    """Return the calls to measure: a name, our call, and implicit's or None."""
    items = numpy.unique(X.indices)[:4000]
    some, batch, pairs = X[users[:2000]], users[:2000], kind in ("item-knn", "ease")
    weighed = [row.astype("float32") for row in rows]
    number = {int(user): at for at, user in enumerate(users)}
    folds = peer is not None and kind == "implicit-als"
    found = {}
    found["transform, one user"] = (single(lambda u: model.transform(weighed[number[u]]), users), single(lambda u: peer.recalculate_user(u, rows[number[u]]), users) if folds else None)
    found["transform, 2,000 users"] = (lambda _: model.transform(some), (lambda _: peer.recalculate_user(batch, some)) if folds else None)
    if pairs:
        one = lambda u: model.recommend([0], 10, seen=rows[number[u]])
        many = lambda _: model.recommend(n=10, seen=some)
    elif kind == "sfa":
        W = model.transform(X[users])
        one = lambda u: model.recommend([0], 10, seen=rows[number[u]], factors=W[number[u]:number[u] + 1])
        many = lambda _: model.recommend(n=10, seen=some, factors=W[:2000])
    else:
        one = lambda u: model.recommend([u], 10, seen=X)
        many = lambda _: model.recommend(batch, 10, seen=X)
    found["recommend, one user"] = (single(one, users), single(lambda u: peer.recommend(u, rows[number[u]], 10), users) if peer else None)
    found["recommend, 2,000 users"] = (many, (lambda _: peer.recommend(batch, some, 10)) if peer else None)
    found["similar, one item"] = (single(lambda i: model.similar([i], 10), items), single(lambda i: peer.similar_items(i, 10), items) if peer else None)
    found["similar, 200 items"] = (lambda _: model.similar(items[:200], 10), (lambda _: peer.similar_items(items[:200], 10)) if peer and kind != "item-knn" else None)
    return found


def main():
    X = generated()
    users = numpy.flatnonzero(numpy.diff(X.indptr))[:4000]
    rows = [X[u] for u in users]
    print(f"{X.nnz} uses of {X.shape[0]} users and {X.shape[1]} items, {options.factors} factors, {options.threads} thread(s); milliseconds, of single calls for {options.calls}")
    made, theirs = ours(), peers(X)
    for kind in options.kinds.split(","):
        if kind == "ease" and options.items > 10_000:
            continue
        model, peer = made[kind]().fit(X), theirs.get(kind)
        if peer is not None:
            peer.fit(X, show_progress=False)
        found = calls_of(kind, model, peer, X, users, rows)
        calls = {(name, side): call for name, pair in found.items() for side, call in enumerate(pair) if call is not None}
        turn = {key: itertools.count() for key in calls}  # which users and items come

        def measure(key):
            return 1e3 * turns.clocked(calls[key], next(turn[key]))
        turns.in_turn(calls, 1, measure)
        times = {key: statistics.median(found) for key, found in turns.in_turn(calls, options.rounds, measure, shuffled=True).items()}
        for name in found:
            a, b = times[name, 0], times.get((name, 1))
            beside = f"  implicit {b:8.2f}  ratio {a / b:5.2f}" if b else ""
            print(f"{kind:13} {name:24} tamis {a:8.2f}{beside}", flush=True)
        del model, peer, found
    print(f"memory at most: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB", file=sys.stderr)


main()
