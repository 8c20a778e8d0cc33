#!/bin/sh
# Builds the wheels for x86-64 and 64-bit ARM in build/wheels and tests each in a new environment, ARM's under emulation; then builds
# conda packages from them in build/conda.
#   wheels.sh [PACKAGE...]    PACKAGEs of PyPI for the tests on x86-64, as for python.sh
set -eu
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "wheels.sh: this is $(uname -m): it builds across from x86-64 alone; python.sh builds for this machine" >&2; exit 1; }
scripts/python.sh "$@"
scripts/python.sh --aarch64
echo 'packages of conda'
build/wheel-tools/bin/python -m pip --disable-pip-version-check --quiet install 'py-rattler-build>=0.73'
build/wheel-tools/bin/python scripts/conda.py
