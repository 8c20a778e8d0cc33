"""`tamis.torch.dglsp` against dense restatements, since DGL does not install: values and gradients, for one value at a place and for several."""
from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("device")]

import tamis  # noqa: E402
from tamis.torch import _ops, dglsp  # noqa: E402

if not _ops.REGISTERED:
    pytest.skip("message passing needs PyTorch 2.4", allow_module_level=True)

ROWS, COLS, NNZ, BATCH = 7, 5, 12, 3
BATCHES = pytest.mark.parametrize("batch", [(), (BATCH,)])


def matrix(batch=(), seed=1, duplicates=False, square=False, **more):
    """In any order, with an empty row and column."""
    generator = torch.Generator().manual_seed(seed)
    rows, cols = (COLS, COLS) if square else (ROWS, COLS)
    if duplicates:
        places = torch.randint((rows - 1) * (cols - 1), (NNZ,), generator=generator, device="cpu")
        places[1] = places[0]
    else:
        places = torch.randperm((rows - 1) * (cols - 1), generator=generator, device="cpu")[:NNZ]
    here = torch.empty(0).device
    indices = torch.stack([places // (cols - 1), places % (cols - 1)]).to(here)
    val = (torch.rand(NNZ, *batch, generator=generator, dtype=torch.float64, device="cpu") + 0.5).to(here).requires_grad_()
    return dglsp.spmatrix(indices, val, (rows, cols))


def dense(A):
    """By index_put alone, of the indices that the matrix shows."""
    row, col = A.indices()
    return A.val.new_zeros(*A.shape, *A.val.shape[1:]).index_put((row, col), A.val, accumulate=True)


def compared(got, want, *leaves):
    got = dense(got) if isinstance(got, dglsp.SparseMatrix) else got
    torch.testing.assert_close(got, want)
    weights = torch.linspace(-1, 1, max(want.numel(), 1), dtype=want.dtype)[:want.numel()].reshape(want.shape)
    torch.testing.assert_close(*(torch.autograd.grad((out * weights).sum(), leaves, retain_graph=True) for out in (got, want)))


@BATCHES
@pytest.mark.parametrize("duplicates", [False, True])
def test_forms(batch, duplicates):
    A = matrix(batch, duplicates=duplicates)
    full = dense(A)
    compared(A, A.to_dense(), A.val)
    for turned in (A.T, A.t(), A.transpose()):
        compared(turned, full.transpose(0, 1), A.val)
        assert turned.shape == (COLS, ROWS) and turned.val is A.val
    assert torch.equal(A.T.T.indices(), A.indices())
    offsets, columns, order = A.csr()
    compared(dglsp.from_csr(offsets, columns, A.val[order], A.shape), full, A.val)
    offsets, rows, order = A.csc()
    compared(dglsp.from_csc(offsets, rows, A.val[order], A.shape), full, A.val)
    once = A.coalesce()
    compared(once, full, A.val)
    assert A.has_duplicate() == duplicates and not once.has_duplicate()
    keys = once.row * COLS + once.col
    assert torch.equal(keys, keys.sort().values)
    if not batch:
        compared(dglsp.from_torch_sparse(dglsp.to_torch_sparse_coo(A)), full, A.val)
        compared(dglsp.to_torch_sparse_coo(A).to_dense(), full, A.val)
        if not duplicates:
            for form in (dglsp.to_torch_sparse_csr, dglsp.to_torch_sparse_csc):
                torch.testing.assert_close(dense(dglsp.from_torch_sparse(form(A))), full)
    for other, dtype in ((A.float(), torch.float32), (A.double(), torch.float64), (A.int(), torch.int32), (A.long(), torch.int64)):
        assert other.dtype == dtype and torch.equal(other.val, A.val.to(dtype))
    assert A.cpu().device.type == A.cpu().pattern.device.type == "cpu"


@BATCHES
def test_arithmetic(batch):
    A, B = matrix(batch), matrix(batch, seed=2)
    C = dglsp.val_like(A, torch.rand_like(A.val).requires_grad_())
    a, b, c = dense(A), dense(B), dense(C)
    there = (dense(dglsp.val_like(A, torch.ones_like(A.val))) != 0)
    compared(-A, -a, A.val)
    for _ in range(2):  # what is remembered of the first
        compared(A + B, a + b, A.val, B.val)
        compared(A - B, a - b, A.val, B.val)
    compared(A + C, a + c, A.val, C.val)
    assert (A + C).pattern is A.pattern and A.nnz < (A + B).nnz < A.nnz + B.nnz
    compared(A * B, a * b, A.val, B.val)
    compared(A * C, a * c, A.val, C.val)
    compared(A / C, a / c.where(there, 1.0), A.val, C.val)
    order = torch.randperm(NNZ)
    D = dglsp.from_coo(A.row[order], A.col[order], C.val[order], A.shape)
    compared(A / D, a / c.where(there, 1.0), A.val, C.val)
    compared(A * D, a * c, A.val, C.val)
    number = torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    fixed = number.detach()
    for got, want, leaf in ((A * number, a * number, A.val), (fixed * C, fixed * c, C.val), (3 * A, 3 * a, A.val), (A / number, a / number, A.val)):
        compared(got, want, leaf)
    compared(A * number, a * number, number)
    compared(A**2, a**2, A.val)
    compared(A**-0.5, (a.where(there, 1.0)**-0.5).where(there, 0.0), A.val)
    for sum_of, want in ((dglsp.add(A, B), a + b), (dglsp.sub(A, B), a - b), (dglsp.mul(2, A), 2 * a), (dglsp.div(A, 2), a / 2), (dglsp.power(A, 2), a**2),
                         (dglsp.neg(A), -a), (A.neg(), -a)):
        torch.testing.assert_close(dense(sum_of), want)


@BATCHES
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("rtype", ["sum", "smean", "smax", "smin", "sprod"])
def test_reductions(rtype, dim, batch):
    A = matrix(batch)
    there = dense(dglsp.val_like(A, torch.ones_like(A.val))) != 0
    dims = (0, 1) if dim is None else (dim,)
    full, count = dense(A), there.sum(dims)
    if rtype == "sum":
        want = full.sum(dims)
    elif rtype == "smean":
        want = full.sum(dims) / count.clamp(min=1)
    elif rtype == "sprod":
        want = full.where(there, 1.0)
        for one in sorted(dims, reverse=True):
            want = want.prod(one)
        want = want.where(count > 0, 0.0)
    else:
        sign = 1 if rtype == "smax" else -1
        want = (sign * (sign * full).masked_fill(~there, -9.0).amax(dims)).where(count > 0, 0.0)
    compared(dglsp.reduce(A, dim, rtype), want, A.val)
    for again in (A.reduce(dim, rtype), getattr(A, rtype)(dim), getattr(dglsp, rtype)(A, dim)):
        here = dglsp.reduce(A, dim, rtype)
        # PyTorch multiplies by atomics on GPUs, in no fixed order
        assert torch.allclose(again, here, rtol=1e-12) if rtype == "sprod" and here.is_cuda else torch.equal(again, here)
    whole = A.long()  # whole numbers, as in dgl.sparse's own examples
    torch.testing.assert_close(dglsp.reduce(whole, dim, "sum"), dense(whole).sum(dims))


@BATCHES
def test_softmax(batch):
    A = matrix(batch)
    there = dense(dglsp.val_like(A, torch.ones_like(A.val))) != 0
    for dim in (0, 1):
        want = torch.softmax(dense(A).masked_fill(~there, -float("inf")), dim).nan_to_num(0.0)
        compared(A.softmax(dim), want, A.val)
        offsets, columns, order = A.csr()
        compared(dglsp.softmax(dglsp.from_csr(offsets.int(), columns.int(), A.val[order], A.shape), dim=dim), want, A.val)


@BATCHES
def test_products(batch):
    A = matrix(batch)
    if batch:
        X = torch.randn(COLS, 4, BATCH, dtype=torch.float64, requires_grad=True)
        compared(A @ X, torch.einsum("mnb,nlb->mlb", dense(A), X), A.val, X)
        Y = torch.randn(ROWS, 4, BATCH, dtype=torch.float64, requires_grad=True)
        compared(dglsp.bspmm(A.T, Y), torch.einsum("mnb,mlb->nlb", dense(A), Y), A.val, Y)
        compared(dglsp.matmul(A.T, Y), torch.einsum("mnb,mlb->nlb", dense(A), Y), A.val, Y)
        P, Q = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((ROWS, 4, BATCH), (4, COLS, BATCH)))
        compared(dglsp.bsddmm(A, P, Q), dense(A) * torch.einsum("mkb,knb->mnb", P, Q), A.val, P, Q)
    else:
        X = torch.randn(COLS, 4, dtype=torch.float64, requires_grad=True)
        compared(A @ X, dense(A) @ X, A.val, X)
        compared(dglsp.matmul(X.T, X), X.T @ X, X)
        P, Q = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((ROWS, 4), (4, COLS)))
        compared(dglsp.sddmm(A, P, Q), dense(A) * (P @ Q), A.val, P, Q)
        compared(dglsp.sddmm(A, P[:, 0], Q[0]), dense(A) * torch.outer(P[:, 0], Q[0]), A.val, P, Q)
        compared(dglsp.spmm(A, X[:, 0].contiguous()), dense(A) @ X[:, 0], A.val, X)


@BATCHES
def test_diagonal_matrices(batch):
    A = matrix(batch, square=True)
    D = dglsp.diag(torch.rand(COLS, dtype=torch.float64).add(0.5).requires_grad_())
    compared(D, torch.diag(D.val), D.val)
    d = torch.diag(D.val)
    compared(D @ A, torch.einsum("mn,nk...->mk...", d, dense(A)), D.val, A.val)
    compared(A @ D, torch.einsum("mn...,nk->mk...", dense(A), d), D.val, A.val)
    compared(D**-0.5 @ A.T @ D.T, torch.einsum("mn,nk...,kl->ml...", torch.diag(D.val**-0.5), dense(A).transpose(0, 1), d), D.val, A.val)
    one = dglsp.identity((COLS, COLS), BATCH if batch else None, torch.float64)
    compared(A + one, dense(A) + torch.eye(COLS, dtype=torch.float64).reshape(COLS, COLS, *(1,) * len(batch)), A.val)
    assert dglsp.identity((2, 3)).to_dense().tolist() == [[1, 0, 0], [0, 1, 0]] and dglsp.identity((3, 2), d=4).val.shape == (2, 4)
    for wide in (dglsp.diag(torch.ones(2), (2, 5)), dglsp.diag(torch.ones(2), (5, 2))):
        assert wide.nnz == 2 and wide.T.shape == wide.shape[::-1]
    if not batch:  # the normalised graph of a GCN
        hat = A + dglsp.identity(A.shape, dtype=torch.float64)
        half = dglsp.diag(hat.sum(1))**-0.5
        X = torch.randn(COLS, 2, dtype=torch.float64)
        full = dense(A) + torch.eye(COLS, dtype=torch.float64)
        scale = full.sum(1)**-0.5
        compared(half @ hat @ half @ X, (scale[:, None] * full * scale) @ X, A.val)


def test_vectors_of_rows_and_columns():
    A = matrix()
    there = (dense(A) != 0).double()
    for v in (torch.rand(ROWS, 1, dtype=torch.float64), torch.rand(1, COLS, dtype=torch.float64), torch.rand(COLS, dtype=torch.float64)):
        v.add_(0.5).requires_grad_()
        compared(dglsp.sp_broadcast_v(A, v), there * v, v)
        compared(dglsp.sp_add_v(A, v), dense(A) + there * v, A.val, v)
        compared(dglsp.sp_sub_v(A, v), dense(A) - there * v, A.val, v)
        compared(dglsp.sp_mul_v(A, v), dense(A) * v, A.val, v)
        compared(dglsp.sp_div_v(A, v), dense(A) / v, A.val, v)


def test_without_entries():
    A = dglsp.spmatrix(torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.float64), (3, 4))
    B = dglsp.spmatrix(torch.tensor([[0], [1]]), torch.ones(1, dtype=torch.float64), (3, 4))
    assert torch.equal((A + B).to_dense(), B.to_dense()) and (A * B).nnz == 0 and (B * A).nnz == 0
    assert torch.equal(A.sum(1), torch.zeros(3, dtype=torch.float64)) and float(A.smax()) == 0 and A.coalesce().nnz == 0


@pytest.mark.parametrize("call, words", [
    (lambda A: A @ A.T, "only if one of them is a square diagonal matrix"), (lambda A: A @ A, "expected as many rows of B"),
    (lambda A: A + A.T, "expected the same shape and batch"), (lambda A: A + 2, "unsupported operand"), (lambda A: A * "2", "expected a number"),
    (lambda A: A / matrix(seed=2), "expected the same places"), (lambda A: A * matrix(duplicates=True), r"B has several entries .* B.coalesce\(\)"),
    (lambda A: A.reduce(2), "dim = 2"), (lambda A: A.reduce(0, "mean"), "rtype = 'mean'"), (lambda A: dglsp.diag(torch.ones(3), (2, 2)), "expected 2 values"),
    (lambda A: dglsp.sp_mul_v(A, torch.ones(2)), "v has shape"), (lambda A: dglsp.add(A, 1), "B is a int: expected a SparseMatrix"),
    (lambda A: A**A, "expected a number"), (lambda A: A.softmax(2), "dim = 2"), (lambda A: dglsp.val_like(A, A.val[:2]), "val has shape"),
    (lambda A: dglsp.spmm(matrix((BATCH,)), torch.ones(COLS, 2)), "bspmm")])
def test_refused(call, words):
    with pytest.raises((tamis.Error, TypeError, ValueError, NotImplementedError), match=words):
        call(matrix())
