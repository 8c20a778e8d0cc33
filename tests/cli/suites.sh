#!/bin/sh
# Runs the small tier of one suite on the processor: suites.sh PROGRAM WORK_FOLDER SUITE
# In short times: every result is right, a report is made of them, and comparing the run with itself finds nothing.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
program=$1
work=$2/$3
suite=$3
rm -rf "$work"
mkdir -p "$work"
XDG_CACHE_HOME=$2/cache
OMP_WAIT_POLICY=passive
TAMIS_CUDA_DRIVER=no-cuda-driver
TAMIS_OPENCL=no-opencl-loader
export XDG_CACHE_HOME OMP_WAIT_POLICY TAMIS_CUDA_DRIVER TAMIS_OPENCL
unset TAMIS_MATRIX_PATH
mkdir -p "$2/cache"
cd "$work"
files=''
if [ "$suite" = real ]; then
    "$program" generate fem --rows 900 --nnz 30000 --block 3 -q -o mesh.npz
    "$program" generate rmat --rows 512 --nnz 4000 -q -o graph.mtx
    files=.
fi
# shellcheck disable=SC2086
"$program" bench --suite "$suite" --tier small --device cpu --threads 1 --repeat 2 --seconds 0.02 \
    --json results.jsonl $files >log 2>&1 || {
    cat log
    exit 1
}
measured=$(grep -c '"record": "measurement"' results.jsonl)
right=$(grep -c '"passed": true' results.jsonl)
echo "$suite: $measured measurements, $right of them compared with the oracle and right"
[ "$measured" -ge 6 ] && [ "$right" -eq "$measured" ]
PYTHONPATH=$source/python:$source/lab/python
export PYTHONPATH
if [ -x "$source/build/python/bin/python" ]; then
    TAMIS_PYTHON=$source/build/python/bin/python
    export TAMIS_PYTHON
fi
if "${TAMIS_PYTHON:-python3}" -c 'import jinja2, matplotlib' 2>/dev/null; then "$program" report results.jsonl -o report.html; fi
"$program" compare results.jsonl results.jsonl
