"""tamis.torch.distributed: each rank is a process, which partitioned.py tells what to do; they meet in a file, and exchange by gloo."""
from __future__ import annotations

import errno
import importlib.util
import os
import pathlib
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this PyTorch has no torch.distributed with gloo", allow_module_level=True)

PROGRAM = pathlib.Path(__file__).with_name("partitioned.py")
LIMIT = 400  # seconds: a bound for ranks that hang, also on a busy machine


def run(folder, ranks, *cases):
    """Start the ranks, and return the output, the exit code and the end of each."""
    meet = folder / f"meet-{ranks}-{cases[0]}"
    outputs = [open(folder / f"output-{rank}", "w+") for rank in range(ranks)]
    started = [subprocess.Popen([sys.executable, str(PROGRAM), str(rank), str(ranks), str(meet), *cases], stdout=file, stderr=file,
                                env={**os.environ, "TMPDIR": str(folder)}) for rank, file in enumerate(outputs)]
    ended, until = {}, time.monotonic() + LIMIT
    try:
        while len(ended) < ranks and time.monotonic() < until:
            ended.update((rank, time.monotonic()) for rank, process in enumerate(started) if rank not in ended and process.poll() is not None)
            time.sleep(0.05)
    finally:
        for process in started:
            process.kill()
            process.wait()
    for file in outputs:
        file.seek(0)
    return [(file.read(), process.returncode, ended.get(rank)) for rank, (file, process) in enumerate(zip(outputs, started))]


def metis():
    try:
        import ctypes
        import os
        ctypes.CDLL(os.environ.get("TAMIS_METIS", "libmetis.so.5"))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.skipif(not metis(), reason="libmetis.so.5 is not installed")
def test_ranks_compute_what_one_process_does(tmp_path, ranks):
    cases = ["all_operations", "layers", "other_types", "training", "bipartite", "scattered", "metis", "second_derivatives", "same_bits", "checkpointed", "mixed_precision", "ties", "copies", *["overlap"] * (ranks > 1),
             *["layers_of_pyg"] * (ranks == 2 and importlib.util.find_spec("torch_geometric") is not None), "released"]
    for output, code, _ in run(tmp_path, ranks, *cases):
        assert code == 0, output
        assert [line.split()[2] for line in output.splitlines() if line.startswith("rank ")] == cases, output


@pytest.mark.skipif(not metis(), reason="libmetis.so.5 is not installed")
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_wrong_argument_of_one_rank_is_an_error_of_all(tmp_path, ranks):
    for output, code, _ in run(tmp_path, ranks, "refusals", "mistakes"):
        assert code == 0, output


LOST = {  # how many ranks, whose words are not looked at, and the words of the others
    "killed": (3, [1], "rank 1 (process"), "killed_backward": (3, [1], "rank 1 (process"), "killed_elsewhere": (3, [1], "rank 1 (process"),
    "killed_far_away": (4, [1], "rank 1 (process"), "exits": (3, [1], "rank 1 (process"), "fails_far_away": (4, [3], "rank 3 (process"),
    "ends_early": (3, [1], "has ended: rank"), "absent": (3, [1], "for rank 1 at step"), "all_fail": (3, [], "an error of the program"),
    "differs_later": (3, [], "every rank makes the same calls"), "differs_for_ever": (2, [], "this process group cannot go on"), "absent_later": (3, [1], "for rank 1 at step")}


@pytest.mark.parametrize("case", LOST)
def test_a_rank_that_is_lost_ends_the_others(tmp_path, case):
    ranks, lost, words = LOST[case]
    found = run(tmp_path, ranks, case)
    for rank, (output, code, ended) in enumerate(found):
        if rank not in lost:
            assert code == 1 and words in output, (rank, code, output)
            if "killed" in case:  # a rank looks twice a second, and a program has five seconds to raise the error; the wait itself has an end after 60
                assert ended - float((tmp_path / f"meet-{ranks}-{case}.killed").read_text()) < 10
    assert found[1][1] == (-9 if "killed" in case else 3 if case == "exits" else 0 if case == "ends_early" else 1)
    assert not list(tmp_path.glob("tamis-rank-*"))


def test_a_rank_that_finishes_first_ends_no_other(tmp_path):
    for output, code, _ in run(tmp_path, 3, "finishes_first"):
        assert code == 0 and not output, output


def test_what_is_not_known_is_no_end(monkeypatch):
    """Neither too many open files, nor a store that has ended with its rank, says that a rank was killed."""
    from tamis.torch import _ranks
    process = _ranks.Process("here", "host", 1, "0", "")
    for error, ended in ((OSError(errno.EMFILE, ""), False), (PermissionError(), False), (FileNotFoundError(), True), (ProcessLookupError(), True)):
        def failing(pid, error=error):
            raise error

        monkeypatch.setattr(_ranks, "_stat", failing)
        assert _ranks._has_ended(process) == ended

    class Gone:
        def check(self, keys):
            raise RuntimeError("the connection was closed")

        set = get = check

    for first, words in ((0, "has ended, or the store"), (-1, None)):
        watch = _ranks.Watch(1, [process, process._replace(machine="there")], Gone(), "prefix", first, lambda: None, lambda: True)
        watch._thread.join(60)
        assert not watch._thread.is_alive() and not watch._told  # nothing is left to look at, and the process goes on
        assert watch.ended is None if words is None else words in watch.ended
        _ranks.atexit.unregister(watch._leave)
