"""tamis.ml: names of rows and columns, of models of the program and of Python; words of texts and seeds."""
from __future__ import annotations

import os
import pickle
import re
import subprocess

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")

from tamis import _errors  # noqa: E402
from tamis import ml  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.environ.get("TAMIS_LIBRARY", "")), "..", "tools", "tamis", "tamis")
TASTES = "ann Alien 5\nann Brazil 4\nbob Alien 4\nbob Casablanca 1\neve Brazil 5\neve Casablanca 2\n"


def run_program(*words):
    if not os.path.exists(PROGRAM):
        pytest.skip("the program is not built beside the library")
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("method", [ml.CCD, ml.SFA])
def test_biases_alone_are_told(method):
    rows, columns = np.divmod(np.arange(2400), 40)
    noise = np.random.default_rng(3).normal(size=2400)
    kinds = 2.0 * (rows % 2 == columns % 2)  # which biases cannot tell
    for values, alone in ((noise, True), (kinds + 0.1 * noise, False)):
        kept = values.reshape(60, 40)
        model = method().fit(kept)
        assert model.biases_alone_ is alone
        assert bool(abs(model.predict(kept) - values).mean() > 0.5) is alone
    assert not method(regularization=0.1).fit(kept).biases_alone_


def test_names_of_the_programs_models(tmp_path):
    (tmp_path / "r.tsv").write_text(TASTES.replace(" ", "\t"))
    run_program("train", "als", tmp_path / "r.tsv", "-o", tmp_path / "a.model", "--factors", "2", "--iterations", "3")
    model = ml.ALS.load(tmp_path / "a.model")
    assert list(model.row_names_) == ["ann", "bob", "eve"] and list(model.column_names_) == ["Alien", "Brazil", "Casablanca"]
    assert np.array_equal(model.recommend(["eve", "ann"], 2)[0], model.recommend([2, 0], 2)[0])
    assert np.array_equal(model.recommend(among=["Brazil"], n=1)[0], [[1]] * 3)
    assert np.array_equal(model.recommend(without=["Brazil", "Alien"], n=1)[0], [[2]] * 3)
    assert np.array_equal(model.similar(["Brazil"])[0], model.similar([1])[0])
    assert np.array_equal(model.similar(["bob"], rows=True)[0], model.similar([1], rows=True)[0])
    assert list(pickle.loads(pickle.dumps(model)).row_names_) == ["ann", "bob", "eve"]
    with pytest.raises(ValueError, match="rows has 'zoe', a name that the model does not know"):
        model.recommend(["zoe"])
    X = scipy_sparse.csr_array(np.float32([[5, 4, 0, 1], [4, 0, 1, 0], [0, 5, 2, 0]]))
    model.fit(X, warm_start=True)  # another column: which name it has nobody has said
    assert list(model.row_names_) == ["ann", "bob", "eve"] and model.column_names_ is None


@pytest.mark.parametrize("method", [ml.ALS, ml.EASE])
def test_names_of_models_of_python(method, tmp_path):
    (tmp_path / "r.tsv").write_text(TASTES.replace(" ", "\t"))
    data = ml.read(tmp_path / "r.tsv", method)
    model = method().fit(data.X)
    assert model.row_names_ is None and model.column_names_ is None
    with pytest.raises(ValueError, match="which has names, but the model has none:"):
        model.similar(["Alien"])
    before = model._fitted()
    model.set_names(data.rows if method is ml.ALS else None, data.columns)
    assert before.names(False) is None  # calls of other threads end with the model with which they began
    model.save(tmp_path / "a.model")
    found = run_program("similar", tmp_path / "a.model", "Alien", "--top", "1").split()
    assert model.column_names_[model.similar(["Alien"], 1)[0][0, 0]] in found
    if method is ml.ALS:
        best = model.column_names_[model.recommend(["bob"], 1, seen=data.X)[0][0, 0]]
        assert best in run_program("recommend", tmp_path / "a.model", "bob", "--seen", tmp_path / "r.tsv", "--top", "1")
    for wrong, words in ((["a", "b"], "2 names, the model has 3 columns"), (["a", "b", "a"], "names 0 and 2 are both 'a'"), ([1, 2, 3], "name 0 is 1"), (["", "a", "b"], "name 0 is ''")):
        with pytest.raises(ValueError, match=words):
            model.set_names(columns=wrong)
    assert list(model.column_names_) == data.columns
    model.set_names(columns=[])
    assert model.column_names_ is None and (method is ml.EASE or list(model.row_names_) == data.rows)


def test_names_of_a_data_frame(tmp_path):
    class Frame(np.ndarray):  # what is read of one of pandas
        columns = ["Alien", "Brazil", "Casablanca"]
    frame = np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]).view(Frame)
    model = ml.LDA(factors=2, iterations=2).fit(frame)
    model.save(tmp_path / "a.model")
    assert "Casablanca" in run_program("topics", tmp_path / "a.model")
    assert list(ml.LDA.load(tmp_path / "a.model").column_names_) == list(frame.columns)


def test_words_of_texts(tmp_path):
    texts = ["The café opens", "the CAFÉ closes now", "nothing opens here", "Привет, привет мир", ""]
    X, words = ml.count_words(texts, min_documents=1, max_share=1)
    assert words == ["the", "café", "opens", "closes", "now", "nothing", "here", "привет", "мир"] and X.shape == (5, 9) and X[3, 7] == 2
    assert ml.count_words(texts)[1] == ["the", "café", "opens"]
    once, same = ml.count_words((text for text in texts), min_documents=1, max_share=1)
    assert same == words and (once != X).nnz == 0
    known, same = ml.count_words(["мир café zebra"], words=words)
    assert same == words and known.toarray().tolist() == [[0, 1, 0, 0, 0, 0, 0, 0, 1]]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts), encoding="utf-8")
    assert ml.read(path, ml.LDA).columns == ["the", "café", "opens"]
    model = ml.LDA(factors=2, iterations=2).fit(X)
    model.set_names(None, words)
    assert model.column_names_.tolist() == words
    for bad, says in (("a text", "list of strings"), ([3], "list of strings"), (["a \ud800 b"], "text 0:1: byte 3")):
        with pytest.raises(_errors.ArgumentError, match=says):
            ml.count_words(bad)
    for limits, says in (({"min_documents": 0}, "min_documents = 0"), ({"max_share": 2.0}, "max_share = 2"), ({"min_documents": 9}, "no word is in 9")):
        with pytest.raises(_errors.ArgumentError, match=says):
            ml.count_words(texts, **limits)


def test_seeds_are_names_or_numbers():
    """A topic begins with its seeds, and stays with them; columns of a data frame are named."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(3)
    X = np.zeros((60, 12), "float32")
    for row in range(60):
        X[row, random.integers(0, 4, 8) + row % 3 * 4] += 1
    frame = pandas.DataFrame(X, columns=[f"word{j}" for j in range(12)])
    for seeds, given in (([[8, 9], [0, 1], [4]], X), ([["word8", "word9"], ["word0", "word1"], ["word4"]], frame)):
        model = ml.LDAGibbs(factors=3, iterations=60, seeds=seeds).fit(given)
        for topic, of_topic in enumerate((8, 0, 4)):
            assert set(np.argsort(-model.components_[topic])[:4]) == set(range(of_topic, of_topic + 4))
    for seeds, words in (([[12]], "seeds[0] has 12: expected numbers of columns, 0 to 11"), ([[0], [0]], "seeds[1] has 0, which is a seed of topic 0 too"),
                         ([["none"]], "seeds[0] has names, but the model has none"), ([[0]] * 4, "seeds[1] has 0, which is a seed of topic 0 too")):
        with pytest.raises(ValueError, match=re.escape(words)):
            ml.LDAGibbs(factors=3, iterations=2, seeds=seeds).fit(X)
    with pytest.raises(ValueError, match=r"topics\[3\] = 3, expected -1 or a topic of 0 to 2"):
        ml.LDAGibbs(factors=3, iterations=2, seeds=[[0], [1], [2], [3]]).fit(X)
