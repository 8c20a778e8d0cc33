"""The other side of test_io_numpy.c: writes files with NumPy and SciPy, or checks files that the library wrote.

    test_io_numpy.py probe          exit 0 when NumPy and SciPy are there, and say which
    test_io_numpy.py make FOLDER    write FOLDER/*.npz, *.npy and for each FILE a line "FILE<tab>expected" in FOLDER/list
    test_io_numpy.py check FOLDER   read what the library wrote; print OK or what is wrong
"""
import os
import sys

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sparse


def text_of(matrix, layout):
    """A matrix as io_text_of of test_io_support.h writes it."""
    if layout == "csr":
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        columns = matrix.indices
    else:
        rows, columns = matrix.row, matrix.col
    entries = "".join("| %d %d %s" % (r, c, "%.17g" % float(v)) for r, c, v in zip(rows, columns, matrix.data))
    return "%s %dx%d %d%s" % (layout, matrix.shape[0], matrix.shape[1], len(matrix.data), entries)


def sparse_cases():
    rng = np.random.default_rng(5)
    dense = (rng.random((7, 9)) < 0.4) * rng.integers(-5, 100, (7, 9))
    half = sparse.csr_matrix(dense.astype("f4"))
    half.data = half.data.astype("f2")  # SciPy makes none itself, but saves it
    yield "csr-f2", half, True
    for dtype in ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"):
        for compressed in (True, False):
            yield "csr-%s-%d" % (dtype.strip("?") or "b", compressed), sparse.csr_matrix(dense.astype(dtype)), compressed
    coo = sparse.coo_matrix(rng.standard_normal((5, 4)))
    order = rng.permutation(coo.nnz)
    yield "coo-shuffled", sparse.coo_matrix((coo.data[order], (coo.row[order], coo.col[order])), shape=(5, 4)), True
    yield "coo-repeated", sparse.coo_matrix(([1.5, 2.5], ([1, 1], [0, 0])), shape=(2, 3)), True
    wide = sparse.csr_matrix(dense.astype("f8"))
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    yield "csr-int64", wide, True
    unsorted = sparse.csr_matrix(([1.0, 2.0, 3.0], [2, 0, 1], [0, 3, 3]), shape=(2, 3))
    yield "csr-unsorted", unsorted, True
    yield "csr-empty", sparse.csr_matrix((0, 4)), True
    yield "csr-nothing", sparse.csr_matrix((3, 4)), True
    if hasattr(sparse, "coo_array"):
        yield "csr-array", sparse.csr_array(dense.astype("f8")), True
        yield "coo-array", sparse.coo_array(dense.astype("f8")), True


def dense_cases():
    rng = np.random.default_rng(6)
    values = np.round(rng.standard_normal((3, 5)) * 100) / 8
    for dtype in ("<f2", "<f4", "<f8", ">f4", ">f8", ">i2", "<i8", "<u1", "?"):
        yield "c-" + dtype.strip("<>?"), values.astype(dtype)
        yield "big-" + dtype.strip("<>?") if ">" in dtype else "f-" + dtype.strip("<>?"), np.asfortranarray(values.astype(dtype))
    yield "vector", values[0]
    yield "strided", np.ascontiguousarray(values[:, ::2])
    yield "none", np.zeros((0, 3))


def text_cases(folder):
    """Matrix Market and Harwell-Boeing files of SciPy's own writers."""
    rng = np.random.default_rng(7)
    general = sparse.random(30, 40, 0.1, "csr", random_state=8, data_rvs=rng.standard_normal)
    square = sparse.random(25, 25, 0.1, "csr", random_state=9, data_rvs=rng.standard_normal)
    whole = sparse.csr_matrix(general, copy=True)
    whole.data = np.arange(whole.nnz, dtype="i8") - 17
    for name, matrix, options in (
        ("general", general, {"symmetry": "general"}),
        ("integers", whole, {"symmetry": "general"}),
        ("symmetric", (square + square.T).tocsr(), {"symmetry": "symmetric"}),
        ("skew", (square - square.T).tocsr(), {"symmetry": "skew-symmetric"}),
    ):
        matrix.eliminate_zeros()
        matrix.sort_indices()
        path = os.path.join(folder, name + ".mtx")
        scipy.io.mmwrite(path, matrix, precision=17, **options)
        yield path, text_of(matrix, "csr")
    path = os.path.join(folder, "general.rua")
    scipy.io.hb_write(path, general.tocsc())
    yield path, text_of(general, "csr")


def make(folder):
    with open(os.path.join(folder, "list"), "w") as listing:
        for case in text_cases(folder):
            listing.write("%s\t%s\n" % case)
        for name, matrix, compressed in sparse_cases():
            path = os.path.join(folder, name + ".npz")
            sparse.save_npz(path, matrix, compressed=compressed)
            listing.write("%s\t%s\n" % (path, text_of(matrix, matrix.format)))
        csc = sparse.csc_matrix(np.arange(12.0).reshape(3, 4))
        path = os.path.join(folder, "csc.npz")
        sparse.save_npz(path, csc)
        listing.write("%s\t%s\n" % (path, text_of(csc.tocsr(), "csr")))
        for number, (name, array) in enumerate(dense_cases()):
            for version in ((1, 0), (2, 0), (3, 0)):
                path = os.path.join(folder, "%d-%s-v%d.npy" % (number, name, version[0]))
                with open(path, "wb") as file:
                    np.lib.format.write_array(file, array, version=version)
                table = (array if array.ndim == 2 else array[:, None]).astype("f8")
                expected = "%dx%d" % table.shape + "".join(" %.17g" % v for v in table.ravel())
                listing.write("%s\t%s\n" % (path, expected))


def types_of(path):
    """written-csr-int64-int32-fp16-values.npz: what its arrays are to be, and what they are."""
    layout, index, offset, value, kind = os.path.basename(path)[:-4].split("-")[1:]
    values = "f8" if value == "fp64" else "f4"  # SciPy computes with no narrower ones
    wanted = {"data": values} if kind == "values" else {}
    wanted.update({"indices": index, "indptr": offset} if layout == "csr" else {"row": index, "col": index})
    with np.load(path, allow_pickle=False) as arrays:
        found = {name: arrays[name].dtype for name in wanted}
    return {name: np.dtype(dtype) for name, dtype in wanted.items()}, found


def check(folder):
    """Every written matrix holds the value row * 10 + column + 0.5 at (row, column), ones in patterns."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.startswith("written"):
            continue
        if name.endswith(".npz"):
            wanted, found = types_of(path)
            if wanted != found:
                return "%s: %s, expected %s" % (name, found, wanted)
            matrix = sparse.load_npz(path)
            matrix.check_format() if hasattr(matrix, "check_format") else None
        elif name.endswith(".npy"):
            matrix = sparse.coo_matrix(np.load(path, allow_pickle=False).astype("f8"))
        else:
            matrix = sparse.coo_matrix(scipy.io.mmread(path))
        matrix = matrix.tocoo()
        pattern = "pattern" in name
        if matrix.shape != (3, 4):
            return "%s: shape %s" % (name, matrix.shape)
        expected = np.ones(matrix.nnz) if pattern else matrix.row * 10 + matrix.col + 0.5
        if matrix.nnz != (12 if "dense" in name else 5) or not np.array_equal(matrix.data.astype("f8"), expected):
            return "%s: %s" % (name, matrix)
    return "OK"


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "check":
    print(check(sys.argv[2]))
else:
    print("SciPy %s, NumPy %s" % (scipy.__version__, np.__version__))
