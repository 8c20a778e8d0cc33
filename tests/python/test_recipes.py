"""Calls that repeat an earlier one: the compiled steps and the same in Python, with arrays that differ from the first call's in one property each."""
from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import tamis
from tamis import _recipe

torch = pytest.importorskip("torch")
import tamis.torch as tt  # noqa: E402

if not hasattr(torch.library, "register_fake"):
    pytest.skip("message passing needs PyTorch 2.4", allow_module_level=True)
COMPILED = _recipe.calls is not None and hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
DENSE = np.float32([[1, 0, 2], [0, 3, 0], [4, 5, 6]])


@pytest.fixture(params=["compiled", "python"])
def steps(request):
    """The steps of a call, compiled or not."""
    if request.param == "compiled" and not COMPILED:
        pytest.skip("the compiled module is not built, or PyTorch has no interface of C for it")
    _recipe._use(_recipe.calls if request.param == "compiled" else None)
    yield request.param
    _recipe._use(_recipe.calls if COMPILED else None)


def pattern():
    row, col = DENSE.nonzero()
    return tt.Pattern.from_coo(torch.from_numpy(row), torch.from_numpy(col), (3, 3))


def copies(x):
    """The same numbers in arrays that differ in type, strides, or what autograd must do."""
    wide = torch.zeros(x.shape[0], 2 * x.shape[1])
    wide[:, ::2] = x
    negated = torch.view_as_complex(torch.stack((x, -x), -1)).conj().imag
    assert negated.is_neg() and not x.is_neg()
    return {"same": x.clone(), "by columns": x.t().contiguous().t(), "strided": wide[:, ::2], "fp64": x.double(), "recorded": x.clone().requires_grad_(),
            "parameter": torch.nn.Parameter(x.clone()), "negated": negated, "rows of more": torch.cat((x, x))[3:]}


CALLS = {
    "spmm": lambda S, x, e: tt.spmm(S, x, e),
    "sddmm": lambda S, x, e: tt.sddmm(S, x, x, e, edge="residual"),
    "fused": lambda S, x, e: tt.fused(S, x, x, x, e, edge="softmax"),
    "copy_u": lambda S, x, e: tt.message(S, "copy_u", x),
    "largest": lambda S, x, e: tt.message(S, "mul", x, e, "max"),
    "edge_op": lambda S, x, e: tt.edge_op(S, "dot", x, x),
    "attention": lambda S, x, e: tt.graph_attention(S, x, x, x, bias=e),
    "softmax": lambda S, x, e: tt.edge_softmax(S, e) * x.sum(),
}


@pytest.mark.parametrize("call", CALLS)
def test_repeated_calls(steps, call):
    """A second call with other numbers has the result of a pattern of its own; so has one whose arrays differ in form, with gradients."""
    torch.manual_seed(1)
    S = pattern()
    for kind in ("same", "same", *copies(torch.ones(3, 4))):
        x = torch.randn(3, 4)
        x = copies(x)[kind]
        e = torch.randn(6).to(x.dtype)
        if x.requires_grad:
            e.requires_grad_()
        if kind == "negated" and call in ("spmm", "sddmm", "fused", "edge_op", "attention", "copy_u", "largest"):
            with pytest.raises(tamis.ArgumentError, match="negated view"):
                CALLS[call](S, x, e)
            continue
        found, expected = CALLS[call](S, x, e), CALLS[call](pattern(), x, e)
        assert torch.equal(found, expected), kind
        if x.requires_grad:
            weights = torch.randn(found.shape)
            wanted = [t for t in (x, e) if torch.autograd.grad(expected, t, weights, retain_graph=True, allow_unused=True)[0] is not None]
            for one, other in zip(torch.autograd.grad(found, wanted, weights), torch.autograd.grad(expected, wanted, weights)):
                assert torch.equal(one, other), kind


def test_numbers_and_outputs(steps):
    """alpha, beta and out of arrays of NumPy; a second call with a read-only output, or one that is an operand, is refused."""
    A = np.float32([[1, 2], [3, 4], [5, 6]])
    S = tamis.Pattern((np.int32([0, 2, 3, 6]), np.int32([0, 2, 1, 0, 1, 2]), DENSE[DENSE != 0]), shape=(3, 3))
    for alpha, beta in ((1, 0), (2, 0.5), (1.5, 0), (np.float32(2), 1)):
        for _ in range(2):
            before = np.float32([[1, 1], [2, 2], [3, 3]])
            out = before.copy()
            assert tamis.spmm(S, A, alpha=alpha, beta=beta, out=out) is out
            assert np.array_equal(out, np.float32(alpha) * (DENSE @ A) + np.float32(beta) * before)
    out.flags.writeable = False
    with pytest.raises(tamis.ArgumentError, match="out is read-only"):
        tamis.spmm(S, A, out=out)
    with pytest.raises(TypeError, match="alpha = 'a'"):
        tamis.spmm(S, A, alpha="a")
    assert np.array_equal(tamis.sddmm(S, A, A), tamis.sddmm(S, A, A.copy()))


def test_only_checked_calls_are_repeated(steps):
    """A call whose checks would fail is not found by an earlier one; nor are numbers that may change part of what it is found by."""
    S, x = pattern(), torch.randn(3, 4)
    for _ in range(2):
        tt.message(S, "copy_u", x)
    with pytest.raises(tamis.ArgumentError, match=r"op = \(0, 0, 0, 1\)"):
        tt.message(S, (0, 0, 0, 1), x, reduce=False)
    with pytest.raises(tamis.ArgumentError, match=r"op = \['copy_u'\]"):
        tt.message(S, ["copy_u"], x)
    with pytest.raises(tamis.ArgumentError, match="reads it"):
        tt.message(S, "copy_u", None)
    with pytest.raises(TypeError, match="scale = tensor.*expected a number"):
        tt.sddmm(S, x, x, edge="softmax", scale=torch.tensor(0.5))
    torch.testing.assert_close(tt.message(S, "u * 1e-3", x), tt.message(S, "u * 0.001", x))
    S.values = torch.ones(6)
    first = S.T.values
    S.values = torch.zeros(6)
    assert first.sum() == 6 and S.T.values.sum() == 0


def test_interrupts_pass(steps):
    """An interrupt while an array is looked at is not taken for an array without a form."""
    class Interrupted(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, given=(), named=None):
            if function is torch.Tensor.is_neg:
                raise KeyboardInterrupt
            return function(*given, **(named or {}))

    S, x = pattern(), torch.randn(3, 4)
    tt.message(S, "copy_u", x)
    with Interrupted(), pytest.raises(KeyboardInterrupt):
        _recipe.key(("any",), (x,), True)


def test_a_result_that_others_hold(steps):
    """Python code that runs while the results are made may see and hold every object."""
    held = []

    class Holds(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, given=(), named=None):
            held.append([o for o in gc.get_objects() if type(o) is tuple and len(o) < 3])
            return function(*given, **(named or {}))

    S, x = pattern(), torch.randn(3, 4)
    expected = tt.message(S, "copy_u", x)
    of, what = S._current(), next(key[0] for key in S._current().recipes if key[0][0] == "message as given")
    with Holds():
        found = _recipe.repeat(of.recipes, what, (x, None, None), True, 1.0, 0.0)
    assert held and torch.equal(found[0], expected)


def test_a_dropped_plan_is_made_again(steps):
    """Recipes whose plan is gone are not followed: set_threads drops the plans of all patterns."""
    S, A, before = tamis.Pattern((np.int32([0, 1]), np.int32([0])), shape=(1, 1)), np.ones((1, 2), "float32"), tamis.get_threads()
    for count in (1, 2, before):
        tamis.set_threads(count)
        assert tamis.sddmm(S, A, A).tolist() == tamis.sddmm(S, A, A).tolist() == [2]


def test_many_threads_share_a_pattern(steps):
    """Sixteen threads call on one pattern, while another drops its plans."""
    S, wrong = pattern(), []

    def work(seed):
        try:
            made = torch.Generator().manual_seed(seed)
            for _ in range(200):
                x = torch.randn(3, 4, generator=made)
                torch.testing.assert_close(tt.message(S, "copy_u", x), torch.from_numpy((DENSE != 0).astype("float32")) @ x)
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        S._current().recipes.clear()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_keep_nothing(steps):
    """Patterns, operands and results go with their last user, without a search for cycles."""
    def work():
        S, x = pattern(), torch.randn(3, 4, requires_grad=True)
        for _ in range(3):
            for call in CALLS.values():
                call(S, x, torch.randn(6)).sum().backward()

    def alive():
        return sum(type(x) in (torch.Tensor, tamis.Pattern, tt.Pattern) for x in gc.get_objects())

    work()
    gc.collect()
    gc.disable()
    try:
        before = alive()
        for _ in range(5):
            work()
        assert alive() <= before + 1
    finally:
        gc.enable()


@pytest.mark.parametrize("state", ["plain", "no_grad", "autocast", "forward mode", "vmap", "mode", "profiler"])
def test_what_a_call_needs_is_the_same_in_c_and_python(state):
    direct = pytest.importorskip("tamis.torch._direct")
    if direct._needs is direct._needs_of:
        pytest.skip("the compiled module is not in use")
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    class Own(torch.Tensor):
        pass

    x, recorded = torch.ones(3), torch.ones(3, requires_grad=True)
    cases = {(x, None): 1, (x, recorded): 2, (None,): 1, (): 1, (torch.ones(3, device="meta"),): 0, (torch.ones(3).as_subclass(Own),): 0, (1.0,): 0}

    def compare(plain):
        for tensors, wanted in cases.items():
            wanted = 0 if not plain else 1 if wanted == 2 and state == "no_grad" else wanted
            assert direct._needs(tensors) == direct._needs_of(tensors) == wanted

    with contextlib.ExitStack() as entered:
        if state == "vmap":
            torch.vmap(lambda y: (compare(False), y)[1])(torch.ones(2, 3))
            return
        managers = {"no_grad": torch.no_grad, "autocast": lambda: torch.autocast("cpu"), "forward mode": torch.autograd.forward_ad.dual_level, "mode": Mode,
                    "profiler": torch.profiler.profile}
        if state in managers:
            entered.enter_context(managers[state]())
        compare(state in ("plain", "no_grad"))


@pytest.mark.parametrize("interface", ["with", "without"])
def test_calls_before_torch_is_imported(interface):
    """Calls of NumPy know the compiled steps before PyTorch is there, and PyTorch may lack their interface."""
    program = f"""
import numpy, tamis
tamis.spmm(tamis.Pattern.causal(3), numpy.ones((3, 2)))
import torch
if {interface == "without"} and hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    del torch.Tensor.__dlpack_c_exchange_api__
import tamis.torch as tt
from tamis.torch import _direct
assert _direct.plain((torch.ones(2), None)) == 1, _direct._needs
print(tt.spmm(tt.Pattern.causal(3), torch.ones(3, 2)).sum().item())
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "12.0\n"
