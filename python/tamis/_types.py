"""Operations and element types of the library, and their names: of operands, and in NumPy, PyTorch and DLPack."""
from __future__ import annotations

from . import _declarations as c

SDDMM, SPMM, FUSED = c.TAMIS_OP_SDDMM, c.TAMIS_OP_SPMM, c.TAMIS_OP_FUSED
OPERANDS = {SDDMM: ("A", "B"), SPMM: ("B",), FUSED: ("A", "B", "D")}

F32, F64, F16, BF16 = c.TAMIS_F32, c.TAMIS_F64, c.TAMIS_F16, c.TAMIS_BF16
I32, I64 = 16, 17  # types of indices; their numbers differ from those of elements

NAMES = {F32: "fp32", F64: "fp64", F16: "fp16", BF16: "bf16", I32: "int32", I64: "int64"}
NUMPY_NAMES = {F32: "float32", F64: "float64", F16: "float16", BF16: "bfloat16", I32: "int32", I64: "int64"}
OF_NUMPY_NAME = {name: number for number, name in NUMPY_NAMES.items()}
SIZES = {F32: 4, F64: 8, F16: 2, BF16: 2, I32: 4, I64: 8}
INDEX = {I32: c.TAMIS_I32, I64: c.TAMIS_I64}
# DLPack's (code, bits): 0 is a signed integer, 2 a floating-point number, 4 a bfloat
OF_DLPACK = {(2, 32): F32, (2, 64): F64, (2, 16): F16, (4, 16): BF16, (0, 32): I32, (0, 64): I64}
