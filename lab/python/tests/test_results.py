"""Results read back, brought together, and compared."""
import doctest
import gzip
import importlib
import json
import lzma
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
import trial

from tamis_lab import _cases, _figures, _words, compare, results

SOURCE = pathlib.Path(os.environ.get("TAMIS_SOURCE", pathlib.Path(__file__).resolve().parents[3]))
FOLDER = tempfile.TemporaryDirectory()
FILES = trial.written(FOLDER.name)


def line(matrix, inner, algorithm, median, **more):
    return json.dumps({"operation": "sddmm", "edge": "mask", "matrix": matrix, "rows": 9, "cols": 9, "nnz": 20, "inner": inner, "width": 0,
                       "type": "fp32", "device": "cpu", "threads": 2, "algorithm": algorithm, "median_ms": median, **more})


def command(module, *arguments, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-m", f"tamis_lab.{module}", *map(str, arguments)], capture_output=True, text=True, check=False,
                          env=environment, **options)


# ---- words

@pytest.mark.parametrize("made, expected", [
    (_words.time(0.0123), "12.3\u00a0\u00b5s"), (_words.time(1500), "1.50\u00a0s"), (_words.time(math.nan), "\u2013"),
    (_words.ratio(1.649), "1.65\u00d7"), (_words.ratio(150), "150\u00d7"), (_words.ratio(0.0123), "0.012\u00d7"),
    (_words.cell(0.00123456), "0.001235"), (_words.cell(1234567), "1234567"), (_words.cell(2.5), "2.5"), (_words.cell(0), "0"),
    (_words.cell(math.nan), ""), (_words.cell(9.9996), "10"), (_words.short(1234567), "1.23 M"), (_words.short(12), "12"),
    (_words.size(1536), "1.5 KiB"), (_words.size(12), "12 B"), (_words.percent(12.3), "12\u00a0%"), (_words.number(0.00001), "1.00e-05")])
def test_numbers_have_units(made, expected):
    assert made == expected


def test_means_are_geometric():
    mean = _figures.mean_of([(0.5, "a"), (8, "b"), (2, "c"), (math.nan, None), (0, None), (-1, None), (math.inf, None)])
    assert math.isclose(mean.value, 2)
    assert (mean.count, mean.wins, mean.least_at, mean.most_at) == (3, 2, "a", "b")
    assert math.isnan(_figures.Mean().value)


def test_ties_are_no_wins(load):
    def timed(algorithm, median, low=None, high=None, **more):
        return line("a", 32, algorithm, median, median_low_ms=low, median_high_ms=high, **more)
    ours, *others = load([timed("x", 1, 0.9, 1.2), timed("won", 2, 1.9, 2.1), timed("tied", 1.1, 1.1, 1.3), timed("lost", 0.5, 0.4, 0.6),
                          timed("left out", 8, 7, 9, disturbed=True), timed("old, tied", 1.001), timed("old, won", 1.01)]).measurements
    mean = _figures.mean_of_pairs((other, ours, other.algorithm) for other in others)
    assert (mean.count, mean.wins, mean.ties, mean.lost, mean.disturbed, mean.most_at) == (5, 2, 2, 1, 1, "won")


# ---- files

def test_packed_files_and_a_stream_read_alike(tmp_path):
    text = FILES[0].read_bytes()
    (tmp_path / "a.gz").write_bytes(gzip.compress(text[:9000]) + gzip.compress(text[9000:]))
    (tmp_path / "a.xz").write_bytes(lzma.compress(text))
    plain = [vars(one) for one in results.load(FILES[:1]).measurements]
    assert len(plain) == 60
    for name in ("a.gz", "a.xz"):
        assert [vars(one) for one in results.load([tmp_path / name]).measurements] == plain
    for given in (text, gzip.compress(text)):
        done = subprocess.run([sys.executable, "-c", "import tamis_lab.results as r; print(len(r.load('-').measurements))"], input=given,
                              capture_output=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        assert done.stdout == b"60\n"


def test_what_a_line_lacks(load):
    one = load(['{"operation": "spmm", "matrix": "a", "type": "fp32", "device": "cpu", "algorithm": "x", "median_ms": 2, "gflops": null}'])
    one = one.measurements[0]
    assert (one.edge, one.batch, one.passed, one.parameters, one.cold, one.rows) == ("none", 1, None, None, False, 0)
    assert math.isnan(one.gflops) and math.isnan(one.intensity)


def test_other_records_and_what_was_not_measured_are_passed_over(load):
    found = load(['{"record": "later", "x": 1}', line("a", 32, "x", None), line("a", 32, "x", 0), line("a", 32, "x", -1), "", line("a", 32, "y", 1)])
    assert [one.algorithm for one in found.measurements] == ["y"]


def test_control_characters_become_marks(load):
    assert load([line("a\x1b[31m\ud800", 32, "x", 1)]).measurements[0].matrix == "a\ufffd[31m\ufffd"


@pytest.mark.parametrize("broken, message", [
    ('{"record": "measurement", "operation": "sd', "invalid JSON"), ('{"operation": 3}', '"operation" has a value of the wrong kind'),
    ("[1]", "not a JSON object"), ('{"record": "matrix"}', "a matrix without matrix"), ("{}", "a measurement without operation, matrix"),
    (line("a", 32, "x", 1, gflops=math.nan), "NaN is not a number"), (line("a", 32, "x", 1, passed=1), '"passed" has a value of the wrong kind'),
    (line("a", 1e999, "x", 1), "Infinity is not a number"), (line("a", 32, "x", 1, rows=True), '"rows" has a value of the wrong kind'),
    (line("a", 32, "x", 1).replace("32", "1e999"), '"inner" has a value of the wrong kind'), ("[" * 100000, "invalid JSON")])
def test_a_broken_line_is_named(load, broken, message):
    with pytest.raises(results.ResultsError, match=r"0\.jsonl:2: ") as raised:
        load([line("a", 32, "x", 1), broken, line("a", 32, "y", 1)])
    assert message in str(raised.value)
    found = load([line("a", 32, "x", 1), "", broken])
    assert len(found.measurements) == 1
    assert "0.jsonl:3: the last line is left out: " in found.warnings[0] and message in found.warnings[0]


def test_files_that_cannot_be_read(tmp_path):
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(FILES[0].read_bytes())[:900])
    damaged = tmp_path / "damaged.xz"
    damaged.write_bytes(lzma.compress(FILES[0].read_bytes())[:-30])
    for path in (cut, damaged, tmp_path / "missing", tmp_path):
        with pytest.raises(results.ResultsError, match="cannot be read") as raised:
            results.load([path])
        assert str(path) in str(raised.value)


# ---- cases

def test_contestants_of_a_case_come_together(load):
    found = _cases.build(load([
        line("a", 32, "cpu-nonzeros", 2.0, auto=True, **{"class": "banded"}), line("a", 32, "cpu-tiled", 1.0, **{"class": "banded"}),
        line("a", 32, "cpu-tiled", 0.5, parameters="tile_columns=64", **{"class": "banded"}),
        line("a", 32, "naive", 8.0, baseline=True, **{"class": "banded"}),
        line("a", 32, "scipy", 4.0, peer=True, threads=1, **{"class": "banded"}), line("a", 128, "cpu-nonzeros", 3.0, **{"class": "banded"}),
        line("b", 32, "cpu-nonzeros", 1.0, auto=True, **{"class": "uniform"})]))
    assert (len(found.machines), len(found.settings), len(found.all)) == (1, 2, 3)
    case = found.settings[0].cases[0]
    assert len(case.measurements) == 5
    assert (case.chosen.algorithm, case.fastest.algorithm, case.fastest.parameters, case.peer.algorithm) == ("cpu-nonzeros", "cpu-tiled", None, "scipy")
    assert found.settings[0].label == "SDDMM mask, K\u00a0=\u00a032"
    machine = found.machines[0]
    assert math.isclose(_figures.over_peer(machine.cases("sddmm")).value, 2)
    assert _figures.over_peer(machine.cases("spmm")).count == 0
    loss = _figures.choice_loss(machine.cases())
    assert loss.count == 1 and math.isclose(loss.value, 2)
    choice = _figures.choose([case])
    assert (choice.algorithm, choice.versus_name, choice.close) == ("cpu-tiled", "scipy", None)
    assert math.isclose(choice.versus.value, 4)
    assert _figures.choose([]) is None


def test_the_latest_run_of_a_case_counts(load):
    found = _cases.build(load([line("a", 32, "cpu-nonzeros", 2.0, run="new", started="2026-11-21T10:00:00Z"),
                               line("a", 32, "cpu-nonzeros", 9.0, run="old", started="2026-11-20T10:00:00Z")]))
    assert (len(found.all), found.superseded) == (1, 1)
    assert found.all[0].measurements[0].median_ms == 2


def test_settings_say_what_differs(load):
    found = _cases.build(load([line("a", 32, "x", 1, suite="s", cold=True), line("a", 32, "x", 1, suite="t", type="fp64", threads=1),
                               line("a", 32, "x", 1, suite="t", operation="fused", edge="none", width=64, batch=4, device="cuda:0")]))
    blank = "\u00a0"
    assert [one.label for one in found.settings] == [
        f"s: SDDMM mask, K{blank}={blank}32, fp32, 2 threads, cold caches, cpu",
        f"t: SDDMM mask, K{blank}={blank}32, fp64, 1 thread, warm caches, cpu",
        f"t: Fused, K{blank}={blank}32 and 64, batch of 4, fp32, warm caches, cuda:0"]


def test_methods_change_where_curves_cross(load):
    case = _cases.build(load([line("a", 32, "direct", 10, setup_ms=0), line("a", 32, "planned", 5, setup_ms=50),
                              line("a", 32, "searched", 4, setup_ms=5000), line("a", 32, "never", 11, setup_ms=1)])).all[0]
    found = _figures.cheapest(case.measurements)
    assert _figures.cheapest_words(found) == "1 to 10 calls: direct; 11 to 4,950 calls: planned; from 4,951: searched"
    for calls in (1, 10, 11, 4950, 4951, 99999):  # against every method in turn
        totals = {one.algorithm: one.median_ms * calls + one.setup_ms for one in case.measurements}
        assert totals[[one.algorithm for start, one in found if start <= calls][-1]] == min(totals.values())
    assert _figures.cheapest_words(_figures.cheapest(case.measurements[:1])) == "direct for any number of calls"


# ---- the rule of a change

@pytest.mark.parametrize("median, low, high, least, change", [
    (12, 11.8, 12.3, 11.5, "slower"), (8, 7.9, 8.2, 7.5, "faster"), (10.4, 10.3, 10.5, 10.2, "same"),  # the last: below the threshold
    (12, 10.1, 13, 11, "same"),  # the ranges overlap
    (12, 11.8, 12.3, 9.4, "same"), (8, 7.9, 8.2, 9.6, "same"),  # the least times disagree
    (12, 11.8, 12.3, math.nan, "slower"), (9.6, 9.55, 9.7, 9, "same")])
def test_changes_are_beyond_noise(median, low, high, least, change):
    assert compare.change_of(compare.Span(10, 9.8, 10.2, 9.5), compare.Span(median, low, high, least), 0.05) == change


def test_lines_without_quartiles_have_a_wide_range(load):
    span = compare.span_of(load([line("a", 32, "x", 10, min_ms=9)]).measurements[0])
    assert (span.low, span.high) == (9, 11)


def test_repeated_runs_widen_the_range(load):
    def with_range(algorithm, median):
        return line("a", 32, algorithm, median, q1_ms=median - 0.1, q3_ms=median + 0.1, min_ms=median - 0.2)
    both = load([with_range("cpu-nonzeros", 10), with_range("cpu-nonzeros", 14), with_range("cpu-nonzeros", 11), with_range("naive", 10)],
                [with_range("cpu-nonzeros", 13), with_range("naive", 20), line("b", 32, "naive", 20)])
    found = compare.compare(both)
    assert (len(found.pairs), found.only_a, found.only_b) == (2, 0, 1)
    assert found.count("slower") == 1  # the naive loop; the rows vary as much without a change
    assert math.isclose(found.drift.value, 2)
    rows = found.pairs[1]
    assert (rows.one.algorithm, rows.a.median, rows.change) == ("cpu-nonzeros", 11, "same")
    assert math.isclose(rows.a.high, 14.1)
    found = compare.compare(both, without_drift=True)  # with the drift taken out the rows got faster
    assert (found.count("slower"), found.count("faster")) == (0, 1)


# ---- python -m tamis_lab.compare

def test_compare_prints_changes_and_means():
    done = command("compare", *FILES)
    assert done.returncode == 1
    assert "version of Tamis differs: 0.1.0 in A, 0.2.0 in B" in done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["B", "over", "A", "matrix", "operation", "device", "method", "thr", "A", "B"]
    assert lines[5].split() == "1.400 slower layer spmm K=128 fp32 cpu cpu-nonzeros 2 218 us 306 us".split()
    assert "Drift: times of peers and the naive loop are 1.020 times those in A (18 measurements)." in lines
    assert lines[-1] == ("SLOWER: 1 slower, 4 faster, 53 the same within noise and 5 %; B over A: geometric mean 0.982 of 58.")


def test_compare_with_itself_is_the_same():
    done = command("compare", FILES[0], FILES[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "the same: 0 slower, 0 faster, 60 the same within noise and 5 %; B over A: geometric mean 1.000 of 60."


def test_compare_takes_options_anywhere():
    done = command("compare", FILES[0], "--threshold", 45, FILES[1], "--drift")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("faster: 0 slower, 4 faster, 54 the same within noise and 45 %")
    assert "; the times of B have been divided by it." in done.stdout


def test_compare_as_json():
    done = command("compare", *FILES, "--json")
    found = json.loads(done.stdout)
    assert {name: found[name] for name in ("compared", "slower", "faster", "wrong", "only_a", "only_b", "drift_applied")} == {
        "compared": 58, "slower": 1, "faster": 4, "wrong": 0, "only_a": 2, "only_b": 1, "drift_applied": False}
    assert [one["change"] for one in found["changes"]] == ["faster"] * 4 + ["slower"]
    last = found["changes"][4]
    assert (last["algorithm"], last["width"], last["a_median_ms"]) == ("cpu-nonzeros", 128, 0.218453)


def test_compare_notices_what_became_wrong(tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(FILES[0].read_text(encoding="utf-8").replace('"passed": true', '"passed": false'), encoding="utf-8")
    done = command("compare", FILES[0], wrong)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2].startswith("WRONG: 0 slower") and done.stdout.splitlines()[-1].startswith("54 that were correct")


def test_compare_of_nothing_in_common(tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(line("z", 1, "x", 1) + "\n", encoding="utf-8")
    done = command("compare", FILES[0], other)
    assert done.returncode == 3 and "no measurement in common" in done.stderr
    assert command("compare", FILES[0], tmp_path / "missing").returncode == 3
    assert command("compare", FILES[0]).returncode == 2
    assert command("compare", *FILES, "--threshold", 1001).returncode == 2


@pytest.mark.parametrize("name", ["results", "plot", "compare"])
def test_docstrings(name):
    if name == "plot":
        pytest.importorskip("scipy.sparse")
    module = importlib.import_module(f"tamis_lab.{name}")
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0
    assert [member for member in getattr(module, "__all__", ()) if ">>>" not in (getattr(module, member).__doc__ or ">>>")] == []


def test_the_version_is_that_of_tamis():
    version = re.search(r"project\(tamis VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    assert f'\nversion = "{version}"\n' in (SOURCE / "lab" / "python" / "pyproject.toml").read_text(encoding="utf-8")
