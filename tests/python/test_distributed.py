"""tamis.torch.distributed: each rank is a process, which partitioned.py tells what to do; they meet in a file, and exchange by gloo."""
from __future__ import annotations

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
    started = [subprocess.Popen([sys.executable, str(PROGRAM), str(rank), str(ranks), str(meet), *cases], stdout=file, stderr=file) for rank, file in enumerate(outputs)]
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
    cases = ["all_operations", "layers", "other_types", "training", "bipartite", "scattered", "metis", "second_derivatives", "same_bits", "checkpointed", *["overlap"] * (ranks > 1)]
    for output, code, _ in run(tmp_path, ranks, *cases):
        assert code == 0, output
        assert [line.split()[2] for line in output.splitlines() if line.startswith("rank ")] == cases, output


@pytest.mark.skipif(not metis(), reason="libmetis.so.5 is not installed")
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_wrong_argument_of_one_rank_is_an_error_of_all(tmp_path, ranks):
    for output, code, _ in run(tmp_path, ranks, "refusals"):
        assert code == 0, output


@pytest.mark.parametrize("case, words", [("killed", "rank 1 (process"), ("killed_backward", "rank 1 (process"), ("killed_elsewhere", "rank 1 (process"),
                                         ("killed_far_away", "rank 1 (process"), ("ends_early", "has ended: rank"), ("absent", "for rank 1 at step")])
def test_a_rank_that_is_lost_ends_the_others(tmp_path, case, words):
    ranks = 4 if case == "killed_far_away" else 3
    found = run(tmp_path, ranks, case)
    for rank, (output, code, ended) in enumerate(found):
        if rank != 1:
            assert code == 1 and words in output, (rank, code, output)
            if "killed" in case:  # the wait itself has an end after 60 seconds
                assert ended - float((tmp_path / f"meet-{ranks}-{case}.killed").read_text()) < 40
    assert found[1][1] == -9 or "killed" not in case
