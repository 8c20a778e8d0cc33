#!/bin/sh
# Builds the wheel of the Python package for glibc 2.17 and newer into build/wheels, installs it into a new environment, and tests it
# there as a user would use it: from a folder without sources.
#   python.sh [PACKAGE...]              for this machine's processor. PACKAGEs of PyPI are installed for the tests too, such as torch
#                                       (large) and torch_geometric; without them, their tests are skipped. PYTHON: the interpreter
#   python.sh --aarch64 [PACKAGE...]    for 64-bit ARM, tested under emulation with Debian's Python and PyPI's packages for ARM
set -eu
cd "$(dirname "$0")/.."
processor=$(uname -m)
if [ "${1:-}" = --aarch64 ]; then
    processor=aarch64
    shift
fi
folder=$PWD/build/python-wheel-$processor
log=$folder.log
mkdir -p build
say() { printf '%s\n' "$*"; }
quietly() { "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; exit 1; }; }

say "the wheel for $processor"
wheel=$(scripts/wheel.sh "$processor")
say "  $wheel, $(du -k "$wheel" | cut -f1) KiB"

say "an empty environment with it, numpy, scipy, matplotlib, jinja2, scikit-learn, jax, pytest, hypothesis, mypy, trove-classifiers $*"
set -- 'scipy>=1.8' 'scikit-learn>=1.1' jax 'pytest>=7' 'hypothesis>=6' 'mypy>=1.8' trove-classifiers "$@"
rm -rf "$folder"
pip='-m pip --disable-pip-version-check --quiet'
if [ "$processor" = "$(uname -m)" ]; then
    quietly "${PYTHON:-python3}" -m venv "$folder"
    # shellcheck disable=SC2086
    quietly "$folder/bin/python" $pip install "$wheel" ./lab/python "$@"
    set --
else
    scripts/emulated-python.sh build/aarch64-root "$folder"
    lab=build/python-lab
    rm -rf "$lab"
    # this machine's pip installs for the other platform; it chooses our wheel by its name, as pip there would
    # shellcheck disable=SC2086
    quietly build/wheel-tools/bin/python $pip wheel --no-deps --wheel-dir "$lab" ./lab/python
    platforms=$("$folder/bin/python" -c 'import platform
for minor in range(17, int(platform.libc_ver()[1].split(".")[1]) + 1): print(f"--platform=manylinux_2_{minor}_'"$processor"'")')
    # shellcheck disable=SC2046,SC2086
    quietly build/wheel-tools/bin/python $pip install --only-binary=:all: $platforms --platform="manylinux2014_$processor" \
        $("$folder/bin/python" -c 'import sysconfig
print("--python-version", sysconfig.get_python_version(), "--target", sysconfig.get_path("purelib"))') "$wheel" "$lab"/*.whl "$@"
    # Not tested under emulation: the time of an import; slow tests of Python code that is the same on every processor (mypy, searches for
    # options, the laboratory's results and reports); and most tests that compile by XLA, which take a quarter of an hour. One thread,
    # since threads are emulated slowly.
    jax='not test_jax.py or test_declarations_of_xla or test_refused_when_run'
    operators='not test_operators_jax.py or test_values_and_gradients and (sddmm-scale or sddmm-softmax or spmm)'
    set -- -k "not test_import_is_quick and ($jax) and ($operators)"
    for tests in test_types.py test_tune.py lab/test_report.py lab/test_results.py; do set -- "$@" "--ignore=$tests"; done
    export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 TAMIS_PROBE=0
fi

say 'its tests'
work=$PWD/build/python-wheel-tests
rm -rf "$work"
cp -r tests/python "$work"
mkdir "$work/lab"
cp lab/python/tests/*.py "$work/lab"
cd "$work"
unset PYTHONPATH TAMIS_LIBRARY
export XDG_CACHE_HOME="$work/cache" # a fresh cache, so that earlier runs have no influence
TAMIS_SOURCE=${PWD%/build/*} "$folder/bin/python" -m pytest -q -p no:cacheprovider -rsfE "$@" .
