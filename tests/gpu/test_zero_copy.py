#!/usr/bin/env python3
"""The library on PyTorch's and CuPy's own memory, streams and graphs: nothing is copied.
  test_zero_copy.py LIBTAMIS.so     ends with 0, or with 77 and the reason where there is no GPU to do it on
"""
import ctypes as c
import sys

i32, i64, f64, p = c.c_int, c.c_int64, c.c_double, c.c_void_p


class Sparse(c.Structure):
    _fields_ = [("format", i32), ("location", i32), ("rows", i64), ("cols", i64), ("nnz", i64), ("index_type", i32),
                ("offset_type", i32), ("value_type", i32), ("offsets", p), ("row_indices", p), ("columns", p),
                ("values", p), ("batch_stride", i64)]


class Dense(c.Structure):
    _fields_ = [("data", p), ("rows", i64), ("cols", i64), ("stride", i64), ("type", i32), ("layout", i32),
                ("location", i32), ("batch_stride", i64)]


class Options(c.Structure):
    _fields_ = [("size", c.c_size_t), ("operation", i32), ("edge", i32), ("type", i32), ("inner", i64), ("width", i64),
                ("edge_scale", f64), ("edge_slope", f64), ("edge_epsilon", f64), ("batch", i64),
                ("expected_calls", i64), ("deterministic", c.c_bool), ("trust_input", c.c_bool), ("math", i32),
                ("threads", i32), ("algorithm", c.c_char_p), ("parameters", c.c_char_p), ("a_layout", i32),
                ("b_layout", i32), ("d_layout", i32), ("output_layout", i32), ("workspace", p),
                ("workspace_bytes", c.c_size_t)]


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
    tamis.tamis_plan_sddmm.argtypes = [p, p, dense, dense, f64, f64, p]
    tamis.tamis_plan_spmm.argtypes = [p, p, dense, f64, f64, dense]
    tamis.tamis_plan_fused.argtypes = [p, p, dense, dense, dense, f64, f64, dense]
    return tamis


def must(tamis, status):
    if status:
        raise SystemExit(f"status {status}: {tamis.tamis_last_error().decode()}")


def options(operation, edge, inner, width):
    return Options(size=c.sizeof(Options), operation=operation, edge=edge, inner=inner, width=width, edge_scale=1,
                   edge_slope=0.01, edge_epsilon=1e-10, deterministic=True, expected_calls=100)


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

    def plan(operation, edge):
        made = p()
        must(tamis, tamis.tamis_plan_create(device, S, options(operation, edge, inner, inner), made))
        return made

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    samples = (A.double()[row] * B.double()[col.long()]).sum(1)
    P = torch.full((nnz,), float("nan"), **where)
    sddmm = plan(SDDMM, SCALE)
    with torch.cuda.stream(stream):
        must(tamis, tamis.tamis_plan_sddmm(sddmm, stream.cuda_stream, view(A), view(B), 1, 0, P.data_ptr()))
    stream.synchronize()
    close("PyTorch, sddmm on a stream of its own", P.double(), values * samples, 1e-6)

    matrix = torch.sparse_csr_tensor(offsets.long(), col.long(), values.double(), (rows, cols))
    C = torch.full((rows, inner), float("nan"), **where)
    spmm = plan(SPMM, SCALE)
    torch.cuda.synchronize()
    must(tamis, tamis.tamis_plan_spmm(spmm, None, view(D), 1, 0, view(C)))
    torch.cuda.synchronize()
    close("PyTorch, spmm on the default stream", C.double(), matrix @ D.double(), 1e-6)

    E = torch.full((rows, inner), float("nan"), **where)
    fused = plan(FUSED, SOFTMAX)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.cuda.current_stream().cuda_stream
        must(tamis, tamis.tamis_plan_fused(fused, captured, view(A), view(B), view(D), 1, 0, view(E)))
    A.mul_(0.1)  # the graph reads what is there when it is played
    graph.replay()
    torch.cuda.synchronize()
    scores = torch.full((rows, cols), float("-inf"), dtype=torch.double, **where)
    scores[row, col.long()] = (A.double()[row] * B.double()[col.long()]).sum(1) + values
    weights = torch.nan_to_num(torch.softmax(scores, 1))
    close("PyTorch, fused softmax in a captured graph", E.double(), weights @ D.double(), 1e-6)
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
        must(tamis, tamis.tamis_plan_sddmm(made, stream.ptr, *views, 1, 0, P.data.ptr))
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
