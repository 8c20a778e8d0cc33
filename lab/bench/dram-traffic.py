#!/usr/bin/env python3
"""The memory traffic that column tiles save (Nisa et al., table III), from the GPU's counters, read by Nsight Compute:
  dram-traffic.py PROGRAM MATRIX OUT.jsonl [--name NAME] [--inner K] [--tiles 1,2,3,...] [--device cuda:0]
MATRIX is a file or generate:KIND:... ; --name is what results call it, and marks a generated one as a stand-in. All tile counts
are measured in one run of `tamis bench`: the first execution of each contestant is the one that is counted, from empty caches.
Lines of record "traffic" are appended to OUT.jsonl, as `tamis report` takes them."""
import csv
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

from turns import options

METRICS = {"dram__bytes_read.sum": "dram_read_bytes", "dram__bytes_write.sum": "dram_write_bytes"}
SCALES = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12}


def arguments():
    parser = options(__doc__, name=str, inner=1024, tiles="1,2,3,4,5,6,7,11,21", device="cuda:0")
    for operand in ("program", "matrix", "out"):
        parser.add_argument(operand)
    return parser.parse_args()


def profiler():
    found = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    if not os.path.exists(found):
        sys.exit("dram-traffic: ncu (Nsight Compute) is not there: counters cannot be read")
    return found


def counters(text):
    """Return a dictionary of metrics for each launch, in the order of the launches."""
    start = text.find('"ID"')
    if start < 0:
        sys.exit("dram-traffic: ncu printed no table:\n" + text[-2000:])
    launches = {}
    for row in csv.DictReader(io.StringIO(text[start:])):
        name = METRICS.get(row["Metric Name"])
        if name:
            value = float(row["Metric Value"].replace(",", "")) * SCALES[row["Metric Unit"]]
            launches.setdefault(int(row["ID"]), {})[name] = value
    return [launches[number] for number in sorted(launches)]


def main():
    given = arguments()
    tiles = [int(count) for count in given.tiles.split(",")]
    info = json.loads(subprocess.run([given.program, "info", "--json", given.matrix], check=True,
                                     capture_output=True).stdout)[0]
    widths = [math.ceil(info["cols"] / count) for count in tiles]
    variants = ",".join(f"cusddmm-sm-l2:stream=1:tj={width}" for width in widths)
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines.jsonl")
        done = subprocess.run(
            [profiler(), "--clock-control", "none", "--kernel-name", "cusddmm_l2", "--launch-count", str(len(tiles)),
             "--metrics", ",".join(METRICS), "--csv", "--print-units", "base",
             given.program, "bench", given.matrix, "--op", "sddmm", "--inner", str(given.inner), "--algorithm", "cusddmm-sm-l2",
             "--parameters", f"stream=1,tj={widths[0]}", "--variants", variants, "--device", given.device, "--repeat", "5",
             "--seconds", "0.1", "--json", lines],
            capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"dram-traffic: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        with open(lines) as file:
            measured = [json.loads(line) for line in file]
    counted = counters(done.stdout)
    measured = [line for line in measured if line["record"] == "measurement"]
    # the contestant of --parameters is also the first of --variants; it is measured once
    if len(counted) != len(tiles) or len(measured) != len(tiles):
        sys.exit(f"dram-traffic: {len(tiles)} tile counts, {len(counted)} launches counted, {len(measured)} measured")
    with open(given.out, "a") as out:
        for count, width, line, read in zip(tiles, widths, measured, counted):
            record = {"record": "traffic", "run": line["run"], "matrix": given.name or line["matrix"],
                      "stand_in": given.name is not None and given.matrix.startswith("generate:"),
                      "rows": line["rows"], "cols": line["cols"], "nnz": line["nnz"], "inner": given.inner,
                      "device": line["device"], "model": line["model"], "algorithm": line["algorithm"],
                      "parameters": line["parameters"], "tiles": count, "tile_columns": width,
                      "median_ms": line["median_ms"], **read,
                      # the paper's model: A once for each tile; rows, columns and values of S once
                      "model_a_bytes": 4 * count * line["rows"] * given.inner, "model_s_bytes": 12 * line["nnz"],
                      "version": line["version"], "driver": line["driver"], "started": line["started"]}
            out.write(json.dumps(record) + "\n")
            print(f"{count:3} tiles of {width:7} columns: {read['dram_read_bytes'] / 1e9:9.2f} GB read, "
                  f"{line['median_ms']:9.3f} ms")


if __name__ == "__main__":
    main()
