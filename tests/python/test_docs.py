"""The examples in docstrings and in the manual run, and print what they say."""
from __future__ import annotations

import doctest
import importlib
import importlib.util
import pathlib
import pkgutil
import re

import pytest

import tamis

pytest.importorskip("scipy.sparse")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(pathlib.Path(tamis.__file__).parent)], "tamis.", onerror=lambda name: None)
                 if not module.name.startswith("tamis.lib"))


@pytest.mark.parametrize("page", ["docs/manual/python.md", "docs/manual/python-attention.md", "docs/manual/python-graphs.md",
                                  "docs/manual/python-recommender.md", "docs/manual/python-topics.md", "README.md"])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_manual(source, page):
    """Blocks of pycon are sessions, one after another in one namespace; blocks of python run. Those of PyTorch and JAX need them."""
    names: dict = {}
    blocks = re.findall(r"^```(pycon|python)\n(.*?)^```", (source / page).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    if "import torch" in blocks[0][1]:  # what follows is on tensors too
        torch = pytest.importorskip("torch")
        if page.endswith("attention.md") and not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            pytest.skip("PyTorch has attention with masks from 2.0")
    for kind, block in blocks:
        if any(other in block and importlib.util.find_spec(other) is None for other in ("torch", "jax")):
            continue
        if kind == "python":
            exec(compile(block, page, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False)
        names = test.globs
        assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    for other in ("torch", "jax"):
        if name.startswith(f"tamis.{other}"):
            pytest.importorskip(other)
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


def test_everything_public_has_an_example():
    functions = [name for name in tamis.__all__ if name[0].islower()] + ["Pattern"]
    assert [name for name in functions if ">>>" not in (getattr(tamis, name).__doc__ or "")] == []
