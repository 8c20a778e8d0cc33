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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "PYTHONPATH": folder, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_is_quick(tmp_path):
    """It takes less CPU time than the import of NumPy in the same process (a third of it), in the best of five, once the bytecode is cached."""
    code = """
import time
times = [time.process_time()]
import numpy
times.append(time.process_time())
import tamis; tamis.sddmm
print((time.process_time() - times[1]) / (times[1] - times[0]))
"""
    cache = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    python(code, **cache)
    assert min(float(python(code, **cache)) for _ in range(5)) < 1


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
    same &= (plan(a, a) == before).all()
    tamis.set_threads(3)
    same &= (tamis.sddmm(tamis.Pattern((offsets, columns), shape=(1000, 1000)), a, a) == before).all()
    os._exit(0 if same else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_fork_computes():
    python(FORK)


FORKED_MODELS = """
import multiprocessing, numpy as np, scipy.sparse as sp, tamis, tamis.ml
R = sp.random(3000, 300, density=.02, format="csr", dtype="f4", random_state=0)
R.data += 1
def work(seed):
    S = sp.random(2000, 2000, density=.01, format="csr", dtype="f4", random_state=seed)
    pattern = tamis.Pattern(S)
    model = tamis.ml.ALS(4, iterations=2).fit(R)
    assert "cpu" in pattern.explain() and model.predict(R) is not None and np.isfinite(model.score(R))
    return tamis.spmm(pattern, np.ones((2000, 8), "f4")).shape[0]
assert work(0) == 2000
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(work, range(4)).get(timeout=250) == [2000] * 4
"""


def test_forked_workers_make_patterns_and_models():
    python(FORKED_MODELS)


GPU_AND_FORK = """
import os, sys, numpy as np, tamis
from tamis._device import opened
name = next((d.name for d in tamis.devices() if d.name.startswith(KIND) and d.present), None)
if name is None:
    print("no device")
    sys.exit()
device = opened(name)
child = os.fork()
if child == 0:
    said = ""
    try:
        opened(name)
    except tamis.DeviceError as error:
        said = str(error)
    os._exit(0 if "forked" in said and "spawn" in said else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert opened(name) is device  # the parent's goes on
"""


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
def test_a_fork_has_no_gpu(kind):
    """The child is told, and does not use what the parent has opened."""
    if python(f"KIND = {kind!r}\n{GPU_AND_FORK}").strip() == "no device":
        pytest.skip(f"there is no {kind} device")


THREADS = """
import numpy as np, tamis
pattern = tamis.Pattern((np.arange(0, 20001, 20), np.tile(np.arange(20), 1000)), shape=(1000, 1000))
a = np.ones((1000, 64), "float32")
tamis.set_threads(2)
plan = tamis.plan("sddmm", pattern, inner=64)
for threads in (3, 1, 4, 4, 2):
    tamis.set_threads(threads)
    for _ in range(2):
        tamis.sddmm(pattern, a, a)
    report = pattern.explain()
    assert f", {threads} thread" in report, (threads, report)
    assert plan.report().threads == 2
"""


def test_set_threads_holds_for_patterns_made_before():
    python(THREADS)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("first, second", [("torch", "tamis"), ("tamis", "torch")])
def test_beside_pytorch(first, second):
    """Two pools of threads in one process: both compute, and thread counts stay."""
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


def test_the_wheel_needs_no_libraries_of_the_machine():
    """What a manylinux wheel may not expect of a machine is linked into it."""
    inside = pathlib.Path(tamis.__file__).resolve().parent / "lib"
    if os.environ.get("TAMIS_LIBRARY") or not inside.is_dir():
        pytest.skip("this is not the wheel of make python")
    python("""
import tamis
tamis.sddmm
maps = {line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line}
assert any("libtamis.so" in path for path in maps), maps
assert not any(name in path for path in maps for name in ("libgomp", "liblzma", "libzstd")), maps
""")


def test_missing_library():
    done = subprocess.run([sys.executable, "-c", "import tamis; tamis.sddmm"], capture_output=True, text=True, check=False, env={
        **os.environ, "TAMIS_LIBRARY": "/nowhere/libtamis.so.1", "PYTHONPATH": str(pathlib.Path(tamis.__file__).resolve().parents[1])})
    assert done.returncode == 1 and "libtamis.so.1 was not found in /nowhere" in done.stderr
