"""Devices. A process opens each once, at the first use."""
from __future__ import annotations

import ctypes
import glob
import operator
import os
import sys
import threading
from dataclasses import dataclass
from typing import Callable

from . import _declarations as c
from . import _errors, _interrupts
from ._library import lib, must, text

_opened: dict[str, OpenDevice] = {}
_lock = threading.Lock()
threads_changed: list[Callable[[], None]] = []  # called after set_threads


@dataclass(frozen=True)
class Device:
    """A device that Tamis can compute on. Sizes are in bytes, 0 if unknown.

    `name` is what the functions take and what messages use: "cpu", "cuda:0". `present` is False if the device cannot be used; `why`
    then has the reason, and the fields after it are empty.

    >>> cpu = tamis.devices()[0]
    >>> cpu.name, cpu.present, cpu.threads >= 1
    ('cpu', True, True)
    """

    name: str
    present: bool
    why: str
    model: str = ""
    instruction_set: str = ""
    threads: int = 0
    memory: int = 0
    driver: str = ""
    multiprocessors: int = 0


class OpenDevice:
    """An open device. It is never closed: plans of any age may use it."""

    __slots__ = ("handle", "on_gpu")

    def __init__(self, name: str):
        if name.startswith("cuda"):
            _find_nvidia()
        handle = ctypes.c_void_p()
        status = lib.tamis_device_open(name.encode(), handle)
        if status:
            raise _errors.of_status(status, text(lib.tamis_last_error()) + (_nvidia_advice() if name.startswith("cuda") else ""))
        self.handle: int = handle.value or 0
        self.on_gpu = described(self.handle).location == c.TAMIS_DEVICE


def described(handle: int) -> c.tamis_device_description:
    """Return the library's description of an open device."""
    description = c.tamis_device_description()
    must(lib.tamis_device_describe(handle, description))
    return description


def opened(name: str) -> OpenDevice:
    """Return the device with this name, and open it if necessary."""
    device = _opened.get(name)
    if device is None:
        with _lock:
            device = _opened.get(name) or OpenDevice(name)
            _opened[name] = device
    return device


def _after_fork() -> None:
    """Makes a new lock, since another thread may have held it. A child has the CPU; the library says that its GPUs are gone."""
    global _lock
    _lock = threading.Lock()
    for name in [name for name, device in _opened.items() if device.on_gpu]:
        del _opened[name]


os.register_at_fork(after_in_child=_after_fork)


def devices() -> list[Device]:
    """Lists the devices that Tamis knows of, present or not. This looks for GPUs; importing tamis does not.

    >>> tamis.devices()[0].name
    'cpu'
    """
    _find_nvidia()
    found = []
    for number in range(lib.tamis_device_count()):
        name, why = ctypes.c_char_p(), ctypes.c_char_p()
        must(lib.tamis_device_at(number, name, why))
        if why.value:
            found.append(Device(text(name.value), False, text(why.value)))
            continue
        d = described(opened(text(name.value)).handle)
        found.append(Device(text(d.name), True, "", text(d.model), text(d.instruction_set), d.threads, d.memory, text(d.driver),
                            d.multiprocessors))
    return found


followed = 0  # PyTorch's number of threads that the library has adopted; 0: none yet
limited = False  # True if that differs from the library's default
_chosen = False  # True if the caller has set a number
_usual = 0


def set_threads(threads: int) -> None:
    """Sets the number of CPU threads: 1 or more; 0 restores the default (OMP_NUM_THREADS, or the cores that the process may use).

    Until it is called, and after a 0, calls of `tamis.torch` in the main thread take over the number of `torch.set_num_threads`.

    It holds for later calls and plans, with patterns made before, too. A plan of `tamis.plan` keeps the number it was made with.

    >>> tamis.set_threads(2)
    >>> tamis.set_threads(0)
    """
    try:
        threads = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads = {threads!r}: expected an integer") from None
    _change(_errors.fits("threads", threads, ctypes.c_int), threads != 0, 0)


def get_threads() -> int:
    """Returns the number of CPU threads of later calls and plans.

    >>> tamis.set_threads(2)
    >>> tamis.get_threads()
    2
    >>> tamis.set_threads(0)
    """
    return described(opened("cpu").handle).threads


def follow(threads: int) -> None:
    """Adopt PyTorch's number of threads, unless the caller has set another one."""
    global followed, _usual
    if threading.get_ident() != threading.main_thread().ident:  # other threads may have different numbers, and plans would be remade at each change
        return
    now = described(opened("cpu").handle).threads
    _usual = _usual or now
    if _chosen or now == threads:
        followed = threads
    else:
        _change(min(threads, 1024), False, threads)


def _change(number: int, chosen: bool, of_torch: int) -> None:
    cpu = opened("cpu").handle

    def change() -> None:
        global followed, limited, _chosen
        must(lib.tamis_device_set_threads(cpu, number))
        followed, limited, _chosen = of_torch, of_torch not in (0, _usual), chosen
        for tell in threads_changed:
            tell()

    interrupts: list[BaseException] = []
    _interrupts.apart(change, interrupts.append)  # complete or without effect
    if interrupts:
        raise interrupts[0]


# ------------------------------------------------------------------------------ NVIDIA's packages from PyPI


def _find_nvidia() -> None:
    """Point the library to NVRTC of pip's nvidia-cuda-nvrtc, if the user has not named one and the package is installed."""
    for variable, pattern in (("TAMIS_NVRTC", "libnvrtc.so.*"), ("TAMIS_CUDADEVRT", "libcudadevrt.a")):
        if variable in os.environ:
            continue
        files = [file for path in sys.path for file in glob.glob(os.path.join(path or ".", "nvidia", "*", "lib", pattern)) if "alt" not in file]
        if files:
            os.environ[variable] = max(files, key=lambda file: (file.rsplit(".", 1)[-1].zfill(4), file))


def _nvidia_advice() -> str:
    """Return advice on what to install if NVRTC is missing; empty if it is found."""
    if "TAMIS_NVRTC" in os.environ:
        return ""
    searched = ", ".join(os.path.join(path or ".", "nvidia") for path in sys.path if path.endswith("-packages")) or "no site-packages"
    return f"; NVRTC of pip's packages was not found below {searched}: pip install nvidia-cuda-nvrtc"
