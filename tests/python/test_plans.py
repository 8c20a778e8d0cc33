"""Patterns and plans: kept, explained, shared by threads, closed, copied."""
from __future__ import annotations

import copy
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import tamis
from tamis import _recipe

OFFSETS, COLUMNS, VALUES = np.array([0, 2, 3]), np.array([0, 2, 1]), np.float32([1, 2, 3])
A, B = np.float32([[1, 1], [2, 0]]), np.float32([[1, 0], [0, 1], [1, 1]])


def pattern():
    return tamis.Pattern((OFFSETS, COLUMNS, VALUES), shape=(2, 3))


def test_a_pattern_keeps_its_plans():
    S = pattern()
    for _ in range(3):
        tamis.sddmm(S, A, B)
        tamis.spmm(S, B)
    assert len(S._plans) == 2
    assert S.explain().count("break-even") == 2 or S.explain().count("algorithm") >= 2
    for inner in range(1, 80):
        tamis.sddmm(S, np.ones((2, inner), "float32"), np.ones((3, inner), "float32"))
    assert len(S._plans) == 64
    assert tamis.sddmm(S, A, B).tolist() == [1, 4, 0]
    kept = dict.fromkeys(range(_recipe.MOST))
    _recipe.keep_recipe(kept, "new", None)
    assert list(kept) == ["new"]


def test_plans():
    for how in ({"expected_calls": 1000}, {"algorithm": "cpu-nonzeros"}, {"effort": "measure"}, {"any_order": True}):
        with tamis.plan("sddmm", pattern(), inner=2, **how) as plan:
            assert plan(A, B).tolist() == [1, 4, 0]
            out = np.empty(3, "float32")
            assert plan(A, B, out=out, values=np.float32([1, 1, 1])) is out and out.tolist() == [1, 2, 0]
            assert plan.report().algorithm in plan.explain()
    with tamis.plan("fused", pattern(), inner=2, edge="softmax", transpose=True) as plan:
        assert plan(B, A, A).shape == (3, 2)
    with tamis.plan("spmm", pattern(), width=2, b_layout="column-major") as plan:
        assert plan(np.asfortranarray(B)).tolist() == [[3, 2], [0, 3]]
    with tamis.plan("sddmm", pattern(), inner=2, type="float64", edge="mask", batch=2) as plan:
        assert plan(np.stack([A, A]).astype(float), B.astype(float)).tolist() == [[1, 2, 0], [1, 2, 0]]
    with tamis.plan("sddmm", pattern(), inner=2) as plan, pytest.raises(ValueError, match="batch of 2: the plan is for batch = 1"):
        plan(np.stack([A, A]), B)


def test_a_closed_plan_is_refused():
    plan = tamis.plan("sddmm", pattern(), inner=2)
    plan.close()
    plan.close()
    for use in (lambda: plan(A, B), plan.explain, plan.report, plan.__enter__):
        with pytest.raises(ValueError, match="the plan is closed"):
            use()
    assert "closed" in repr(plan)


def test_a_plan_closed_by_another_thread():
    """A call that is running when another thread closes the plan ends as if it had not."""
    for _ in range(30):
        plan = tamis.plan("sddmm", pattern(), inner=2)
        results, failures = [], []

        def work(plan=plan, results=results, failures=failures):
            try:
                for _ in range(200):
                    results.append(plan(A, B).tolist())
            except ValueError as error:
                failures.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        plan.close()
        for thread in threads:
            thread.join()
        assert all(result == [1, 4, 0] for result in results)
        assert all("closed" in failure for failure in failures)


def test_threads_share_a_pattern():
    """Sixteen begin at once with a pattern that has no plan yet."""
    random = np.random.default_rng(1)
    columns = np.sort(random.integers(0, 400, (300, 20)), 1).ravel().astype("int32")
    arrays = np.arange(0, 6001, 20, dtype="int32"), columns, random.random(6000, "float32")
    b = random.random((400, 64), "float32")
    want, S = tamis.spmm(tamis.Pattern(arrays, shape=(300, 400)), b), tamis.Pattern(arrays, shape=(300, 400))
    wrong, start = [], threading.Barrier(16)

    def work(inner):
        a = np.full((300, inner), 1, "float32"), np.full((400, inner), 1, "float32")
        start.wait()
        try:
            for _ in range(20):
                if not (tamis.spmm(S, b) == want).all() or not np.allclose(tamis.sddmm(S, *a, edge="mask"), inner):
                    wrong.append(inner)
        except BaseException as error:  # which a thread would print
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(1 + i % 3,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(S._plans) == 4


def test_the_gil_is_released():
    """While one thread computes, another one of Python runs."""
    random = np.random.default_rng(1)
    rows, each = 20000, 50
    S = tamis.Pattern((np.arange(0, rows * each + 1, each), random.integers(0, rows, rows * each)), shape=(rows, rows))
    a = random.random((rows, 128), "float32")
    tamis.sddmm(S, a, a, edge="mask")
    ended = threading.Event()
    thread = threading.Thread(target=lambda: ([tamis.sddmm(S, a, a, edge="mask") for _ in range(3)], ended.set()))
    thread.start()
    turns = 0
    while not ended.is_set():
        turns += 1
    thread.join()
    assert turns > 1000


def test_copies_and_pickles():
    S = pattern()
    other = pickle.loads(pickle.dumps(S))  # makes its own plans
    assert other.shape == S.shape and other.nnz == S.nnz and not other._plans
    with tamis.plan("sddmm", S, inner=2) as plan, pytest.raises(TypeError, match="belongs to its process"):
        copy.copy(plan)


LEAKS = """
import gc, numpy as np, tamis
arrays = np.array([0, 2, 3]), np.array([0, 2, 1]), np.float32([1, 2, 3])
S = tamis.Pattern(arrays, shape=(2, 3))
b = np.ones((3, 64), "float32")

def some():
    for _ in range(2000):
        tamis.spmm(S, b)
    for _ in range(200):
        tamis.plan("spmm", S, width=64).close()
        tamis.spmm(arrays, b)
    gc.collect()
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])

before = some()
print(some() - before)
"""


def test_nothing_leaks():
    """In a child: the most memory that a process has had says nothing where earlier tests had more. Its ru_maxrss would begin with this process's."""
    folder = str(pathlib.Path(tamis.__file__).resolve().parents[1])
    done = subprocess.run([sys.executable, "-c", LEAKS], capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "PYTHONPATH": folder})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) < 2000  # KiB


def test_devices_and_algorithms():
    devices = {device.name: device for device in tamis.devices()}
    assert devices["cpu"].present and devices["cpu"].threads >= 1 and not devices["cpu"].why
    assert all(device.present or device.why for device in devices.values())
    algorithms = {algorithm.name: algorithm for algorithm in tamis.algorithms()}
    assert algorithms["cpu-nonzeros"].operations == ("sddmm", "spmm", "fused")
    assert len(algorithms) > 5
