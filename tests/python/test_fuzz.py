"""Anything that may be passed gives a result or an exception under ValueError, TypeError, MemoryError or RuntimeError: never a crash."""
from __future__ import annotations

import os

import numpy as np
import pytest

import tamis

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as some  # noqa: E402

EXAMPLES = int(os.environ.get("TAMIS_FUZZ_EXAMPLES", "150"))
EXPECTED = (ValueError, TypeError, MemoryError, RuntimeError)
quick = settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True)


def integers(least, most, size):
    return some.lists(some.integers(least, most), min_size=size, max_size=size)


@some.composite
def arrays(draw, shape):
    """An array of roughly this shape, of some type and strides."""
    shape = tuple(draw(some.sampled_from([n, n, n, n, max(n - 1, 0), n + 1])) for n in shape)
    if draw(some.booleans()) and draw(some.booleans()):
        shape = (draw(some.integers(0, 3)), *shape)
    dtype = draw(some.sampled_from(["float32"] * 6 + ["float64", "float16", "int32", "bool", "complex64", ">f4", "object"]))
    array = np.arange(np.prod(shape), dtype="float32").reshape(shape).astype(dtype)
    how = draw(some.sampled_from(["plain"] * 4 + ["fortran", "reversed", "every second", "read-only", "broadcast", "odd"]))
    if how == "fortran":
        array = np.asfortranarray(array)
    elif how == "reversed":
        array = array[::-1]
    elif how == "every second":
        array = np.repeat(array, 2, -1)[..., ::2]
    elif how == "read-only":
        array.flags.writeable = False
    elif how == "broadcast" and array.ndim > 1 and array.shape[0]:
        array = np.broadcast_to(array[:1], array.shape)
    elif how == "odd" and array.size and array.dtype != object:
        array = np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)
    return array


@some.composite
def matrices(draw, wrong=True):
    """Three arrays that are a CSR matrix, or if `wrong` nearly one."""
    rows, cols = draw(some.integers(0, 5)), draw(some.integers(0, 5))
    counts = draw(integers(0, 3 if cols else 0, rows))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype("int64")
    nnz = int(offsets[-1])
    columns = np.array(draw(integers(0, max(cols - 1, 0), nnz)), "int64")
    if not wrong:
        kind = draw(some.sampled_from(["int64", "int32"]))
        return rows, cols, (offsets.astype(kind), columns.astype(kind), np.ones(nnz, "float32"))
    for array in (offsets, columns):
        if array.size and draw(some.integers(0, 7)) == 0:
            array[draw(some.integers(0, array.size - 1))] = draw(some.sampled_from([-1, 5, 99, 2**31, 2**62, -2**63]))
    kinds = some.sampled_from(["int64"] * 4 + ["int32"] * 4 + ["float64", "uint8"])
    values = draw(arrays((nnz,)))
    return rows, cols, (offsets.astype(draw(kinds)), columns.astype(draw(kinds)), values)[:draw(some.integers(2, 3))]


@quick
@given(some.data())
def test_operations(data):
    rows, cols, S = data.draw(matrices())
    inner, width = data.draw(some.integers(0, 4)), data.draw(some.integers(0, 4))
    edge = data.draw(some.sampled_from(["scale", "mask", "residual", "quotient", "softmax", "exp", "nothing"]))
    A, B, D = (data.draw(arrays(shape)) for shape in ((rows, inner), (cols, inner), (cols, width)))
    transpose = data.draw(some.booleans())
    out = data.draw(some.one_of(some.none(), arrays((rows, width)), arrays((len(S[1]),))))
    calls = [lambda s: tamis.sddmm(s, A, B, edge=edge, out=out), lambda s: tamis.spmm(s, D, transpose=transpose, out=out),
             lambda s: tamis.fused(s, A, B, D, edge=edge, transpose=transpose, out=out), lambda s: tamis.attention(s, A, B, D, out=out)]
    call = data.draw(some.sampled_from(calls))
    planned = data.draw(some.booleans())
    try:
        result = call(tamis.Pattern(S, shape=(rows, cols)) if planned else S)
    except EXPECTED as error:
        assert str(error)
    else:
        assert isinstance(result, np.ndarray)


@quick
@given(some.data())
def test_plans(data):
    rows, cols, S = data.draw(matrices())
    numbers = some.one_of(some.none(), some.integers(-2, 6), some.sampled_from([2**31, 2**62, 2**70, 1.5, "4"]))
    given_options = {name: data.draw(numbers) for name in ("inner", "width", "batch", "expected_calls") if data.draw(some.booleans())}
    given_options.update(data.draw(some.fixed_dictionaries({}, optional={
        "edge": some.sampled_from(["softmax", "mask", "", "x"]), "type": some.sampled_from(["float64", "bf16", "f", 3]),
        "scale": some.sampled_from([float("nan"), float("inf"), 0.0, "1"]), "algorithm": some.sampled_from(["cpu-nonzeros", "cpu-tiled", "none", 5]),
        "parameters": some.sampled_from(["chunk=32", "chunk=-1", "=", "é"]), "transpose": some.booleans(), "math": some.sampled_from(["tf32", 1]),
        "b_layout": some.sampled_from(["column-major", "x"])})))
    operation = data.draw(some.sampled_from(["sddmm", "spmm", "fused"]))
    operands = [data.draw(arrays((n, 2))) for n in (rows, cols, cols)][:data.draw(some.integers(0, 3))]
    try:
        with tamis.plan(operation, tamis.Pattern(S, shape=(rows, cols)), **given_options) as plan:
            plan.explain()
            plan(*operands)
    except EXPECTED as error:
        assert str(error)


def seldom(usual, *wrong):
    """Mostly what is right."""
    return some.sampled_from([usual] * 12 + list(wrong))


@quick
@given(some.data())
def test_estimators(data):
    """Parameters, data and rows of any kind; one device or several."""
    ml = pytest.importorskip("tamis.ml")
    sparse = pytest.importorskip("scipy.sparse")
    rows, cols, (offsets, columns, *values) = data.draw(matrices())
    method = data.draw(some.sampled_from([ml.ALS, ml.ImplicitALS, ml.CCD, ml.LDA, ml.SFA, ml.GaP]))
    wrong = [-1, 0, 2**31, 2**64 + 1, 1.5, float("nan"), "4", [2], None]
    given = {"factors": data.draw(seldom(2, *wrong)), "iterations": data.draw(seldom(1, -1, 0, 2**32 + 1, 1.5, "4")), "seed": data.draw(seldom(1, *wrong)),
             "dtype": data.draw(seldom("float32", "float64", "float16", "x", 7)), "threads": data.draw(seldom(1, *wrong)),
             "devices": data.draw(seldom(None, ["cpu", "cpu"], ["cpu"] * 3, [], "cpu", ["nowhere"], [None], 5))}
    X = (offsets, columns, *values)
    if data.draw(seldom(True, False)):
        X = sparse.csr_array((rows, cols), dtype="float32")
        if len(columns) == offsets[-1] and values and values[0].shape == columns.shape and offsets.dtype.kind == columns.dtype.kind == "i":
            X.data, X.indices, X.indptr = values[0], columns.astype(offsets.dtype), offsets  # SciPy does not look at them
    asked = data.draw(seldom([0], [], [99], [-1], [2**62], [float("nan")], [0.5], "x", [[0]], 3))
    try:
        model = method(**given)
        model.fit(X, held_out=data.draw(seldom(None, X, sparse.csr_array(np.eye(2, 3)))))
        model.transform(X)
        model.predict(X, factors=data.draw(some.one_of(some.none(), arrays((rows, 2)))))
        model.recommend(asked, data.draw(seldom(2, 0, -1, 2**40)))
        model.similar(asked, 2, rows=data.draw(some.booleans()))
    except EXPECTED as error:
        assert str(error)


@quick
@given(some.data())
def test_masks(data):
    numbers = seldom(3, -1, 0, 1, 2**31, 2**63, 2**64 + 2, 1.5, "2", None)
    lists = some.one_of(numbers, some.lists(some.integers(-1, 5), max_size=3), some.just([float("nan")]), some.just([2**63]))
    parts = {name: data.draw(kind) for name, kind in {
        "window": some.one_of(numbers, some.tuples(numbers, numbers)), "dilation": numbers, "every": numbers, "global_tokens": lists, "offset": numbers,
        "lengths": lists, "row_lengths": lists, "causal": some.booleans(), "sinks": some.booleans(), "from_end": some.booleans(), "block": numbers,
        "blocks": some.one_of(some.none(), arrays((2, 2)))}.items() if data.draw(some.integers(0, 3)) == 0}
    try:
        pattern = tamis.Pattern.mask(data.draw(seldom(4, 0, -1, 2**64 + 4)), data.draw(seldom(None, 5, 0, -1, 2**64 + 4)), **parts)
    except EXPECTED as error:
        assert str(error)
    else:
        assert pattern.nnz <= pattern.shape[0] * pattern.shape[1]


# ------------------------------------------------------------------------------ tensors of PyTorch, arrays of JAX


KINDS = ["float64", "float16", "bfloat16", "int64", "bool", "complex64"]
LAYOUTS = ["plain"] * 5 + ["transposed", "every second", "expanded", "scalar", "sparse", "meta", "numpy", "list", "none"]


@some.composite
def tensors(draw, shape, wrong):
    """A tensor of this shape; if `wrong` of another shape, type or layout, or what is no tensor."""
    import torch
    if wrong:
        shape = (*draw(some.sampled_from([()] * 5 + [(0,), (2,)])), *(draw(seldom(n, max(n - 1, 0), n + 1)) for n in shape))
    tensor = torch.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
    if wrong:
        tensor = tensor.to(getattr(torch, draw(some.sampled_from(["float32"] * 8 + KINDS))))
    how = draw(some.sampled_from(LAYOUTS if wrong else ["plain", "transposed"]))
    if how == "transposed" and tensor.dim() > 1:
        tensor = tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    elif how == "every second" and tensor.dim():
        tensor = tensor.repeat_interleave(2, -1)[..., ::2]
    elif how == "expanded" and tensor.dim():
        tensor = tensor[:1].expand(tensor.shape)
    elif how == "scalar":
        tensor = tensor.sum()
    elif how == "sparse" and tensor.dim() == 2 and tensor.dtype == torch.float32:
        tensor = tensor.to_sparse()
    elif how == "meta":
        tensor = tensor.to("meta")
    elif how == "numpy" and tensor.dtype not in (torch.bfloat16, torch.complex64):
        return tensor.numpy()
    elif how in ("list", "none"):
        return [1.0] if how == "list" else None
    return tensor.requires_grad_() if tensor.dtype.is_floating_point and draw(some.booleans()) else tensor


@quick
@given(some.data())
@pytest.mark.filterwarnings("ignore")
def test_torch(data):
    """The operators with gradients, dgl.sparse's names and the layers; what is right in every argument must work."""
    torch = pytest.importorskip("torch")
    import tamis.torch as tt
    dglsp, nn, pyg = tt.dglsp, tt.nn, tt.pyg
    wrong = data.draw(some.booleans())
    rows, cols, (offsets, columns, *_) = data.draw(matrices(wrong))
    inner, width, nnz = data.draw(some.integers(0, 4)), data.draw(some.integers(0, 4)), len(columns)
    A, B, D, R = (data.draw(tensors(shape, wrong)) for shape in ((rows, inner), (cols, inner), (cols, width), (rows, width)))
    values = data.draw(tensors((nnz,), wrong))
    how = {"edge": data.draw(some.sampled_from(["scale", "mask", "residual", "softmax", "exp", "leaky_relu"] + ["nothing", 3] * wrong)),
           "scale": data.draw(some.sampled_from([1.0, 0.0] + ["1", None, float("nan"), float("inf")] * wrong))}
    index, places, shape = torch.from_numpy(offsets), torch.from_numpy(columns), (rows, cols)
    made = data.draw(some.sampled_from(["csr", "coo"] + ["csr", "edges", "torch"] * wrong))
    if wrong:
        index = data.draw(seldom(index, offsets, None, torch.tensor(0)))
        shape = data.draw(seldom(shape, (rows,), rows, None, (rows, 2**64), (cols, rows)))
    rows_of = columns[::-1].copy() if wrong else np.repeat(np.arange(rows), np.diff(offsets)).astype(columns.dtype)
    nodes = data.draw(seldom(None, cols, -1, 2**64, "x"))
    patterns = {"csr": lambda: tt.Pattern.from_csr(index, places, shape),
                "coo": lambda: tt.Pattern.from_coo(torch.from_numpy(rows_of), places, shape),
                "edges": lambda: tt.Pattern.from_edge_index(torch.stack([places, places]), nodes), "torch": lambda: tt.Pattern.from_torch(A)}
    right = [
        lambda p: tt.sddmm(p, A, B, values, **how), lambda p: tt.spmm(p, D, values), lambda p: tt.spmm(p, R, values, transpose=True),
        lambda p: tt.fused(p, A, B, D, values, **how), lambda p: tt.attention(A, B, D, p, bias=values), lambda p: tt.softmax(p, values),
        lambda p: dglsp.spmm(dglsp.SparseMatrix(p, values), D), lambda p: dglsp.softmax(dglsp.SparseMatrix(p, values)).val,
        lambda p: dglsp.SparseMatrix(p, values).T.smean(1), lambda p: dglsp.add(dglsp.SparseMatrix(p, values), dglsp.SparseMatrix(p, values).coalesce()).val]
    if tt._ops.REGISTERED:
        right += [lambda p: pyg.SAGEConv((max(width, 1), max(width, 1)), 2)((D.new_ones(cols, max(width, 1)), D.new_ones(rows, max(width, 1))), p)]
    others = [
        lambda p: tt.sampled_addmm(B, A, R), lambda p: nn.GATConv(inner, 2, heads=2)(p, A), lambda p: nn.AGNNConv()(p, D),
        lambda p: nn.SparseAttention(width, heads=1)(p, D), lambda p: nn.DotGATConv(inner, 2)(p, B), lambda p: dglsp.sddmm(dglsp.SparseMatrix(p, values), A, R).val,
        lambda p: dglsp.bsddmm(dglsp.SparseMatrix(p, values), A, B).val, lambda p: dglsp.bspmm(dglsp.SparseMatrix(p, values), D),
        lambda p: dglsp.spmatrix(A, values).val, lambda p: dglsp.from_csr(A, B, values).val, lambda p: dglsp.SparseMatrix(p, values).reduce(width, "smax"),
        lambda p: dglsp.mul(dglsp.SparseMatrix(p, values), A).val, lambda p: dglsp.matmul(dglsp.SparseMatrix(p, values), dglsp.diag(values)).val,
        lambda p: pyg.GATConv(inner, 2, edge_dim=width)(A, p, B), lambda p: pyg.TransformerConv((inner, inner), 2)((A, B), p),
        lambda p: pyg.GCNConv(inner, 2)(A, p, values), lambda p: pyg.GINEConv(torch.nn.Identity())((A, B), places, D), lambda p: pyg.GATv2Conv(inner, 2)(A, index)]
    call = data.draw(some.sampled_from(right + others * wrong))
    try:
        result = call(patterns[made]())
        if result.requires_grad and result.layout is torch.strided:
            result.sum().backward()
    except EXPECTED as error:
        assert wrong and str(error)


@settings(quick, max_examples=max(EXAMPLES // 8, 5))
@given(some.data())
def test_jax(data):
    """Nearly right arrays, outside of jit."""
    jnp = pytest.importorskip("jax.numpy")
    tj = pytest.importorskip("tamis.jax")
    rows, cols, (offsets, columns, *_) = data.draw(matrices())
    inner = data.draw(some.integers(0, 3))
    A, B, D = (data.draw(arrays(shape)) for shape in ((rows, inner), (cols, inner), (cols, 2)))
    call = data.draw(some.sampled_from([lambda: tj.sddmm(offsets, columns, A, B), lambda: tj.spmm(offsets, columns, D),
                                        lambda: tj.attention(offsets, columns, A, B, D), lambda: tj.fused(offsets, columns, A, B, D, edge="mask")]))
    try:
        assert isinstance(call().block_until_ready(), jnp.ndarray)
    except EXPECTED as error:
        assert str(error)
