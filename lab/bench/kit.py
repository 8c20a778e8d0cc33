#!/usr/bin/env python3
"""What measure.sh takes of the kit, a folder of matrices and of recorded times of other libraries, which is not part of Tamis.
  kit.py matrices KIT OUT SET [NAME...]
                                OUT/NAME.npz of each matrix of a set, or of these of it: neutral (generated stand-ins of real ones, by
                                KIT/py/gen_matrices.py), kit (what KIT/py/prepare.py has beside these), real (those of kit that are real)
  kit.py peers KIT              a line of JSON for each matrix, operation, K and type of KIT/peers-h100.csv.xz and peers-more-h100.csv.xz:
                                the fastest library beside Tamis that was right, and cuSPARSE's time in fp32"""
import csv
import json
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ACCURATE = {"fp32": 1e-5, "tf32": 5e-3, "fp16": 1e-2, "bf16": 1e-1}  # relative to the norm of the result


def pack(folder: Path, name: str, out: Path) -> None:
    """Write a matrix of the kit as SciPy's .npz, with reproducible random values."""
    with open(folder / f"{name}.json", encoding="utf-8") as file:
        about = json.load(file)
    columns = np.load(folder / f"{name}.ci.npy")
    values = np.random.default_rng(7).uniform(-1, 1, len(columns)).astype(np.float32)
    part = out / f"{name}.part.npz"
    np.savez(part, indices=columns, indptr=np.load(folder / f"{name}.rp.npy"), format=np.array("csr"), shape=np.array([about["M"], about["N"]]),
             data=values)
    os.replace(part, out / f"{name}.npz")


def names_of(kit: Path, kind: str) -> list[str]:
    sys.argv = ["gen_matrices.py"]  # it reads its options when it is imported
    sys.path.insert(0, str(kit / "py"))
    import gen_matrices

    neutral = list(gen_matrices.SPEC)
    if kind == "neutral":
        return neutral
    sys.argv = ["prepare.py", str(kit), "", "1"]  # so does this
    import prepare

    packed = np.load(lzma.open(kit / "data/real.npz.xz"))
    real = [one["name"] for one in json.loads(bytes(packed["index"]))]
    return real if kind == "real" else [name for name in prepare.GENERATED if name not in neutral] + real


def matrices(kit: Path, out: Path, kind: str, *only: str) -> None:
    names = list(only) or names_of(kit, kind)
    out.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in names if not (out / f"{name}.npz").exists()]
    with tempfile.TemporaryDirectory(dir=out) as made:
        jobs = str(os.cpu_count())
        if wanted and kind == "neutral":
            subprocess.run([sys.executable, kit / "py/gen_matrices.py", made, *wanted, "-j", jobs], check=True, stdout=sys.stderr)
        elif wanted:
            subprocess.run([sys.executable, kit / "py/prepare.py", kit, made, jobs], check=True, stdout=sys.stderr,
                           env={**os.environ, "KIT_MATRICES": ",".join(wanted)})
        for name in wanted:
            pack(Path(made), name, out)
    print(*(out / f"{name}.npz" for name in names), sep="\n")


def peers(kit: Path) -> None:
    best: dict[tuple[str, str, int, str], tuple[float, str]] = {}
    cusparse: dict[tuple[str, str, int], float] = {}
    for recorded in ("peers-h100.csv.xz", "peers-more-h100.csv.xz"):
        with lzma.open(kit / recorded, "rt", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                right = row["status"] == "ok" and row["relerr"] and float(row["relerr"]) <= ACCURATE[row["dtype"]]
                if not right or row["peer"].startswith("tamis") or row["op"].startswith("attention"):
                    continue
                case, ms = (row["matrix"], row["op"], int(row["K"])), float(row["ms"])
                key = (*case, row["dtype"])
                best[key] = min(best.get(key, (ms, row["peer"])), (ms, row["peer"]))
                if row["peer"].startswith("cusparse"):
                    cusparse[case] = min(cusparse.get(case, ms), ms)
    for (matrix, operation, inner, kind), (ms, name) in best.items():
        print(json.dumps({"record": "peer", "matrix": matrix, "operation": operation, "inner": inner, "type": kind, "peer": name, "median_ms": ms,
                          "cusparse_ms": cusparse.get((matrix, operation, inner))}))


def main() -> None:
    if len(sys.argv) >= 5 and sys.argv[1] == "matrices":
        matrices(Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve(), *sys.argv[4:])
    elif len(sys.argv) == 3 and sys.argv[1] == "peers":
        peers(Path(sys.argv[2]).resolve())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
