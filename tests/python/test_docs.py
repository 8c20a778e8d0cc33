"""The examples in docstrings and in the manual run, and print what they say."""
from __future__ import annotations

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import tamis

pytest.importorskip("scipy.sparse")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS_TORCH = "tamis.torch"
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(pathlib.Path(tamis.__file__).parent)], "tamis.", onerror=lambda name: None)
                 if not module.name.startswith("tamis.lib"))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    if name.startswith("tamis.torch"):
        pytest.importorskip("torch")
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


def test_everything_public_has_an_example():
    functions = [name for name in tamis.__all__ if name[0].islower()] + ["Pattern"]
    assert [name for name in functions if ">>>" not in (getattr(tamis, name).__doc__ or "")] == []
