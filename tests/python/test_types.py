"""The annotations, as a checker of types sees them: it knows every name, and says which are wrong."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import tamis

PROGRAM = """
import numpy
import numpy.typing
import scipy.sparse
import tamis
from tamis.ml import ALS

pattern = tamis.Pattern.window(4, 1, 1)
B: numpy.typing.NDArray[numpy.float32] = numpy.ones((4, 2), numpy.float32)
S = scipy.sparse.csr_array(numpy.eye(4, dtype=numpy.float32))
reveal_type(pattern.nnz)  # int
reveal_type(tamis.devices())  # list[Device]
reveal_type(tamis.__version__)  # str
reveal_type(tamis.plan("sddmm", pattern, inner=2))  # Plan
reveal_type(tamis.spmm(pattern, B))  # ndarray
reveal_type(tamis.spmm(S, B, transpose=True))  # ndarray
reveal_type(tamis.sddmm(pattern, B, B))  # ndarray
reveal_type(tamis.sddmm(pattern, B, B, edge=lambda x, i: x + i, numbers={"row.b": B[:, 0], "c": 2}))  # ndarray
reveal_type(tamis.fused(pattern, B, B, B))  # ndarray
reveal_type(tamis.attention(pattern, B, B, B))  # ndarray
reveal_type(tamis.attention(pattern, B, B, B, return_lse=True))  # tuple[ndarray, ndarray]
reveal_type(tamis.spmm([[1, 0]], [1, 2], convert=True))  # ndarray
reveal_type(pattern.T)  # Pattern
reveal_type(ALS(factors=3).fit(None))  # ALS
reveal_type(ALS().transform(S))  # ndarray
tamis.sddm(pattern)  # error
tamis.spmm(pattern, B, transposed=True)  # error
tamis.spmm(pattern, 3)  # error
tamis.spmm("S", B)  # error
ALS(factor=3)  # error
"""
TORCH = """
import torch
import tamis
import tamis.torch as tt
import tamis.torch.dglsp
import tamis.torch.pyg

x = torch.ones(4, 2)
pattern = tt.Pattern.causal(4)
reveal_type(tt.spmm(pattern, x))  # Tensor
reveal_type(tt.spmm(x > 0, x))  # Tensor
reveal_type(tt.attention(x, x, x, pattern))  # Tensor
reveal_type(tt.attention(x, x, x, pattern, return_lse=True))  # tuple[Tensor, Tensor]
reveal_type(tt.attention(x, x, x, [pattern]))  # Tensor
reveal_type(tamis.spmm(tamis.Pattern.causal(4), x))  # Tensor
reveal_type(tt.Pattern.stack([pattern]))  # Pattern
A = tamis.torch.dglsp.spmatrix(torch.tensor([[0, 1], [1, 0]]))
reveal_type(A.T + 2 * A)  # SparseMatrix
reveal_type(A.sum(1))  # Tensor
tt.spmm(pattern, 3)  # error
tamis.torch.pyg.SAGEConv(4, "2")  # error
"""


def short(words: str) -> str:
    """A type without modules, parameters of arrays and the words around it: "tuple[ndarray, ndarray]"."""
    words = re.sub(r"NDArray\[[^][]*(?:\[[^][]*\][^][]*)*\]", "ndarray", re.sub(r"\b(?:\w+\.)+(?=\w)", "", words))
    while re.search(r"ndarray\[", words):
        start = words.index("ndarray[") + 7
        depth, end = 0, start
        while True:
            depth += {"[": 1, "]": -1}.get(words[end], 0)
            end += 1
            if depth == 0:
                break
        words = words[:start] + words[end:]
    return words


def checked(program: str, said: dict[int, str], printed: str) -> None:
    for number, line in enumerate(program.splitlines(), 1):
        _, _, wanted = line.partition("  # ")
        if wanted == "error":
            assert said.get(number, "").startswith("error"), (line, printed)
        elif wanted:
            found = re.fullmatch(r'(?:note|information).*[Tt]ype (?:is|of ".*" is) "(.*)"', said.get(number, ""))
            assert found and short(found[1]) == wanted, (line, said.get(number), printed)
        else:
            assert number not in said, (line, said.get(number))


def where() -> str:
    return str(pathlib.Path(tamis.__file__).resolve().parents[1])


@pytest.mark.parametrize("program", [PROGRAM, TORCH], ids=["numpy", "torch"])
def test_mypy_sees_the_types(tmp_path, program):
    pytest.importorskip("mypy")
    if program is TORCH:
        pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary", "--show-error-codes",
                           "--cache-dir", tmp_path / "cache", tmp_path / "program.py"], capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "") and where()})
    checked(program, {int(line): words for line, words in re.findall(r"program\.py:(\d+): ((?:error|note: Revealed).*)", done.stdout)}, done.stdout + done.stderr)


@pytest.mark.parametrize("program", [PROGRAM, TORCH], ids=["numpy", "torch"])
def test_pyright_sees_the_types(tmp_path, program):
    if shutil.which("pyright") is None and importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    if program is TORCH:
        pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [where()], "reportMissingModuleSource": False, "pythonVersion": "3.11"}))
    done = subprocess.run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "-p", tmp_path, tmp_path / "program.py"],
                          capture_output=True, text=True, check=False, cwd=tmp_path)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip(f"pyright could not start: {(done.stdout + done.stderr)[-200:]}")
    said = {one["range"]["start"]["line"] + 1: f"{one['severity']}: {one['message']}" for one in found if one["severity"] != "warning"}
    checked(program, said, done.stdout[-3000:])


def test_the_stub_has_the_functions_signatures(tmp_path):
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "tamis._operations", "--ignore-missing-stub"], capture_output=True, text=True, check=False,
                          cwd=tmp_path, env={**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "") and where()})
    assert done.returncode == 0, done.stdout + done.stderr
