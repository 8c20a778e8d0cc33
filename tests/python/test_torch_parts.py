"""Sampled neighbours, chosen rows and columns of a pattern: against dense matrices, the numbers of the library, and the distribution that is promised."""
from __future__ import annotations

import ctypes
import itertools
import math

import numpy
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("device")
stats = pytest.importorskip("scipy.stats")

import tamis  # noqa: E402
import tamis.torch as tt  # noqa: E402
from tamis._library import lib  # noqa: E402
from tamis.torch import _parts  # noqa: E402


def patterns(seed=3, rows=40, cols=30):
    """One graph in COO, in an order of its own and with entries that occur twice, and in CSR; a row is empty, and one is long."""
    generator = numpy.random.default_rng(seed)
    row = numpy.concatenate([generator.integers(1, rows, 150), numpy.full(200, 5)])
    col = generator.integers(0, cols, row.size)
    order = generator.permutation(row.size)
    row, col = row[order], col[order]
    place = numpy.argsort(row, kind="stable")
    offsets = numpy.concatenate([[0], numpy.bincount(row, minlength=rows).cumsum()])
    for kind in (torch.int64, torch.int32):
        yield tt.Pattern.from_coo(*(torch.tensor(one, dtype=kind) for one in (row, col)), (rows, cols))
        yield tt.Pattern.from_csr(torch.tensor(offsets, dtype=kind), torch.tensor(col[place], dtype=kind), (rows, cols))


def lists(pattern):
    """The entries of each row, in their order."""
    rows = pattern._rows().tolist()
    return [[entry for entry, row in enumerate(rows) if row == number] for number in range(pattern.rows)]


def parts_of(part, entries):
    """The entries of each row of a part, which is checked: its columns are those of the entries."""
    assert not part.coo and entries.dtype == torch.int64 and part.nnz == entries.numel()
    offsets = part.index.tolist()
    return [entries[begin:end].tolist() for begin, end in zip(offsets, offsets[1:])]


def test_random_numbers_of_the_library():
    at = lib.tamis_random_uniform_at
    at.argtypes, at.restype = [ctypes.c_uint64] * 3, ctypes.c_double
    for seed in (0, 1, 2**31 + 7, 2**32, 2**63 + 2**33 + 5, 2**64 - 1):
        streams = torch.tensor([0, 1, 7, 2**31, 2**33 + 1, 2**40 + 3])
        got = _parts.draws(seed, streams, 5)
        assert got.tolist() == [[at(seed, stream, index) for index in range(5)] for stream in streams.tolist()]


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("fanout", [0, 1, 3, 10, 250])
def test_every_device_draws_the_same(fanout, replace):
    """The steps by which other devices draw, on this one."""
    for pattern in patterns():
        rows = torch.arange(pattern.rows).flip(0).repeat(2)
        part, entries = pattern.sample(rows, fanout, 2**63 + 5, replace)
        offsets, order = pattern._by_rows()
        kept, found = _parts.drawn(pattern, offsets, rows, fanout, 2**63 + 5, replace)
        assert torch.equal(kept, part.index.long().diff()) and torch.equal(found if order is None else order[found], entries)


@pytest.mark.parametrize("fanout", [0, 1, 3, 10, 1000])
def test_samples_as_an_oracle_draws_them(fanout):
    """Floyd's algorithm row by row, with the library's numbers."""
    at = lib.tamis_random_uniform_at
    at.argtypes, at.restype = [ctypes.c_uint64] * 3, ctypes.c_double
    seed = 11
    rows = [5, 0, 3, 17, 5, 39, 0, 21]
    for pattern in patterns():
        part, entries = pattern.sample(torch.tensor(rows), fanout, seed)
        assert part.shape == (len(rows), pattern.cols) and torch.equal(part.columns, pattern.columns[entries])
        assert part.columns.dtype == part.index.dtype == pattern.columns.dtype
        of = lists(pattern)
        for row, got in zip(rows, parts_of(part, entries)):
            length, places = len(of[row]), []
            if length <= fanout:
                assert got == of[row]
                continue
            for draw in range(fanout):
                last = length - fanout + draw
                place = math.floor(at(seed, row, draw) * (last + 1))
                places.append(last if place in places else place)
            assert got == [of[row][place] for place in sorted(places)]
            assert len(set(got)) == fanout


@pytest.mark.parametrize("fanout", [0, 1, 4])
def test_samples_with_replacement(fanout):
    rows = [5, 0, 3, 17]
    for pattern in patterns():
        of = lists(pattern)
        for row, got in zip(rows, parts_of(*pattern.sample(rows, fanout, 3, replace=True))):
            assert len(got) == (fanout if of[row] else 0) and set(got) <= set(of[row])
            assert [of[row].index(entry) for entry in got] == sorted(of[row].index(entry) for entry in got)


def chi_square(counts, probabilities):
    """Check counts against probabilities: a right sampler fails with probability 1e-6, and the seed is fixed."""
    total = sum(counts.values())
    assert set(counts) <= set(probabilities)
    found = sum((counts.get(key, 0) - total * p) ** 2 / (total * p) for key, p in probabilities.items())
    assert found < stats.chi2.isf(1e-6, len(probabilities) - 1), found


def counted(degree, fanout, replace, seed, count=20000):
    """How often each set of places was drawn, of rows that all have as many entries."""
    graph = tt.Pattern.from_csr(torch.arange(0, (count + 1) * degree, degree), torch.arange(degree).repeat(count), (count, degree))
    _, entries = graph.sample(torch.arange(count), fanout, seed, replace)
    found, counts = numpy.unique((entries % degree).view(count, fanout).cpu().numpy(), axis=0, return_counts=True)
    return {tuple(key): int(times) for key, times in zip(found.tolist(), counts)}


@pytest.mark.parametrize("degree, fanout", [(2, 1), (7, 3), (7, 6), (40, 1), (12, 2)])
def test_every_set_is_as_likely(degree, fanout):
    sets = list(itertools.combinations(range(degree), fanout))
    for seed in (0, 2**40 + 1):
        chi_square(counted(degree, fanout, False, seed), {one: 1 / len(sets) for one in sets})


@pytest.mark.parametrize("degree, fanout", [(2, 3), (5, 1), (4, 3)])
def test_draws_with_replacement_are_independent(degree, fanout):
    probabilities: dict = {}
    for one in itertools.product(range(degree), repeat=fanout):
        key = tuple(sorted(one))
        probabilities[key] = probabilities.get(key, 0) + degree ** -fanout
    chi_square(counted(degree, fanout, True, 5), probabilities)


def test_rows_draw_apart():
    """The samples of two rows, of one row by two seeds, and of two draws are independent."""
    for seeds in (5, 6), (5, 5 + 2**32):
        one, two = (counted_places(seed) for seed in seeds)
        for a, b in ((one, two), (one[:-1], one[1:])):
            table = numpy.zeros((6, 6))
            numpy.add.at(table, (a, b), 1)
            chi_square({key: int(value) for key, value in numpy.ndenumerate(table)}, {key: 1 / 36 for key in numpy.ndindex(6, 6)})


def counted_places(seed, count=20000):
    graph = tt.Pattern.from_csr(torch.arange(0, (count + 1) * 6, 6), torch.arange(6).repeat(count), (count, 6))
    return (graph.sample(torch.arange(count), 1, seed)[1] % 6).cpu().numpy()


def test_a_row_draws_the_same_beside_others():
    for pattern in patterns():
        alone = [parts_of(*pattern.sample([row], 4, 9))[0] for row in range(pattern.rows)]
        threads = torch.get_num_threads()
        try:
            for count in (1, 3):
                torch.set_num_threads(count)
                assert parts_of(*pattern.sample(torch.arange(pattern.rows), 4, 9)) == alone
        finally:
            torch.set_num_threads(threads)
        assert parts_of(*pattern.sample(torch.arange(pattern.rows), 4, 10)) != alone


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
@pytest.mark.parametrize("call", [lambda p: p.sample([0, 1], 1), lambda p: p.select([0, 1]), lambda p: p.select(cols=[1, 0])])
def test_changes_in_place_are_checked(kind, call):
    """Before offsets are followed; and what was remembered of the other offsets is gone."""
    offsets, columns = torch.tensor([0, 2, 2, 3], dtype=kind), torch.tensor([0, 1, 1], dtype=kind)
    pattern = tt.Pattern.from_csr(offsets, columns, (3, 2))
    call(pattern)
    assert pattern._by_rows()[0] is pattern._by_rows()[0] and pattern._by_rows()[0].dtype == torch.int64
    offsets[1] = 1
    assert pattern._by_rows()[0].tolist() == [0, 1, 2, 3]
    assert call(pattern)[0] == call(tt.Pattern.from_csr(offsets.clone(), columns.clone(), (3, 2)))[0]
    offsets[1] = 3
    with pytest.raises(tamis.PatternError, match="offset"):
        call(pattern)
    offsets[1] = 1
    columns[2] = 2
    with pytest.raises(tamis.PatternError, match="column"):
        call(pattern)


def test_values_and_edge_attributes():
    values = torch.randn(6, dtype=torch.float64, requires_grad=True)
    pattern = tt.Pattern.from_coo(torch.tensor([2, 0, 2, 1, 2, 0]), torch.tensor([0, 1, 2, 0, 1, 2]), (3, 3), values)
    part, entries = pattern.sample([2, 0], 2, 1)
    assert torch.equal(part.values, values[entries])
    part.values.sum().backward()
    assert torch.equal(values.grad, torch.zeros_like(values).index_add(0, entries, torch.ones(part.nnz, dtype=torch.float64)))
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(tt.spmm(part, x, values[entries]), part.to_dense() @ x)


def dense(pattern):
    """How often each place occurs."""
    return torch.zeros(pattern.shape).index_put((pattern._rows().long(), pattern.columns.long()), torch.ones(pattern.nnz), accumulate=True)


@pytest.mark.parametrize("rows", [None, [], [3, 0, 5, 3], list(range(39, -1, -1))])
@pytest.mark.parametrize("cols", [None, [], [7, 0, 29], list(range(30))])
def test_chosen_rows_and_columns(rows, cols):
    for pattern in patterns():
        part, entries = pattern.select(rows, cols)
        want = dense(pattern)
        want = want if rows is None else want[rows]
        want = want if cols is None else want[:, cols]
        assert torch.equal(dense(part), want) and part.shape == tuple(want.shape)
        columns = pattern.columns.long() if cols is None else torch.tensor([*cols, -1])[part.columns.long()]
        assert torch.equal(columns[entries] if cols is None else columns, pattern.columns[entries].long())
        places = [of.index(entry) for of, row in zip([lists(pattern)[row] for row in (range(pattern.rows) if rows is None else rows)], parts_of(part, entries)) for entry in row]
        bounds = part.index.tolist()
        assert all(places[begin:end] == sorted(places[begin:end]) for begin, end in zip(bounds, bounds[1:]))


def test_induced():
    for pattern in patterns(rows=30):
        part, entries = pattern.induced(torch.tensor([4, 5, 29, 0]))
        other, same = pattern.select([4, 5, 29, 0], [4, 5, 29, 0])
        assert part == other and torch.equal(entries, same) and torch.equal(dense(part), dense(pattern)[[4, 5, 29, 0]][:, [4, 5, 29, 0]])


def test_empty_patterns():
    none = torch.empty(0, dtype=torch.int64)
    for pattern in (tt.Pattern.from_coo(none, none, (3, 4)), tt.Pattern.from_csr(torch.zeros(4, dtype=torch.int64), none, (3, 4))):
        for replace in (False, True):
            part, entries = pattern.sample([0, 2], 5, 0, replace)
            assert part.shape == (2, 4) and part.nnz == entries.numel() == 0
        assert pattern.select([1], [2, 0])[0].shape == (1, 2)
    assert tt.Pattern.from_coo(none, none, (0, 0)).induced([])[0].shape == (0, 0)
    assert tt.Pattern.from_coo(none, none, (0, 0)).sample([], 2)[0].shape == (0, 0)


@pytest.mark.parametrize("call, words", [
    (lambda p: p.sample([0], -1), "fanout = -1: expected 0 or more"),
    (lambda p: p.sample([0], 1, -1), r"seed = -1: expected a number from 0 to 2\^64 - 1"),
    (lambda p: p.sample([0], 1, 2**64), "seed = 18446744073709551616: expected"),
    (lambda p: p.sample([0], 1.5), "integer"),
    (lambda p: p.sample([3], 1), "rows has 3: expected numbers from 0 to 2, since the pattern has 3 rows"),
    (lambda p: p.sample([-1], 1), "rows has -1: expected numbers from 0 to 2"),
    (lambda p: p.sample(torch.tensor([[0]]), 1), r"rows is torch.int64 of shape \(1, 1\): expected a vector"),
    (lambda p: p.sample([0.5], 1), r"rows is torch.float32 of shape \(1,\): expected a vector of int32 or int64"),
    (lambda p: p.sample(torch.tensor([True]), 1), "rows is torch.bool"),
    (lambda p: p.select(cols=[4]), "cols has 4: expected numbers from 0 to 3, since the pattern has 4 columns"),
    (lambda p: p.select(cols=[1, 1]), "cols has a number twice: expected distinct ones"),
    (lambda p: p.select([5], [1]), "rows has 5: expected numbers from 0 to 2"),
    (lambda p: p.induced([0]), "the pattern is 3 x 4: expected as many rows as columns"),
    (lambda p: tt.Pattern.causal(3).induced([0, 4]), "nodes has 4: expected numbers from 0 to 2"),
    (lambda p: tt.Pattern.causal(3).induced([0, 0]), "nodes has a number twice"),
])
def test_refused(call, words):
    with pytest.raises((tamis.Error, TypeError, ValueError), match=words):
        call(tt.Pattern.from_coo(torch.tensor([0, 1]), torch.tensor([1, 2]), (3, 4)))
