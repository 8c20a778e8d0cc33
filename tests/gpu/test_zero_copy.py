#!/usr/bin/env python3
"""The library on PyTorch's and CuPy's own memory, streams and graphs: nothing is copied.
  test_zero_copy.py LIBTAMIS.so     ends with 0, or with 77 and the reason where there is no GPU to do it on
"""
import ctypes as c
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tamis"))
from _declarations import tamis_dense as Dense, tamis_execution as Execution, tamis_options as Options, tamis_sparse as Sparse  # noqa: E402

p = c.c_void_p

SDDMM, SPMM, FUSED = range(3)
SCALE, MASK, SOFTMAX = 0, 1, 7
DEVICE = 1


def library(path):
    tamis = c.CDLL(path)
    tamis.tamis_last_error.restype = c.c_char_p
    dense = c.POINTER(Dense)
    tamis.tamis_device_open.argtypes = [c.c_char_p, c.POINTER(p)]
    tamis.tamis_plan_create.argtypes = [p, c.POINTER(Sparse), c.POINTER(Options), c.POINTER(p)]
    tamis.tamis_plan_destroy.argtypes = [p]
    given = c.POINTER(Execution)
    tamis.tamis_plan_sddmm.argtypes = [p, dense, dense, dense, given]
    tamis.tamis_plan_spmm.argtypes = [p, dense, dense, given]
    tamis.tamis_plan_fused.argtypes = [p, dense, dense, dense, dense, given]
    tamis.tamis_plan_workspace_size.argtypes = [p, c.POINTER(c.c_size_t)]
    tamis.tamis_sddmm.argtypes = [p, c.POINTER(Sparse), dense, dense, dense, c.POINTER(Options), given]
    return tamis


def must(tamis, status):
    if status:
        raise SystemExit(f"status {status}: {tamis.tamis_last_error().decode()}")


def options(operation, edge, inner, width, stream=None):
    return Options(operation=operation, edge=edge, output_type=-1, inner=inner, width=width, edge_scale=1,
                   edge_slope=0.01, edge_epsilon=1e-10, batch=1, expected_calls=100, stream=stream)


def execution(stream=None, workspace=None):
    given = Execution(stream=stream, alpha=1)
    if workspace is not None:
        given.workspace, given.workspace_bytes = workspace.data_ptr(), workspace.numel()
    return c.byref(given)


def close(name, got, want, bound):
    error = float((got - want).norm() / want.norm())
    print(f"{name}: relative error {error:.1e}")
    if not error <= bound:
        raise SystemExit(f"{name}: {error:.2e} is more than {bound:.0e}")


def torch_part(tamis, device):
    import torch
    torch.manual_seed(7)
    rows, cols, nnz, inner = 3000, 2500, 60000, 128
    where = dict(device="cuda")
    cells = torch.unique(torch.randint(rows * cols, (nnz,), **where))
    row, col = cells // cols, (cells % cols).int()
    nnz = len(cells)
    offsets = torch.zeros(rows + 1, dtype=torch.int32, **where)
    offsets[1:] = torch.cumsum(torch.bincount(row, minlength=rows), 0)
    values = torch.rand(nnz, **where)
    A, B, D = (torch.randn(n, inner, **where) for n in (rows, cols, cols))
    S = Sparse(location=DEVICE, rows=rows, cols=cols, nnz=nnz, offsets=offsets.data_ptr(), columns=col.data_ptr(),
               values=values.data_ptr())

    def view(x):
        return c.byref(Dense(data=x.data_ptr(), rows=x.shape[0], cols=x.shape[1], stride=x.stride(0), location=DEVICE))

    def samples(x):
        return c.byref(Dense(data=x.data_ptr(), rows=len(x), cols=1, location=DEVICE))

    def plan(operation, edge, stream=None):
        made = p()
        must(tamis, tamis.tamis_plan_create(device, S, options(operation, edge, inner, inner, stream), made))
        return made

    def workspace(made):
        size = c.c_size_t()
        must(tamis, tamis.tamis_plan_workspace_size(made, size))
        return torch.empty(max(size.value, 64), dtype=torch.uint8, **where)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    wanted = (A.double()[row] * B.double()[col.long()]).sum(1)
    P = torch.full((nnz,), float("nan"), **where)
    torch.cuda.synchronize()
    sddmm = plan(SDDMM, SCALE, stream.cuda_stream)
    with torch.cuda.stream(stream):
        must(tamis, tamis.tamis_plan_sddmm(sddmm, view(A), view(B), samples(P), execution(stream.cuda_stream)))
    stream.synchronize()
    close("PyTorch, sddmm on a stream of its own", P.double(), values * wanted, 1e-6)

    # operands that the stream itself makes, late: nothing may read them on another stream
    late = torch.cuda.Stream()
    with torch.cuda.stream(late):
        torch.cuda._sleep(50_000_000)
        A2, columns2 = A * 2, col.clone()
        S2 = Sparse(location=DEVICE, rows=rows, cols=cols, nnz=nnz, offsets=offsets.data_ptr(),
                    columns=columns2.data_ptr(), values=values.data_ptr())
        P2 = torch.full((nnz,), float("nan"), **where)
        must(tamis, tamis.tamis_sddmm(device, S2, view(A2), view(B), samples(P2), None, execution(late.cuda_stream)))
    late.synchronize()
    close("PyTorch, one call on operands made late in its stream", P2.double(), 2 * values * wanted, 1e-6)

    matrix = torch.sparse_csr_tensor(offsets.long(), col.long(), values.double(), (rows, cols))
    C = torch.full((rows, inner), float("nan"), **where)
    spmm = plan(SPMM, SCALE)
    torch.cuda.synchronize()
    must(tamis, tamis.tamis_plan_spmm(spmm, view(D), view(C), execution()))
    torch.cuda.synchronize()
    close("PyTorch, spmm on the default stream", C.double(), matrix @ D.double(), 1e-6)

    fused = plan(FUSED, SOFTMAX)
    scores = torch.full((rows, cols), float("-inf"), dtype=torch.double, **where)

    def attention(scale):
        scores[row, col.long()] = scale * wanted + values
        return torch.nan_to_num(torch.softmax(scores, 1)) @ D.double()

    # one plan, four streams and two graphs at once, a workspace each
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(4)]
    outputs = [torch.full((rows, inner), float("nan"), **where) for _ in range(6)]
    spaces = [workspace(fused) for _ in range(6)]
    graphs = [torch.cuda.CUDAGraph() for _ in range(2)]
    torch.cuda.synchronize()
    for i, graph in enumerate(graphs):
        with torch.cuda.graph(graph):
            captured = torch.cuda.current_stream().cuda_stream
            must(tamis, tamis.tamis_plan_fused(fused, view(A), view(B), view(D), view(outputs[4 + i]),
                                               execution(captured, spaces[4 + i])))
    for _ in range(20):
        for i, one in enumerate(streams):
            must(tamis, tamis.tamis_plan_fused(fused, view(A), view(B), view(D), view(outputs[i]),
                                               execution(one.cuda_stream, spaces[i])))
        for i, graph in enumerate(graphs):
            with torch.cuda.stream(streams[i]):
                graph.replay()
    torch.cuda.synchronize()
    want = attention(1)
    for i, got in enumerate(outputs):
        close(f"PyTorch, one plan in {'a graph' if i > 3 else 'a stream'} beside five others", got.double(), want, 1e-6)
    A.mul_(0.1)  # a graph reads what is there when it is played
    graphs[0].replay()
    torch.cuda.synchronize()
    close("PyTorch, fused softmax in a captured graph", outputs[4].double(), attention(0.1), 1e-6)
    for made in (sddmm, spmm, fused):
        tamis.tamis_plan_destroy(made)


def cupy_part(tamis, device):
    import cupy as cp
    rng = cp.random.default_rng(5)
    rows, cols, inner = 500, 400, 33
    pattern = rng.random((rows, cols)) < 0.05
    row, col = cp.nonzero(pattern)
    offsets = cp.zeros(rows + 1, dtype=cp.int32)
    offsets[1:] = cp.cumsum(pattern.sum(1))
    columns = col.astype(cp.int32)
    A, B = rng.standard_normal((rows, inner)), rng.standard_normal((cols, inner))
    P = cp.full(len(row), cp.nan)
    S = Sparse(location=DEVICE, rows=rows, cols=cols, nnz=len(row), offsets=offsets.data.ptr, columns=columns.data.ptr,
               value_type=1)
    wanted = options(SDDMM, MASK, inner, 0)
    wanted.type = 1
    made = p()
    cp.cuda.Device().synchronize()
    must(tamis, tamis.tamis_plan_create(device, S, wanted, made))
    with cp.cuda.Stream() as stream:
        views = [c.byref(Dense(data=x.data.ptr, rows=len(x), cols=inner, type=1, location=DEVICE)) for x in (A, B)]
        out = Dense(data=P.data.ptr, rows=len(P), cols=1, type=1, location=DEVICE)
        must(tamis, tamis.tamis_plan_sddmm(made, *views, out, execution(stream.ptr)))
        stream.synchronize()
    tamis.tamis_plan_destroy(made)
    error = float(cp.abs(P - (A[row] * B[col]).sum(1)).max())
    print(f"CuPy, sddmm fp64 on a stream of its own: largest error {error:.1e}")
    if not error <= 1e-13 * inner:
        raise SystemExit("CuPy: that is too much")


def main():
    tamis = library(sys.argv[1])
    device = p()
    if tamis.tamis_device_open(b"cuda:0", device):
        print("skipped:", tamis.tamis_last_error().decode())
        return 77
    parts = 0
    for part, module in ((torch_part, "torch"), (cupy_part, "cupy")):
        try:
            __import__(module)
        except ImportError as missing:
            print("skipped:", missing)
            continue
        part(tamis, device)
        parts += 1
    return 0 if parts else 77


sys.exit(main())
