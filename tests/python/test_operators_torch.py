"""Each operator of tamis.torch, a row of operators.py: values and gradients against dense matrices in fp64, for all types, strides, batches and sizes of zero; what
autograd, compilers and autocast make of it; and each transform that the manual's table has: the right value, or the error. Never a wrong value without a word."""
from __future__ import annotations

import itertools
import re
import types

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

import operators as table  # noqa: E402

import tamis.torch as tt  # noqa: E402
from tamis.torch import _direct, _ops  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
ROWS = [row for row in table.ROWS if _ops.REGISTERED or row.operation in table.JAX_OPERATIONS]
PLAIN = [row for row in ROWS if row.operation != "sampled_addmm"]  # what takes a pattern
each = pytest.mark.parametrize("row", PLAIN, ids=repr)
common = pytest.mark.parametrize("row", [row for row in PLAIN if not row.rare], ids=repr)
registered = pytest.mark.skipif(not _ops.REGISTERED, reason="operators are registered from PyTorch 2.4")


@pytest.fixture(autouse=True, params=DEVICES)
def device(request):
    """The device of all that a Case has."""
    global DEVICE
    DEVICE = request.param
    return DEVICE


@pytest.fixture(params=[True, False], ids=["direct", "dispatched"])
def direct(request, monkeypatch):
    """Without PyTorch's dispatcher, as calls run that nothing watches, and through it."""
    if not request.param:
        monkeypatch.setattr(_direct, "POSSIBLE", False)
    return request.param


def pattern_of(form, rows, columns, shape):
    """Of coordinates of 64 bits in any order, or compressed, of 32 bits."""
    rows, columns = (torch.as_tensor(x, device=DEVICE) for x in (rows, columns))
    if form == "coo":
        return tt.Pattern.from_coo(rows, columns, shape)
    offsets = torch.nn.functional.pad(torch.bincount(rows, minlength=shape[0]).cumsum(0), (1, 0))
    return tt.Pattern.from_csr(offsets.int(), columns.int(), shape)


class Case:
    """A row with a pattern and operands: ours and theirs take operands, with_pattern a pattern before them."""

    def __init__(self, row, form="coo", leads=None, dtype=torch.float64, **sizes):
        if DEVICE == "cuda" and "columns" in row.label:
            pytest.skip("the order of columns is the CPU's")
        sizes = row.sizes(**sizes)
        rows, columns = table.places(sizes, form == "csr" or row.simple, row.simple)
        self.row, self.label, self.offsets = row, repr(row), torch.nn.functional.pad(torch.bincount(torch.as_tensor(rows), minlength=sizes["m"]).cumsum(0), (1, 0))
        self.pattern = pattern = pattern_of("csr" if row.simple else form, rows, columns, (sizes["m"], sizes["n"]))
        R, C = (torch.eye(sizes[x], dtype=torch.float64)[torch.as_tensor(at)].to(DEVICE) for x, at in (("m", rows), ("n", columns)))
        dense = table.Dense(torch, R, C)
        self.inputs = [torch.as_tensor(x).to(DEVICE, dtype) for x in row.drawn(sizes, leads, rows)]
        first = tt if row.made is None else row.made(tt, pattern)
        self.with_pattern = lambda pattern, *x: row.call(first, pattern, *x)
        self.ours, self.theirs = lambda *x: row.call(first, pattern, *x), lambda *x: row.reference(dense, *x)
        self.everything = range(len(self.inputs))

    def leaves(self):
        return [x.clone().requires_grad_() for x in self.inputs]


def close(got, want, what=None, **tolerances):
    torch.testing.assert_close(got, want, msg=what and (lambda text: f"{what}: {text}"), **tolerances)


def gradients(out, given, weights=None, **settings):
    """A gradient that autograd does not have is zeros."""
    if not out.requires_grad:
        return [torch.zeros_like(x) for x in given]
    found = torch.autograd.grad(out, given, torch.ones_like(out) if weights is None else weights, allow_unused=True, **settings)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, given)]


def weights_of(out):
    return torch.linspace(-1, 1, out.numel(), dtype=out.dtype, device=out.device).reshape(out.shape)


def leads_of(row):
    """Leading dimensions of the operands: of each choice of them; of more dimensions, where values have fewer."""
    count = len(row.shapes)
    yield [()] * count
    for chosen in table.subsets(row.batch):
        yield [(2,) if place in chosen else () for place in range(count)]
    if len(row.batch) > 1:
        yield [(3,) if shape == "e" else (2, 3) for shape in row.shapes]


@pytest.mark.parametrize("row", ROWS, ids=repr)
@pytest.mark.parametrize("form", ["coo", "csr"])
def test_values_and_gradients(row, form, direct):
    """Of all operands, of each alone, and with create_graph=True, which has second derivatives too."""
    if row.rare and direct == (form == "csr"):
        return
    for leads in leads_of(row):
        case = Case(row, form, leads)
        given = case.leaves()
        got, want = case.ours(*given), case.theirs(*given)
        close(got, want, leads)
        weights = weights_of(want)
        firsts = [gradients(out, given, weights, retain_graph=True, create_graph=more) for out, more in ((want, True), (got, False))]
        close(firsts[1], firsts[0], leads)
        if leads != [leads[0]] * len(leads):
            continue
        for place in case.everything:
            alone = [x.detach().requires_grad_(at == place) for at, x in enumerate(given)]
            close(gradients(case.ours(*alone), [alone[place]], weights)[0], firsts[0][place], f"{leads}, {place} alone")
        if _ops.REGISTERED and table.TORCH_TABLE["double backward", row.operation] == table.WORKS:
            again = gradients(got, given, weights, create_graph=True)
            close(again, firsts[0])
            close(*[gradients(sum((g * g.detach().cos()).sum() for g in found) + 0 * sum(x.sum() for x in given), given) for found in (again, firsts[0])], leads)


def views(shape, positive):
    """Tensors of a shape that do not lie as kernels read them, each a view of a leaf."""
    def leaf(*size):
        return ((torch.rand(size) + 0.5 if positive else torch.randn(size)).double().to(DEVICE)).requires_grad_()

    if not shape:
        return
    first, *rest = shape
    *heads, last = shape
    x = leaf(*heads, 2 * last)
    yield x, x[..., ::2]
    x = leaf(*[2 * size for size in shape])
    yield x, x[tuple(slice(1, None, 2) for _ in shape)]
    x = leaf(1, *rest)
    yield x, x.expand(shape)
    x = leaf(*heads, 1)
    yield x, x.expand(shape)
    for at in range(1, len(shape)):
        x = leaf(*shape[1:at + 1], first, *shape[at + 1:])
        yield x, x.movedim(at, 0)


@common
def test_views_of_any_strides(row, direct):
    """Results and gradients have the bits of those of packed operands, where all is ours. With heads inside, no one stride leads from member to member."""
    torch.manual_seed(5)
    for leads in ([()], [(2, 3)])[:1 + (len(row.batch) > 1)]:
        case = Case(row, leads=leads * len(row.shapes))
        for place, x in enumerate(case.inputs):
            for leaf, view in views(x.shape, row.positive):
                found = []
                for one in (view, view.contiguous()):
                    out = case.ours(*[one if at == place else other for at, other in enumerate(case.inputs)])
                    found.append((out, *gradients(out, [leaf], weights_of(out))))
                if row.operation in ("nn", "segment"):  # PyTorch multiplies, or sums
                    close(*found, f"{place}, {view.stride()}")
                else:
                    assert all(map(torch.equal, *found)), f"{place}, {view.stride()}"


@pytest.mark.parametrize("columns_first", [False, True])
@pytest.mark.parametrize("row", [row for row in ROWS if row.operation in ("sddmm", "spmm", "fused") and (row.brief or row.label == "mask, no values")], ids=repr)
def test_a_gradient_that_repeats_an_earlier_one_reads_the_new_tensors(row, columns_first):
    """A pattern keeps what its calls have in common besides addresses: the same bits as with a pattern that has seen no call."""
    torch.manual_seed(5)
    choices = list(leads_of(row))
    for leads in [choices[0], choices[-2], choices[-1], [(2,) if place in row.batch[::2] else () for place in range(len(row.shapes))]]:
        case = Case(row, "csr", leads, torch.float32, m=30, n=40, e=240, k=8, l=6)
        for constant in (False, False, False, True, True, True):
            given = [torch.randn_like(x) for x in case.inputs]
            given = [x.mT.contiguous().mT if columns_first and len(shape) == 2 else x for x, shape in zip(given, row.shapes)]
            wanted = [x.requires_grad_() for x in given[constant and len(given) > 1:]]
            fresh = tt.Pattern.from_csr(case.pattern.index.clone(), case.pattern.columns.clone(), case.pattern.shape)
            for ours, new in zip(*(gradients(out, wanted, weights_of(out).sin()) for out in (case.ours(*given), case.with_pattern(fresh, *given)))):
                assert ours.stride() == new.stride() and torch.equal(ours, new), leads
        kept = [what for what, *_ in case.pattern._known.recipes if what[0] == "backward"]
        assert kept and len(kept) <= 8


@common
def test_sizes_of_zero(row, direct):
    """No entries, rows, columns, widths, heads, and batches of no members: results have their shapes, gradients are zeros or what they should be."""
    cases = [(sizes, None) for sizes in table.NOTHING if row.operation != "nn" or "e" in sizes]
    cases += [({}, [lead if place in row.batch else () for place in range(len(row.shapes))]) for lead in ((0,), (0, 2), (2, 0)) if row.batch]
    for sizes, leads in cases:
        if (row.positive and "k" in sizes) or (row.square and sizes.get("m", 1) != sizes.get("n", 1)):
            continue
        case = Case(row, "csr", leads, **sizes)
        given = case.leaves()
        got, want = case.ours(*given), case.theirs(*given)
        close(got, want, (sizes, leads))
        close(gradients(got, given), gradients(want, given), (sizes, leads))
        assert not leads or all(not g.any() for g in gradients(case.ours(*given), given))


def rounded(f, given, unit, times):
    """f, and how far from it a result may be if each operand and each result is rounded a few times: by its magnitude, and by its derivatives times the numbers
    that they are by. Where terms cancel, the largest of a tensor counts."""
    want, far = f(*given), f(*given).abs()
    for jacobian, x in zip(torch.func.jacrev(f, tuple(range(len(given))))(*given), given):
        far = far + (jacobian * x).nan_to_num(0.0).abs().reshape(*want.shape, -1).sum(-1)
    return want, unit * times * (far + far.max() / 3)


UNITS = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


@common
@pytest.mark.parametrize("dtype", UNITS, ids=str)
def test_types(row, dtype):
    """Results and gradients are as near as rounding allows, and have the same bits in each call. spmm takes values of fp32 beside 16 bits."""
    case = Case(row, dtype=dtype)
    mixed = row.operation == "spmm" and "e" in row.shapes and UNITS[dtype] > 1e-6
    for inputs in [case.inputs] + [[x.float() if shape == "e" else x for x, shape in zip(case.inputs, row.shapes)]] * mixed:
        given, exact = [x.clone().requires_grad_() for x in inputs], [x.double() for x in inputs]
        out, again = case.ours(*given), case.ours(*given)
        weights = weights_of(out.double()).to(out.dtype)
        assert out.dtype == dtype and torch.equal(out, again)
        pairs = [("the result", out, case.theirs, exact)]
        for place, (g, other, x) in enumerate(zip(gradients(out, given, weights), gradients(again, given, weights), given)):
            assert g.dtype == x.dtype and torch.equal(g, other)
            pairs.append((f"gradient {place}", g, lambda *x, place=place: torch.func.vjp(case.theirs, *x[:-1])[1](x[-1])[place], [*exact, weights.double()]))
        for what, got, f, operands in pairs:
            want, most = rounded(f, operands, UNITS[dtype], 3 if UNITS[dtype] > 1e-6 else 12)
            assert ((got.double() - want).abs() <= most).all(), f"{what}: {((got.double() - want).abs() / most).max():.2f} of what rounding allows"


@registered
@each
def test_finite_differences(row):
    """First and second derivatives."""
    case = Case(row, "csr" if len(row.shapes) % 2 else "coo", m=4, n=3, e=7, l=2)
    leaves = case.leaves()
    out = case.theirs(*leaves)
    used = [g.any() for g in gradients(out, leaves, weights_of(out))]  # nothing depends on the values of a mask

    def call(*given):
        left = list(given)
        return case.ours(*[left.pop(0) if reads else x for x, reads in zip(case.inputs, used)])

    given = [x for x, reads in zip(leaves, used) if reads]
    twice = table.TORCH_TABLE["double backward", row.operation] == table.WORKS
    assert not given or (torch.autograd.gradcheck(call, given) and (not twice or torch.autograd.gradgradcheck(call, given)))


@registered
@each
def test_opcheck(row, monkeypatch):
    """Each call of an operator that the row makes, by PyTorch's own checks."""
    if not row.brief:
        pytest.skip("another row has the same operators")
    seen = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if str(function).startswith("tamis."):
                seen.append((function, args, kwargs or {}))
            return function(*args, **(kwargs or {}))

    monkeypatch.setattr(_direct, "POSSIBLE", False)
    for leads in list(leads_of(row))[::max(1, len(list(leads_of(row))) - 1)]:
        case = Case(row, leads=leads)
        with Watch():
            case.ours(*case.leaves())
    assert seen
    for function, args, kwargs in seen:
        torch.library.opcheck(function, [x.detach().requires_grad_(x.is_floating_point()) if isinstance(x, torch.Tensor) else x for x in args], kwargs)


# ------------------------------------------------------------------------------ transforms

T = table.Transforms(types.SimpleNamespace(vmap=torch.vmap, **{name: getattr(torch.func, name) for name in ("grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian")}), torch, close)


def check_pattern(case):
    torch.vmap(lambda columns: case.with_pattern(tt.Pattern.from_csr(case.offsets, columns, case.pattern.shape), *case.inputs))(case.pattern.columns.repeat(2, 1))


def check_duals(case):
    forward_ad = torch.autograd.forward_ad
    for chosen in table.subsets(case.everything):
        for recorded in (False, True):
            with forward_ad.dual_level():
                given = [forward_ad.make_dual(x.clone().requires_grad_(recorded), t) if place in chosen else x
                         for place, (x, t) in enumerate(zip(case.inputs, T.tangents(case)))]
                got, want = (forward_ad.unpack_dual(f(*given)).tangent for f in (case.ours, case.theirs))
                close(torch.zeros_like(want) if got is None else got, want, f"{case.label}, {chosen}")

    def product(f):  # a gradient within a dual level, which is not recorded
        with forward_ad.dual_level():
            given = [forward_ad.make_dual(x.clone().requires_grad_(), t) for x, t in zip(case.inputs, T.tangents(case))]
            found = torch.autograd.grad(T.loss(f)(*given), given, allow_unused=True)
            return [forward_ad.unpack_dual(g).tangent for g in found if g is not None and forward_ad.unpack_dual(g).tangent is not None]

    close(*[[x for x in product(f) if x.any()] for f in (case.ours, case.theirs)], f"{case.label}, gradient of duals")


def check_gradients_of_vmap(case):
    T.vmap_of_grad(case)
    for chosen in table.subsets(case.everything):
        given, dims = T.members(case, chosen)
        given = [x.clone().requires_grad_() for x in given]
        close(*[gradients((torch.vmap(f, dims)(*given)**2).sum(), given) for f in (case.ours, case.theirs)], chosen)


def batched_gradients(case, f):
    given = case.leaves()
    out = f(*given)
    batch = torch.stack([torch.cos(out.detach() * number) for number in range(3)])
    found = torch.autograd.grad(out, given, batch, is_grads_batched=True, allow_unused=True)
    return [torch.zeros(3, *x.shape).to(x) if g is None else g for g, x in zip(found, given)]


def twice(case, f):
    given = case.leaves()
    first = torch.autograd.grad(T.loss(f)(*given), given, create_graph=True, allow_unused=True)
    return gradients(sum(g.square().sum() for g in first if g is not None), given)


def compiled(f):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, backend="aot_eager")


def check_compile(case):
    given = case.leaves()
    out, want = compiled(case.ours)(*given), case.theirs(*given)
    close(out, want, case.label)
    close(*[gradients(x.sin(), given) for x in (out, want)], case.label)


def check_compiled_jvp(case):
    close(*[through(lambda *x, f=f: torch.func.jvp(f, x, T.tangents(case))[1])(*case.inputs) for f, through in ((case.ours, compiled), (case.theirs, lambda f: f))])


def check_compiled_transforms(case):
    close(compiled(torch.func.grad(T.loss(case.ours)))(*case.inputs), torch.func.grad(T.loss(case.theirs))(*case.inputs), case.label)
    many, dims = T.members(case, (0,), 2)
    close(compiled(lambda *x: torch.vmap(case.ours, in_dims=dims)(*x))(*many), torch.vmap(case.theirs, in_dims=dims)(*many), case.label)


def check_export(case):
    class Module(torch.nn.Module):
        def forward(self, *x):
            return case.ours(*x)

    program = torch.export.export(Module(), tuple(case.inputs))
    close(program.module()(*case.inputs), case.theirs(*case.inputs), case.label)


def check_autocast(case):
    """Each operand in turn has autocast's own type: so has the result, unless autocast computes it in fp32; gradients have those of their operands."""
    exact = case.leaves()
    want = case.theirs(*exact)
    wanted = gradients(want, exact)
    for dtype, narrow in itertools.product((torch.bfloat16, torch.float16), range(len(exact) + 1)):
        mixed = [x.to(dtype if place == narrow else torch.float32).requires_grad_() for place, x in enumerate(case.inputs)]
        with torch.autocast(DEVICE, dtype=dtype):
            out = case.ours(*mixed)
        if case.row.operation not in ("nn", "sampled_addmm"):
            assert out.dtype == (torch.float32 if case.row.wide else mixed[0].dtype if case.row.operation == "segment" else dtype), narrow
        close(out.double(), want, narrow, atol=5e-2, rtol=5e-2)
        for g, w, x in zip(gradients(out, mixed), wanted, mixed):
            assert g.dtype == x.dtype and (g.double() - w).norm() <= 0.1 * w.norm() + 0.05, narrow


def check_meta(case):
    for pattern in (case.pattern, case.pattern.to("meta"))[case.row.operation == "nn":]:
        given = [x.to("meta").requires_grad_() for x in case.inputs]
        out, want = case.with_pattern(pattern, *given), case.theirs(*case.inputs)
        assert out.is_meta and out.shape == want.shape and out.dtype == want.dtype
        assert all(g.is_meta and g.shape == x.shape for g, x in zip(gradients(out, given), given))


CHECKS = {
    **T.checks(),
    "vmap over a pattern": check_pattern,
    "duals": check_duals,
    "jacobian": T.both(lambda case, f: torch.autograd.functional.jacobian(f, tuple(case.inputs), strategy="forward-mode", vectorize=True)),
    "orders": T.orders(("jacrev", "jacrev")),
    "orders of forward mode": T.orders(("jacfwd", "jacfwd"), ("jacrev", "jacfwd")),
    "vmap of grad": check_gradients_of_vmap,
    "is_grads_batched": T.both(batched_gradients),
    "double backward": T.both(twice),
    "compile": check_compile,
    "compile of transforms": check_compiled_transforms,
    "compile of jvp": check_compiled_jvp,
    "export": check_export,
    "autocast": check_autocast,
    "meta": check_meta,
}
LONG = ("compile", "compile of transforms", "compile of jvp", "export", "orders", "orders of forward mode")


@registered
@pytest.mark.parametrize(("transform", "row"), [(transform, row) for transform in table.TORCH for row in ROWS if row.brief or
                                                 (transform not in LONG and not row.rare and table.TORCH_TABLE[transform, row.operation] == table.WORKS)], ids=str)
def test_transform(transform, row):
    cell = table.TORCH_TABLE[transform, row.operation]
    if cell == table.WORKS:
        CHECKS[transform](Case(row))
    else:
        words = re.escape(cell).replace(r"on\ device\ cpu", rf"on\ device\ {DEVICE}(:\d+)?")
        with pytest.raises(Exception, match=f"^{words}"):
            CHECKS[transform](Case(row))


def test_every_transform_has_a_check():
    assert set(CHECKS) == set(table.TORCH)


# ------------------------------------------------------------------------------ what else PyTorch's users expect of an operator


@common
def test_what_stands_for_a_pattern(row):
    """A mask of bool, dense or sparse, and a pattern that is part of a module."""
    if row.made is not None:
        pytest.skip("its pattern is made before the call")
    case = Case(row)
    rows, columns = (torch.as_tensor(x, device=DEVICE) for x in table.places(row.sizes(), simple=True))
    mask = torch.zeros(case.pattern.shape, dtype=torch.bool, device=DEVICE).index_put((rows, columns), torch.tensor(True, device=DEVICE))
    pattern = tt.Pattern.from_torch(mask)
    want = case.with_pattern(pattern, *case.inputs)
    for given in (mask, mask.to_sparse_csr(), mask.to_sparse_csc(), mask.to_sparse_coo(), tt.nn.PatternBuffer(pattern), tt.nn.PatternBuffer(mask)):
        close(case.with_pattern(given, *case.inputs), want, type(given), rtol=0, atol=0)


@registered
@each
def test_flops_are_counted(row):
    """In proportion to the entries, forward and backward; a softmax alone has none, as PyTorch counts."""
    counting = pytest.importorskip("torch.utils.flop_counter")
    found = []
    for entries in (8, 16):
        case = Case(row, e=entries)
        with counting.FlopCounterMode(display=False) as counter:
            out = case.ours(*case.leaves())
            counts = [dict(counter.get_flop_counts().get("Global", {}))]
            out.sum().backward()
            counts.append(counter.get_flop_counts().get("Global", {}))
        ours = [sum(flops for packet, flops in count.items() if str(packet).startswith("tamis")) for count in counts]
        found.append((ours[0], ours[1] - ours[0]))
    for few, many in zip(*found):
        assert many == 2 * few and (few > 0) == (row.operation != "softmax"), found


@registered
def test_flops_by_hand():
    counting = pytest.importorskip("torch.utils.flop_counter")
    p = tt.Pattern.causal(6, device=DEVICE)
    n = p.nnz
    a, d, v, x = (torch.rand(size, device=DEVICE, requires_grad=True) for size in ((2, 6, 4), (2, 6, 3), (n,), (6, 2, 4)))
    q, k = torch.rand(2, 4, 8, device=DEVICE), torch.rand(2, 2, 5, 8, device=DEVICE)
    lengths = torch.tensor([1, 2], device=DEVICE)
    rows = {"sddmm": (lambda: tt.sddmm(p, a, a * 1, v), 2 * n * 4 * 2, 3 * 2 * n * 4 * 2), "spmm": (lambda: tt.spmm(p, a, v), 2 * n * 4 * 2, 2 * 2 * n * 4 * 2),
            "mask": (lambda: tt.sddmm(p, a, a.detach(), edge="mask"), 2 * n * 4 * 2, 2 * n * 4 * 2),
            "fused": (lambda: tt.fused(p, a, a * 1, d, v), 2 * n * (4 + 3) * 2, 2 * n * (3 * 4 + 2 * 3) * 2),
            "attention": (lambda: tt.attention(a, a * 1, d, p), 2 * n * (4 + 3) * 2, 2 * n * (3 * 4 + 2 * 3) * 2),
            "message": (lambda: tt.message(p, "copy_u", x), n * 8, n * 8), "weighted": (lambda: tt.message(p, "mul", x, v), 2 * n * 8, 2 * 2 * n * 8),
            "dots": (lambda: tt.edge_op(p, "dot", x, x * 1), 2 * n * 8, 2 * 2 * n * 8),
            "graph_attention": (lambda: tt.graph_attention(p, x, x * 1, x * 2), 4 * n * 8, 10 * n * 8), "segment": (lambda: tt.segment(p, v), n, n),
            "decoding": (lambda: tt.cached_attention(q, k, k, lengths), 2 * 2 * 4 * 5 * (8 + 8), None)}
    for name, (call, forward, backward) in rows.items():
        with counting.FlopCounterMode(display=False) as counter:
            out = call()
            assert counter.get_total_flops() == forward, name
            if backward is not None:
                out.sum().backward()
                assert counter.get_total_flops() - forward == backward, name
    assert counting.flop_registry[torch.ops.tamis.spmm] is _direct.FLOPS[torch.ops.tamis.spmm]
