"""Ctrl-C is a KeyboardInterrupt wherever it comes: in a child process, which gets SIGINT while it computes."""
from __future__ import annotations

import ctypes
import gc
import importlib
import os
import pathlib
import random as numbers
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tamis
from tamis import _declarations as c
from tamis import _errors, _interrupts
from tamis._device import opened
from tamis._errors import ArgumentError, OutOfMemoryError
from tamis._kinds import _table
from tamis._library import lib, must

pytest.importorskip("scipy.sparse")
from tamis import ml  # noqa: E402

CHILD = """
import signal, sys, numpy as np, scipy.sparse, tamis
from tamis import ml
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs in the background
draw = np.random.default_rng(5)
counts = draw.integers(1, 6, (60, 25)) * (draw.random((60, 25)) < 0.4)
X = scipy.sparse.csr_array(counts.astype("float32"))

def interrupted(call):
    try:
        try:
            print("go", flush=True)
            while True:
                call()
        except Exception as error:  # what a caller who tolerates errors would swallow
            print("swallowed", type(error).__name__, error, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""

FIT = """
name, more, turns = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3])
method = getattr(ml, name)
want = method(factors=3, iterations=2, threads=1, **more).fit(X).transform(X)
model = method(factors=3, iterations=10**6, threads=1, **more)
for turn in range(turns):
    interrupted(lambda: model.fit(X))
    if model.__sklearn_is_fitted__():  # not if it was before the first iteration
        W = model.transform(X)
        assert W.shape == want.shape and np.isfinite(W).all() and np.isfinite(model.predict(X, W)).all()
        assert model.n_iter_ >= 0 and model.n_features_in_ == 25
    if hasattr(model, "partial_fit") and "devices" not in more:
        interrupted(lambda: model.partial_fit(X))
again = model.set_params(iterations=2).fit(X).transform(X)
assert np.allclose(again, want, rtol=1e-5, atol=1e-6)
print("intact", flush=True)
"""

CALLS = """
turns = int(sys.argv[1])
model, counted = ml.ALS(factors=3, iterations=2).fit(X), ml.LDA(factors=3, iterations=2).fit(X)
A, B = np.ones((60, 8), "float32"), np.ones((25, 8), "float32")
pattern = tamis.Pattern(X)
calls = [lambda: model.predict(X), lambda: model.score(X), lambda: model.recommend(n=5, seen=X), lambda: model.transform(X), lambda: model.similar([1, 2]),
         lambda: counted.transform(X), lambda: counted.score(X), lambda: tamis.sddmm(X, A, B), lambda: tamis.spmm(pattern, B),
         lambda: tamis.fused(pattern, A, B, B)]
before = [call() for call in calls]
same = lambda a, b: np.array_equal(a.data, b.data) if scipy.sparse.issparse(a) else np.array_equal(a, b, equal_nan=True)
for call, was in zip(calls, before):
    for turn in range(turns):
        interrupted(call)
    now = call()
    assert all(map(same, now, was)) if isinstance(was, tuple) else same(now, was)
print("intact", flush=True)
"""

DEATHS = """
B = np.ones((25, 8), "float32")
tamis.spmm(tamis.Pattern(X), B)  # the first use imports, and an interrupt in a callback of Python's importlib is lost
for turn in range(int(sys.argv[1])):
    interrupted(lambda: tamis.spmm(tamis.Pattern(X), B))
print("intact", flush=True)
"""


def run(code, *arguments):
    """The lines that the child prints besides "go", for each of which it gets SIGINT a little later; and what it writes to stderr."""
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(tamis.__file__).resolve().parents[1])}
    child = subprocess.Popen([sys.executable, "-c", CHILD + code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment)
    watch = threading.Timer(300, child.kill)  # of a child that has lost a signal and goes on for ever
    watch.start()
    draw, lines = numbers.Random(7), []
    for line in child.stdout:
        if line == "go\n":
            time.sleep(draw.uniform(0.0005, 0.01))
            child.send_signal(signal.SIGINT)
        else:
            lines.append(line.strip())
    errors = child.stderr.read()
    child.wait(timeout=60)
    watch.cancel()
    return lines, errors


def check(lines, errors):
    assert errors == ""  # no "Exception ignored"
    assert lines[-1] == "intact" and set(lines[:-1]) == {"interrupted"}


@pytest.mark.parametrize("name, more", [(name, {}) for name in ("ALS", "ImplicitALS", "CCD", "LDA", "SFA", "GaP")] +
                         [(name, {"devices": ["cpu", "cpu"]}) for name in ("ALS", "ImplicitALS")])
def test_a_fit(name, more):
    check(*run(FIT, name, repr(more), 15))


def test_other_calls():
    check(*run(CALLS, 4))


def test_patterns_that_die():
    """Each call's pattern and its plan are freed, where an interrupt must not be lost."""
    check(*run(DEATHS, 60))


def test_what_is_raised_before_the_work_begins(monkeypatch):
    """Then it never begins, and what it was to close is closed; without threads it runs here."""
    done = []

    def refuses(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_interrupts._thread, "start_new_thread", refuses)
    with pytest.raises(KeyboardInterrupt):
        _interrupts.apart(lambda: done.append("work"), lambda error: done.append("stop"), lambda: done.append("abandon"))
    assert done == ["abandon"]

    def none_left(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_interrupts._thread, "start_new_thread", none_left)
    assert _interrupts.apart(lambda: 7, lambda error: done.append("stop")) == 7 and done == ["abandon"]


def test_what_the_work_raises():
    def work():
        raise ArgumentError("wrong")

    with pytest.raises(ArgumentError, match="wrong"):
        _interrupts.apart(work, lambda error: None)


def test_an_allocator_that_is_interrupted():
    """NULL means that there is no memory, but of an allocator that was interrupted it is no MemoryError."""
    said = OutOfMemoryError("options.allocator returned NULL for workspace: 8 bytes")
    raised = []

    def allocate(size, stream):
        raise raised[-1]

    table = _table(allocate, lambda memory: None).contents
    for error in (KeyboardInterrupt("one"), MemoryError("no room")):
        raised.append(error)
        assert not table.allocate(None, 8, None)
        failure = _interrupts.memory.failure(said)
        assert failure is error if isinstance(error, KeyboardInterrupt) else failure is said and failure.__cause__ is error
    assert isinstance(_interrupts.memory.failure(said), KeyboardInterrupt)  # one that was interrupted before its first step has noted nothing
    other = OutOfMemoryError("the row offsets: 8 bytes")
    assert _interrupts.memory.failure(other) is other


libc = ctypes.CDLL(None)
libc.aligned_alloc.restype, libc.aligned_alloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t] * 2, [ctypes.c_void_p]


def _options(**given):
    return _errors.filled(c.tamis_options, c.TAMIS_OPTIONS_INIT, given, ())


def test_what_a_callback_raises_does_not_pass_through_c(monkeypatch):
    """A release has no answer for the library: Python reports what it raises, and the plan is freed all the same."""
    released, said = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: said.append(str(raised.exc_value)))

    def release(memory):
        released.append(memory)
        libc.free(memory)
        raise RuntimeError("from release")

    S = tamis.Pattern((np.arange(0, 21, 2), np.arange(20) % 10), shape=(10, 10))
    given = _options(operation=c.TAMIS_OP_SPMM, type=c.TAMIS_F32, output_type=c.TAMIS_F32, width=4, batch=1, transpose=True, edge=c.TAMIS_EDGE_MASK,
                          allocator=_table(lambda size, stream: libc.aligned_alloc(64, -(-size // 64) * 64), release))
    plan = ctypes.c_void_p()
    must(lib.tamis_plan_create(opened("cpu").handle, ctypes.byref(S.sparse.struct), ctypes.byref(given), plan))
    lib.tamis_plan_destroy(plan)
    assert released and said == ["from release"] * len(released)


def test_each_thread_has_an_allocator_of_its_own():
    """What another thread's allocator answers meanwhile changes nothing: out of memory stays that, and is no KeyboardInterrupt."""
    said, room = OutOfMemoryError("options.allocator returned NULL for workspace: 8 bytes"), []

    def allocate(size, stream):
        if not room:
            raise MemoryError("no room")
        return room[0]

    table = _table(allocate, lambda memory: None).contents
    assert not table.allocate(None, 8, None)
    room.append(64)
    other = threading.Thread(target=table.allocate, args=(None, 8, None))
    other.start()
    other.join()
    assert _interrupts.memory.failure(said) is said and str(said.__cause__) == "no room"


def test_an_interrupt_that_costs_a_candidate_alone(monkeypatch, tmp_path):
    """A plan that measures does without a candidate that gets no memory: the plan is made, and the interrupt is raised all the same."""
    draw, made = np.random.default_rng(0), 0
    for which in range(1, 7):
        answers = []

        def allocate(size, stream):
            answers.append(size)
            if len(answers) == which:
                raise KeyboardInterrupt(f"number {which}")
            return libc.aligned_alloc(64, -(-size // 64) * 64)

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / str(which)))  # what is measured is remembered there, and by the process
        rows = 1000 + 100 * which
        S = tamis.Pattern((np.arange(0, rows * 20 + 1, 20), draw.integers(0, rows, rows * 20)), shape=(rows, rows))
        given = _options(operation=c.TAMIS_OP_SPMM, type=c.TAMIS_F32, output_type=c.TAMIS_F32, width=64, batch=1, expected_calls=10**6,
                              effort=c.TAMIS_EFFORT_MEASURE, edge=c.TAMIS_EDGE_MASK, allocator=_table(allocate, libc.free))
        plan = ctypes.c_void_p()
        status = lib.tamis_plan_create(opened("cpu").handle, ctypes.byref(S.sparse.struct), ctypes.byref(given), plan)
        if len(answers) >= which:
            with pytest.raises(KeyboardInterrupt, match=f"number {which}"):
                must(status)
            made += status == 0
        must(0)  # it is raised once
        lib.tamis_plan_destroy(plan)
    assert made > 0


def made_plan(folder):
    tamis.plan("spmm", tamis.Pattern((np.array([0, 2, 3]), np.array([0, 2, 1])), shape=(2, 3)), width=4)


def made_graph(folder):
    torch = pytest.importorskip("torch")
    import tamis.torch
    tamis.torch.message(tamis.torch.Pattern.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=2), "copy_u", torch.ones(2, 3))


def fitted(**more):
    return ml.ALS(factors=2, iterations=1, **more).fit(np.float32([[5, 4, 0], [4, 0, 1], [0, 5, 2]]))


def loaded(folder):
    ml.ALS.load(folder / "a.model")


def read(folder):
    (folder / "a.csv").write_text("userId,movieId,rating\nann,Alien,5\n")
    ml.read(folder / "a.csv", ml.ALS)


@pytest.mark.parametrize("make, where, create, destroy, count", [
    (made_plan, "tamis._plan", "tamis_plan_create", "tamis_plan_destroy", 1),
    (made_graph, "tamis.torch._messages", "tamis_graph_create", "tamis_graph_destroy", 1),
    (lambda folder: fitted(), "tamis.ml._fitting", "tamis_model_create", "tamis_model_free", 1),
    (lambda folder: fitted(devices=["cpu", "cpu"]), "tamis.ml._fitting", "tamis_group_open_local", "tamis_group_close", 2),
    (loaded, "tamis.ml._estimator", "tamis_model_load", "tamis_model_free", 1),
    (lambda folder: fitted().components_, "tamis.ml._estimator", "tamis_model_column_factors", "tamis_owned_dense_free", 1),
    (read, "tamis.ml._data", "tamis_read_data_found", "tamis_names_free", 2)])
def test_what_is_made_by_an_interrupted_call(monkeypatch, tmp_path, make, where, create, destroy, count):
    """Python raises Ctrl-C right after the library's function has returned: what it has made has an owner then, and is freed."""
    fitted().save(tmp_path / "a.model")
    gc.collect()
    if where.startswith("tamis.torch"):
        pytest.importorskip("torch")
    module = importlib.import_module(where)
    library = next(one for one in (tamis._library.lib, tamis._library.models()) if create in vars(one))
    its_own = next(one for one in (tamis._library.lib, tamis._library.models()) if destroy in vars(one))
    call, free, freed, must, now = getattr(library, create), getattr(its_own, destroy), [], module.must, []

    def created(*arguments):
        now.append(True)
        return call(*arguments)

    def returned(status):
        must(status)
        if now:
            now.clear()
            raise KeyboardInterrupt

    def destroyed(value):
        freed.append(value.value)
        free(value)

    monkeypatch.setattr(library, create, created)
    monkeypatch.setattr(module, "must", returned)
    monkeypatch.setattr(its_own, destroy, destroyed)
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path)
    gc.collect()  # the exception has had the frames of the call
    assert len([value for value in freed if value]) >= count


def test_a_number_of_threads_is_set_for_all_patterns(monkeypatch):
    """Also if Ctrl-C comes meanwhile, and if another thread is making a plan, which is not waited for."""
    from tamis import _device
    patterns = [tamis.Pattern((np.array([0, 2, 3]), np.array([0, 2, 1])), shape=(2, 3)) for _ in range(3)]
    B = np.ones((3, 4), "float32")

    def interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)

    monkeypatch.setattr(_device, "threads_changed", [interrupts, *_device.threads_changed])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for S in patterns:
            tamis.spmm(S, B)
            assert S._plans and S.recipes
        making = threading.Timer(60, patterns[0]._lock.release)
        patterns[0]._lock.acquire()
        making.start()
        with pytest.raises(KeyboardInterrupt):
            tamis.set_threads(3)
        assert patterns[0]._lock.locked()
        making.cancel()
        making.join()
        patterns[0]._lock.release()
        assert tamis.devices()[0].threads == 3 and not any(S._plans or S.recipes for S in patterns)
    finally:
        monkeypatch.undo()
        signal.signal(signal.SIGINT, before)
        tamis.set_threads(0)
