#!/usr/bin/env python3
"""Small changes of the code, one at a time: do the tests notice?
  mutants.py [--since COMMIT | --all] [--count N] [--seed N] [--medium] [--judged FILE]

Draws N places from the C files that changed since COMMIT (or all of them), layer after layer, changes each with
universalmutator's rules, builds the preset "check" in a copy of the tree and runs its quick tests: first those of the
layer, then the short ones, then the others; with --medium the medium tier too, for those that are left. A change that does
not compile, or that compiles to the same code, is drawn again. A test that takes ten times what the longest takes of the
unchanged tree, which is measured first, has noticed too. FILE keeps what was judged: the same command goes on where an interrupted
one stopped. Prints the score and each survivor, and exits with 1 below 90 percent.
The copy is build/mutants; the sources are left as they are."""
import argparse
import filecmp
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

FOLDER = os.path.abspath("build/mutants")
TREE, BUILD = FOLDER + "/tree", FOLDER + "/tree/build/check"
JOBS = str(os.cpu_count())
SHORT = 2  # seconds: tests below this run first
SLOWER = 10  # multiple of the unchanged tests' time that counts as an endless loop, however slow the machine
# for each layer, the tests that detect its mutants soonest: targets to build, tests to run
FIRST = {
    "src/base": ("tamis_test_io tamis_test_core tamis_test_operations", "test_io_number|^dense$|test_threads"),
    "src/expression": ("tamis_test_core tamis_test_operations", "test_expression|test_edge_text|^(products|edge)$"),
    "src/sparse": ("tamis_test_sparse", "test_sparse|test_generate"),
    "src/io": ("tamis_test_io", "test_io"),
    "src/group": ("tamis_test_group", "test_shard|test_group|test_transport|test_metis"),
    "src/slabs": ("tamis_test_group", "test_slabs"),
    "src/core": ("tamis_test_core tamis_test_operations tamis_test_cross", "test_plan|test_arguments|test_graph|test_gradient|products|gradients|message|segment|edge_network|cross"),
    "src/cpu": ("tamis_test_cross tamis_test_operations tamis_test_core", "products|gradients|message|segment|attention|edge_network|cross_quick|^dense$"),
    "src/reference": ("tamis_test_core tamis_test_operations", "test_oracle|test_gradient_oracle|gradients|message|segment|graph_attention|edge_network"),
    "src/select": ("tamis_test_core tamis_program", "test_plan|cli.explain|cli.bench"),
    "src/gpu": ("tamis_test_gpu", "test_prepare|test_gpu_"),
    "src/ml": ("tamis_test_ml", "test_ml"),
    "lab/bench/peers": ("tamis_test_cli tamis_program", "test_peers|cli.bench"),
    "tools/tamis": ("tests/cli/all", "cli|test_tool|test_bounds|test_suites|test_peers|test_model"),
}

limits = {}  # for each label: limits of processor seconds for a process, and of wall-clock seconds for all its tests
short = set()  # the short tests


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def layer_of(path):
    return next((layer for layer in FIRST if path.startswith(layer + "/")), None)


def copy_tree():
    """Copy git's files. Only files that differ are written, and so rebuilt, since an interrupted run leaves a mutant in the copy and its
    builds; the others keep their times."""
    os.makedirs(TREE, exist_ok=True)
    listed = set(run("git", "ls-files", "-z").stdout.split("\0")) - {""}
    for folder, folders, names in os.walk(TREE):
        if folder == TREE and "build" in folders:
            folders.remove("build")
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, TREE) not in listed:
                os.remove(path)
    for path in listed:
        to = os.path.join(TREE, path)
        if not os.path.exists(to) or not filecmp.cmp(path, to, shallow=False):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(path, to)


def prepare():
    """Copy and build the tree, and install universalmutator."""
    os.makedirs(FOLDER, exist_ok=True)
    if not os.path.exists(FOLDER + "/python/bin/mutate"):
        print("installing universalmutator into build/mutants")
        subprocess.check_call([sys.executable, "-m", "venv", FOLDER + "/python"])
        subprocess.check_call([FOLDER + "/python/bin/pip", "install", "--quiet", "universalmutator>=1.14"])
    copy_tree()
    for link in ("python", "prefix"):
        if os.path.exists("build/" + link) and not os.path.exists(f"{TREE}/build/{link}"):
            os.makedirs(TREE + "/build", exist_ok=True)
            os.symlink(os.path.abspath("build/" + link), f"{TREE}/build/{link}")
    subprocess.check_call(["cmake", "--preset", "check", "-DBUILD_TESTING=ON"], cwd=TREE, stdout=subprocess.DEVNULL)
    if run("ninja", "-C", BUILD).returncode != 0:
        sys.exit("mutants.py: the tree does not build")


def mutants_of(path, cache={}):
    """Return (line number, changed line) of every mutant of the file."""
    if path not in cache:
        place = FOLDER + "/drawn"
        run("rm", "-rf", place)
        os.makedirs(place)
        run(FOLDER + "/python/bin/mutate", os.path.abspath(path), "c", "--noCheck", "--mutantDir", place, cwd=place)
        with open(path) as file:
            before = file.read().split("\n")
        found = []
        for name in sorted(os.listdir(place)):
            with open(place + "/" + name) as file:
                after = file.read().split("\n")
            differ = [i for i in range(min(len(before), len(after))) if before[i] != after[i]]
            if len(after) == len(before) and len(differ) == 1:
                line = differ[0]
                if re.match(r"\s*(/?\*|//|#|$)", before[line]) or "tamis_fail" in before[line]:
                    continue
                # equivalent in a loop with unit steps: `!=` ends it where `<` did
                if before[line] not in (after[line].replace("!=", "<", 1), after[line].replace("!=", ">", 1)):
                    found.append((line, after[line]))
        cache[path] = found
    return cache[path]


def code_of(object_file):
    """Return a hash of an object's code and data, without line numbers."""
    text = run("objdump", "-d", "-r", "-s", "-j", ".text", "-j", ".rodata", "-j", ".data", "--no-show-raw-insn", object_file)
    return hashlib.sha256(text.stdout.split("\n", 3)[-1].encode()).hexdigest()


def library_code():
    return {name: code_of(BUILD + "/" + name) for name in ("src/libtamis.so", "src/ml/libtamis_ml.so", "tools/tamis/tamis")}


def tests(labels, pattern=None, but=None):
    """Run the tests that match `pattern` but not `but`. Return the first that fails, or None if all pass. A mutant may loop forever
    or deadlock, so each process has a limit of processor time and all together have one of wall-clock time. A test must fail
    twice, since a busy machine may fail tests that depend on timing."""
    def limit():
        if labels in limits:
            resource.setrlimit(resource.RLIMIT_CPU, (limits[labels][0], limits[labels][0] + 5))
    command = ["ctest", "--test-dir", BUILD, "-L", labels, "-j", JOBS, "--stop-on-failure", "--repeat", "until-pass:2"]
    command += (["-R", pattern] if pattern else []) + (["-E", but] if but else [])
    command += ["--timeout", str(limits[labels][0])] if labels in limits else [] # deadlocks take no processor time
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                          preexec_fn=limit) as process:
        try:
            output, _ = process.communicate(timeout=limits[labels][1] if labels in limits else None)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "the time limit"
    if labels not in limits: # the first run tests the unchanged tree
        if process.returncode != 0:
            sys.exit(f"mutants.py: the {labels} tests fail without a change:\n" + output)
        took = re.findall(r"Test +#\d+: (\S+) .* ([0-9.]+) sec$", output, re.M)
        longest = max(float(seconds) for _, seconds in took)
        short.update(name for name, seconds in took if float(seconds) < SHORT)
        total = float(re.search(r"Total Test time \(real\) = *([0-9.]+)", output).group(1))
        limits[labels] = int(60 + SLOWER * os.cpu_count() * longest), 60 + SLOWER * total
        return None
    failed = re.search(r"\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Child|Subprocess|SIG|ILLEGAL|Exception|NUMERICAL)", output)
    return None if process.returncode == 0 else failed.group(1) if failed else "a test"


def judge(layer, medium, same):
    """Return None for a mutant that does not compile or changes no code, the test that detects it, or "" for a survivor."""
    if run("ninja", "-C", BUILD, "tamis_shared", "tamis_ml_shared", "tamis_program").returncode != 0 or library_code() == same:
        return None
    targets, pattern = FIRST[layer]
    if run("ninja", "-C", BUILD, *targets.split()).returncode != 0:
        return None
    killer = tests("quick", pattern)
    if not killer:
        if run("ninja", "-C", BUILD).returncode != 0:
            return "the build"
        names = "^(" + "|".join(map(re.escape, sorted(short))) + ")$"
        killer = tests("quick", names, pattern) or tests("quick", None, f"{pattern}|{names}")
    if not killer and medium:
        killer = tests("medium")
    return killer or ""


def judged_before(path):
    """Return what judge() said of each mutant in the file."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as file:
        return dict(json.loads(line) for line in file)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--since", default="HEAD~20", metavar="COMMIT", help="of what changed since (HEAD~20)")
    options.add_argument("--all", action="store_true", help="of all files")
    options.add_argument("--count", type=int, default=20, metavar="N", help="how many (20)")
    options.add_argument("--seed", type=int, default=int(time.time()), metavar="N", help="the draw; of the clock without")
    options.add_argument("--medium", action="store_true", help="the medium tier too, for what the quick one leaves")
    options.add_argument("--judged", metavar="FILE", help="reads the mutants judged before, and adds to them")
    o = options.parse_args()
    listed = (["git", "ls-files"] if o.all else ["git", "diff", "--name-only", "--diff-filter=d", o.since])
    files = [path for path in run(*listed).stdout.split() if re.search(r"\.[ch]$", path) and layer_of(path)]
    if not o.medium: # GPU kernels are text in the library; only the medium tier compiles them
        files = [path for path in files if not (path.startswith("src/gpu/") and not path.endswith(".c"))]
    if not files:
        sys.exit("mutants.py: no C file of the library or the program changed since " + o.since)
    prepare()
    same = library_code()
    for labels in ("quick", "medium") if o.medium else ("quick",):
        tests(labels)
    dice = random.Random(o.seed)
    layers = sorted({layer_of(path) for path in files})
    print(f"{o.count} mutants of {len(files)} files in {len(layers)} layers, seed {o.seed}", flush=True)
    survivors, done, judged = [], 0, judged_before(o.judged)
    while done < o.count:
        layer = layers[done % len(layers)]
        path = dice.choice([path for path in files if layer_of(path) == layer])
        if not mutants_of(path):
            continue
        line, changed = dice.choice(mutants_of(path))
        with open(path) as file:
            text = file.read().split("\n")
        before, text[line] = text[line], changed
        what = f"{path}:{line + 1}: {before.strip()}  ->  {changed.strip()}"
        start = time.time()
        if what not in judged:
            with open(f"{TREE}/{path}", "w") as file:
                file.write("\n".join(text))
            judged[what] = judge(layer, o.medium, same)
            subprocess.check_call(["cp", path, f"{TREE}/{path}"])
            if o.judged:
                with open(o.judged, "a") as file:
                    file.write(json.dumps([what, judged[what]]) + "\n")
        killer = judged[what]
        if killer is None:
            continue
        done += 1
        print(f"{done:3} {time.time() - start:4.0f} s  {'killed by ' + killer if killer else 'SURVIVED'}  {what}", flush=True)
        if not killer:
            survivors.append(what)
    killed = o.count - len(survivors)
    print(f"{killed} of {o.count} killed ({100 * killed / o.count:.0f} %)")
    for what in survivors:
        print("survived: " + what)
    sys.exit(killed < 0.9 * o.count)


main()
