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


def devices() -> list[str]:
    try:
        import torch
    except ImportError:
        return ["cpu"]
    return ["cpu"] + ["cuda"] * torch.cuda.is_available()


@pytest.fixture(params=devices())
def device(request):
    """Where a test makes its tensors and layers."""
    if request.param == "cpu":
        yield request.param
        return
    import torch
    torch.set_default_device(request.param)
    yield request.param
    torch.set_default_device(None)


@pytest.fixture
def random() -> numpy.random.Generator:
    return numpy.random.default_rng(20)
