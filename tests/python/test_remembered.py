"""Matrices of SciPy that are passed again and again: the library's pattern is remembered, and never believed without a look."""
from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import tamis
from tamis import _remembered

sparse = pytest.importorskip("scipy.sparse")


def made(form="csr", dtype="float32", rows=30, cols=20):
    random = np.random.default_rng(4)
    dense = random.random((rows, cols)) * (random.random((rows, cols)) < 0.3)
    return getattr(sparse, f"{form}_array")(dense.astype(dtype)), random.random((cols, 5)).astype(dtype), random.random((rows, 5)).astype(dtype)


def known(S):
    return any(entry.alive[1]() is S.indices and entry.known is not None for entry in list(_remembered._entries.values()))


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_call_and_later_ones_agree_bit_for_bit(form, dtype):
    S, B, A = made(form, dtype)
    first = [tamis.spmm(S, B), tamis.spmm(S, A, transpose=True), tamis.sddmm(S, A, B), tamis.fused(S, A, B, B), tamis.sddmm(S, A, B, edge="mask")]
    for _ in range(3):
        later = [tamis.spmm(S, B), tamis.spmm(S, A, transpose=True), tamis.sddmm(S, A, B), tamis.fused(S, A, B, B), tamis.sddmm(S, A, B, edge="mask")]
        for one, other in zip(first, later):
            assert type(one) is type(other)
            assert np.array_equal(one.data if sparse.issparse(one) else one, other.data if sparse.issparse(other) else other)
    assert known(S)
    P = tamis.sddmm(S, A, B)
    assert not np.shares_memory(P.indices, S.indices) and np.array_equal(P.indices, S.indices)


def test_changes_in_place_are_noticed():
    S, B, _ = made()
    for _ in range(3):
        tamis.spmm(S, B)
    assert known(S)
    S.data *= 2
    np.testing.assert_allclose(tamis.spmm(S, B), S.toarray() @ B, rtol=1e-5)
    S.indices[:] = S.indices[::-1].copy()  # another pattern in the same arrays
    np.testing.assert_allclose(tamis.spmm(S, B), S.toarray() @ B, rtol=1e-5)
    S.indptr[1] = S.indptr[2]
    np.testing.assert_allclose(tamis.spmm(S, B), S.toarray() @ B, rtol=1e-5)
    S.indices[3] = 99
    for _ in range(2):
        with pytest.raises(tamis.PatternError, match="99"):
            tamis.spmm(S, B)
    S.indices[3] = 1
    np.testing.assert_allclose(tamis.spmm(S, B), S.toarray() @ B, rtol=1e-5)
    S.sort_indices()
    S.sum_duplicates()
    np.testing.assert_allclose(tamis.spmm(S, B), S.toarray() @ B, rtol=1e-5)
    S.resize(30, 15)
    np.testing.assert_allclose(tamis.spmm(S, B[:15]), S.toarray() @ B[:15], rtol=1e-5)


def test_errors_stay_the_same():
    S, B, _ = made()

    def said(call):
        with pytest.raises(ValueError) as found:
            call()
        return str(found.value)

    wrong = [lambda: tamis.spmm(S, B.astype("float64")), lambda: tamis.spmm(S, B[:3]), lambda: tamis.spmm(S, B, values=np.ones(3, "float32"))]
    before = [said(call) for call in wrong]
    for _ in range(3):
        tamis.spmm(S, B)
    assert known(S) and [said(call) for call in wrong] == before
    assert "S.astype" in before[0]


def test_matrices_are_forgotten():
    S, B, _ = made()
    for _ in range(2):
        tamis.spmm(S, B)
    assert known(S)
    del S
    gc.collect()
    assert all(entry.alive[1]() is not None for entry in _remembered._entries.values())
    many = [made()[0] for _ in range(2 * _remembered.MOST)]
    for S in many:
        tamis.spmm(S, B)
        tamis.spmm(S, B)
    assert len(_remembered._entries) <= _remembered.MOST


def test_threads_may_share_a_matrix():
    from concurrent.futures import ThreadPoolExecutor
    S, B, _ = made()
    want = tamis.spmm(S, B)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: tamis.spmm(S, B), range(200)):
            assert np.array_equal(found, want)


def test_threads_may_have_matrices_of_their_own():
    """The oldest matrix goes while other threads add theirs."""
    from concurrent.futures import ThreadPoolExecutor
    S, turns = made()[0], 100
    many = [[S.copy() for _ in range(100)] for _ in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda own: [_remembered.remembered(one) for _ in range(turns) for one in own], many))
    finally:
        sys.setswitchinterval(before)
    assert len(_remembered._entries) <= _remembered.MOST + 4
