"""The page of the report, the roofline, and the pictures of tamis_lab.plot."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from test_results import FILES, SOURCE, command, line  # noqa: E402

from tamis_lab import _cases, plot, report, results  # noqa: E402
from tamis._command import can_write, write  # noqa: E402
from tamis_lab.report import drawing, sections  # noqa: E402

CHECK = SOURCE / "lab" / "python" / "tests" / "check-page.py"
pytestmark = pytest.mark.skipif(not CHECK.exists(), reason=f"{CHECK} is not there")

HOSTILE = [
    '{"record": "run", "device": "cpu", "fp32_gflops": [1, 400], "memory_gbs": [1, 40], "l2_gbs": [null, 0]}',
    '{"record": "matrix", "matrix": "a<&\\">", "rows": 9, "cols": 9, "nnz": 20, "spy_rows": 2, "spy_cols": 3, "spy": "012390"}',
    line('a<&">', 32, 'cpu-nonzeros<&">', 2.0, setup_ms=None, gflops=2, bytes_min=0, min_ms=0),
    line('a<&">', 32, "x", 1e-9, setup_ms=1e9, gflops=0.5, bytes_min=1000, q1_ms=0, q3_ms=1e7),
    line('a<&">', 32, "y", 1e9, gflops=1e-7, bytes_min=10, parameters="p=<1>"),
    line('a<&">', 32, "y", 2e9, gflops=1e-7, bytes_min=10),
    line('a<&">', 32, "{{ 7 * 7 }}", 3, peer=True, passed=False)]


def checked(page, folder):
    """Check that the page is well-formed, needs no other file, and has texts for its pictures."""
    path = folder / "checked.html"
    path.write_text(page, encoding="utf-8")
    done = subprocess.run([sys.executable, str(CHECK), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def page():
    return report.render(results.load(FILES[:1]))


@pytest.fixture
def hostile(load):
    return load(HOSTILE)


def test_the_page_is_whole(page, tmp_path):
    assert re.findall("<h2>([^<]*)</h2>", page) == [
        "Which method for which matrix", "Speed-ups and the floor", "Times", "Speed-ups, matrix by matrix", "Rooflines", "The matrices",
        "The model against exhaustive search", "Parameter studies", "When a set-up pays off", "All measurements", "Machines, versions and seeds"]
    assert page.count("a&lt;b&gt;&amp;&#34;c&#34;") > 3 and "a<b>" not in page
    checked(page, tmp_path)


def test_older_files_and_several(load, tmp_path):
    both = report.render(results.load(FILES), "Both & <all>")
    assert "<h1>Both &amp; &lt;all&gt;</h1>" in both
    assert re.search(r"\d+ measurements are left out because a later run", both)
    checked(both, tmp_path)
    fields = "record|run|suite|class|group|model|driver|stand_in|parameters|q1_ms|q3_ms|compiler|started|clock_mhz"
    old = [re.sub(rf'"({fields})": [^,}}]*, ', "", text) for text in FILES[0].read_text(encoding="utf-8").splitlines()
           if '"record": "measurement"' in text and "esimd-row-simd" not in text]
    page = report.render(load(old))
    assert "The files do not describe the machine" in page
    checked(page, tmp_path)


def test_what_the_data_cannot_support_stands_at_the_top(load, tmp_path):
    """One method, without peers, on a busy machine: no table of the fastest, and sentences that say why."""
    page = report.render(load([
        '{"record": "run", "device": "cpu", "model": "chip", "measured": true, "doubtful": true, "fp32_gflops": [1, 2], "memory_gbs": [1, 4]}',
        line("a", 32, "cpu-nonzeros", 2.0, gflops=20, type="fp32", disturbed=True, passed=None)]))
    top = page[:page.index("<section")]
    assert "Which method for which matrix" not in page
    for words in ("are doubtful", "faster than the ceiling", "other processes used the machine", "not compared with the oracle", "there are no speed-ups",
                  "one method of Tamis was measured", "There is one matrix"):
        assert words in top, words
    checked(page, tmp_path)


def test_what_was_compared_of_a_result_is_said(page, load):
    part = load([line("a", 32, "x", 1, passed=True, relative_error=1e-9, compared_share=0.1234)])
    assert "of 12 %</small>" in report.render(part) and "of 12 %</small>" not in page


def test_hostile_names_and_numbers(hostile, tmp_path):
    page = report.render(hostile)
    checked(page, tmp_path)
    assert "a<&" not in page and "{{ 7 * 7 }}" in page and "49" not in re.findall("<b>([^<]*)</b>", page)


def test_results_that_are_wrong_stand_out(load):
    page = report.render(load([line("a", 32, "x", 1, passed=False, relative_error=0.5)]))
    assert "1 result is outside the tolerance" in page and "5.0e-01 outside" in page and 'class="ours wrong"' in page


def test_bars_are_as_long_as_times():
    case = _cases.build(results.load(FILES[:1])).settings[0].cases[0]
    found = sections.bars(case)
    medians = [bar["one"].median_ms for bar in found["bars"]]
    assert medians == sorted(medians)
    if not found["logarithmic"]:
        ratios = {round(bar["width"] / bar["one"].median_ms / (found["bars"][0]["width"] / medians[0]), 1) for bar in found["bars"]}
        assert ratios == {1.0}
    assert all(0 <= bar["width"] <= 100 for bar in found["bars"])


def test_the_picture_of_a_matrix_has_its_cells(hostile):
    import base64
    import io

    from matplotlib import image
    found = sections.spy(hostile.matrices[0], 100)
    pixels = image.imread(io.BytesIO(base64.b64decode(found["data"])))
    assert pixels.shape == (2, 3, 4)
    darkness = pixels[..., 3].ravel()
    assert darkness[0] == 0 and darkness[5] == 0 and darkness[4] == 1 and 0 < darkness[1] < darkness[2] < darkness[3] < 1
    assert (found["width"], found["height"]) == (100, 100)


def test_drawings_keep_only_names_that_are_used():
    found = drawing.svg(200, 100, "a <title>", "\"words\"", lambda ax: ax.plot([1, 2], [1, 2], marker="o"))
    root = ElementTree.fromstring(found)
    assert (root.findtext("title"), root.findtext("desc")) == ("a <title>", '"words"')
    names = re.findall(r' id="([^"]*)"', found)
    assert names and all(f"#{name}" in found for name in names)
    again = drawing.svg(200, 100, "t", "d", lambda ax: ax.plot([1, 2], [1, 2], marker="o"))
    assert not set(names) & set(re.findall(r' id="([^"]*)"', again))


def test_ticks_are_round_and_few():
    for low, high, most in ((0.003, 4000, 6), (1, 10, 6), (0.96, 1.11, 5), (1e-9, 1e9, 5), (1, 1.0001, 5), (3, 4, 3)):
        ticks = plot._ticks(low, high, most)
        assert 1 <= len(ticks) <= most + 1 and all(low <= tick <= high for tick in ticks) and ticks == sorted(set(ticks))
    assert plot._ticks(1, 10, 6) == [1, 2, 5, 10]


def test_plots_are_drawn(hostile):
    import numpy
    scipy_sparse = pytest.importorskip("scipy.sparse")
    both = results.load(FILES[:1])
    assert plot.speedup(both).get_title().startswith("SDDMM mask")
    assert plot.speedup(both, operation="spmm").get_title().startswith("SpMM")
    with pytest.raises(results.ResultsError, match="no measurement of fused"):
        plot.speedup(both, operation="fused")
    assert len(plot.roofline(both).get_lines()) > 3
    with pytest.raises(results.ResultsError, match="no measurement on cuda:0"):
        plot.roofline(both, device="cuda:0")
    matrix = scipy_sparse.coo_array((numpy.ones(3), ([0, 0, 99], [0, 1, 49])), shape=(100, 50))
    raster = plot._raster(matrix, 10)
    assert raster.shape == (10, 5) and raster[0, 0] == pytest.approx(1) and raster[9, 4] == pytest.approx(numpy.log(2) / numpy.log(3)) and raster.sum() < 2
    assert plot.spy(matrix).get_title() == "100 \u00d7 50"
    assert plot._raster(hostile.matrices[0], 0).shape == (2, 3)
    ax = plot.spy(matrix)
    assert plot.speedup(both, ax=ax) is ax


# ---- python -m tamis_lab.report, tamis_lab.roofline

def test_the_report_as_a_command(page, tmp_path):
    path = tmp_path / "page.html"
    done = command("report", FILES[0], "-o", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r".*page\.html: 60 measurements, [\d.]+ KiB\n", done.stdout)
    assert len(path.read_text(encoding="utf-8")) == pytest.approx(len(page), rel=0.01)  # drawings are counted in a process
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_or_read(tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text(line("a", 1, "x", 1) + '\n{"a\n' + line("a", 1, "y", 1) + "\n", encoding="utf-8")
    for arguments, message in (((FILES[0], "-o", tmp_path / "no" / "such" / "folder.html"), "cannot be written: No such file"),
                               ((broken, "-o", tmp_path / "never.html"), "broken.jsonl:2: invalid JSON"),
                               ((tmp_path / "missing", "-o", tmp_path / "never.html"), "cannot be read: No such file")):
        done = command("report", *arguments)
        assert done.returncode == 3 and done.stderr.startswith("tamis report: ") and message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl"]
    assert command("report").returncode == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_page_that_is_read_only_is_kept(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("mine", encoding="utf-8")
    page.chmod(0o444)
    done = command("report", FILES[0], "-o", page)
    assert done.returncode == 3 and page.read_text(encoding="utf-8") == "mine"


def test_the_target_of_a_link_is_written(tmp_path):
    target = tmp_path / "there" / "page.html"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")
    (tmp_path / "link.html").symlink_to(target)
    write(str(tmp_path / "link.html"), "new")
    assert (tmp_path / "link.html").is_symlink() and target.read_text(encoding="utf-8") == "new"


def test_what_is_there_is_not_lost(tmp_path, capsys):
    given = tmp_path / "given.jsonl"
    given.write_text("mine", encoding="utf-8")
    with pytest.raises(results.ResultsError, match="is the same file as .*, which is read"):
        can_write(str(given), [str(given)])
    (tmp_path / "link.jsonl").symlink_to(given)
    with pytest.raises(results.ResultsError, match="which is read"):
        can_write(str(tmp_path / "link.jsonl"), [str(given)])
    with pytest.raises(results.ResultsError, match="exists, and --no-clobber is given"):
        can_write(str(given), no_clobber=True)
    can_write("-", ["-"], no_clobber=True)
    write(str(given), b"new")
    assert "replaced" in capsys.readouterr().err and given.read_text(encoding="utf-8") == "new"


def test_without_its_packages_the_report_says_what_to_install(tmp_path):
    (tmp_path / "jinja2.py").write_text("raise ModuleNotFoundError('No module named jinja2', name='jinja2')\n", encoding="utf-8")
    done = command("report", FILES[0], "-o", tmp_path / "page.html", cwd=tmp_path)
    assert done.returncode == 4
    assert done.stderr == "tamis report: jinja2 is missing: pip install jinja2\n"


def test_the_roofline_as_a_command(tmp_path):
    done = command("roofline", FILES[0], "-o", tmp_path / "roof.svg")
    assert (done.returncode, done.stderr) == (0, "")
    root = ElementTree.parse(tmp_path / "roof.svg").getroot()
    space = {"s": "http://www.w3.org/2000/svg"}
    assert re.fullmatch(r"Arithmetic [\d.]+ GFLOP/s in fp32, memory 42\.0 GB/s, with all threads\. 42 measurements below\.",
                        root.findtext("s:desc", namespaces=space))
    assert "prefers-color-scheme:dark" in root.findtext("s:style", namespaces=space)
    assert command("roofline", FILES[0], "-o", tmp_path / "roof.png").returncode == 0
    assert (tmp_path / "roof.png").read_bytes()[:4] == b"\x89PNG"
    done = command("roofline", FILES[0], "--device", "cuda:0", "-o", tmp_path / "never.svg")
    assert done.returncode == 3 and "the files have no measurement on cuda:0" in done.stderr
    assert not (tmp_path / "never.svg").exists()
    assert command("roofline", FILES[0]).returncode == 2


def test_the_roof_of_this_machine(tmp_path):
    done = command("roofline", "-o", "-", "--device", "cpu")
    assert done.returncode == 0 and re.search(r"fp32 [\d.]+ (k )?GFLOP/s", done.stdout)


def spied(counts, output, **more):
    picture = {"output": str(output), "json": False, "quiet": False, "matrix": "a<&\x01", "class": "dense", "rows": 4, "cols": 2, "nnz": 5, **more}
    return subprocess.run([sys.executable, "-m", "tamis._spy"], input=json.dumps({**picture, "counts": counts}), capture_output=True, text=True)


def test_spy_draws_counts(tmp_path):
    done = spied([[0, 1], [9, 9]], tmp_path / "a.svg")
    assert (done.returncode, done.stderr) == (0, "") and "4 x 2, 5 nonzeros, dense" in done.stdout
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    space = {"s": "http://www.w3.org/2000/svg"}
    assert root.findtext("s:title", namespaces=space) == "Nonzeros of a<&\ufffd: 4 x 2, 5 nonzeros, dense"
    assert [one.get("d") for one in root.findall("s:g/s:path", space)] == ["M1 0h1v1h-1z", "M0 1h2v1h-2z"]
    for counts, shades in (([[0, 1], [9, 9]], {255, 160, 180, 0}), ([[0, 0]], {255, 160}), ([[1, 0]], {0, 160, 255})):
        assert spied(counts, tmp_path / "a.png").returncode == 0
        data = (tmp_path / "a.png").read_bytes()
        width = int.from_bytes(data[16:20], "big")
        at = data.index(b"IDAT")
        raw = zlib.decompress(data[at + 4:at + 4 + int.from_bytes(data[at - 4:at], "big")])
        lines = [raw[start + 1:start + 1 + width] for start in range(0, len(raw), width + 1)]
        assert set(b"".join(lines)) == shades and len(lines) == int.from_bytes(data[20:24], "big")
    assert spied([[1]], tmp_path / "none" / "a.png").returncode == 3


def test_the_program_lists_the_same_options():
    import importlib
    text = (SOURCE / "tools" / "tamis" / "commands" / "python.c").read_text(encoding="utf-8")
    for name in ("report", "compare", "roofline"):
        rows = re.search(rf"{name}_options\[\] = \{{(.*?)\n\}};", text, re.S)[1].replace("TOOL_NO_CLOBBER(", '{"no-clobber", ')
        listed = set(re.findall(r'(?:\{|TOOL_[A-Z_]+\()"([a-z-]+)", ', rows))
        module = importlib.import_module(f"tamis_lab.{name}" + (".__main__" if name == "report" else ""))
        known = {option[2:] for action in module.arguments()._actions for option in action.option_strings if option.startswith("--")}
        assert listed == known - {"help"}
