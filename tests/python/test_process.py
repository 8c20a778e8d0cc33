"""What importing does to a process, and what a fork does to the package."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import tamis


def python(code, **environment):
    folder = str(pathlib.Path(tamis.__file__).resolve().parents[1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "PYTHONPATH": folder, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_is_quick():
    """Under 150 ms of CPU without what NumPy itself takes, in the best of five."""
    code = "import numpy, time; start = time.process_time(); import tamis; tamis.sddmm; print(time.process_time() - start)"
    assert min(float(python(code)) for _ in range(5)) < 0.15


def test_import_opens_no_gpu_and_no_heavy_package():
    code = """
import sys, tamis; tamis.sddmm
maps = open('/proc/self/maps').read()
print([name for name in ('libcuda', 'libnvrtc', 'libOpenCL') if name in maps], [m for m in ('torch', 'scipy', 'cupy', 'jax') if m in sys.modules])
"""
    assert python(code).strip() == "[] []"


FORK = """
import os, numpy as np, tamis
offsets, columns = np.arange(0, 20001, 20), np.tile(np.arange(20), 1000)
pattern = tamis.Pattern((offsets, columns), shape=(1000, 1000))
a = np.ones((1000, 64), "float32")
tamis.set_threads(2)
plan = tamis.plan("sddmm", pattern, inner=64, edge="mask")
before = tamis.sddmm(pattern, a, a)
child = os.fork()
if child == 0:
    same = (tamis.sddmm(pattern, a, a) == before).all() and (tamis.sddmm((offsets, columns), a, a) == before).all()
    from tamis._device import opened
    refused = 0
    for use in (lambda: opened("cuda:0"), lambda: tamis.set_threads(2), lambda: plan(a, a)):
        try:
            use()
        except (ValueError, RuntimeError) as error:
            refused += "fork" in str(error)
    os._exit(0 if same and refused == 3 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_fork_computes():
    python(FORK)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("first, second", [("torch", "tamis"), ("tamis", "torch")])
def test_beside_pytorch(first, second):
    """Two OpenMP run-time libraries in one process: both compute, and thread counts stay."""
    load = {"torch": "import torch", "tamis": "import tamis; tamis.sddmm"}
    code = f"""
{load[first]}
{load[second]}
import numpy as np
threads = torch.get_num_threads()
pattern = tamis.Pattern((np.arange(0, 20001, 20), np.tile(np.arange(20), 1000)), shape=(1000, 1000))
a = np.random.rand(1000, 64).astype("float32")
for _ in range(20):
    p = tamis.sddmm(pattern, a, a)
    t = torch.from_numpy(a) @ torch.from_numpy(a).T
    assert np.allclose(p.reshape(1000, 20), t[:, :20], rtol=1e-4)
tamis.set_threads(1)
assert torch.get_num_threads() == threads
torch.set_num_threads(1)
assert tamis.devices()[0].threads == 1
"""
    python(code)


def test_the_wheel_brings_its_libraries():
    """What a manylinux wheel may not expect of a machine comes with it and is what is loaded."""
    brought = pathlib.Path(tamis.__file__).resolve().parents[1] / "tamis.libs"
    if not brought.is_dir():
        pytest.skip("this is not the wheel of make python")
    python(f"""
import tamis
tamis.sddmm
maps = {{line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line}}
for name in ("libgomp", "liblzma", "libzstd"):
    found = [path for path in maps if "/" + name in path]
    assert found and all(path.startswith({str(brought)!r}) for path in found), (name, found)
""")


def test_missing_library():
    done = subprocess.run([sys.executable, "-c", "import tamis; tamis.sddmm"], capture_output=True, text=True, check=False, env={
        **os.environ, "TAMIS_LIBRARY": "/nowhere/libtamis.so.1", "PYTHONPATH": str(pathlib.Path(tamis.__file__).resolve().parents[1])})
    assert done.returncode == 1 and "libtamis.so.1 was not found in /nowhere" in done.stderr
