"""What the tests of the Python package share: small matrices, and where the sources are."""
from __future__ import annotations

import os
import pathlib

import numpy
import pytest

SOURCE = pathlib.Path(os.environ.get("TAMIS_SOURCE") or pathlib.Path(__file__).resolve().parents[2])


@pytest.fixture
def source() -> pathlib.Path:
    """The folder of the sources, for what compares with them."""
    if not (SOURCE / "include" / "tamis" / "tamis.h").exists():
        pytest.skip(f"{SOURCE} has no sources")
    return SOURCE


@pytest.fixture
def random() -> numpy.random.Generator:
    return numpy.random.default_rng(20)
