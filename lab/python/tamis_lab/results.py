"""Results of `tamis bench --json`: runs, matrices, measurements, and the memory traffic that a GPU counted.

`load` reads the lines of JSON, also from `.gz` and `.xz`. A record has an attribute for each field of its line; `class` is
`class_name`. What a line lacks is None for a text, NaN for a real number, 0 for a count and False for a flag; `passed` is None if
the result was not compared. Times are in milliseconds.
"""
from __future__ import annotations

import gzip
import io
import itertools
import json
import lzma
import math
import re
import sys
import zlib
from typing import IO, Any, Iterable, Iterator, Optional

from tamis._command import ResultsError, warning

LONGEST_LINE = 1 << 28
NAN = math.nan


# ---- what fields hold

def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return re.sub("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]", "\ufffd", value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def _count(value: Any) -> int:
    _real(value)
    return int(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _reals(count: int) -> Any:
    def convert(value: Any) -> tuple:
        if not isinstance(value, list):
            raise TypeError
        numbers = [NAN if one is None else _real(one) for one in value[:count]]
        return tuple(numbers + [NAN] * (count - len(numbers)))
    return convert


_PAIR, _SIX = _reals(2), _reals(6)
_MISSING = {_text: None, _real: NAN, _count: 0, _flag: False, _PAIR: (NAN,) * 2, _SIX: (NAN,) * 6}


def _fields(**names: str) -> dict[str, Any]:
    kinds = {"texts": _text, "reals": _real, "counts": _count, "flags": _flag, "pairs": _PAIR, "sixes": _SIX}
    return {name: kinds[kind] for kind, line in names.items() for name in line.split()}


class Record:
    """A line. `file` is the number of its file, from 0, and `line` that of the line, from 1."""

    FIELDS: dict[str, Any] = {}
    NEEDS: tuple[str, ...] = ()

    def __init__(self, given: dict[str, Any], file: int = 0, line: int = 0):
        self.file, self.line = file, line
        for name, convert in self.FIELDS.items():
            value = given.get(name)
            try:
                value = _MISSING[convert] if value is None else convert(value)
            except (TypeError, ValueError, OverflowError):
                raise ResultsError(f'"{name}" has a value of the wrong kind') from None
            setattr(self, "class_name" if name == "class" else name, value)
        lacking = [name for name in self.NEEDS if not getattr(self, name)]
        if lacking:
            raise ResultsError(f"a {type(self).__name__.lower()} without {', '.join(lacking)}")


class Run(Record):
    """A device in one run, with its ceilings: [0] of one thread, [1] of all."""

    FIELDS = _fields(
        texts="run started suite tier title paper version compiler system processor device model instruction_set driver",
        counts="processors threads multiprocessors cache_l1 cache_l2 cache_l3 memory ceiling_threads", flags="measured doubtful",
        pairs="fp32_gflops fp64_gflops l1_gbs l2_gbs l3_gbs memory_gbs", sixes="gather_gbs gather_bytes")


class Matrix(Record):
    """A matrix. `spy` is its raster: a digit for each cell, row by row, more for more nonzeros."""

    FIELDS = _fields(
        texts="run matrix spec group class class_reason spy", flags="stand_in",
        counts="rows cols nnz max empty_rows bandwidth spy_rows spy_cols", reals="density mean variation")
    NEEDS = ("matrix",)

    def __init__(self, *given: Any):
        super().__init__(*given)
        cells = self.spy_rows * self.spy_cols
        if self.spy and not (0 < cells == len(self.spy) and self.spy.isascii() and self.spy.isdigit()):
            self.spy = None


class Measurement(Record):
    """The times of one method on one problem."""

    FIELDS = _fields(
        texts="run suite operation edge matrix group class type device model driver algorithm parameters variant instruction_set "
              "version compiler started",
        flags="stand_in auto baseline peer cold disturbed", counts="rows cols nnz inner width batch threads samples calls seed",
        reals="setup_ms init_ms median_ms median_low_ms median_high_ms q1_ms q3_ms min_ms max_ms cleanup_ms gflops bytes_min floor_ms floor_ratio relative_error "
              "tolerance compared_share speedup gather_ms check_ms predicted_ms clock_mhz others_processors stolen_processors")
    NEEDS = ("operation", "matrix", "type", "device", "algorithm")

    def __init__(self, given: dict[str, Any], *place: int):
        super().__init__(given, *place)
        try:
            self.passed = None if given.get("passed") is None else _flag(given["passed"])
        except TypeError:
            raise ResultsError('"passed" has a value of the wrong kind') from None
        self.batch = max(self.batch, 1)
        self.edge = self.edge or "none"

    @property
    def ours(self) -> bool:
        """True if it is a method of Tamis that can be recommended: neither a peer nor the naive loop."""
        return not self.peer and self.algorithm != "naive"

    @property
    def contestant(self) -> tuple:
        return self.algorithm, self.parameters, self.peer

    @property
    def name(self) -> str:
        """Such as "cusddmm-sm-l2 tune=2"."""
        return f"{self.algorithm} {self.parameters}" if self.parameters else self.algorithm

    @property
    def intensity(self) -> float:
        """Flops a byte of the inputs and the result, each counted once."""
        return self.gflops * self.median_ms * 1e6 / self.bytes_min if self.bytes_min else NAN


class Traffic(Record):
    """The memory traffic of one number of column tiles, by a GPU's counters, and by the paper's model."""

    FIELDS = _fields(
        texts="run matrix device model algorithm parameters", flags="stand_in", counts="rows cols nnz inner tiles tile_columns",
        reals="median_ms dram_read_bytes dram_write_bytes model_a_bytes model_s_bytes")
    NEEDS = ("matrix", "algorithm", "tiles")


KINDS = {"measurement": Measurement, "run": Run, "matrix": Matrix, "traffic": Traffic}


class Results:
    """The records of some files, in their order."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.warnings: list[str] = []
        self.runs: list[Run] = []
        self.matrices: list[Matrix] = []
        self.measurements: list[Measurement] = []
        self.traffic: list[Traffic] = []

    def add_line(self, text: str, line: int) -> None:
        """Adds a line of the last file. Records of other kinds are passed over, and so are measurements without a time."""
        try:
            given = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise ResultsError(f"invalid JSON: {error}") from None
        if not isinstance(given, dict):
            raise ResultsError("not a JSON object")
        kind = KINDS.get(given.get("record", "measurement"))
        if kind is None:
            return
        record = kind(given, len(self.files) - 1, line)
        lists = {Run: self.runs, Matrix: self.matrices, Traffic: self.traffic, Measurement: self.measurements}
        if kind is not Measurement or 0 < record.median_ms < math.inf:
            lists[kind].append(record)

    def run_of(self, one: Measurement) -> Optional[Run]:
        """The run that a measurement is of, preferably the record of its suite."""
        found = [run for run in self.runs if run.device == one.device and _together(run, one)]
        return next((run for run in found if run.suite == one.suite), found[-1] if found else None)

    def matrix_of(self, one: Measurement) -> Optional[Matrix]:
        found = [m for m in self.matrices if (m.matrix, m.rows, m.nnz) == (one.matrix, one.rows, one.nnz)]
        return next((matrix for matrix in found if _together(matrix, one)), found[-1] if found else None)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def _together(record: Record, one: Measurement) -> bool:
    """Return True if both belong to the same run, by its name, or without a name to the same file."""
    return record.run == one.run if record.run and one.run else record.file == one.file


# ---- files

def _unpacked(file: IO[bytes]) -> IO[bytes]:
    file = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)
    start = file.peek(6)[:6]
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    return lzma.LZMAFile(file) if start == b"\xfd7zXZ\x00" else file


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    for number in itertools.count(1):
        line = file.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise EOFError("a line of more than 256 MiB")
        if not line:
            return
        if line.strip():
            yield number, line.strip()


def _add_file(results: Results, path: str, file: IO[bytes]) -> None:
    broken = None
    for number, line in _lines(_unpacked(file)):
        if broken:
            raise ResultsError("{}:{}: {}".format(path, *broken))
        try:
            results.add_line(line.decode("utf-8"), number)
        except (ResultsError, UnicodeDecodeError) as error:
            broken = number, error
    if broken:
        results.warnings.append("{}:{}: the last line is left out: {}".format(path, *broken))


def load(paths: Iterable[str]) -> Results:
    """Reads files; "-" is standard input. A last line that is incomplete, as after an interrupted run, is left out with a warning in
    `warnings`; any other invalid line is a ResultsError that names it.

    >>> import tempfile, tamis_lab.results
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     n = file.write('{"operation": "sddmm", "matrix": "a", "type": "fp32", "device": "cpu", "algorithm": "x", "median_ms": 2}')
    ...     file.flush()
    ...     tamis_lab.results.load([file.name]).measurements[0].median_ms
    2.0
    """
    results = Results()
    for path in map(str, paths):
        results.files.append(path)
        try:
            if path == "-":
                _add_file(results, path, sys.stdin.buffer)
            else:
                with open(path, "rb") as file:
                    _add_file(results, path, file)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise ResultsError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return results


def load_measurements(paths: list[str]) -> Results:
    """Reads files for a command: says its warnings, and refuses files without measurements."""
    results = load(paths)
    for line in results.warnings:
        warning(line)
    if not results.measurements:
        raise ResultsError(f"{paths[0]}: no measurements")
    return results
