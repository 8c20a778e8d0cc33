"""The operations against the same formulas in NumPy, over types, edges, layouts, batches, and kinds of sparse matrices."""
from __future__ import annotations

import numpy as np
import pytest

import tamis

import operators  # noqa: E402

scipy_sparse = pytest.importorskip("scipy.sparse")

ROWS, COLS, INNER, WIDTH = 13, 9, 7, 5
# rounding to the type of at most INNER products and ROWS or COLS terms, of magnitudes below 4
TOLERANCE = {"float32": 64 * 2.0**-24, "float64": 64 * 2.0**-53, "float16": 64 * 2.0**-11}


def matrix(random, dtype="float32", form="csr"):
    dense = random.random((ROWS, COLS)) * (random.random((ROWS, COLS)) < 0.4)
    dense[3] = 0  # an empty row
    return scipy_sparse.coo_array(dense.astype(dtype if dtype != "float16" else "float32")).asformat(form)


def operands(random, dtype, *shapes):
    return [(random.random(shape) - 0.5).astype(dtype) for shape in shapes]


def entries(S):
    """Row, column, value of each entry, in the order in which S stores them."""
    if S.format == "coo":
        return S.row, S.col, S.data
    major = np.repeat(np.arange(len(S.indptr) - 1), np.diff(S.indptr))
    return (major, S.indices, S.data) if S.format == "csr" else (S.indices, major, S.data)


def close(got, want, dtype="float32"):
    np.testing.assert_allclose(np.asarray(got, "float64"), want, rtol=0, atol=TOLERANCE[dtype] * max(1.0, np.abs(want).max(initial=0)))


class Calls:
    """The functions as tamis.torch has them, of which values are an argument, or those of S where `own` says so."""

    own = False

    def __getattr__(self, name):
        function, count = getattr(tamis, name), {"spmm": 1, "sddmm": 2, "fused": 3}[name]
        return lambda S, *x, **how: function(S, *x[:count], **how, **({"values": x[count]} if x[count:] and not self.own else {}))

    def attention(self, q, k, v, S, bias=None):
        return tamis.attention(S, q, k, v, bias=bias)


@pytest.mark.parametrize("kind", ["array", "matrix", "pattern", "arrays"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("row", [row for row in operators.NUMPY_ROWS if not row.rare], ids=repr)
def test_values(row, form, kind):
    """Of each row of operators.py, for S of each kind with values of its own or of the call; batches of all operands, also unevenly apart, and of values alone."""
    if (form == "csc" and ("softmax" in row.label or row.operation == "attention")) or (kind == "arrays" and form != "csr"):
        return  # softmax normalises rows
    nothing = [("float32", (), False, sizes) for sizes in operators.NOTHING if not (row.positive and "k" in sizes)]
    for dtype, lead, heads_inside, sizes in (("float32", (), False, {}), ("float64", (), False, {}), ("float32", (2, 3), False, {}), ("float64", (2, 3), True, {}),
                                             ("float32", "e", False, {}), *nothing):
        sizes = row.sizes(**sizes)
        rows, columns = operators.places(sizes, simple=True)
        leads = [((3,) if lead == "e" else lead) if place in row.batch and (lead != "e" or shape == "e") else () for place, shape in enumerate(row.shapes)]
        if lead == "e" and ("e" not in row.shapes or "mask" in row.label):
            continue
        S = scipy_sparse.coo_array((np.ones(len(rows), dtype), (rows, columns)), (sizes["m"], sizes["n"]))
        S = getattr(scipy_sparse, f"{form}_{'matrix' if kind == 'matrix' else 'array'}")(S)
        R, C = (np.eye(sizes[x])[at] for x, at in zip("mn", entries(S)))
        inputs = [x.astype(dtype) for x in row.drawn(sizes, leads, entries(S)[0])]
        if heads_inside:
            inputs = [np.ascontiguousarray(x.swapaxes(-2, -3)).swapaxes(-2, -3) if x.ndim == 4 else x for x in inputs]
        want = row.reference(operators.Dense(np, R, C), *[x.astype("float64") for x in inputs])
        given = tamis.Pattern(S) if kind == "pattern" else tamis.Pattern((S.indptr, S.indices, S.data), shape=S.shape) if kind == "arrays" else S
        for own in (False, True) if row.shapes[-1] == "e" and inputs[-1].ndim == 1 and row.operation != "attention" else (False,):
            calls = Calls()
            calls.own = own
            if own:
                S.data[:] = inputs[-1]
            P = row.call(calls, given, *inputs)
            if row.operation == "sddmm" and given is S and not lead:
                assert type(P) is type(S) and P.shape == S.shape
                P = P.data
            assert P.dtype == dtype
            close(P, want, dtype)


def disordered(form, kind):
    """Columns out of order, an entry twice, a stored zero: what in-place methods of SciPy change. Index arrays that SciPy's copies would share."""
    rows, cols = np.array([0, 0, 0, 1, 2, 2], "int32"), np.array([2, 0, 2, 1, 1, 0], "int32")
    data = np.array([1, 2, 3, 4, 0, 6], "float32")
    if form == "coo":
        return getattr(scipy_sparse, f"coo_{kind}")((data, (rows, cols)), (3, 3))
    return getattr(scipy_sparse, f"{form}_{kind}")((data, cols, np.array([0, 3, 4, 6], "int32")), (3, 3))


IN_PLACE = {
    "sort_indices": lambda P: P.sort_indices() if hasattr(P, "sort_indices") else P.sum_duplicates(),
    "sum_duplicates": lambda P: P.sum_duplicates(),
    "eliminate_zeros": lambda P: P.eliminate_zeros(),
    "max": lambda P: P.max(axis=1),
    "argmax": lambda P: P.argmax(axis=0),
    "times": lambda P: P.__imul__(2),
    "setdiag": lambda P: P.setdiag(7),
    "assignment": lambda P: P.__setitem__((0, 0), 9) if P.format != "coo" else None,
    "prune": lambda P: P.prune() if hasattr(P, "prune") else None,
    "resize": lambda P: P.resize((2, 2)),
    "indices": lambda P: [index.fill(0) for index in (P.coords if P.format == "coo" else (P.indices, P.indptr))],
    "data": lambda P: P.data.fill(-1),
}


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("made", ["sddmm", "out", "pattern"])
@pytest.mark.parametrize("change", IN_PLACE)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_nothing_done_to_a_result_changes_the_matrix(form, kind, made, change):
    S = disordered(form, kind)
    A, B = np.array([[0, 0], [1, 1], [1, 2]], "float32"), np.ones((3, 2), "float32")  # the first row's samples are zeros
    if made == "pattern":
        pattern = tamis.Pattern(S)
        P = pattern.matrix(S.data)
    else:
        P = tamis.sddmm(S, A, B, **({"out": S.data, "edge": "mask"} if made == "out" else {}))  # an edge that does not read them
    arrays = [*(S.coords if form == "coo" else (S.indices, S.indptr)), S.data]
    before = [array.copy() for array in arrays]
    assert type(P) is type(S) and P.shape == S.shape
    IN_PLACE[change](P)
    assert all(np.array_equal(array, was) for array, was in zip(arrays, before))
    if made == "pattern":  # and the pattern, which looks at the same arrays, computes as before
        assert np.array_equal(tamis.sddmm(pattern, A, B), tamis.sddmm(disordered(form, kind), A, B).data)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("of", ["matrix", "pattern", "plan"])
def test_outputs_over_operands(library, of, random):
    """An output that shares bytes with what is read is refused, in the first call and in later ones; columns side by side are not shared."""
    n = 16
    S = scipy_sparse.random(n, n, 0.3, format="csr", dtype="float32", random_state=2)
    given = S if of == "matrix" else tamis.Pattern(S)
    width = 2 * n
    memory = random.random((3 * n, width)).astype("float32")
    numbers = random.random(2 * S.nnz).astype("float32")
    arrays = [memory, numbers, memory[:n, :n].copy()]
    if library == "torch":
        torch = pytest.importorskip("torch")
        arrays = [torch.from_numpy(array) for array in arrays]
    x, v, A = arrays
    empty = lambda *shape: x[-1].new_empty(shape) if library == "torch" else np.empty(shape, "float32")  # noqa: E731
    if of == "plan":
        spmm, sddmm = tamis.plan("spmm", given, width=n), tamis.plan("sddmm", given, inner=n)
    else:
        spmm, sddmm = (lambda *operands, **named: tamis.spmm(given, *operands, **named)), (lambda *operands, **named: tamis.sddmm(given, *operands, **named))
    B = x[:n, :n]
    for _ in range(3):
        want = spmm(B)
        for out in (x[:n, :n], x[1:n + 1, :n], x[:n, 1:n + 1], x[n - 1:2 * n - 1, :n], x[:n, 5:n + 5]):
            with pytest.raises(ValueError, match="out shares memory with B: expected an array of its own"):
                spmm(B, out=out)
        for operands, out in (((A, B), v[:S.nnz]), ((A, B), v[3:S.nnz + 3])):
            with pytest.raises(ValueError, match="out shares memory with values"):
                sddmm(*operands, values=v[:S.nnz], out=out)
        with pytest.raises(ValueError, match="out (is|shares memory with) A"):
            sddmm(A, B, out=A.reshape(-1)[:S.nnz])
        if library == "numpy":
            with pytest.raises(ValueError, match="out shares memory with S's values"):
                sddmm(A, B, out=S.data)
            for values in (None, v[:S.nnz]):
                with pytest.raises(ValueError, match="out shares memory with S's indices"):
                    sddmm(A, B, values=values, out=S.indices.view("float32"))
        for out in (x[:n, n:], x[n:2 * n, :n], x[n:2 * n, 5:n + 5], empty(n, n)):
            assert np.array_equal(np.asarray(spmm(B, out=out)), np.asarray(want))
        kept = sddmm(A, B, values=v[:S.nnz])
        found = sddmm(A, B, values=v[:S.nnz], out=v[S.nnz:])
        assert np.array_equal(np.asarray(getattr(found, "data", found)), np.asarray(getattr(kept, "data", kept)))


def test_nothing_done_to_a_result_changes_a_tensor():
    torch = pytest.importorskip("torch")
    A, B = torch.ones(2, 2), torch.ones(3, 2)
    for layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
        S = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse(layout=layout)
        P = tamis.sddmm(S, A, B)
        other = torch.tensor([[0, 5.0, 5], [5, 0, 0]]).to_sparse(layout=layout)
        P.t_() if layout is torch.sparse_coo else P.copy_(other)
        assert S.to_dense().tolist() == [[1, 0, 2], [0, 3, 0]]


def test_three_arrays_and_wide_indices(random):
    S = matrix(random)
    A, B, D = operands(random, "float32", (ROWS, INNER), (COLS, INNER), (COLS, WIDTH))
    for offsets in ("int32", "int64"):
        for columns in ("int32", "int64"):
            three = (S.indptr.astype(offsets), S.indices.astype(columns), S.data)
            close(tamis.sddmm(three, A, B), tamis.sddmm(S, A, B).data)
            close(tamis.spmm(three, D), S @ D)
            close(tamis.spmm(tamis.Pattern(three, shape=S.shape), np.ones((ROWS, 2), "float32"), transpose=True), S.T @ np.ones((ROWS, 2)))
    close(tamis.sddmm(three[:2], A, B), tamis.sddmm(S, A, B, edge="mask").data)


def test_half_types(random):
    S = matrix(random)
    A, B = operands(random, "float16", (ROWS, INNER), (COLS, INNER))
    P = tamis.sddmm((S.indptr, S.indices), A, B)
    assert P.dtype == np.float16
    rows, cols, _ = entries(S)
    close(P, (A.astype("float64")[rows] * B.astype("float64")[cols]).sum(1), "float16")
    out = np.empty(S.nnz, "float32")
    assert tamis.sddmm((S.indptr, S.indices), A, B, out=out) is out  # fp32 results of 16-bit operands
    close(out, (A.astype("float64")[rows] * B.astype("float64")[cols]).sum(1))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    P = tamis.sddmm((S.indptr, S.indices), A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16))
    assert P.dtype == ml_dtypes.bfloat16


def test_strides(random):
    S = matrix(random)
    A, B, D = operands(random, "float32", (ROWS, 2 * INNER), (INNER, COLS), (COLS, 3 * WIDTH))
    pattern = tamis.Pattern(S)
    for given in (S, pattern):
        P = tamis.sddmm(given, A[:, 3:3 + INNER], B.T, edge="mask")
        close(P if given is pattern else P.data, tamis.sddmm(S, np.ascontiguousarray(A[:, 3:3 + INNER]), np.ascontiguousarray(B.T), edge="mask").data)
        close(tamis.spmm(given, D[:, WIDTH:2 * WIDTH]), S @ D[:, WIDTH:2 * WIDTH])
        close(tamis.spmm(given, np.asfortranarray(D)), S @ D)
        out = np.full((ROWS, 3 * WIDTH), 7, "float32")
        tamis.spmm(given, D[:, :WIDTH], out=out[:, WIDTH:2 * WIDTH])
        close(out[:, WIDTH:2 * WIDTH], S @ D[:, :WIDTH])
        assert (out[:, :WIDTH] == 7).all() and (out[:, 2 * WIDTH:] == 7).all()


def test_alpha_beta_values(random):
    S = matrix(random)
    x, out = operands(random, "float32", (COLS,))[0], np.ones(ROWS, "float32")
    assert tamis.spmm(S, x, alpha=2, beta=3, out=out) is out
    close(out, 2 * (S @ x) + 3)
    A, B, D = operands(random, "float32", (ROWS, INNER), (COLS, INNER), (COLS, WIDTH))
    values = operands(random, "float32", (S.nnz,))[0]
    other = S.copy()
    other.data = values
    for given in (S, tamis.Pattern(S)):
        out = np.ones(S.nnz, "float32")
        tamis.sddmm(given, A, B, alpha=-2, beta=0.5, out=out, values=values)
        close(out, -2 * tamis.sddmm(other, A, B).data + 0.5)
        close(tamis.spmm(given, D, values=values), other @ D)
        close(tamis.fused(given, A, B, D, values=values), tamis.fused(other, A, B, D))
    pattern = tamis.Pattern(S)
    before = tamis.spmm(pattern, D)
    S.data *= 2  # in place: the pattern sees it
    close(tamis.spmm(pattern, D), 2 * before)


def test_duplicates_and_unsorted_columns():
    offsets, columns = np.array([0, 3, 3, 4]), np.array([2, 0, 2, 1])
    values = np.float32([1, 2, 3, 4])
    dense = np.float32([[2, 0, 4], [0, 0, 0], [0, 4, 0]])
    B = np.arange(6, dtype="float32").reshape(3, 2)
    close(tamis.spmm((offsets, columns, values), B), dense @ B)
    close(tamis.sddmm((offsets, columns, values), B, B), values * (B[[0, 0, 0, 2]] * B[columns]).sum(1))


# ------------------------------------------------------------------------------ masks, and values of fp32 beside operands of 16 bits


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_a_mask_of_bool_means_what_it_says(format):
    """Entries that say False do not attend; a bias has a number for each entry, also of these."""
    random = np.random.default_rng(3)
    stored = random.random((6, 5)) < 0.7
    true = stored & (random.random((6, 5)) < 0.6)
    rows, columns = stored.nonzero()
    mask = scipy_sparse.coo_array((true[rows, columns], (rows, columns)), shape=(6, 5)).asformat(format)
    assert mask.nnz == stored.sum() > true.sum()
    entries = mask.tocoo()
    bias = random.random(mask.nnz)
    Q, K, V = (random.random((n, 3)) for n in (6, 5, 5))
    before = mask.copy()
    for given in (None, bias):
        scores = Q @ K.T / 3**0.5
        if given is not None:
            scores[entries.row, entries.col] += given
        weights = np.where(true, np.exp(scores), 0)
        want = weights / np.maximum(weights.sum(1, keepdims=True), 1e-300) @ V
        np.testing.assert_allclose(tamis.attention(mask, Q, K, V, bias=given), want, atol=1e-12)
    pattern = tamis.Pattern(mask)
    assert pattern.nnz == true.sum()
    np.testing.assert_array_equal(tamis.spmm(pattern, np.eye(5), values=np.ones(pattern.nnz)), true)
    assert (mask != before).nnz == 0 and mask.nnz == before.nnz  # it is not changed
    with pytest.raises(ValueError, match=r"bias has shape \(3,\): expected \d+ numbers, one for each entry of mask"):
        tamis.attention(mask, Q, K, V, bias=bias[:3])


def test_sums_of_a_query_that_the_bias_masks():
    mask = scipy_sparse.csr_array(np.tril(np.ones((4, 4), bool)))
    Q, K, V = (np.random.default_rng(n).random((4, 3)) for n in range(3))
    bias = np.where(mask.tocoo().row == 2, -np.inf, 0.0)
    out, lse = tamis.attention(mask, Q, K, V, bias=bias, return_lse=True)
    assert (out[2] == 0).all() and lse[2] == -np.inf
    rest = [0, 1, 3]
    scores = np.where(mask.toarray(), Q @ K.T / 3**0.5, -np.inf)
    np.testing.assert_allclose(lse[rest], np.log(np.exp(scores).sum(1))[rest], atol=1e-12)


def test_attention_of_equal_scores(random):
    """A scale of 0 is no default: every key counts the same."""
    mask = scipy_sparse.csr_array(np.tril(np.ones((5, 5))))
    Q, K, V = (random.normal(size=(5, 4)) for _ in range(3))
    np.testing.assert_allclose(tamis.attention(mask, Q, K, V, scale=0), np.cumsum(V, 0) / np.arange(1, 6)[:, None], atol=1e-12)


@pytest.mark.parametrize("kept", ["pattern", "plan", "neither"])
@pytest.mark.parametrize("own", [True, False])
def test_values_of_fp32_beside_fp16(kept, own):
    """A pattern's plan took them for numbers of 16 bits."""
    random = np.random.default_rng(1)
    S = scipy_sparse.csr_array(np.where(random.random((9, 8)) < 0.5, random.random((9, 8)), 0).astype("float32"))
    B = random.random((8, 3)).astype("float16")
    values = S.data if own else random.random(S.nnz, "float32")
    want = scipy_sparse.csr_array((values, S.indices, S.indptr), S.shape) @ B.astype("float32")
    given = {} if own else {"values": values}
    if kept == "plan":
        with tamis.plan("spmm", S, width=3, type="float16") as plan:
            got = plan(B, **given)
    else:
        got = tamis.spmm(tamis.Pattern(S) if kept == "pattern" else S, B, **given)
    np.testing.assert_allclose(got.astype("float32"), want, rtol=2e-3)


# --------------------------------------------------------------------------- edges that are expressions


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_expressions(dtype):
    random = np.random.default_rng(11)
    S = matrix(random, dtype)
    A, B, D = operands(random, dtype, (ROWS, INNER), (COLS, INNER), (COLS, WIDTH))
    i, j, s = (np.asarray(x) for x in entries(S))
    if dtype == "float16":
        S = tamis.Pattern(S)
        s = np.ones(len(i))
    s, x = s.astype("float64"), (A.astype("float64")[i] * B.astype("float64")[j]).sum(-1)
    expected = np.where(j <= i, np.tanh(x / 0.5) * 0.5, -1) * s
    text, numbers = "where(j <= i, tanh(x / cap) * cap, low) * s", {"cap": 0.5, "low": -1}
    values = None if dtype != "float16" else np.ones(len(i), dtype)
    found = tamis.sddmm(S, A, B, edge=text, numbers=numbers, values=values)
    np.testing.assert_allclose(getattr(found, "data", found) if dtype == "float16" else found.data, expected, atol=4 * TOLERANCE[dtype])
    E = tamis.fused(S, A, B, D, edge=text, numbers=numbers, values=values)
    np.testing.assert_allclose(E, sum_of(i, expected, D.astype("float64")[j]), atol=16 * TOLERANCE[dtype])
    with tamis.plan("sddmm", tamis.Pattern(matrix(np.random.default_rng(11), "float64")), inner=INNER, edge=text, numbers=numbers) as plan:
        assert "edge where(j <= i" in plan.explain()


def sum_of(rows, weights, D):
    out = np.zeros((ROWS, D.shape[1]))
    np.add.at(out, rows, weights[:, None] * D)
    return out


def test_expressions_are_refused_with_a_place():
    random = np.random.default_rng(12)
    S = matrix(random)
    A, B = operands(random, "float32", (ROWS, INNER), (COLS, INNER))
    for edge, numbers, words in (("x + tahn(x)", None, r"edge:1:5: unknown name 'tahn'; did you mean 'tanh'\?"), ("x * c", None, "edge:1:5: unknown name 'c'"),
                                 ("sigmod", None, "sigmod"), ("mask", {"c": 1}, "only an expression"), ("x * c", {"c": float("inf")}, "not finite"),
                                 ("x * x", {"x": 1}, "that of a variable")):
        with pytest.raises(ValueError, match=words):
            tamis.sddmm(S, A, B, edge=edge, numbers=numbers)
    with pytest.raises(TypeError, match="expected a dict of names and numbers"):
        tamis.sddmm(S, A, B, edge="x * c", numbers={"c": "one"})
    with pytest.raises(ValueError, match="S is CSC: convert it by S.tocsr"):
        tamis.sddmm(S.tocsc(), A, B, edge="where(j <= i, x, 0)")
    np.testing.assert_allclose(tamis.sddmm(S.tocsc(), A, B, edge="2 * x").data, 2 * tamis.sddmm(S.tocsc(), A, B, edge="mask").data)


def test_expressions_by_their_numbers():
    """Plans of one pattern differ by the numbers, and are found again."""
    random = np.random.default_rng(13)
    pattern = tamis.Pattern(matrix(random))
    A, B = operands(random, "float32", (ROWS, INNER), (COLS, INNER))
    x = tamis.sddmm(pattern, A, B, edge="mask")
    for c in (2.0, 3.0, 2.0):
        np.testing.assert_allclose(tamis.sddmm(pattern, A, B, edge="c * x", numbers={"c": c}), c * x, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_expressions_of_arrays(dtype):
    random = np.random.default_rng(14)
    S = matrix(random, "float32" if dtype == "float16" else dtype)
    pattern = tamis.Pattern((S.indptr, S.indices), shape=S.shape)
    i, j, _ = (np.asarray(x) for x in entries(S))
    A, B, D = operands(random, dtype, (2, ROWS, INNER), (2, COLS, INNER), (2, COLS, WIDTH))
    wide = "float64" if dtype == "float64" else "float32"
    b, c, e = random.standard_normal((2, ROWS)).astype(wide), random.standard_normal(COLS).astype(dtype), random.standard_normal(len(i)).astype(wide)
    g, t = random.standard_normal(2).astype(wide), np.asarray(0.5, wide)
    x = (A.astype("float64")[:, i] * B.astype("float64")[:, j]).sum(-1)
    want = np.tanh(x * 0.5) * b[:, i] + c[j].astype("float64") * e + g[:, None] * (i - j)
    text, numbers = "tanh(x * t) * row.b + col.c * entry.e + head.g * (i - j)", {"t": t, "row.b": b, "col.c": c, "entry.e": e, "head.g": g}
    tolerance = {"atol": 8 * TOLERANCE[dtype], "rtol": TOLERANCE[dtype]}
    np.testing.assert_allclose(tamis.sddmm(pattern, A, B, edge=text, numbers=numbers), want, **tolerance)
    E = tamis.fused(pattern, A, B, D, edge=text, numbers=numbers)
    for k in range(2):
        np.testing.assert_allclose(E[k], sum_of(i, want[k], D[k].astype("float64")[j]), atol=64 * TOLERANCE[dtype], rtol=4 * TOLERANCE[dtype])
    with tamis.plan("sddmm", pattern, inner=INNER, type=dtype, edge="x * t + col.c", numbers={"t": float("nan")}) as plan:
        for factor in (2.0, -1.0):
            found = plan(A[0], B[0], numbers={"t": np.asarray(factor, wide), "col.c": c})
            np.testing.assert_allclose(found, x[0] * factor + c[j].astype("float64"), **tolerance)
        with pytest.raises(ValueError, match="have no 't'"):
            plan(A[0], B[0])
        with pytest.raises(ValueError, match="a plan has its numbers from tamis.plan"):
            plan(A[0], B[0], numbers={"t": 2.0})


def test_arrays_that_are_refused():
    random = np.random.default_rng(15)
    S = matrix(random)
    A, B = operands(random, "float32", (ROWS, INNER), (COLS, INNER))
    b = np.ones(ROWS, "float32")
    for edge, numbers, words in (("x * row.b", None, "have no 'row.b', which the edge's text reads"), ("x * row.b", {"row.b": b[1:]}, r"row.b has shape \(\d+,\)"),
                                 ("x * row.b", {"row.b": b.astype("float64")}, "row.b.type = fp64: expected fp32"), ("x * row.b", {"row.b": 2.0}, "one number for each row"),
                                 ("x * rows.b", {"rows.b": b}, "numbers has 'rows.b': arrays are row.NAME"), ("x", {"row.b": b}, "reads no array of that name"),
                                 ("x * t", {"t": b}, r"t has shape \(\d+,\): expected one number"), ("mask", {"row.b": b}, "the edge is no text"),
                                 ("x * col.c", {"col.c": np.ones(2 * COLS, "float32")[::2]}, "col.c is not contiguous")):
        with pytest.raises(ValueError, match=words):
            tamis.sddmm(S, A, B, edge=edge, numbers=numbers)
    with pytest.raises(ValueError, match="S is CSC"):
        tamis.sddmm(S.tocsc(), A, B, edge="x * row.b", numbers={"row.b": b})
    with pytest.raises(ValueError, match="S is CSC"):
        tamis.sddmm(S.tocsc(), A, B, edge="softmax(x)")
    with pytest.raises(ValueError, match="out shares memory with row.b|out is row.b"):
        out = np.ones(S.nnz, "float32")
        tamis.sddmm(tamis.Pattern(S), A, B, edge="x * row.b", numbers={"row.b": out[:ROWS]}, out=out)
