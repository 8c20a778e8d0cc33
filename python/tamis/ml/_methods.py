"""The estimators: of ratings, of uses, and of topics."""
from __future__ import annotations

from typing import Any, Optional, Sequence

from .. import _declarations as c
from ._estimator import BatchEstimator, Estimator, RowEstimator


class ALS(RowEstimator):
    """Ratings by alternating least squares. Parameters are fields of `tamis_model_options`, with its defaults; threads: 0 is all.

    devices: names of devices of this process that fit together, for instance ["cuda:0", "cuda:1"]; each has some rows of X, and all have the
    model in the end, which is that of one device but for rounding. It is then used on the first of them; `device` is not looked at. The
    same one may be there several times. ALS and ImplicitALS do this; `fit` of the others raises UnsupportedError.
    factors: 0 chooses their number by a small inner split of the data. regularization: 0 finds lambda by the noise of the data.
    random_state: a number or a generator of NumPy in place of seed. by_prediction: `recommend` goes by predictions alone; else by these and the chance of
    being seen, which goes with an item's number of ratings.

    >>> X = scipy.sparse.csr_array(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))
    >>> model = ALS(factors=2, iterations=20).fit(X)
    >>> model.transform(X).shape, model.predict(X).shape
    ((3, 3), (6,))
    """

    _method = c.TAMIS_ALS
    _scores_rows = True

    def __init__(self, factors: int = 0, iterations: int = 15, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 weighted: bool = True, biases: bool = True, cg_steps: int = 6, dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None, by_prediction: bool = False):
        self._set(locals())


class ImplicitALS(RowEstimator):
    """Counts of uses: missing entries count as zeros with little weight (Hu, Koren, Volinsky). Parameters as in `ALS`.

    weights: what a count r is taken for: "log", log2(1 + r); "linear", r; "ones", 1; "bm25", less in long rows and for frequent columns;
    "auto", "log" or "bm25" by an inner split. confidence: a count r has the weight 1 + confidence r, after `weights`; None chooses it by an inner split, by
    recall and NDCG of the first twenty; `confidence_` is what was chosen.

    >>> plays = [[9, 4, 0], [7, 0, 0], [0, 5, 2]]
    >>> ImplicitALS(factors=2, iterations=5).fit(plays).recommend([1], n=1, seen=plays)[0]
    array([[1]])
    """

    _method = c.TAMIS_IMPLICIT_ALS
    _uses = True

    def __init__(self, factors: int = 0, iterations: int = 15, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 confidence: Optional[float] = None, weights: str = "auto", cg_steps: int = 3, dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class BPR(RowEstimator):
    """Uses by Bayesian personalised ranking: what a user has is ranked above what not (Rendle et al.). Counts do not matter. Parameters as in `ALS`.

    regularization: lambda of the factors, 0 chooses it by an inner split. rate: ADAGRAD's rate. warp: WARP's loss (Weston et al.), which works for the top
    of the list, in place of BPR's. The model does not depend on the number of threads.

    >>> plays = [[9, 4, 0], [7, 0, 0], [0, 5, 2]]
    >>> BPR(factors=2, iterations=50).fit(plays).recommend([1], n=1, seen=plays)[0]
    array([[1]])
    """

    _method = c.TAMIS_BPR
    _uses = True

    def __init__(self, factors: int = 32, iterations: int = 30, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 rate: float = 0.05, biases: bool = True, dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None, warp: bool = False):
        self._set(locals())


class ItemKNN(Estimator):
    """Uses by nearest neighbours of items. `recommend` takes rows from seen=, as the model keeps none; `transform` gives a row's scores of all columns.

    weights: "auto" is "bm25", "ones" or "rp3beta" by an inner split. "bm25" finds neighbours by products of BM25 weights; "rp3beta" by a random walk from item to user to item, whose chances are
    divided by the power beta of an item's uses (0 to 2; RP3beta, Paudel et al. 2017); others by the cosine of weighted uses, see `ImplicitALS`.

    >>> plays = [[9, 4, 0], [7, 0, 0], [2, 5, 2]]
    >>> ItemKNN(neighbours=2, weights="ones").fit(plays).recommend([1], n=1, seen=plays)[0]
    array([[1]])
    """

    _method = c.TAMIS_ITEM_KNN
    _uses = _pairs = True

    def __init__(self, neighbours: int = 20, weights: str = "auto", dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, seed: int = 1, random_state: Any = None, beta: float = 0.4):
        self._set(locals())


class EASE(Estimator):
    """Uses by a linear weight for each pair of items (Steck 2019). As `ItemKNN`; regularization: 0 finds lambda by the noise
    of the uses and an inner split. neighbours: the items from which an item takes weights, 0: all, of up to 32,768 items; None: all, or 128 with more than 16,384
    items. `neighbours_` is what was chosen, and with neighbours each column of `components_` has the numbers of these items, -1 behind the last, and their weights.

    >>> model = EASE(regularization=1.0).fit([[9, 4, 0], [7, 0, 0], [2, 5, 2]])
    >>> bool(model.components_.diagonal().any())
    False
    """

    _method = c.TAMIS_EASE
    _uses = _pairs = True

    def __init__(self, regularization: float = 0.0, weights: str = "ones", dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, seed: int = 1, random_state: Any = None, neighbours: Optional[int] = None):
        self._set(locals())


class Transitions(Estimator):
    """Uses in time: what follows soon after what a row had last, and with fading weight before that. As `ItemKNN`, but the values of X are positions in the
    row, 1 for the first, as `tamis.ml.read` with this class or `positions` of times make them; seen= of `recommend`, too, a session for example.

    neighbours: how many columns that follow it are kept for each column.

    >>> plays = [[1, 2, 3, 0], [0, 1, 2, 3], [2, 3, 1, 0]]
    >>> model = Transitions().fit(plays)
    >>> model.recommend(n=1, seen=[[1, 2, 0, 0]])[0]  # the first, then the second
    array([[2]])
    """

    _method = c.TAMIS_TRANSITIONS
    _uses = _pairs = _ordered = True

    def __init__(self, neighbours: int = 100, dtype: str = "float32", threads: int = 0, device: str = "cpu", devices: Optional[Sequence[str]] = None,
                 seed: int = 1, random_state: Any = None):
        self._set(locals())


class RatingKNN(Estimator):
    """Ratings by biases and nearest neighbours of items: what a row's ratings of near items say beside its own and the items' biases. As `ItemKNN`, the model keeps
    no rows: `recommend` takes them from seen=, and `predict(X)` without factors= from X itself.

    neighbours: how many columns each column is near to. by_prediction: as in `ALS`. `transform` gives a row's predictions of all columns without the mean and the
    columns' biases, in units of the ratings' deviation.

    >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
    >>> RatingKNN().fit(X).recommend([0], n=1, seen=X)[0]
    array([[2]])
    """

    _method = c.TAMIS_RATING_KNN
    _pairs = True

    def __init__(self, neighbours: int = 200, dtype: str = "float32", threads: int = 0, device: str = "cpu", devices: Optional[Sequence[str]] = None,
                 seed: int = 1, random_state: Any = None, by_prediction: bool = False):
        self._set(locals())


class CCD(RowEstimator):
    """Ratings by CCD++, one feature at a time. Parameters as in `ALS`. After `fit`, `biases_alone_` is True if no factors predict better than biases.

    >>> CCD(factors=2, iterations=5, biases=False).fit([[5, 4, 0], [4, 0, 1], [0, 5, 2]]).components_.shape
    (2, 3)
    """

    _method = c.TAMIS_CCD
    _over_biases = True
    _scores_rows = True

    def __init__(self, factors: int = 0, iterations: int = 15, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 weighted: bool = True, biases: bool = True, inner_rounds: int = 5, nonnegative: bool = False, dtype: str = "float32", threads: int = 0,
                 device: str = "cpu", devices: Optional[Sequence[str]] = None, random_state: Any = None, by_prediction: bool = False):
        self._set(locals())


class SFA(BatchEstimator):
    """Ratings by sparse factor analysis in mini-batches of users, whose factors are not kept. Parameters as in `ALS`.

    regularization: lambda, 0 chooses it by an inner split, as factors=0 does their number; `partial_fit` chooses nothing and has 0.1 and 32.
    column_regularization: lambda of the columns, 0: the same.

    >>> X = [[5, 4, 0], [4, 0, 1], [0, 5, 2]]
    >>> SFA(factors=2, iterations=5).fit(X).predict(X).shape
    (6,)
    """

    _method = c.TAMIS_SFA
    _over_biases = True

    def __init__(self, factors: int = 0, iterations: int = 20, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 column_regularization: float = 0.0, weighted: bool = True, biases: bool = True, rate: float = 0.1, cg_steps: int = 5, batch_rows: int = 0,
                 dtype: str = "float32", threads: int = 0, device: str = "cpu", devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class LDA(BatchEstimator):
    """Topics of documents by latent Dirichlet allocation, online in mini-batches. Parameters as in `ALS`.

    row_prior, column_prior: alpha of a document's topics and beta of a topic's words, 0 means 1 / factors; None chooses them by an inner split of the
    documents' words, and is 0.1 in `partial_fit`. `row_prior_` and `column_prior_` are what was chosen.

    >>> X = [[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]
    >>> LDA(factors=2, iterations=5).fit(X).transform(X).shape
    (3, 2)
    """

    _method = c.TAMIS_LDA
    _counts = True

    def __init__(self, factors: int = 20, iterations: int = 20, seed: int = 1, tolerance: float = 0.0, inner_rounds: int = 5,
                 row_prior: Optional[float] = None, column_prior: Optional[float] = None, maximum_a_posteriori: bool = False, batch_rows: int = 0,
                 rate_decay: float = 0.5, rate_offset: float = 1.0, learn_row_prior: bool = False, elbo: bool = False,
                 dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class LDAGibbs(Estimator):
    """Topics of documents by latent Dirichlet allocation with collapsed Gibbs sampling, on the host's threads. Parameters as in `ALS`.

    row_prior, column_prior: alpha of a document's topics and beta of a topic's words, 0 means 1 / factors; learn_row_prior: an alpha for each topic, from
    row_prior on. seeds: for each topic a list of columns, as numbers or names, with which it begins. The model does not depend on the number of threads;
    `transform` and `score` are as of `LDA`.

    >>> X = [[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]
    >>> model = LDAGibbs(factors=2, iterations=50, seeds=[[3], [0]]).fit(X)
    >>> [int(topic.argmax()) for topic in model.components_]
    [3, 0]
    """

    _method = c.TAMIS_LDA_GIBBS
    _counts = _seeded = True

    def __init__(self, factors: int = 20, iterations: int = 100, seed: int = 1, tolerance: float = 0.0,
                 row_prior: float = 0.1, column_prior: float = 0.1, learn_row_prior: bool = False, dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None, seeds: Optional[Sequence[Any]] = None):
        self._set(locals())


class NMF(RowEstimator):
    """Topics of documents as non-negative factors of weighted counts, by least squares (HALS, Cichocki and Phan). Parameters as in `ALS`.

    weights: "tfidf", as scikit-learn's TfidfTransformer has it; "linear", the counts; "log", "ones" and "bm25" as in `ImplicitALS`. regularization: lambda of
    the squares of all factors. inner_rounds: sweeps over the topics in half an iteration. `loss_` is the objective as a share of the sum of squares.
    There are no probabilities of words: `score` is the coherence (NPMI) of the topics' first ten words in the documents.

    >>> model = NMF(factors=2, iterations=20).fit([[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]])
    >>> sorted(int(topic.argmax()) for topic in model.components_)
    [0, 3]
    """

    _method = c.TAMIS_NMF
    _counts = _coherent = True

    def __init__(self, factors: int = 20, iterations: int = 50, seed: int = 1, tolerance: float = 0.0, regularization: float = 0.0,
                 inner_rounds: int = 3, weights: str = "tfidf", dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())


class GaP(BatchEstimator):
    """Counts by gamma-Poisson factors; with row_prior=1 and column_prior=0, non-negative factors that minimise the Kullback-Leibler divergence.

    >>> model = GaP(factors=2, iterations=5).fit([[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]])
    >>> bool((model.components_ >= 0).all())
    True
    """

    _method = c.TAMIS_GAP
    _counts = True

    def __init__(self, factors: int = 20, iterations: int = 50, seed: int = 1, tolerance: float = 0.0, inner_rounds: int = 1,
                 row_prior: float = 1.1, column_prior: float = 1.0, batch_rows: int = 0, rate_decay: float = 0.5, rate_offset: float = 1.0,
                 dtype: str = "float32", threads: int = 0, device: str = "cpu",
                 devices: Optional[Sequence[str]] = None, random_state: Any = None):
        self._set(locals())
