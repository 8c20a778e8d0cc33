"""Measuring a release, as far as it needs no GPU: the list of pieces, machines that lack what a piece needs, results of other sources, and the
tables made from results."""
from __future__ import annotations

import json
import lzma
import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("TAMIS_SOURCE", pathlib.Path(__file__).resolve().parents[3]))
MEASURE = SOURCE / "lab/bench/measure.sh"
pytestmark = pytest.mark.skipif(not MEASURE.exists(), reason="there are no sources here")
ONE, OTHER = "0" * 39 + "1", "0" * 39 + "2"


def run(*command: str | pathlib.Path, **environment: str | pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHON": sys.executable, **{name: str(value) for name, value in environment.items()}})


def test_without_a_piece_all_are_listed(tmp_path: pathlib.Path) -> None:
    listed = run(MEASURE, RESULTS=tmp_path)
    assert listed.returncode == 0 and listed.stdout.count(" min ") > 20


def test_what_was_measured_is_not_measured_again(tmp_path: pathlib.Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/pieces.txt").write_text(f"cpu-study {ONE} 2026-01-02 3\n")
    done = run(MEASURE, "cpu-study", RESULTS=tmp_path, MACHINE="here", TAMIS_COMMIT=ONE)
    assert done.returncode == 0 and done.stdout == f"cpu-study: measured of this commit\nmeasure: all of it is measured of {ONE}\n"
    late = run(MEASURE, "cpu", RESULTS=tmp_path, MACHINE="here", TAMIS_COMMIT=OTHER, TIME=1)
    assert late.returncode == 1 and "no time for cpu-speed" in late.stdout and "cpu-study" in late.stdout
    assert f"measured of {ONE} on 2026-01-02 in 3 s" in run(MEASURE, RESULTS=tmp_path).stdout


def test_no_gpu_and_no_such_piece(tmp_path: pathlib.Path) -> None:
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("there is a GPU")
    done = run(MEASURE, "check-units", "two-devices", RESULTS=tmp_path, TAMIS_COMMIT=ONE)
    assert done.returncode == 1 and done.stdout.count("no GPU") == 2 and "not measured: check-units two-devices" in done.stdout
    assert not list(tmp_path.iterdir())
    assert run(MEASURE, "check-all").returncode == 2


def commit_of(folder: pathlib.Path, files: dict[str, str]) -> str:
    """A commit of a repository in `folder` in which these files have these texts."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git = ("git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        assert run(*git, *command).returncode == 0
    return run(*git, "rev-parse", "HEAD").stdout.strip()


def test_results_of_other_sources_are_refused(tmp_path: pathlib.Path) -> None:
    results, evidence, sources = tmp_path / "results", tmp_path / "evidence", tmp_path / "sources"
    (results / "chip").mkdir(parents=True)
    evidence.mkdir()
    commits = "lab/results/commits.py"
    old = commit_of(sources, {**dict.fromkeys(("src/gpu/a.c", "src/cpu/a.c", "include/a.h", "lab/gpu/a.cu"), "1"), commits: (SOURCE / commits).read_text()})
    other_processor = commit_of(sources, {"src/cpu/a.c": "2"})
    now = commit_of(sources, {"docs/a.md": "text"})
    assert len({old, other_processor, now}) == 3

    def refused(why: str) -> bool:
        done = run(sys.executable, sources / commits, results, evidence)
        assert why in done.stderr
        return done.returncode != 0

    def write(name: str, **run_record: str) -> None:
        with lzma.open(results / "chip" / name, "wt", encoding="utf-8") as file:
            file.write(json.dumps({"record": "run", **run_record}) + "\n")

    assert refused("")  # nothing was measured
    write("preds.jsonl.xz", device="cuda:0", commit=now)
    assert not refused("")
    write("preds.jsonl.xz", device="cuda:0", commit=old)  # a GPU does not run src/cpu
    assert not refused("")
    write("study.jsonl.xz", device="cpu", commit=old)
    assert refused(f"of commit {old}, which has other sources or is not known:\n    {results}/chip/study.jsonl.xz\n")
    write("study.jsonl.xz", device="cpu", commit=other_processor)
    assert not refused("")
    write("study.jsonl.xz", device="cpu")
    assert refused("of no commit that they tell:\n")
    write("study.jsonl.xz", device="cpu", commit=ONE)
    assert refused(f"of commit {ONE}")
    write("study.jsonl.xz", device="cpu", commit=f"{now}-dirty")
    assert refused("-dirty")
    write("study.jsonl.xz", device="cpu", commit=now)
    with lzma.open(results / "chip/training-models.jsonl.xz", "wt", encoding="utf-8") as models:
        models.write(json.dumps({"record": "iteration"}) + "\n")
    assert refused("of no commit that they tell:\n")
    (results / "chip/pieces.txt").write_text(f"training {OTHER} 2026-01-02 3\n")
    assert refused("pieces.txt: training")
    (results / "chip/pieces.txt").write_text(f"training {old} 2026-01-02 3\ncpu-study {old} 2026-01-02 3\n")
    assert refused("pieces.txt: cpu-study\n")
    (results / "chip/pieces.txt").write_text(f"training {old} 2026-01-02 3\n")
    (evidence / "chip.json").write_text(json.dumps({"commit": old, "steps": {"build": {"commit": OTHER}}}))
    assert refused(f"of commit {OTHER}")
    (evidence / "chip.json").write_text(json.dumps({"commit": old, "steps": {"build": {"commit": now}}}))
    assert not refused("")


def write_results(file: pathlib.Path, device: str, lines: list[dict[str, object]], *, commit: str = ONE) -> None:
    """Write a file as `tamis bench` does; `lines` has the fields that the tables read; `auto` is ours."""
    file.parent.mkdir(parents=True, exist_ok=True)
    model = "Chip" if device == "cpu" else "GPU"
    run = {"record": "run", "run": file.name, "device": device, "commit": commit, "started": "2026-01-02T00:00:00Z", "model": model, "driver": "driver 1",
           "compiler": "gcc", "processors": 2, "instruction_set": "v4"}
    with lzma.open(file, "wt", encoding="utf-8") as out:
        out.write(json.dumps(run) + "\n")
        for line in lines:
            if "record" not in line:
                line = {"record": "measurement", "run": file.name, "device": device, "model": model, "type": "fp32", "threads": 2, "nnz": 2_500_000, "edge": "mask",
                        "inner": 32, "auto": line["algorithm"] == "ours", "floor_ratio": 3.0, **line}
            out.write(json.dumps(line) + "\n")


def pair(matrix: str, operation: str, ours: float, other: float, name: str, **more: object) -> list[dict[str, object]]:
    problem = {"matrix": matrix, "operation": operation, **more}
    return [{**problem, "algorithm": "ours", "median_ms": ours}, {**problem, "algorithm": name, "median_ms": other}]


def tables(results: pathlib.Path, *names: str) -> tuple[str, str]:
    """A page of these tables, which were not made before, and what is said of those that cannot be made."""
    page = results / "page.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("".join(f"<!-- {name}: made by lab/results/tables.py -->\nas it was\n<!-- end of {name} -->\n" for name in names), encoding="utf-8")
    done = run(sys.executable, SOURCE / "lab/results/tables.py", results, page)
    assert (done.returncode != 0) == bool(done.stderr)
    return page.read_text(encoding="utf-8"), done.stderr


def test_tables_are_made_of_results(tmp_path: pathlib.Path) -> None:
    results = tmp_path / "results"

    def made() -> tuple[str, str]:
        return tables(results, "speed", "cusparse", "widths", "small", "naive", "machines", "states")

    gpu, cpu = results / "gpu", results / "cpu"
    write_results(cpu / "esimd.jsonl.xz", "cpu", pair("m", "spmm", 1, 3, "graphblas"))
    write_results(cpu / "gpu-dynamic.jsonl.xz", "cpu", pair("m", "sddmm", 2, 5, "torch", inner=128))
    write_results(cpu / "libraries.jsonl.xz", "cpu", pair("m", "spmm", 2, 7, "mkl", inner=128))
    text, error = made()
    assert "make measure PIECE=speed-neutral" in error and "make measure PIECE=cpu-speed" in error and text.count("as it was") == 5

    problems = [("sddmm", 2, 6), ("spmm", 3, 3), ("fused", 4, 8)]
    write_results(gpu / "speed-neutral.jsonl.xz", "cuda:0", [line for k in (32, 128) for op, a, b in problems for line in pair("n.npz", op, a, b, "cusparse", inner=k)])
    recorded = [{"record": "peer", "matrix": "kit", "operation": op, "inner": 32, "peer": "sputnik_tight", "median_ms": ms, "cusparse_ms": cusparse}
                for op, ms, cusparse in (("sddmm", 2, 4), ("spmm", 1, 3), ("fused", 6, 7))]
    write_results(gpu / "speed-kit.jsonl.xz", "cuda:0",
                  [line for k in (32, 128) for op, a, b in (("sddmm", 1, 8), ("spmm", 4, 3)) for line in pair("kit", op, a, b, "cusparse", inner=k)] + recorded)
    for name, matrix in (("speed-neutral-scale", "n"), ("speed-kit-scale", "kit")):
        write_results(gpu / f"{name}.jsonl.xz", "cuda:0", [{"matrix": matrix, "operation": "fused", "edge": "scale", "algorithm": "ours", "median_ms": 3}])
    write_results(gpu / "speed-widths.jsonl.xz", "cuda:0", [line for k in (48, 512) for line in pair("kit", "sddmm", 2, k / 16, "cusparse", inner=k)])
    write_results(gpu / "speed-newest.jsonl.xz", "cuda:0", pair("kit", "spmm", 2, 1, "cusparse", inner=32, variant="12.9.4, spmm default"))
    write_results(cpu / "speed.jsonl.xz", "cpu", pair("n", "sddmm", 2, 5, "naive", inner=128))
    text, error = made()
    assert not error and "as it was" not in text
    for line in (
        "| cuSPARSE, real matrices, K = 32 | GPU | 8.00, 8.00 (8.00 to 8.00) | 0.75, 0.75 (0.75 to 0.75) |  |",
        "| cuSPARSE, generated matrices, K = 32 | GPU | 3.00, 3.00 (3.00 to 3.00) | 1.00, 1.00 (1.00 to 1.00) | 2.00, 2.00 (2.00 to 2.00) |",
        # cuSPARSE takes twice as long as recorded for SDDMM, as long for SpMM
        "| the best of the recorded libraries, real matrices, K = 32 | GPU | 4.00, 4.00 (4.00 to 4.00) | 0.25, 0.25 (0.25 to 0.25) | 2.83, 2.83 (2.83 to 2.83) |",
        "| cuSPARSE 12.9.4, real matrices, K = 32 | GPU |  | 0.50, 0.50 (0.50 to 0.50) |  |", "- *cuSPARSE 12.9.4*: the results of that run were not compared.", "| oneMKL, K = 128 | Chip, 2 cores |  | 3.50, 3.50 (3.50 to 3.50) |  |",
        "| SuiteSparse:GraphBLAS, K = 32 | Chip, 2 cores |  | 3.00, 3.00 (3.00 to 3.00) |  |",
        "| PyTorch, K = 128 | Chip, 2 cores | 2.50, 2.50 (2.50 to 2.50) |  |  |",
        "| the naive loop, K = 128 | Chip, 2 cores | 2.50, 2.50 (2.50 to 2.50) |  |  |",
        " Slower than it at K = 32, SpMM: kit 0.75.", " Slower than the best at K = 32, SpMM: kit 0.25 (Sputnik).", " the best was Sputnik in 3 cases.",
        "| n | 2.5M | 3.00 | 3.00 | 1.00 | 1.00 | 2.00 | 2.00 |", "| kit | 2.5M | 8.00 | 8.00 | 0.75 | 0.75 |  |  |",
        "On the GPU, 1 matrices, 0 of them below a million nonzeros:", "| SpMM | 0.25 |  |  |  |", "| K = | 48 | 512 |", "| SDDMM | 1.50 | 16.00 |", "| n | 2 (2.50x; 3.0) |  |  |",
        "| `gpu` | GPU, driver 1, gcc | [speed-kit-scale](gpu/speed-kit-scale.jsonl.xz), [speed-kit](gpu/speed-kit.jsonl.xz), ", f"All benchmarks were measured of commit `{ONE}`, 2026-01-02.",
    ):
        assert line in " ".join(text.split()) if line.startswith(" ") else line in text, line
    write_results(gpu / "speed-widths.jsonl.xz", "cuda:0", pair("kit", "sddmm", 2, 4, "cusparse"), commit=OTHER)
    text, error = made()
    assert "results of other sources" in error and "as it was" in text


def test_what_each_method_earns(tmp_path: pathlib.Path) -> None:
    results = tmp_path / "results"

    def case(matrix: str, operation: str, auto: str, times: dict[str, float], noise: float = 0.001, **more: object) -> list[dict[str, object]]:
        return [{"matrix": matrix, "operation": operation, "algorithm": name, "auto": name == auto, "median_ms": ms, "median_low_ms": ms * (1 - noise),
                 "median_high_ms": ms * (1 + noise), **more} for name, ms in times.items()]

    text, error = tables(results, "methods", "chosen")
    assert "make measure PIECE=methods-kit" in error and "as it was" in text
    write_results(results / "gpu/methods-kit.jsonl.xz", "cuda:0", [
        *case("a.npz", "fused", "gpu-teams", {"gpu-teams": 2, "gpu-two-steps": 3, "gpu-rows": 9, "study-fused": 1}),
        *case("b", "fused", "gpu-teams", {"gpu-teams": 2, "gpu-two-steps": 1, "gpu-rows": 9}, math="tf32"),
        *case("c", "spmm", "gpu-rows", {"gpu-teams": 1, "gpu-rows": 1.01}),
        *case("alone", "sddmm", "gpu-nonzeros", {"gpu-nonzeros": 1}),  # says nothing
    ])
    write_results(results / "cpu/study.jsonl.xz", "cpu", case("d", "spmm", "cpu-tiled", {"cpu-tiled": 2, "cpu-panels": 3, "cpu-removed": 1}, noise=0.3)
                  + case("other number of threads", "spmm", "cpu-panels", {"cpu-panels": 1}, threads=1) + case("other number of threads", "spmm", "cpu-tiled", {"cpu-tiled": 1}))
    text, error = tables(results, "methods", "chosen")
    text += error
    assert text.count("| **`") == 5
    for line in (
        "On the GPU, 3 cases. What `auto` takes is 26.4 % slower than the fastest in the mean, and 2.00 times as slow at most.",
        "| **`gpu-teams`** | 3 | 2 | 2 | 14.9 % | 23 % | 1 | 50 %: a, fused, K = 32, fp32 | keep |", "| SpMM | 1 | 0 | 1 | 1.0 % | 1 % | 0 | 1 %: c, SpMM, K = 32, fp32 | remove |",
        "| **`gpu-rows`** | 3 | 1 | 0 | 0.0 % |  | 0 |  | remove |", "| **`gpu-two-steps`** | 2 | 0 | 1 | 41.4 % | 100 % | 1 | 100 %: b, fused, K = 32, fp32, TF32 | keep |",
        "| **`cpu-tiled`** | 1 | 1 | 0 | 0.0 % |  | 0 |  | remove |",  # within the noise
        "Of 2 fused products of [the methods' measurements](../../lab/results/methods.md) on the GPU, `auto` takes `gpu-teams` in 2.",
    ):
        assert line in text, line
    assert "study-fused" not in text and "cpu-removed" not in text and "as it was" not in text


def test_claims_say_once_what_was_not_measured(tmp_path: pathlib.Path) -> None:
    claims = tmp_path / "claims.txt"
    claims.write_text("paper Somebody: A paper\nwhere fig. 1\nclaim 2x\nlook naive / auto | device=cpu\nsay Here 2.50, not 3.75.\n"
                      "where fig. 2\nclaim 5x\nlook torch / auto\nsay Nobody has it.\n")
    write_results(tmp_path / "a.jsonl.xz", "cpu", pair("n", "sddmm", 2, 5, "naive"))
    done = run(sys.executable, SOURCE / "lab/results/claims.py", claims, tmp_path / "a.jsonl.xz")
    assert "| fig. 1 | 2x | `naive / auto`: 2.50x | Here 2.50, not 3.75. |" in done.stdout
    assert done.stdout.endswith("## Not measured\n\n| where | the claim | why |\n|---|---|---|\n| Somebody: A paper, fig. 2 | 5x | Nobody has it. |\n")
    assert done.stderr == "Somebody: A paper, fig. 1: the results do not have 3.75\n"


@pytest.mark.parametrize("name", ["README.md", "docs/performance.md", "docs/manual/python-attention.md", "docs/manual/python-graphs.md", "docs/manual/python-pyg.md",
                                  "docs/manual/several-devices.md", "docs/manual/index.md", "lab/results/methods.md"])
def test_the_tables_of_pages_are_what_was_measured(tmp_path: pathlib.Path, name: str) -> None:
    page = SOURCE / name
    copy = tmp_path / page.name
    copy.write_text(re.sub(r"(<!-- (\w+): made by .*? -->)\n.*?(<!-- end of \2 -->)", r"\1\n\n\3", page.read_text(encoding="utf-8"), flags=re.DOTALL), encoding="utf-8")
    done = run(SOURCE / "lab/results/tables.py", SOURCE / "lab/results", copy)
    assert done.returncode == 0 and copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


PRINTED = {
    "attention-bf16.csv": "window256,1036160,4096,16,64,bf16,fwd,tamis,0.5,2e-03\n"
                          "window256,1036160,4096,16,64,bf16,fwd,flex-128,1.75,2e-03\n"
                          "window256,1036160,4096,16,64,bf16,fwd,flex-t64,0.75,2e-03\n"
                          "window256,1036160,4096,16,64,bf16,fwd,flex-64,0.25,WRONG 2e-01\n"
                          "window256,1036160,4096,16,64,bf16,fwd,sdpa_mask,,late\n",
    "attention-fp32.csv": "".join(f"window256,1036160,4096,16,64,fp32,both,{name},{ms},1e-07\n" for name, ms in
                                  (("tamis", 2), ("flex-128", 8), ("flex-64-tf32", 1), ("sdpa_mask", 6), ("sdpa_mask-tf32", 5))),
    "language-model.txt": "".join(json.dumps({"method": method, "positions": 8192, "kept_percent": 5.0, "members": 2, "heads": 8, "features": 512, "type": "bfloat16",
                                              "torch": "2.11.0+x", "median_ms": ms, "peak_bytes": 3 << 20, "loss_difference": 3e-5}) + "\n"
                                  for method, ms in (("tamis", 4), ("flex", 5.5))),
    "messages.txt": "copy: 4000 GB/s\n"
                    " 2000000   16 8 mul-heads-sum        0.200    0.400 ms  floors   0.024   0.045 ms  torch x  8.50  0.75  torch, compiled x  3.25  1.25  apart 2.6e-07\n"
                    " 2000000 forward  of the best of the others: 3.25 in the geometric mean, least 3.25, 1 calls\n",
    "graph-attention.txt": "  40000 x  6 16 x  64 float16      0.650    1.066 ms  floors   0.203   0.406 ms  pyg 7.08 8.99 both 8.26  compiled 1.72 1.27 both 1.44  anemoi 0.80 1.04 both 0.96"
                           "  MB ours 852 pyg 3062 compiled 898 anemoi 1155\n",
    "pyg-layers.txt": "random: 20000 nodes, 200000 edges, float32, GPU\nGATConv-edges              1.10     1.62 ms   pyg x  1.70  1.17 both  1.38   compiled x  1.06  0.90 both  0.96   apart 2e-07 2e-07\n"
                      "GCNConv                    0.57     0.89 ms   pyg x  2.35  0.85 both  1.44   apart 1e-07 1e-07\n",
    "pyg-layers-memory.txt": "GATConv-edges           tamis     70.4 MiB  pyg    612.0 MiB\n",
    "applications.txt": "| model | K | an iteration, s | SDDMM | SpMM | fused | speed-up |\n|---|---|---|---|---|---|---|\n| als | 32 | 0.0015 | 7 % | 8 % | 54 % | 6.46 |\n",
}


def test_tables_of_what_programs_print(tmp_path: pathlib.Path) -> None:
    names = ("flex", "steps", "messages_gpu", "graph_attention", "layers", "models")
    gpu = tmp_path / "lab/results/gpu"
    text, error = tables(gpu.parent, *names)
    assert text.count("as it was") == len(names) and "make measure PIECE=training-graphs" in error
    gpu.mkdir()
    for name, text in PRINTED.items():
        (gpu / name).write_text(text, encoding="utf-8")
    text, error = tables(gpu.parent, *names)
    assert not error and "as it was" not in text
    for line in (
        "| window256, 4,096, 6.18 %, 64, bf16 | 0.5 | 0.75, 1.50x (64, a table of pairs) |  |  |  |  |\n",
        "| window256, 4,096, 6.18 %, 64, fp32 |  |  |  | 2 | 8, 4.00x (128) | 6, 3.00x |\n",
        "| window256, 4,096, 6.18 %, 64, fp32, the others in TF32 |  |  |  | 2 | 1, 0.50x (64) | 5, 2.50x |\n<!-- end of flex",
        "`gpu`, 8,192 positions, 2 texts, 8 heads of 64 features, bfloat16, PyTorch 2.11.0; ms, and MiB at most:",
        "| 5 % | 4.00, 3 | 5.50, 3 |  |", "differed by at most 3e-05.", "| 2,000,000 | 1 | 3.25 (3.25 to 3.25) | 0.75 (0.75 to 0.75) |",
        "- Slower than the best, 2.0M edges, forward: none.", "backward: `mul`, sum, a number a head an edge, 8 heads at width 16 0.75 (PyTorch).",
        "| 6, float16 | 0.65, 1.07 | 3.2, 2.6 | 7.08, 8.99, 8.26 | 1.72, 1.27, 1.44 | 0.80, 1.04, 0.96 | 852, 3,062, 898, 1,155 |", "| GATConv, features of edges | 1.10, 1.62 | 1.70, 1.17, 1.38 | 1.06, 0.90, 0.96 | 70, 612 |", "| GCNConv | 0.57, 0.89 | 2.35, 0.85, 1.44 | not compiled |",
        "| model | `gpu`, K = 32 |", "| als | 1.5 (6.46) |",
    ):
        assert line in text, line
