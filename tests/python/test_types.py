"""The annotations, as a checker of types sees them: it knows every name, and says which are wrong."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

import tamis

pytest.importorskip("mypy")
PROGRAM = """
import numpy
import tamis
from tamis.ml import ALS

pattern = tamis.Pattern.window(4, 1, 1)
reveal_type(pattern.nnz)  # int
reveal_type(tamis.devices())  # list[tamis._device.Device]
reveal_type(tamis.__version__)  # str
reveal_type(tamis.plan("sddmm", pattern, inner=2))  # tamis._planned.Plan
reveal_type(ALS(factors=3).fit(None))  # tamis.ml.ALS
tamis.sddm(pattern)  # error
tamis.spmm(pattern, numpy.ones(4), transposed=True)  # error
ALS(factor=3)  # error
"""


def test_a_checker_knows_the_names(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary", "--show-error-codes",
                           "--cache-dir", tmp_path / "cache", tmp_path / "program.py"], capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "MYPYPATH": os.environ.get("PYTHONPATH", "") and str(pathlib.Path(tamis.__file__).resolve().parents[1])})
    said = {int(line): words for line, words in re.findall(r"program\.py:(\d+): (error: .*|note: Revealed.*)", done.stdout.replace("builtins.", ""))}
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        code, _, wanted = line.partition("  # ")
        if wanted == "error":
            assert said.get(number, "").startswith("error: "), (line, done.stdout)
        elif wanted:
            assert said.get(number) == f'note: Revealed type is "{wanted}"', (line, done.stdout + done.stderr)
