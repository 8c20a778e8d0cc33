"""Wrote the .npz files beside it, for test_io_scipy.c: SciPy 1.17.1 with NumPy 2.4.6. Run it in its folder.

All but the last hold the same matrix of 3 rows and 4 columns: 1 2 in columns 0 2 of row 0, 3 4 5 in columns 1 2 3 of row 2.
"""
import numpy as np
import scipy.sparse as sparse

rows, columns, values = [0, 0, 2, 2, 2], [0, 2, 1, 2, 3], [1, 2, 3, 4, 5]
shape = (3, 4)


def coo(dtype, index="i4", kind=sparse.coo_matrix):
    matrix = kind((np.array(values, dtype), (np.array(rows, "i4"), np.array(columns, "i4"))), shape=shape)
    matrix.coords = tuple(axis.astype(index) for axis in matrix.coords)  # SciPy itself takes the narrowest that will do
    return matrix


def lines(dtype, format, index="i4", kind=sparse.coo_matrix):
    matrix = coo(dtype, kind=kind).asformat(format)
    matrix.data = matrix.data.astype(dtype)  # 16-bit numbers too, which conversions do not know
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def save(name, matrix, compressed):
    sparse.save_npz(name + ".npz", matrix, compressed=compressed)


for dtype in ("f4", "f8", "i1", "i4", "i8", "u2"):
    save("csr-" + dtype, lines(dtype, "csr"), True)
half = lines("f4", "csr")
half.data = half.data.astype("f2")
save("csr-f2", half, True)
save("csr-bool", lines("?", "csr"), True)
save("csr-f8-stored", lines("f8", "csr"), False)
save("csr-bool-stored", lines("?", "csr"), False)
save("csr-int64", lines("f4", "csr", "i8"), True)
save("csr-int64-stored", lines("f8", "csr", "i8"), False)
save("csc-f4", lines("f4", "csc"), True)
save("csc-f8-stored", lines("f8", "csc"), False)
save("csc-int64", lines("i8", "csc", "i8"), True)
save("csc-bool", lines("?", "csc"), True)
save("coo-f4", coo("f4"), True)
save("coo-f8-stored", coo("f8"), False)
save("coo-int64", coo("f8", "i8"), True)
save("coo-i2-int64-stored", coo("i2", "i8"), False)
save("coo-bool", coo("?"), True)
save("array-csr", lines("f8", "csr", kind=sparse.coo_array), True)
save("array-coo", coo("f8", kind=sparse.coo_array), True)
swapped = lines("f8", "csr")
swapped.data = swapped.data.astype(">f8")
swapped.indices = swapped.indices.astype(">i4")
save("csr-big-endian", swapped, False)
turned = coo("f4")
turned.coords, turned.data = tuple(axis[::-1] for axis in turned.coords), turned.data[::-1]
save("coo-backwards", turned, True)
save("bsr", sparse.bsr_matrix(np.ones((2, 2))), True)
