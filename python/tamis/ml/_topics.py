"""Estimators of topics: of counts in documents."""
from __future__ import annotations

from typing import Any, Optional, Sequence

from .. import _declarations as c
from ._estimator import BatchEstimator


class LDA(BatchEstimator):
    """Topics of documents by latent Dirichlet allocation, online in mini-batches. Parameters as in `ALS`.

    >>> X = [[5, 4, 0, 0], [4, 3, 0, 1], [0, 0, 2, 6]]
    >>> LDA(factors=2, iterations=5).fit(X).transform(X).shape
    (3, 2)
    """

    _method = c.TAMIS_LDA
    _counts = True

    def __init__(self, factors: int = 20, iterations: int = 20, seed: int = 1, tolerance: float = 0.0, inner_rounds: int = 5,
                 row_prior: float = 0.1, column_prior: float = 0.1, maximum_a_posteriori: bool = False, batch_rows: int = 0,
                 rate_decay: float = 0.5, rate_offset: float = 1.0, learn_row_prior: bool = False, elbo: bool = False,
                 dtype: str = "float32", threads: int = 0, device: str = "cpu",
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
