#!/bin/sh
# The tests of the Python package on a library that is built, without the wheel: run.sh SOURCE LIBTAMIS.so
# Ends with 77 and the reason where Python or its packages are missing. `make python` tests the wheel.
set -eu
source=$1
# plans do not depend on how busy the machine is, nor on what other runs have left
export TAMIS_PROBE="${TAMIS_PROBE:-0}" XDG_CACHE_HOME="${2%/src/*}/tests/python/cache"
export PYTHONPATH="$source/python:$source/lab/python" TAMIS_LIBRARY="$2" TAMIS_SOURCE="$source" PYTHONDONTWRITEBYTECODE=1
for python in "$source/build/python/bin/python" python3; do
    if "$python" -c 'import pytest, hypothesis, numpy, scipy' 2>/dev/null; then
        exec "$python" -m pytest -q -rsfE -m 'not long' "$source/tests/python" "$source/lab/python/tests"
    fi
done
echo 'skipped: no Python with numpy, scipy, pytest and hypothesis: scripts/install-python-packages.sh'
exit 77
