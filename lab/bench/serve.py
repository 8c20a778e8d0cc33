#!/usr/bin/env python3
"""How long a service waits for one user's recommendations, or for the items like one: serve.py [ITEMS [FACTORS [ROUNDS]]]

A model of random ratings of a million items is fitted in one pass, since only its size matters. Prints milliseconds, least and median of the rounds, and processor time."""
import sys
import time

import numpy
import scipy.sparse
from tamis import ml

items, factors, rounds = [int(word) for word in sys.argv[1:]] + [1_000_000, 32, 50][len(sys.argv) - 1:]
random = numpy.random.default_rng(1)
shape, count = (20_000, items), 4 * items
X = scipy.sparse.coo_matrix((random.normal(size=count).astype("float32"), (random.integers(shape[0], size=count), random.integers(items, size=count))), shape)
rated = numpy.unique(X.col)
model = ml.ALS(factors=factors, iterations=1).fit(X.tocsr())
for name, call in (("recommend", lambda i: model.recommend([i % shape[0]], 10)), ("similar", lambda i: model.similar([i], 10))):
    times, work = [], []
    for i in rated[:rounds]:
        start, before = time.perf_counter(), time.process_time()
        call(i)
        work.append(1e3 * (time.process_time() - before))
        times.append(1e3 * (time.perf_counter() - start))
    print(f"{name}: {items} items, {factors} factors, top 10: {min(times):.2f} ms, median {numpy.median(times):.2f} ms; {min(work):.2f} ms of all cores together")
