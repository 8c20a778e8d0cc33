"""The predictions of scripts/scaling-page.py: its formulas by hand, and what it prints."""
import importlib.util
import os
import pathlib
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("TAMIS_SOURCE", pathlib.Path(__file__).parents[2]))
SCRIPT = SOURCE / "scripts" / "scaling-page.py"


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("scaling_page", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["scaling_page"] = module
    spec.loader.exec_module(module)
    return module


def machine(page):
    return page.Machine(link=400e9, link_start=20e-6, network=50e9, network_start=5e-6, node=8)


def shards(page, ranks, **more):
    return page.Shards(**{**dict(ranks=ranks, rows=1600, cols=1600, nnz=32000, nnz_most=3000, ghosts_most=70, sends_most=90,
                                 sources_most=3), **more})


def test_links(page):
    m = machine(page)
    assert m.seconds(8, 4e9, 2) == pytest.approx(2 * 20e-6 + 0.01)
    assert m.seconds(9, 4e9, 2) == pytest.approx(2 * 5e-6 + 0.08)
    assert m.seconds(9, 0, 0) == 0


def test_words(page):
    work = page.work_of("fused", 10, 6, 1e-12, 0)
    assert (work.a, work.b, work.out) == (10, 16, 6)
    assert page.work_of("spmm", 10, 6, 1e-12, 0).a == 0


def test_seconds(page):
    m, work = machine(page), page.work_of("spmm", 10, 0, 1e-9, 1e-6)
    s = shards(page, 16)
    fetch, static = page.predict(s, work, m)
    compute = 1e-6 + 3000e-9
    assert fetch == pytest.approx(compute + 3 * 5e-6 + 90 * 10 * 4 / 50e9)
    assert static == pytest.approx(compute + 15 * 5e-6 + 1500 * 10 * 4 / 50e9)
    assert page.predict(shards(page, 1), work, m) == [compute] * 2


def test_prints_and_writes(page, monkeypatch, capsys, tmp_path):
    given = ["scaling-page.py", "fem:rows=300,nnz=6000", "--ranks", "2,4", "--kernel-ps", "50"]
    monkeypatch.setattr(sys, "argv", given)
    assert page.main() == 0
    text = capsys.readouterr().out
    assert "fused, K = 128, fp32: 50.0 ps a nonzero (given)" in text and "390 GB/s each way" in text and "fem:rows=300" in text
    assert text.count("\n      2 ") == text.count("\n      4 ") == 1
    file = tmp_path / "page.md"
    file.write_text("before\n```text\nold\n```\nafter\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [*given, "--page", str(file)])
    assert page.main() == 0
    assert file.read_text(encoding="utf-8") == f"before\n```text\n{text}```\nafter\n"


def test_measured_kernels(page):
    seconds, count, model = page.measured(SOURCE / "lab/results/nvidia-h200/esimd.jsonl.xz", "fused", 128)
    assert 1e-12 < seconds < 1e-9 and count > 10 and model == "NVIDIA H200"
    with pytest.raises(SystemExit, match="no measurement of fused with K = 3"):
        page.measured(SOURCE / "lab/results/nvidia-h200/esimd.jsonl.xz", "fused", 3)
