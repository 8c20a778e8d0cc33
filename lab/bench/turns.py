"""Parts that the benchmarks in Python share: options, times of calls that take turns, the memory and the bandwidth they need. PyTorch is imported by
what needs it, since some benchmarks run without it."""
from __future__ import annotations

import argparse
import gc
import os
import random
import statistics
import sys
import time
from typing import Any, Callable

LATER = "begin no other call after so many"


def options(about: str | None, helps: dict[str, str] = {}, choices: dict[str, list[str]] = {}, **presets: Any) -> argparse.ArgumentParser:
    """A parser with an option for each preset, which the help names: False makes a flag, a list an option with several values, a type one
    without a preset."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, preset in presets.items():
        said: dict[str, Any] = {"help": helps.get(name, "") + " [%(default)s]" * (not isinstance(preset, (bool, type)) and preset != [])}
        if preset is False:
            said["action"] = "store_true"
        elif isinstance(preset, type):
            said["type"] = preset
        elif isinstance(preset, list):
            said.update(default=preset or None, type=type(preset[0]) if preset else str, nargs="+")
        else:
            said.update(default=preset, type=type(preset))
        if name in choices:
            said["choices"] = choices[name]
        parser.add_argument(f"--{name.replace('_', '-')}", **said)
    return parser


def use_threads(count: int) -> None:
    """Give PyTorch and Tamis the same number of threads."""
    import torch

    import tamis
    torch.set_num_threads(count)
    tamis.set_threads(count)


# ------------------------------------------------------------------------------ times


def in_turn(calls: dict[str, Callable[..., Any]], rounds: int, measure: Callable[[str], Any], shuffled: bool = False) -> dict[str, list[Any]]:
    """Call `measure` with each name in turn, in rounds of all of them, and return what it gave; shuffled: in another order each round."""
    found: dict[str, list[Any]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in random.Random(turn).sample(list(calls), len(calls)) if shuffled else calls:
            found[name].append(measure(name))
    return found


def clocked(call: Callable[..., Any], *given: Any) -> float:
    """Seconds of a call."""
    began = time.perf_counter()
    call(*given)
    return time.perf_counter() - began


def repeated(call: Callable[[], Any], count: int) -> None:
    for _ in range(count):
        call()


def seconds(call: Callable[[], Any], device: str, repeats: int) -> float:
    """Seconds of one of several successive calls; on a GPU the device's, between events."""
    if device == "cpu":
        return clocked(repeated, call, repeats) / repeats
    import torch
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    repeated(call, repeats)
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / repeats


def finish(device: str) -> None:
    if device != "cpu":
        import torch
        torch.cuda.synchronize()


def step(call: Callable[[], Any], leaves: list[Any], weights: Any, device: str = "cpu") -> tuple[float, float]:
    """Seconds of a call and of its gradients by the clock, until all is done."""
    import torch
    finish(device)
    began = time.perf_counter()
    out = call()
    finish(device)
    middle = time.perf_counter()
    found = torch.autograd.grad(out, leaves, weights.view_as(out), allow_unused=True)
    finish(device)
    ended = time.perf_counter()
    del out, found
    return middle - began, ended - middle


def medians(steps: list[tuple[float, ...]]) -> tuple[float, ...]:
    """The median of each part, such as forward and backward."""
    return tuple(statistics.median(part) for part in zip(*steps))


def bandwidth(device: str) -> float:
    """Return the bandwidth of a copy, in bytes read and written a second, and print it."""
    import torch
    x = torch.ones((32 if device == "cpu" else 256) << 20, device=device)
    y = torch.empty_like(x)
    speed = 2 * x.numel() * 4 / min(seconds(lambda: y.copy_(x), device, 1) for _ in range(5))
    print(f"copy: {speed / 1e9:.1f} GB/s", flush=True)
    return speed


# ------------------------------------------------------------------------------ results


def results(call: Callable[[], Any], leaves: list[Any], weights: Any) -> list[Any]:
    """The result of a call and its gradients; a library that has no such call gives None."""
    import torch
    out = call()
    if out is None:
        raise NotImplementedError
    return [out.detach(), *torch.autograd.grad(out, leaves, weights.view_as(out), allow_unused=True)]


def apart(ours: Any, theirs: Any) -> float:
    """The largest difference, relative to the largest number."""
    return float((ours - theirs).abs().max() / theirs.abs().max())


def why(error: Exception, most: int = 160) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:most]


# ------------------------------------------------------------------------------ memory


def resident(peak: bool) -> int:
    word = "VmHWM:" if peak else "VmRSS:"
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(word)) << 10


def needed(call: Callable[[], Any], device: str) -> float:
    """Return the peak memory of a call in MiB, beside its operands and what it keeps."""
    call()
    gc.collect()
    if device == "cuda":
        import torch
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    before = resident(False)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    call()
    return (resident(True) - before) / 2**20


def give_memory_back() -> None:
    """Restart this process with an allocator that returns freed memory to the system."""
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "MALLOC_MMAP_THRESHOLD_": "262144"})
