"""tamis.scipy: SciPy's products as SciPy gives them, and by the library where it says so."""
from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

scipy_sparse = pytest.importorskip("scipy.sparse")

import tamis.scipy

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass")
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls of the library."""
    seen: list[object] = []
    own = tamis.scipy.spmm
    monkeypatch.setattr(tamis.scipy, "spmm", lambda S, *rest, **more: seen.append(S.format) or own(S, *rest, **more))
    return seen


def matrix(form: str, kind: type, kept: str = "array") -> object:
    made = (scipy_sparse.random if kept == "matrix" else scipy_sparse.random_array)(*((30, 20) if kept == "matrix" else ((30, 20),)), density=0.3, format=form)
    made = made.copy()
    if hasattr(made, "data") and form not in ("lil", "dok"):
        made.data = np.round(10 * made.data)
    return made.astype(kind)


@pytest.mark.parametrize("kept", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_results_are_those_of_scipy(form: str, kept: str, calls: list[object]) -> None:
    random = np.random.default_rng(3)
    for kind in (np.float32, np.float64, np.int32, np.bool_, np.complex128):
        S = matrix(form, kind, kept)
        for other in (np.float32, np.float64, np.int64, np.complex64, ">f8"):
            wide = (8 * random.random((20, 14))).astype(other)
            for B in (wide, np.asfortranarray(wide), wide[:, ::2], wide[::-1], wide[:, 0], wide[:, :1], wide[:, :0], wide[0, 0], np.asmatrix(wide), wide.tolist()):
                expected = S @ B if not np.isscalar(B) else S * B
                calls.clear()
                with tamis.scipy.accelerate(least=0):
                    found = S @ B if not np.isscalar(B) else S * B
                if form in ("csr", "csc", "coo") and type(B) is np.ndarray and B.ndim > 0:  # SciPy turns others into these
                    assert bool(calls) == (np.result_type(S.dtype, B.dtype).char in "fd"), (kind, other, B.shape)
                if np.isscalar(B):
                    expected, found = expected.toarray(), found.toarray()
                assert type(found) is type(expected) and found.dtype == expected.dtype and found.shape == expected.shape
                # both add at most 20 products of at most 80, exact but for float32 and rounded fractions
                bound = 0 if found.dtype.char not in "fdFD" else 20 * np.finfo(found.dtype).eps * 20 * 80
                assert np.abs(np.asarray(found) - np.asarray(expected)).max(initial=0) <= bound
        B = random.random((30, 6)).astype(np.float64)
        with tamis.scipy.accelerate(least=0):
            found = B.T @ S
        assert np.allclose(found, B.T @ S, rtol=1e-12 if np.dtype(kind).itemsize > 4 else 1e-5)


def test_errors_are_those_of_scipy(calls: list[object]) -> None:
    S = matrix("csr", np.float64)
    for B in (np.ones(19), np.ones((19, 2)), np.ones((2, 20, 3))):
        said = []
        for least in (None, 0):
            with pytest.raises(ValueError) as error:
                if least is None:
                    S @ B
                else:
                    with tamis.scipy.accelerate(least=0):
                        S @ B
            said.append(str(error.value))
        assert said[0] == said[1]
    assert not calls


def test_what_the_library_refuses_scipy_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise tamis.scipy.ArgumentError("no")

    S, B = matrix("csr", np.float64), np.ones((20, 3))
    expected = S @ B
    monkeypatch.setattr(tamis.scipy, "spmm", refuse)
    with tamis.scipy.accelerate(least=0):
        assert np.array_equal(S @ B, expected)


def test_it_holds_where_it_pays_and_until_it_is_restored(calls: list[object]) -> None:
    S = scipy_sparse.csr_array(np.random.default_rng(1).random((3000, 3000)) < 1 / 150, dtype="float64")  # 60,000 nonzeros
    narrow, wide = np.ones((3000, 4)), np.ones((3000, 8))
    method = scipy_sparse.csr_array._matmul_multivector if hasattr(scipy_sparse.csr_array, "_matmul_multivector") else scipy_sparse.csr_array._mul_multivector
    outer = tamis.scipy.accelerate()
    S @ narrow, S @ wide, S @ wide[:, 0], S.tocsc() @ wide
    assert calls == ["csr"]
    with tamis.scipy.accelerate(least=10**9):
        S @ wide
        assert len(calls) == 1
    S @ wide
    assert len(calls) == 2
    outer.restore()
    S @ wide
    assert len(calls) == 2
    assert getattr(scipy_sparse.csr_array, method.__name__) is method
    for least in (-1, 0.5, True, "1"):
        with pytest.raises(ValueError, match="least = .*: expected an integer, 0 or more, or None"):
            tamis.scipy.accelerate(least=least)  # type: ignore[arg-type]


def test_threads_may_multiply_meanwhile() -> None:
    S, B = matrix("csr", np.float64), np.random.default_rng(1).random((20, 9))
    expected, wrong = S @ B, []

    def multiply() -> None:
        for _ in range(200):
            if not np.allclose(S @ B, expected, rtol=1e-13):
                wrong.append(1)

    threads = [threading.Thread(target=multiply) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        with tamis.scipy.accelerate(least=0):
            S @ B
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_scipy_without_the_methods_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tamis.scipy, "_NAMES", (("_gone",),))
    with pytest.raises(RuntimeError, match="SciPy .* has no _gone"):
        tamis.scipy.accelerate()
    tamis.scipy._set(None)


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("scipy.sparse.tests") is None, reason="SciPy is installed without its tests")
def test_scipys_own_tests_pass(tmp_path: pathlib.Path) -> None:
    program = ("import sys, pytest, tamis.scipy; tamis.scipy.accelerate(least=0); sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-W', 'ignore', "
               "'--pyargs', 'scipy.sparse.tests.test_base', '-k', 'mat or dot or mul or mv']))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-2000:]
