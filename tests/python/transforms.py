"""Which transforms of PyTorch and JAX each operation supports: the tables that test_transforms walks and docs/manual/python-transforms.md shows.

A cell is WORKS, or the start of the error that a call raises. `python transforms.py` prints the page's tables.
"""
from __future__ import annotations

import numpy as np

WORKS = "works"
SPARSE = "sampled_addmm returns a sparse tensor, of which torch.func and forward mode know nothing: use sddmm("
NO_SPARSE = "Skip calling `torch.compiler.disable()`d function"
NO_STRIDES = "Sparse CSR tensors do not have "
NO_SECOND = "sampled_addmm has no second derivatives, since PyTorch loses those of sparse tensors: use sddmm("
NO_META = "Tensor on device cpu is not on the expected device meta!"
NO_EXPORT = "Cannot serialize code with custom calls whose targets have no compatibility guarantees"
PATTERN = "vmap over the columns of a pattern"
JAX_PATTERN = "vmap over the pattern: all members share one"

ROWS, COLS, INNER, WIDTH = 5, 4, 2, 3
EDGES = ("scale", "mask", "residual", "quotient", "sigmoid", "exp", "leaky_relu", "softmax")

# transform: how it is written
TORCH = {
    "vmap": "`torch.vmap(f)`",
    "nested vmap": "`torch.vmap(torch.vmap(f))`, each mapping other operands",
    "vmap over a pattern": "`torch.vmap(lambda columns: f(Pattern.from_csr(offsets, columns, ...)))`",
    "jvp": "`torch.func.jvp`",
    "jacfwd": "`torch.func.jacfwd`, `jacobian(strategy=\"forward-mode\")`",
    "duals": "`torch.autograd.forward_ad.dual_level`",
    "grad": "`torch.func.grad`",
    "vjp": "`torch.func.vjp`",
    "jacrev": "`torch.func.jacrev`",
    "hessian": "`torch.func.hessian`: jacfwd of jacrev",
    "orders": "jacrev of jacrev, jacfwd of jacfwd, jacrev of jacfwd",
    "vmap of grad": "`torch.vmap(torch.func.grad(f))`, gradients of each member",
    "is_grads_batched": "`torch.autograd.grad(is_grads_batched=True)`",
    "double backward": "`torch.autograd.grad(create_graph=True)`, then `backward`",
    "compile": "`torch.compile(f, fullgraph=True)`, and its backward",
    "compile of transforms": "`torch.compile(fullgraph=True)` of `torch.func.grad`, `jvp` and `vmap`",
    "export": "`torch.export.export`",
    "autocast": "`torch.autocast`",
    "meta": "tensors of the device `meta`",
}
TORCH_OPERATIONS = ("sddmm", "spmm", "fused", "attention", "softmax", "sampled_addmm", "nn")

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
    "orders": "jacrev of jacrev, jacfwd of jacfwd, jacrev of jacfwd",
    "vmap of grad": "`jax.vmap(jax.grad(f))`, with a sum or a mean as loss",
    "export": "`jax.export.export(disabled_checks=[DisabledSafetyCheck.custom_call(\"tamis\")])`",
    "export as it is": "`jax.export.export` without that",
}
JAX_OPERATIONS = ("sddmm", "spmm", "fused", "attention")


def _table(transforms, operations, errors):
    return {(transform, operation): errors.get((transform, operation), WORKS) for transform in transforms for operation in operations}


_WITHOUT_SPARSE = ("vmap", "nested vmap", "jvp", "jacfwd", "duals", "grad", "vjp", "jacrev", "hessian", "orders", "vmap of grad")
TORCH_TABLE = _table(TORCH, TORCH_OPERATIONS, {
    **{(transform, "sampled_addmm"): SPARSE for transform in _WITHOUT_SPARSE},
    **{(transform, "sampled_addmm"): NO_SPARSE for transform in ("compile", "compile of transforms")},
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


# ------------------------------------------------------------------------------ the page


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

    def __init__(self, xp, sigmoid, picked):
        self.xp, self.sigmoid, (self.R, self.C) = xp, sigmoid, picked

    def samples(self, a, b, values, edge, pick=None):
        R, C = pick or (self.R, self.C)
        x = ((R @ a) * (C @ b)).sum(-1)
        y = 0.7 * x
        s = 1.0 if values is None else values
        if edge == "softmax":
            e = self.xp.exp(y if values is None else y + values)
            return e / (R @ (R.T @ e[..., None]))[..., 0]
        return {"scale": lambda: s * x, "mask": lambda: x, "residual": lambda: s - x, "quotient": lambda: s / x,
                "sigmoid": lambda: s * self.sigmoid(y), "exp": lambda: s * self.xp.exp(y),
                "leaky_relu": lambda: s * self.xp.where(y < 0, 0.2 * y, y)}[edge]()

    def times(self, values, b, transpose=False):
        R, C = (self.C, self.R) if transpose else (self.R, self.C)
        weighted = C @ b
        if values is not None:
            weighted = values[..., None] * weighted if b.ndim > 1 else values * weighted
        return R.T @ weighted

    def fused(self, a, b, d, values, edge, transpose=False):
        pick = (self.C, self.R) if transpose else (self.R, self.C)
        return self.times(self.samples(a, b, values, edge, pick), d, transpose)


def pattern_arrays():
    """Offsets, columns and rows of a pattern with an empty row."""
    full = np.random.default_rng(2).random((ROWS, COLS)) < 0.7
    full[2] = False
    rows, columns = full.nonzero()
    return np.concatenate([[0], full.sum(1).cumsum()]), columns.copy(), rows.copy()


def picked():
    _, columns, rows = pattern_arrays()
    return np.eye(ROWS)[rows], np.eye(COLS)[columns]


def operands(edge="scale"):
    """a, b, d, values, and what belongs to the transpose."""
    random = np.random.default_rng(4)
    nnz = len(pattern_arrays()[1])
    sizes = {"a": (ROWS, INNER), "b": (COLS, INNER), "d": (COLS, WIDTH), "v": (nnz,), "at": (COLS, INNER), "bt": (ROWS, INNER), "dt": (ROWS, WIDTH)}
    return {name: random.random(size) + 0.5 if edge == "quotient" else random.standard_normal(size) for name, size in sizes.items()}


if __name__ == "__main__":
    print(rendered(TORCH, TORCH_OPERATIONS, TORCH_TABLE))
    print(rendered(JAX, JAX_OPERATIONS, JAX_TABLE))
