#!/usr/bin/env python3
"""JSON helpers of gpu-check.sh, and the evidence itself.
  present DEVICES.json DEVICE      fails with the reason unless the device is there
  algorithms PROGRAM               "operation name" of every GPU algorithm, one a line
  checks FILE.jsonl                passed, failed and skipped lines of `tamis check` or `tamis bench`
  pytest FILE.xml                  passed, failed and skipped tests of a report of pytest
  packages NAME...                 the versions of Python packages that are here
  write FOLDER DEVICE HASH OUT [ONLY]  OUT/<chip>.json from what gpu-check.sh left in FOLDER
  stale OUT HASH                   prints each piece of evidence that was made with other sources, or lacks steps or has failed ones
"""
import json
import math
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree


def lines_of(path):
    """Return the checks or measurements of a file of JSON lines; skip an incomplete line."""
    found = []
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                try:
                    one = json.loads(line)
                except ValueError:
                    continue
                if one.get("record", "measurement") == "measurement":
                    found.append(one)
    return found


def device_of(path, name):
    with open(path) as file:
        for device in json.load(file):
            if device["name"] == name and device["present"]:
                return device
            if device["name"].split(":")[0] == name.split(":")[0] and not device["present"]:
                sys.exit(f"gpu-check: {name}: {device['why']}")
    sys.exit(f"gpu-check: there is no {name}")


def algorithms(program):
    listed = json.loads(subprocess.run([program, "algorithms", "--json"], check=True, capture_output=True).stdout)
    for algorithm in listed:
        if algorithm["device"] == "gpu":
            for operation in algorithm["operations"]:
                print(operation, algorithm["name"])


def verdict(line):
    """Return a check's result, or of a measurement: passed, failed or not compared."""
    passed = line.get("passed")
    return line.get("result") or ("skipped" if passed is None else "passed" if passed else "failed")


def checks(path):
    verdicts = [verdict(line) for line in lines_of(path) if not line.get("peer")]
    print(verdicts.count("passed"), verdicts.count("failed"), verdicts.count("skipped"))


def pytest(path):
    suites = xml.etree.ElementTree.parse(path).getroot().iter("testsuite") if os.path.exists(path) else []
    counts = [[int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")] for suite in suites]
    tests, failures, errors, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0, 0)
    print(tests - failures - errors - skipped, failures + errors, skipped)


def packages(*names):
    found = []
    for name in names:
        try:
            package = __import__(name)
            found.append(f"{name} {package.__version__}" + (f" on {package.default_backend()}" if name == "jax" else ""))
        except ImportError:
            found.append(f"no {name}")
    print(", ".join(found))


def commit():
    """Return the commit of these sources."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "commit.sh")
    return subprocess.run([script], check=True, capture_output=True, text=True).stdout.strip()


def geometric_mean(ratios):
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3) if ratios else None


FIGURE_KEY = ("matrix", "operation", "edge", "inner", "width", "batch", "type")


def figures_of(lines):
    """Return a figure for each problem: our time (of the chosen algorithm, else of the fastest) and the peer's best time."""
    cases = {}
    for line in lines:
        key = tuple(line.get(k, 1) for k in FIGURE_KEY)
        cases.setdefault(key, []).append(line)
    figures = []
    for key, measured in cases.items():
        ours = [x for x in measured if not x.get("peer") and not x.get("baseline")]
        peers = [x for x in measured if x.get("peer")]
        ours = [x for x in ours if x.get("auto")] or ours
        if not ours:
            continue
        best = min(ours, key=lambda x: x["median_ms"])
        figure = dict(zip(FIGURE_KEY, key))
        figure.update(nnz=best["nnz"], algorithm=best["algorithm"], median_ms=round(best["median_ms"], 6),
                      relative_error=best.get("relative_error"))
        if peers:
            peer = min(peers, key=lambda x: x["median_ms"])
            figure.update(peer=peer["algorithm"], peer_median_ms=round(peer["median_ms"], 6),
                          ratio=round(peer["median_ms"] / best["median_ms"], 3))
        figures.append(figure)
    return figures


def step_of(path):
    step = {}
    with open(path) as file:
        for line in file:
            name, _, value = line.rstrip("\n").partition("=")
            step[name] = int(value) if value.isdigit() else value
    if not step.get("note"):
        step.pop("note", None)
    return step


def compiler_of(device_name):
    """Return the name of NVRTC's file, which ends in the version."""
    path = os.environ.get("TAMIS_NVRTC")
    return os.path.basename(os.path.realpath(path)) if path and device_name.startswith("cuda") else None


def add_to(path, repeated):
    """Return the earlier evidence for the same sources and chip, with its steps replaced by those in `repeated`."""
    if not os.path.exists(path):
        return repeated
    with open(path) as file:
        evidence = json.load(file)
    for name in ("chip", "device", "driver", "compiler", "sources_sha256"):
        if evidence[name] != repeated[name]:
            sys.exit(f"gpu-evidence: {path}: {name} is {evidence[name]}, here it is {repeated[name]}: run all steps")
    for name, step in repeated["steps"].items():
        if name in evidence["steps"]:
            step["repeated"] = repeated["date"]
        if evidence.get("commit") != repeated["commit"]:
            step["commit"] = repeated["commit"]
        evidence["steps"][name] = step
    if repeated["figures"]:
        evidence.update((name, repeated[name]) for name in ("figures", "geometric_mean_of_ratios"))
    return evidence


def write(folder, device_name, sources, out, only=""):
    device = device_of(os.path.join(folder, "devices.json"), device_name)
    measured = os.path.join(folder, "bench.jsonl")
    figures = figures_of(lines_of(measured)) if not only or "bench" in only.split(",") else []
    steps = os.path.join(folder, "steps")
    compared = [figure for figure in figures if "ratio" in figure]
    means = {operation: geometric_mean([f["ratio"] for f in compared if f["operation"] == operation])
             for operation in ("sddmm", "spmm", "fused") if any(f["operation"] == operation for f in compared)}
    order = sorted(os.listdir(steps), key=lambda name: os.path.getmtime(os.path.join(steps, name)))
    evidence = {
        "chip": device["model"],
        "device": device_name,
        "instruction_set": device.get("instruction_set"),
        "driver": device.get("driver"),
        "compiler": compiler_of(device_name),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "sources_sha256": sources,
        "steps": {name: step_of(os.path.join(steps, name)) for name in order},
        "geometric_mean_of_ratios": {"all": geometric_mean([f["ratio"] for f in compared]), **means},
        "figures": figures,
    }
    name = re.sub(r"[^a-z0-9]+", "-", device["model"].lower()).strip("-")
    path = os.path.join(out, name + ".json")
    if only:
        evidence = add_to(path, evidence)
        figures = evidence["figures"]
    head = json.dumps({k: v for k, v in evidence.items() if k != "figures"}, indent=1)
    with open(path, "w") as file:  # a figure a line: readable, and short in a diff
        file.write(head[:-2] + ',\n "figures": [\n' + ",\n".join("  " + json.dumps(f) for f in figures) + "\n ]\n}\n")
    with open(path) as file:
        json.load(file)
    print(f"evidence: {path}")


STEPS = ("build", "widths", "cross-cuda", "cross-opencl", "python", "dense", "masks", "gradients", "gradients-whole", "softmax-rows", "batches",
         "two-devices", "sums", "graphs", "d-is-b", "models", "memcheck", "racecheck", "check", "zero-copy", "calls", "bench")


def stale(out, sources):
    for name in sorted(os.listdir(out)):
        if name.endswith(".json"):
            with open(os.path.join(out, name)) as file:
                evidence = json.load(file)
            path = os.path.join(out, name)
            if evidence.get("sources_sha256") != sources:
                print(f"{path}: made on {evidence.get('date')} with other sources")
            if missing := [step for step in STEPS if step not in evidence["steps"]]:
                print(f"{path}: not run: {', '.join(missing)}")
            failed = [step for step, found in evidence["steps"].items() if found["status"] == "failed"]
            if failed:
                print(f"{path}: failed on {evidence.get('date')}: {', '.join(failed)}")


def main():
    command, arguments = sys.argv[1], sys.argv[2:]
    commands = {"present": device_of, "algorithms": algorithms, "checks": checks, "pytest": pytest, "packages": packages, "write": write, "stale": stale}
    commands[command](*arguments)


main()
