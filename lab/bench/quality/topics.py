#!/usr/bin/env python3
"""LDA, GaP and NMF beside scikit-learn, gensim and lda on the same split at the same number of passes (Gibbs sampling and NMF of tf-idf have
their defaults): perplexity of held-out words by
document completion (none of NMF of tf-idf, which has no probabilities), and NPMI coherence of the topics' first ten words over the training documents, both computed here for all.
A tenth of the documents are tests; of their words half are observed.
  topics.py PROGRAM OUT.jsonl --data kos=docword.kos.txt.gz|ap=ap.dat.xz:10473|reuters=reuters.ldac.xz:4258 [--topics 20,50] [--passes 20] [--seeds 1,2,3]"""
import time

import numpy

from common import arguments, begun, chosen, coherence, hold_out_tokens, perplexity, seconds_of, shape_of


def split(matrix, seed):
    """Return the training documents, and the observed and the held-out words of the test documents."""
    draw = numpy.random.default_rng(seed)
    order = draw.permutation(matrix.shape[0])
    tests = numpy.sort(order[:matrix.shape[0] // 10])
    train = numpy.sort(order[matrix.shape[0] // 10:])
    observed, held = hold_out_tokens(matrix[tests], 0.5, seed)
    return matrix[train], observed, held


def of_program(method, *fixed, own_passes=None, probabilities=True):
    def fit(program, train, observed, held, topics, passes, seed):
        model, _, seconds = program.train(method, train, seed, "--no-loss", *fixed, topics=topics, iterations=own_passes or passes)
        theta, phi = program.file("theta.npy"), program.file("phi.npy")
        program.run("transform", model, program.write("observed", observed), "-o", theta)
        program.run("export", model, "--columns", phi)
        tops = [[int(word["word"]) for word in topic["words"]] for topic in program.json_lines("topics", model, "--top", 10)]
        return perplexity(numpy.load(theta), numpy.load(phi).T, held) if probabilities else None, tops, seconds
    return fit


def tops_of(phi):
    return phi.argsort(axis=1)[:, ::-1][:, :10]


def of_sklearn(method):
    def fit(program, train, observed, held, topics, passes, seed):
        from sklearn.decomposition import LatentDirichletAllocation
        model = LatentDirichletAllocation(n_components=topics, max_iter=passes, learning_method=method, random_state=seed,
                                          evaluate_every=0, n_jobs=1)
        seconds = seconds_of(model.fit, train)
        return perplexity(model.transform(observed), model.components_, held), tops_of(model.components_), seconds
    return fit


def of_gensim(program, train, observed, held, topics, passes, seed):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel
    start = time.perf_counter()
    model = LdaModel(Sparse2Corpus(train, documents_columns=False), num_topics=topics, passes=passes, random_state=seed,
                     id2word={i: str(i) for i in range(train.shape[1])}, eval_every=None)
    seconds = time.perf_counter() - start
    theta = model.inference(list(Sparse2Corpus(observed, documents_columns=False)))[0]
    phi = model.get_topics()
    return perplexity(theta, phi, held), tops_of(phi), seconds


def of_nmf(program, train, observed, held, topics, passes, seed):
    from sklearn.decomposition import NMF
    model = NMF(n_components=topics, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=passes, tol=0,
                random_state=seed)
    seconds = seconds_of(model.fit, train)
    phi = model.components_
    theta = model.transform(observed) * phi.sum(axis=1)[None, :]
    return perplexity(theta + 1e-12, phi, held), tops_of(phi), seconds


def of_nmf_tfidf(program, train, observed, held, topics, passes, seed):
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer
    model = NMF(n_components=topics, max_iter=200, random_state=seed)
    seconds = seconds_of(lambda: model.fit(TfidfTransformer().fit_transform(train)))
    return None, tops_of(model.components_), seconds


def of_gibbs(program, train, observed, held, topics, passes, seed):
    """Collapsed Gibbs sampling of the package lda; new documents by fixed-point iterations for its topics."""
    from lda import LDA
    model = LDA(n_topics=topics, n_iter=GIBBS_PASSES, alpha=0.1, eta=0.1, random_state=seed, refresh=GIBBS_PASSES)
    seconds = seconds_of(lambda: model.fit(train.astype(numpy.int64)))
    phi = model.topic_word_
    theta = numpy.full((observed.shape[0], topics), 1.0)
    for _ in range(50):
        coo = observed.tocoo()
        parts = theta[coo.row] * phi.T[coo.col]
        parts *= (coo.data / parts.sum(axis=1))[:, None]
        theta = numpy.full_like(theta, 0.1)
        numpy.add.at(theta, coo.row, parts)
    return perplexity(theta, phi, held), tops_of(phi), seconds


GIBBS_PASSES = 100

CONTESTANTS = {
    "tamis lda": of_program("lda"),
    "scikit-learn LDA online": of_sklearn("online"),
    "scikit-learn LDA batch": of_sklearn("batch"),
    "gensim LdaModel": of_gensim,
    "tamis gap": of_program("gap"),
    "scikit-learn NMF KL": of_nmf,
    "tamis nmf": of_program("nmf", own_passes=50, probabilities=False),
    "scikit-learn NMF tf-idf": of_nmf_tfidf,
    "tamis lda-gibbs": of_program("lda-gibbs", own_passes=GIBBS_PASSES),
    "lda (Gibbs)": of_gibbs,
}

# iterations over a mini-batch's documents, with more topics than the corpora fill
ROUNDS = {f"tamis lda, {rounds} rounds": of_program("lda", "--inner-rounds", rounds) for rounds in (5, 10, 15, 20)}
MANY = 100


def main():
    parser = arguments(__doc__)
    parser.add_argument("--topics", default="20,50", type=lambda text: [int(count) for count in text.split(",")])
    parser.add_argument("--passes", default=20, type=int)
    given, program, results, files = begun(parser)
    for name, matrix in files:

        def measure(record, contestants, seed, topics):
            train, observed, held = split(matrix, seed)
            for contestant, fit in chosen(contestants, given.only).items():
                key = dict(record=record, data=name, seed=seed, contestant=contestant, topics=topics, passes=given.passes)
                if results.found(**key):
                    continue
                found, tops, seconds = fit(program, train, observed, held, topics, given.passes, seed)
                results.add(**key, **shape_of(matrix), perplexity=found, coherence=coherence(tops, train), empty=topics - len(tops), seconds=seconds)

        for seed in given.seeds:
            for topics in given.topics:
                measure("topics", CONTESTANTS, seed, topics)
            measure("rounds", ROUNDS, seed, MANY)


if __name__ == "__main__":
    main()
