"""The operators of tamis.torch and tamis.jax, a row each: how its operands are drawn, and the same by dense matrices in fp64. test_operators_torch and
test_operators_jax give each row all their checks; which transforms an operation supports, docs/manual/python-transforms.md shows.

A cell of the page's tables is WORKS, or the start of the error that a call raises. `python operators.py` prints them.
"""
from __future__ import annotations

import functools
import itertools

import numpy as np

WORKS = "works"
SPARSE = "sampled_addmm returns a sparse tensor, of which torch.func and forward mode know nothing: use sddmm("
NO_SPARSE = "Skip inlining `torch.compiler.disable()`d function"
NO_STRIDES = "Sparse CSR tensors do not have "
NO_SECOND = "sampled_addmm has no second derivatives, since PyTorch loses those of sparse tensors: use sddmm("
NO_META = "Tensor on device cpu is not on the expected device meta!"
NO_EXPORT = "Cannot serialize code with custom calls whose targets have no compatibility guarantees"
PATTERN = "vmap over the columns of a pattern"
JAX_PATTERN = "vmap over the pattern: all members share one"

EDGES = ("scale", "mask", "residual", "quotient", "sigmoid", "exp", "leaky_relu", "softmax")
HOW = {"scale": 0.7, "slope": 0.2}
REDUCES = ("sum", "mean", "max", "min")

# transform: how it is written
TORCH = {
    "vmap": "`torch.vmap(f)`",
    "nested vmap": "`torch.vmap(torch.vmap(f))`, each mapping other operands",
    "vmap over a pattern": "`torch.vmap(lambda columns: f(Pattern.from_csr(offsets, columns, ...)))`",
    "jvp": "`torch.func.jvp`",
    "jacfwd": "`torch.func.jacfwd`",
    "jacobian": "`torch.autograd.functional.jacobian(strategy=\"forward-mode\")`",
    "duals": "`torch.autograd.forward_ad.dual_level`",
    "grad": "`torch.func.grad`",
    "vjp": "`torch.func.vjp`",
    "jacrev": "`torch.func.jacrev`",
    "hessian": "`torch.func.hessian`: jacfwd of jacrev",
    "orders": "jacrev of jacrev",
    "orders of forward mode": "jacfwd of jacfwd, jacrev of jacfwd",
    "vmap of grad": "`torch.vmap(torch.func.grad(f))`, gradients of each member",
    "is_grads_batched": "`torch.autograd.grad(is_grads_batched=True)`",
    "double backward": "`torch.autograd.grad(create_graph=True)`, then `backward`",
    "compile": "`torch.compile(f, fullgraph=True)`, and its backward",
    "compile of transforms": "`torch.compile(fullgraph=True)` of `torch.func.grad` and `vmap`",
    "compile of jvp": "`torch.compile(fullgraph=True)` of `torch.func.jvp`",
    "export": "`torch.export.export`",
    "autocast": "`torch.autocast`",
    "meta": "tensors of the device `meta`",
}
TORCH_OPERATIONS = ("sddmm", "spmm", "fused", "attention", "softmax", "sampled_addmm", "nn", "message", "message, expression", "messages", "edge_op", "graph_attention", "segment")

JAX = {
    "jit": "`jax.jit`",
    "vmap": "`jax.vmap`",
    "nested vmap": "`jax.vmap(jax.vmap(f))`, each mapping other operands",
    "vmap over a pattern": "`jax.vmap` of a gradient over `columns`",
    "jvp": "`jax.jvp`",
    "jacfwd": "`jax.jacfwd`",
    "grad": "`jax.grad`",
    "vjp": "`jax.vjp`",
    "jacrev": "`jax.jacrev`",
    "hessian": "`jax.hessian`: jacfwd of jacrev",
    "orders": "jacrev of jacrev",
    "orders of forward mode": "jacfwd of jacfwd, jacrev of jacfwd",
    "vmap of grad": "`jax.vmap(jax.grad(f))`, with a sum or a mean as loss",
    "export": "`jax.export.export(disabled_checks=[DisabledSafetyCheck.custom_call(\"tamis\")])`",
    "export as it is": "`jax.export.export` without that",
}
JAX_OPERATIONS = ("sddmm", "spmm", "fused", "attention")


def _table(transforms, operations, errors):
    return {(transform, operation): errors.get((transform, operation), WORKS) for transform in transforms for operation in operations}


_WITHOUT_SPARSE = ("vmap", "nested vmap", "jvp", "jacfwd", "jacobian", "duals", "grad", "vjp", "jacrev", "hessian", "orders", "orders of forward mode", "vmap of grad")
TORCH_TABLE = _table(TORCH, TORCH_OPERATIONS, {
    **{(transform, "sampled_addmm"): SPARSE for transform in _WITHOUT_SPARSE},
    **{(transform, "sampled_addmm"): NO_SPARSE for transform in ("compile", "compile of transforms", "compile of jvp")},
    **{("vmap over a pattern", operation): PATTERN for operation in TORCH_OPERATIONS},
    ("is_grads_batched", "sampled_addmm"): NO_STRIDES,
    ("double backward", "sampled_addmm"): NO_SECOND,
    ("export", "sampled_addmm"): NO_STRIDES,
    ("meta", "sampled_addmm"): NO_META,
})
JAX_TABLE = _table(JAX, JAX_OPERATIONS, {
    **{("vmap over a pattern", operation): JAX_PATTERN for operation in JAX_OPERATIONS},
    **{("export as it is", operation): NO_EXPORT for operation in JAX_OPERATIONS},
})


def rendered(transforms, operations, table) -> str:
    """The table as the page has it; errors are numbered, and listed below."""
    found: list = []
    lines = [f"| | {' | '.join(f'`{operation}`' for operation in operations)} |", f"|---|{'---|' * len(operations)}"]
    for transform, how in transforms.items():
        cells = []
        for operation in operations:
            cell = table[transform, operation]
            if cell != WORKS:
                found += [cell] if cell not in found else []
                cell = f"error {found.index(cell) + 1}"
            cells.append(cell)
        lines.append(f"| {how} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *[f"{number}. ``{error}``..." for number, error in enumerate(found, 1)], ""])


# ------------------------------------------------------------------------------ the same by dense matrices


class Dense:
    """The operations by matrices of zeros and ones that pick the row and the column of each entry, for torch and jax.numpy."""

    def __init__(self, xp, R, C):
        self.xp, self.R, self.C = xp, R, C

    def turned(self, transpose=True):
        return Dense(self.xp, self.C, self.R) if transpose else self

    def softmax(self, scores):
        e = self.xp.exp(scores)
        total = self.R.T @ e[..., None]
        return e / (self.R @ self.xp.where(total == 0, 1.0, total))[..., 0]  # a row that is masked is zeros

    def samples(self, a, b, values=None, edge="scale"):
        x = ((self.R @ a) * (self.C @ b)).sum(-1)
        y = HOW["scale"] * x
        s = 1.0 if values is None else values
        return {"scale": lambda: s * x, "mask": lambda: x + 0 * s, "residual": lambda: s - x, "quotient": lambda: s / x,
                "sigmoid": lambda: s / (1 + self.xp.exp(-y)), "exp": lambda: s * self.xp.exp(y),
                "leaky_relu": lambda: s * self.xp.where(y < 0, HOW["slope"] * y, y),
                "softmax": lambda: self.softmax(y if values is None else y + values)}[edge]()

    def times(self, b, values=None, transpose=False):
        R, C = (self.C, self.R) if transpose else (self.R, self.C)
        return R.T @ ((C @ b) if values is None else values[..., None] * (C @ b))

    def fused(self, a, b, d, values=None, edge="scale", transpose=False):
        one = self.turned(transpose)
        return one.times(d, one.samples(a, b, values, edge))

    def attention(self, q, k, v, bias=None, sums=False):
        q = q * (max(q.shape[-1], 1)**-0.5)
        if q.shape[:-2] != k.shape[:-2] and len(q.shape) == len(k.shape) > 2:  # heads of q share those of k and v
            k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
        if sums:
            scores = ((self.R @ q) * (self.C @ k)).sum(-1)
            return self.times(v, self.xp.exp(scores if bias is None else scores + bias))
        return self.fused(q / HOW["scale"], k, v, bias, "softmax")

    # what is below has rows first, heads inside, and is for torch alone

    def at(self, M, x):
        return self.xp.einsum("ei,i...->e...", M, x)

    def reduced(self, given, reduce):
        R, shape = self.R, (len(self.R), *(1,) * (given.ndim - 1))
        if reduce in ("max", "min"):
            if not len(R):
                return given.new_zeros(R.shape[1], *given.shape[1:]) + 0 * given.sum()
            there = R.T.bool().reshape(R.shape[1], *shape)
            empty = -float("inf") if reduce == "max" else float("inf")
            found = getattr(given.unsqueeze(0).masked_fill(~there, empty), "a" + reduce)(1)
            return found.masked_fill(~there.any(1), 0)
        total = self.xp.einsum("ei,e...->i...", R, given)
        return total if reduce == "sum" else total / R.sum(0).clamp(min=1).reshape(-1, *shape[1:])

    def shares(self, scores):
        e = self.xp.exp(scores)
        return e / self.at(self.R, self.reduced(e, "sum"))

    def twice(self):
        """Two types of edges with the same places, between the same rows and columns of their own."""
        return Dense(self.xp, self.xp.cat([self.R, self.R]), self.xp.block_diag(self.C, self.C))

    def message(self, op, x, e, reduce):
        if e is not None and x is not None:
            e = e.reshape(*e.shape, *(1,) * (x.ndim - e.ndim))
        x = None if x is None else self.at(self.C, x)
        return self.reduced({"copy_u": lambda: x, "add": lambda: x + e, "sub": lambda: x - e, "mul": lambda: x * e, "copy_e": lambda: e,
                             "add_relu": lambda: (x + e).relu()}[op](), reduce)

    def text(self, value, u, e, v, reduce):
        e = 0 if e is None else e.reshape(*e.shape, *(1,) * (3 - e.ndim))
        return self.reduced(value(u if u is None else self.at(self.C, u), e, v if v is None else self.at(self.R, v)), reduce)

    def edge_op(self, op, x, y):
        x, y = self.at(self.R, x), self.at(self.C, y)
        return {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "dot": lambda: (x * y).sum(-1)}[op]()

    def graph_attention(self, q, k, v, e=None, bias=None, scale=None):
        e = 0 if e is None else e
        scores = (self.at(self.R, q) * (self.at(self.C, k) + e)).sum(-1) * (max(q.shape[-1], 1)**-0.5 if scale is None else scale)
        if bias is not None:
            scores = scores + bias.reshape(*bias.shape, *(1,) * (scores.ndim - bias.ndim))
        return self.reduced(self.shares(scores).unsqueeze(-1) * (self.at(self.C, v) + e), "sum")

    def segment(self, name, x, order, dim):
        x = x.movedim(dim, 0)
        by = {"given": None, "rows": self.R, "columns": self.C}[order]
        place = slice(None) if by is None or not by.numel() else by.argmax(1).argsort(stable=True)
        here = Dense(self.xp, self.R[place], self.C[place])
        found = here.shares(x) if name == "softmax" else here.reduced(x, name)
        return found.movedim(0, dim)


# ------------------------------------------------------------------------------ the rows

SIZES = {"m": 5, "n": 4, "e": 11, "k": 2, "l": 3, "h": 2, "f": 3, "o": 2, "c": 4, "w": 12, "q": 4, "1": 1}
NOTHING = [{"e": 0}, {"m": 0, "e": 0}, {"n": 0, "e": 0}, {"m": 0, "n": 0, "e": 0}, {"l": 0}, {"k": 0}, {"h": 0, "q": 0}]


class Row:
    """An operator with its settings. call(t, pattern, *operands), of which t is tamis.torch or what has the same functions of JAX, or what made(t, pattern) returns;
    reference(dense, *operands);
    shapes: what each operand's dimensions are in SIZES. batch: places of the operands that may have leading dimensions, positive: operands are above 0,
    wide: autocast computes it in fp32, brief: it stands for its operation in checks that take long, rare: others stand for it in all but a few checks,
    square: patterns are, simple: patterns have each place once."""

    def __init__(self, operation, label, shapes, call, reference, batch="", **flags):
        self.operation, self.label, self.shapes, self.call, self.reference = operation, label, shapes.split(), call, reference
        self.batch = range(len(self.shapes)) if batch == "all" else [int(place) for place in batch]
        self.made, *rest = (flags.get(name) for name in ("made", "positive", "wide", "brief", "rare", "square", "simple"))
        self.positive, self.wide, self.brief, self.rare, self.square, self.simple = map(bool, rest)

    def __repr__(self):
        return f"{self.operation}-{self.label}".rstrip("-").replace(", ", "-").replace(" ", "_")

    def sizes(self, **more):
        sizes = {**SIZES, **more}
        return {**sizes, "n": sizes["m"]} if self.square else sizes

    def drawn(self, sizes, leads=None, rows=None):
        """Operands; of a row whose label says so, the last one is -inf for all entries of one of the pattern's rows, and for some others."""
        random = np.random.default_rng(4)
        shapes = [(*(leads[place] if leads else ()), *(sizes[x] for x in shape if x != "_")) for place, shape in enumerate(self.shapes)]
        made = [random.random(shape) + 0.5 if self.positive else random.standard_normal(shape) for shape in shapes]
        if "masked" in self.label:
            made[-1][..., (rows == rows[:1]) | (np.arange(len(rows)) % 5 == 0)] = -np.inf
        return made


def places(sizes, ordered=False, simple=False):
    """Rows and columns of a pattern's entries; a row is empty, and the last entry is the first one again."""
    random = np.random.default_rng(3)
    m, n, e = sizes["m"], sizes["n"], sizes["e"]
    there = np.array([at for at in range(m * n) if at // n != 2], int)
    chosen = random.permutation(there)[:e] if simple else random.choice(there, e) if e else there[:0]
    chosen[-1:] = chosen[-1:] if simple else chosen[:1]
    chosen = np.sort(chosen) if simple else chosen[np.argsort(chosen // max(n, 1), kind="stable")] if ordered else chosen
    return chosen // max(n, 1), chosen % max(n, 1)


def _edges():
    for edge in EDGES:
        how, brief = {"edge": edge, **HOW}, edge in ("scale", "softmax")
        alike = {"positive": edge == "quotient", "batch": "all"}
        for values in (True, False):
            yield Row("sddmm", f"{edge}{'' if values else ', no values'}", "mk nk e" if values else "mk nk", functools.partial(lambda how, t, p, *x: t.sddmm(p, *x, **how), how),
                      functools.partial(lambda edge, d, *x: d.samples(*x, edge=edge), edge), wide=edge in ("exp", "softmax"), rare=not values and not brief, brief=brief, **alike)
        for label, shapes in (("", "mk nk nl e"), (", no values", "mk nk nl"), (", transpose", "nk mk ml e")):
            turn = label == ", transpose"
            yield Row("fused", edge + label, shapes, functools.partial(lambda how, t, p, *x: t.fused(p, *x, **how), {"transpose": turn, **how}),
                      functools.partial(lambda more, d, *x: d.fused(*x, **more), {"edge": edge, "transpose": turn}), rare="no" in label, brief=brief and "no" not in label, **alike)


def _products():
    for label, shapes, turn in (("", "nl e", False), ("no values", "nl", False), ("transpose", "ml e", True), ("transpose, no values", "ml", True)):
        yield Row("spmm", label, shapes, functools.partial(lambda turn, t, p, *x: t.spmm(p, *x, transpose=turn), turn),
                  functools.partial(lambda turn, d, *x: d.times(*x, transpose=turn), turn), batch="all", brief="values" not in label)
    yield Row("attention", "", "mk nk nl", lambda t, p, *x: t.attention(*x, p), Dense.attention, batch="all", brief=True)
    for label in ("bias", "masked"):
        yield Row("attention", label, "mk nk nl e", lambda t, p, q, k, v, b: t.attention(q, k, v, p, bias=b), Dense.attention, batch="all", brief=True)
    yield Row("sddmm", "softmax, masked", "mk nk e", lambda t, p, *x: t.sddmm(p, *x, edge="softmax", **HOW), lambda d, *x: d.samples(*x, edge="softmax"), batch="all", wide=True)


def _attentions():
    def with_sums(t, p, q, k, v, bias):
        out, sums = t.attention(q, k, v, p, bias=bias, return_lse=True, enable_gqa=q.shape[:-2] != k.shape[:-2])
        return out * sums.exp().unsqueeze(-1).to(out.dtype)

    yield Row("spmm", "vector", "n e", lambda t, p, *x: t.spmm(p, *x), lambda d, b, v: d.times(b[..., None], v)[..., 0], batch="1", brief=True)
    for label, shapes in (("sums", "mk nk nl e"), ("shared keys, sums", "qmk hnk hnl qe"), ("shared keys and bias, sums", "qmk hnk hnl e")):
        yield Row("attention", label, shapes, with_sums, lambda d, *x: d.attention(*x, sums=True))
    yield Row("softmax", "masked", "e", lambda t, p, v: t.softmax(p, v), Dense.softmax, batch="all", wide=True)
    yield Row("attention", "shared keys", "qmk hnk hnl qe", lambda t, p, q, k, v, b: t.attention(q, k, v, p, bias=b, enable_gqa=True), Dense.attention, brief=True)
    yield Row("softmax", "", "e", lambda t, p, v: t.softmax(p, v), Dense.softmax, batch="all", wide=True, brief=True)

    def numbers(xp, like):
        return xp.cos(xp.arange(len(like), dtype=xp.float64, device=like.device))

    def made(t, p):
        import torch
        S = torch.sparse_csr_tensor(p.index, p.columns, numbers(torch, p.columns), p.shape)
        return lambda a, b: t.sampled_addmm(S, a, b, beta=0.5).values()

    yield Row("sampled_addmm", "", "mk kn", lambda f, p, a, b: f(a, b), lambda d, a, b: d.samples(a, b.t(), edge="mask") + 0.5 * numbers(d.xp, d.R), simple=True, made=made,
              brief=True)


def _graphs():
    edges = {"number": "e", "head": "eh", "vector": "ehl"}
    for i, op in enumerate(("copy_u", "add", "sub", "mul", "copy_e", "add_relu")):
        for j, kind in enumerate(edges if op != "copy_u" else ("",)):
            for k, reduce in enumerate(REDUCES):
                def operands(x, op=op):
                    return (None, *x) if op == "copy_e" else (*x, None) if op == "copy_u" else x

                shapes = " ".join(shape for shape in ("nhl" if op != "copy_e" else "", edges.get(kind, "")) if shape)
                brief = (op, kind, reduce) in (("mul", "head", "max"), ("copy_u", "", "mean"), ("copy_e", "vector", "sum"))
                yield Row("message", f"{op} {kind} {reduce}".replace("  ", " "), shapes,
                          lambda t, p, *x, op=op, reduce=reduce, given=operands: t.message(p, op, *given(x), reduce),
                          lambda d, *x, op=op, reduce=reduce, given=operands: d.message(op, *given(x), reduce), brief=brief, rare=not brief and (i + j + k) % 4 > 0)
    def leaky(x):
        return x.clamp(min=0) + 0.2 * x.clamp(max=0)

    texts = {"leaky_relu(u + v + e, slope)": ("nhl ehl mhl", lambda u, e, v: leaky(u + v + e)), "silu(u - v) * e": ("nhl eh mhl", lambda u, e, v: (u - v) * (u - v).sigmoid() * e),
             "u * sigmoid(e) * slope": ("nhl e", lambda u, e, v: u * e.sigmoid() * 0.2), "exp(v) * u": ("nhl _ mhl", lambda u, e, v: v.exp() * u)}
    for i, (text, (shapes, value)) in enumerate(texts.items()):
        for k, reduce in enumerate(REDUCES):
            def given(x, shapes=shapes):
                left = iter(x)
                return [None if shape == "_" else next(left) for shape in (shapes.split() + ["_"])[:3]]

            numbers = {"slope": 0.2} if "slope" in text else None
            yield Row("message, expression", f"{text} {reduce}", shapes.replace("_ ", ""),
                      lambda t, p, *x, text=text, reduce=reduce, given=given, numbers=numbers: t.message(p, text, *given(x)[:2], reduce, given(x)[2], numbers),
                      lambda d, *x, value=value, reduce=reduce, given=given: d.text(value, *given(x), reduce), brief=(i, reduce) == (0, "max"), rare=(i + k) % 3 > 0)
    for reduce in REDUCES:
        yield Row("messages", f"mul {reduce}", "nhl nhl eh eh", lambda t, p, x, y, e, f, reduce=reduce: t.messages([p, p], "mul", [x, y], [e, f], reduce),
                  functools.partial(lambda reduce, d, x, y, e, f: d.twice().message("mul", d.xp.cat([x, y]), d.xp.cat([e, f]), reduce), reduce), brief=reduce == "mean")
    for shapes in ("nl e", "nl e1", "nl el"):  # a matrix of one head
        yield Row("message", f"mul of {shapes[3:]}", shapes, lambda t, p, x, e: t.message(p, "mul", x, e), lambda d, x, e: d.message("mul", x, e, "sum"))
    yield Row("edge_op", "matrices", "ml nl", lambda t, p, x, y: t.edge_op(p, "add", x, y), lambda d, x, y: d.edge_op("add", x, y))
    for op in ("add", "sub", "mul", "dot"):
        yield Row("edge_op", op, "mhl nhl", lambda t, p, x, y, op=op: t.edge_op(p, op, x, y), lambda d, x, y, op=op: d.edge_op(op, x, y), brief=op == "dot")
    for label, shapes in (("", "mhl nhl nhl"), ("vectors", "mhl nhl nhl ehl"), ("vectors, bias", "mhl nhl nhl ehl eh"), ("no heads", "ml nl nl el e")):
        yield Row("graph_attention", label, shapes, lambda t, p, *x: t.graph_attention(p, *x), Dense.graph_attention, brief=label == "vectors, bias")
    for label, shape in (("bias of numbers", "e"), ("bias of heads", "eh")):
        yield Row("graph_attention", label, f"mhl nhl nhl {shape}", lambda t, p, q, k, v, b: t.graph_attention(p, q, k, v, bias=b, scale=0.3),
                  lambda d, q, k, v, b: d.graph_attention(q, k, v, bias=b, scale=0.3))
    for i, name in enumerate(("softmax", *REDUCES)):
        for j, order in enumerate(("given", "rows", "columns")):
            for k, (dim, shape) in enumerate(((0, "eh"), (-1, "he"), (0, "e"), (0, "ehl"), (-1, "hle"))):
                def call(t, p, x, name=name, order=order, dim=dim):
                    return t.edge_softmax(p, x, order, dim) if name == "softmax" else t.segment(p, x, name, order, dim)

                yield Row("segment", f"{name} {order} {shape}", shape, call, functools.partial(lambda name, order, dim, d, x: d.segment(name, x, order, dim), name, order, dim),
                          wide=name == "softmax", brief=shape == "he" and (name, order) in (("softmax", "rows"), ("max", "given")), rare=(i + j + k) % 5 > 0 and shape != "he")


def _layers():
    def row(label, shapes, names, make, reference, **flags):
        def call(layer, p, x, *parameters):
            from torch.func import functional_call
            return functional_call(layer, dict(zip(names, parameters)), (p, x, *parameters[len(names):]))

        return Row("nn", label, shapes, call, reference, made=lambda t, p: make(t.nn), **flags)

    def heads(x, weight, h):
        return (x @ weight.T).unflatten(-1, (h, -1)).transpose(0, 1)

    def dot(d, x, weight):
        z = heads(x, weight, SIZES["h"])
        return d.attention(z, z, z).transpose(0, 1)

    def gat(d, x, weight, target, source, bias):
        z = heads(x, weight, len(target))
        scores = (d.R @ (z @ target) + d.C @ (z @ source))[..., 0]
        out = d.times(z, d.softmax(d.xp.where(scores < 0, 0.2 * scores, scores))).transpose(0, 1)
        return out + bias if len(bias) > 1 else out.mean(1) + bias[0]

    def agnn(d, x, beta):
        unit = x / x.norm(dim=-1, keepdim=True)
        return d.times(x, d.softmax(beta * ((d.R @ unit) * (d.C @ unit)).sum(-1)))

    def conv(norm, d, x, weight, bias, numbers=None):
        of, to = d.C @ d.C.sum(0), d.R @ d.R.sum(0)
        factors = {"both": (of * to)**-0.5, "right": 1 / to, "left": 1 / of, "none": d.xp.ones_like(of)}[norm]
        return d.times(x @ weight, factors if numbers is None else factors * numbers) + bias

    def sequence(d, x, project, more, out, bias):
        q, k, v = (x @ project.T + more).unflatten(-1, (3, SIZES["h"], -1)).movedim(-3, 0).transpose(-2, -3)
        return d.attention(q, k, v).transpose(-2, -3).flatten(-2) @ out.T + bias

    yield row("DotGATConv", "mf cf", ["weight.weight"], lambda nn: nn.DotGATConv(3, 2, heads=2), dot, square=True, brief=True)
    names = ["weight.weight", "target", "source", "bias"]
    yield row("GATConv", "mf cf ho1 ho1 ho", names, lambda nn: nn.GATConv(3, 2, heads=2), gat, square=True, brief=True)
    yield row("GATConv, mean", "mf cf ho1 ho1 1o", names, lambda nn: nn.GATConv(3, 2, heads=2, concat=False), gat, square=True)
    yield row("AGNNConv", "mf _", ["beta"], lambda nn: nn.AGNNConv(), agnn, square=True)
    for norm in ("both", "right", "left", "none"):
        for shapes in ("nf fo o", "nf fo o e"):
            yield row(f"GraphConv, {norm}{', weights' * (shapes[-1] == 'e')}", shapes, ["weight", "bias"], lambda nn, norm=norm: nn.GraphConv(3, 2, norm),
                      functools.partial(conv, norm), batch="0", brief=(norm, shapes) == ("both", "nf fo o e"))
    names = ["project.weight", "project.bias", "out.weight", "out.bias"]
    yield row("SparseAttention", "mc wc w cc c", names, lambda nn: nn.SparseAttention(4, heads=2), sequence, batch="0", square=True)


# ------------------------------------------------------------------------------ transforms that PyTorch and JAX have by the same names


def subsets(places):
    places = list(places)
    return [chosen for count in range(1, len(places) + 1) for chosen in itertools.combinations(places, count)]


class Transforms:
    """Checks of a case, which has ours and theirs, inputs and with_pattern. t: torch.func or jax; xp: torch or jax.numpy; close(got, want, what).
    anywhere: members are counted by the last dimension too, which takes JAX long."""

    def __init__(self, t, xp, close, anywhere=True):
        self.t, self.xp, self.close, self.anywhere = t, xp, close, anywhere

    def both(self, transformed):
        """A check that a transform gives the same of ours and of theirs."""
        return lambda case: self.close(transformed(case, case.ours), transformed(case, case.theirs), case.label)

    def loss(self, f):
        return lambda *x: self.xp.sin(f(*x)).sum()

    def tangents(self, case):
        return tuple(self.xp.cos(3 * self.xp.where(x == -np.inf, 0.0, x) + 1) for x in case.inputs)

    def several(self, x, count):
        """Members that differ."""
        return self.xp.stack([x * (1 + 0.1 * number) for number in range(count)])

    def members(self, case, chosen, count=3):
        """The operands, some with members, and the places of these."""
        return [self.several(x, count) if place in chosen else x for place, x in enumerate(case.inputs)], tuple(0 if place in chosen else None for place in case.everything)

    def vmap(self, case):
        for chosen in subsets(case.everything):
            given, dims = self.members(case, chosen)
            want = self.xp.stack([case.theirs(*[x if dim is None else x[number] for x, dim in zip(given, dims)]) for number in range(3)])
            self.close(self.t.vmap(case.ours, dims)(*given), want, chosen)
            if not self.anywhere:
                continue
            last = [x if dim is None else self.xp.moveaxis(x, 0, -1) for x, dim in zip(given, dims)]
            self.close(self.t.vmap(case.ours, tuple(x.ndim - 1 if dim == 0 else None for x, dim in zip(last, dims)))(*last), want, f"{chosen}, in the last dimension")
        x, *rest = case.inputs  # as many members as a vector has numbers
        square = self.several(x, x.shape[-1] if x.ndim else 1)
        self.close(self.t.vmap(case.ours, (0, *[None for _ in rest]))(square, *rest), self.xp.stack([case.theirs(one, *rest) for one in square]), "square")

    def nested(self, case):
        for outer in subsets(case.everything):
            inner = [place for place in case.everything if place not in outer] or list(case.everything)
            given, dims = self.members(case, inner)
            outside = tuple(0 if place in outer else None for place in case.everything)
            given = [x if dim is None else self.several(x, 2) for x, dim in zip(given, outside)]
            self.close(*[self.t.vmap(self.t.vmap(f, dims), outside)(*given) for f in (case.ours, case.theirs)], outer)

    def vmap_of_grad(self, case):
        for mean, chosen in itertools.product((False, True), subsets(case.everything)):
            def summed(f, mean=mean):
                return lambda *x: (f(*x)**2).mean() if mean else f(*x).sum()

            given, dims = self.members(case, chosen)
            self.close(*[self.t.vmap(self.t.grad(summed(f), tuple(case.everything)), dims)(*given) for f in (case.ours, case.theirs)], chosen)

    def vjp(self, case, f):
        out, back = self.t.vjp(f, *case.inputs)
        return back(self.xp.cos(out))

    def orders(self, *pairs):
        return self.both(lambda case, f: [getattr(self.t, outer)(getattr(self.t, inner)(self.loss(f)))(*case.inputs) for outer, inner in pairs])

    def checks(self):
        of_all = {name: self.both(lambda case, f, name=name: getattr(self.t, name)(f if "jac" in name else self.loss(f), tuple(case.everything))(*case.inputs))
                  for name in ("jacfwd", "jacrev", "grad", "hessian")}
        return {**of_all, "vmap": self.vmap, "nested vmap": self.nested, "vmap of grad": self.vmap_of_grad, "vjp": self.both(self.vjp),
                "jvp": self.both(lambda case, f: [self.t.jvp(f, tuple(case.inputs), t) for t in (self.tangents(case), tuple(map(self.xp.ones_like, case.inputs)))])}


ROWS = [*_edges(), *_products(), *_attentions(), *_layers(), *_graphs()]
JAX_ROWS = NUMPY_ROWS = [*_edges(), *_products()]

if __name__ == "__main__":
    print(rendered(TORCH, TORCH_OPERATIONS, TORCH_TABLE))
    print(rendered(JAX, JAX_OPERATIONS, JAX_TABLE))
