#!/bin/sh
# Builds the wheel of the Python package for glibc 2.17 and newer, installs it into a new environment, and tests it there, from a folder that
# has no sources: what a user gets. The wheel stays in build/wheels.
#   python.sh [PACKAGE...]              for this machine's processor. More packages of PyPI to install beside it for the tests, such as torch, which is
#                                       large, and torch_geometric (without them their tests are skipped); PYTHON names another interpreter
#   python.sh --aarch64 [PACKAGE...]    for 64-bit ARM, tested under emulation: Debian's Python for ARM, and PyPI's packages for it
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
    # pip of this machine installs, as if it ran there: it takes our wheel by its name alone, as it would there
    # shellcheck disable=SC2086
    quietly build/wheel-tools/bin/python $pip wheel --no-deps --wheel-dir "$lab" ./lab/python
    platforms=$("$folder/bin/python" -c 'import platform
for minor in range(17, int(platform.libc_ver()[1].split(".")[1]) + 1): print(f"--platform=manylinux_2_{minor}_'"$processor"'")')
    # shellcheck disable=SC2046,SC2086
    quietly build/wheel-tools/bin/python $pip install --only-binary=:all: $platforms --platform="manylinux2014_$processor" \
        $("$folder/bin/python" -c 'import sysconfig
print("--python-version", sysconfig.get_python_version(), "--target", sysconfig.get_path("purelib"))') "$wheel" "$lab"/*.whl "$@"
    # Left out: how long an import takes, which is the emulator's; what takes it minutes and is the same Python on every processor (mypy, searches
    # for options, results and reports of the laboratory); and most of what XLA compiles, which takes it a quarter of an hour. One thread: threads
    # are emulated slowly.
    jax='not test_jax.py or test_declarations_of_xla or test_refused_when_run'
    operators='not test_operators_jax.py or test_values_and_gradients and (sddmm-scale or sddmm-softmax or spmm)'
    set -- -k "not test_import_is_quick and ($jax) and ($operators)"
    for file in types tune report results; do set -- "$@" "--ignore=test_$file.py"; done
    export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 TAMIS_PROBE=0
fi

say 'its tests'
work=$PWD/build/python-wheel-tests
rm -rf "$work"
cp -r tests/python "$work"
cp lab/python/tests/test_*.py "$work"
cd "$work"
unset PYTHONPATH TAMIS_LIBRARY
export XDG_CACHE_HOME="$work/cache" # what other runs have left decides nothing
TAMIS_SOURCE=${PWD%/build/*} "$folder/bin/python" -m pytest -q -p no:cacheprovider -rsfE "$@" .
