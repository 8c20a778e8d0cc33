"""Results of two runs of a suite that is made up, in every kind of record: trial.py FOLDER writes results-a.jsonl and results-b.jsonl, the later one."""
import json
import pathlib
import sys

GBS = 42  # bandwidth of the machine
# name, class, rows, columns, nonzeros, GFLOP/s, the time of cpu-tiled over that of cpu-nonzeros, raster
MATRICES = (("mesh", "banded in blocks", 1000, 1000, 20000, 8, 0.9, "9213004029404100339010430409140443019041231409424104419204040419"),
            ('a<b>&"c"', "power law", 2000, 2000, 30000, 6, 1.1, "9343234329211104249323240049312133009442224349300230029432320329"),
            ("layer", "uniform", 512, 64, 4096, 4.8, 1.3, "91403012"))
RUN = {"suite": "trial", "tier": "small", "title": "A trial of <everything> & more", "paper": None, "compiler": "gcc 12.2.0", "system": "Linux 6.1 x86_64",
       "processor": "A processor", "processors": 2, "device": "cpu", "model": "A processor", "instruction_set": "x86-64-v3", "driver": "", "threads": 2,
       "multiprocessors": 0, "cache_l1": 1 << 15, "cache_l2": 1 << 20, "cache_l3": 1 << 25, "memory": 1 << 33, "measured": True, "ceiling_threads": 2,
       "fp32_gflops": [200, 400], "fp64_gflops": [100, 200], "l1_gbs": [400, 800], "l2_gbs": [200, 400], "l3_gbs": [100, 200], "memory_gbs": [40, GBS],
       "gather_gbs": [300, 200, 100, 50, 20, 10], "gather_bytes": [1 << 15, 1 << 19, 1 << 22, 1 << 24, 1 << 27, 1 << 30]}
LINE = {"type": "fp32", "variant": None, "init_ms": 0, "cleanup_ms": 0, "tolerance": 1.4e-06, "speedup": None, "gather_ms": None, "check_ms": 0,
        "predicted_ms": None, "samples": 20, "calls": 1, "cold": False, "clock_mhz": None, "seed": 1,
        **{name: RUN[name] for name in ("suite", "device", "model", "driver", "threads", "instruction_set", "compiler")}}
AGAIN = {"cpu-tiled": 0.5, "cpu-nonzeros": 1.4, "naive": 1.02, "scipy": 1.02}  # what the later run takes where it differs; else 1.03


def measured(about, of_run, operation, inner, algorithm, parameters, slower):
    """A measurement that takes `slower` times as long as the matrix's GFLOP/s allow."""
    name, kind, rows, cols, nnz, gflops, *_ = about
    flops, size, peer = (4 if operation == "fused" else 2) * nnz * inner, 8 * nnz + 4 * inner * (rows + cols), algorithm == "scipy"
    median = 1e-6 * flops / gflops * slower
    return {"record": "measurement", **LINE, **of_run, "operation": operation, "edge": "mask" if operation == "sddmm" else "none", "matrix": name,
            "stand_in": name == "mesh", "group": None, "class": kind, "rows": rows, "cols": cols, "nnz": nnz, "inner": inner, "width": inner * (operation != "sddmm"),
            "algorithm": algorithm, "parameters": parameters, "variant": "1.9" if peer else None, "setup_ms": 2.0 if algorithm == "cpu-tiled" else 0.1,
            "median_ms": round(median, 6), "q1_ms": round(median * 0.98, 6), "q3_ms": round(median * 1.03, 6), "min_ms": round(median * 0.96, 6),
            "max_ms": round(median * 1.2, 6), "gflops": round(1e-6 * flops / median, 4), "bytes_min": size, "floor_ms": round(1e-6 * size / GBS, 6),
            "floor_ratio": round(median / (1e-6 * size / GBS), 4), "relative_error": None if peer else 8e-08, "passed": None if peer else True,
            "auto": algorithm == "cpu-nonzeros", "baseline": algorithm == "naive", "peer": peer}


def matrix(about, run, later):
    name, kind, rows, cols, nnz, *_, spy = about
    spy = spy[::-1] if later else spy
    return {"record": "matrix", "run": run, "matrix": name, "stand_in": name == "mesh", "spec": f"generate:uniform:rows={rows}",
            "group": "structural" if name == "mesh" else None, "class": kind, "class_reason": "by its rule", "rows": rows, "cols": cols, "nnz": nnz,
            "density": nnz / rows / cols, "mean": nnz / rows, "variation": 0.5, "max": 80, "empty_rows": 1, "bandwidth": 100, "spy_rows": 8,
            "spy_cols": len(spy) // 8, "spy": spy}


def contestants(operation, tiled):
    yield from (("cpu-nonzeros", None, 1), ("cpu-tiled", None, tiled), ("naive", None, 2.5))
    yield from (("scipy", None, 1.7),) if operation == "spmm" else (("esimd-row-simd", f"tune={n}", 1.3 - 0.05 * n) for n in range(3))


def changed(about, operation, inner, algorithm):
    """How many times as long the later run takes."""
    where = {"cpu-tiled": about[0] == "mesh", "cpu-nonzeros": (about[0], operation, inner) == ("layer", "spmm", 128)}
    return AGAIN[algorithm] if where.get(algorithm, algorithm in AGAIN) else 1.03


def records(later):
    day, version = ("21", "0.2.0") if later else ("20", "0.1.0")
    of_run = {"run": f"202611{day}T100000Z-{1 + later}", "started": f"2026-11-{day}T10:00:00Z", "version": version}
    yield {"record": "run", **RUN, **of_run}
    yield from (matrix(about, of_run["run"], later) for about in MATRICES)
    for about in MATRICES:
        for operation, inner in (("sddmm", 32), ("sddmm", 128), ("spmm", 32), ("spmm", 128)):
            for algorithm, parameters, slower in contestants(operation, about[6]):
                if not (later and about[0] == "layer" and parameters == "tune=1"):
                    yield measured(about, of_run, operation, inner, algorithm, parameters, slower * (changed(about, operation, inner, algorithm) if later else 1))
    if later:
        yield {**measured(MATRICES[0], of_run, "fused", 32, "cpu-nonzeros", None, 3.125), "edge": "mask", "auto": False}


def written(folder):
    files = [pathlib.Path(folder) / f"results-{letter}.jsonl" for letter in "ab"]
    for later, path in enumerate(files):
        path.write_text("".join(json.dumps(record) + "\n" for record in records(later)), encoding="utf-8")
    return files


if __name__ == "__main__":
    written(sys.argv[1])
