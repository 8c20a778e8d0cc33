#!/bin/sh
# The wheels for x86-64 and for 64-bit ARM, each tested in an empty environment, the latter under emulation, into build/wheels; then the same
# as packages of conda, into build/conda.
#   wheels.sh [PACKAGE...]    more packages of PyPI beside the wheel for x86-64, as for python.sh
set -eu
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "wheels.sh: this is $(uname -m): it builds across from x86-64 alone; python.sh builds for this machine" >&2; exit 1; }
scripts/python.sh "$@"
scripts/python.sh --aarch64
echo 'packages of conda'
build/wheel-tools/bin/python -m pip --disable-pip-version-check --quiet install 'py-rattler-build>=0.73'
build/wheel-tools/bin/python scripts/conda.py
