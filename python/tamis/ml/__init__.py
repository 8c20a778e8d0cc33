"""Factorisations and topic models with scikit-learn's conventions: ALS, ImplicitALS, BPR, ItemKNN, EASE, Transitions, RatingKNN, CCD, LDA, LDAGibbs, SFA, GaP, NMF.

X is a sparse matrix of SciPy in CSR or COO, rows x columns: users x items with ratings or counts of uses, documents x words with
counts. Other formats, integers, dense arrays and data frames are converted, as in scikit-learn; zeros of a dense X are missing entries.
Estimators have `fit`, `transform`, `predict`, `get_params`, `set_params`; attributes that a fit makes end in an underscore;
`sklearn.base.clone`, pipelines, searches, `set_output` and pickling work; where scikit-learn is installed, they are its BaseEstimators, and it need
not be. Columns of a data frame are remembered (`feature_names_in_`), and another order of them is refused. Models are the files of the program
`tamis`: `save` and `load`. Examples assume `import numpy as np, scipy.sparse` and `from tamis.ml import *`.
"""
import sys

from . import _data, _methods
from ._data import Data, EntrySplit, count_words, last_out, leave_one_out, positions, read, split_entries, split_time
from ._estimator import BatchEstimator, Estimator
from ._methods import ALS, BPR, CCD, EASE, LDA, NMF, SFA, GaP, ImplicitALS, ItemKNN, LDAGibbs, RatingKNN, Transitions

for _name, _module in {"_recommenders": _methods, "_topics": _methods, "_split": _data, "_read": _data}.items():
    sys.modules[f"{__name__}.{_name}"] = _module  # pickles of version 0.2.0 name these modules

__all__ = ["ALS", "BPR", "BatchEstimator", "CCD", "Data", "EASE", "EntrySplit", "Estimator", "GaP", "ImplicitALS", "ItemKNN", "LDA", "LDAGibbs", "NMF", "RatingKNN", "SFA", "Transitions", "count_words", "last_out",
           "leave_one_out", "positions", "read", "split_entries", "split_time"]
