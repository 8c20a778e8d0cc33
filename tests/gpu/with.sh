#!/bin/sh
# Runs a test where the vendor's part that it needs is there; else says what is missing and ends with 77.
#   with.sh nvrtc FOLDER COMMAND...   with NVIDIA's run-time compiler: TAMIS_NVRTC, or that of build/python
#   with.sh pocl  FOLDER COMMAND...   with PoCL as the only OpenCL implementation; kernels are compiled without optimising
#                                     them, in a third of the time, and from fewer declarations (pocl.sh)
#   with.sh optimised FOLDER COMMAND...   the same, compiled as users do
#   with.sh intel FOLDER COMMAND...   with Intel's for processors, from build/python, as the only one
#   with.sh oclgrind FOLDER COMMAND...   with oclgrind as the only one: what it complains of fails the test
#   with.sh emulated FOLDER LIBRARY COMMAND...   with CUDA's kernels on the processor, by LIBRARY (tests/gpu/emulated)
# The device's ceilings are not measured, which takes seconds of each test, unless TAMIS_PROBE=1.
# FOLDER is for what the test leaves. Caches of kernels are shared by all such folders in one place, as by all programs of a
# user: what tests have in common is compiled once.
set -eu
what=$1
folder=$2
shift 2
top=$(cd "$(dirname "$0")/../.." && pwd)
python=${TAMIS_TEST_PYTHON:-$top/build/python}

skip() {
    echo "skipped: $*"
    exit 77
}

first() { for file in "$@"; do [ ! -e "$file" ] || { echo "$file"; return; }; done; }

# the only .icd file that loaders will see; both names, for there are two loaders
only() {
    rm -rf "$folder/vendors"
    caches=$(dirname "$folder")/caches
    mkdir -p "$folder/vendors" "$caches/cache"
    echo "$1" >"$folder/vendors/only.icd"
    export OCL_ICD_VENDORS="$folder/vendors" OPENCL_VENDOR_PATH="$folder/vendors"
    export XDG_CACHE_HOME="$caches/cache" POCL_CACHE_DIR="$caches/pocl" TAMIS_PROBE="${TAMIS_PROBE:-0}"
}

mkdir -p "$folder"
case $what in
nvrtc)
    [ -n "${TAMIS_NVRTC:-}" ] || TAMIS_NVRTC=$(first "$python"/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1*)
    [ -z "$TAMIS_NVRTC" ] || export TAMIS_NVRTC
    [ -n "$TAMIS_NVRTC" ] || unset TAMIS_NVRTC # one of the system's will do
    ;;
pocl | optimised)
    icd=$(first /etc/OpenCL/vendors/pocl*.icd /usr/share/OpenCL/vendors/pocl*.icd)
    [ -n "$icd" ] || skip 'PoCL is not installed (Debian: pocl-opencl-icd)'
    library=$(cat "$icd")
    # version 6 stops at kernels with unused local memory unless it optimises
    if [ "$what" != optimised ] && [ -n "$(first /usr/lib/*-linux-gnu/libpocl.so.2.10.0)" ]; then # 3.1
        export TAMIS_OPENCL_OPTIONS="${TAMIS_OPENCL_OPTIONS--cl-opt-disable}"
        library=$("$top/tests/gpu/pocl.sh" "$library" "$(dirname "$folder")/pocl-few")
    fi
    only "$library"
    ;;
intel)
    library=$(first "$python/lib/libintelocl.so")
    [ -n "$library" ] || skip "Intel's OpenCL is not in build/python (scripts/install-python-packages.sh)"
    only "$library"
    # that folder has a loader of its own, which the library path would put before the system's
    TAMIS_OPENCL=$(first /usr/lib/*-linux-gnu/libOpenCL.so.1 /usr/lib64/libOpenCL.so.1 "$python/lib/libOpenCL.so.1")
    export TAMIS_OPENCL LD_LIBRARY_PATH="$python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    ;;
oclgrind)
    library=$(first /usr/lib/oclgrind/liboclgrind-rt-icd.so /usr/lib/*/oclgrind/liboclgrind-rt-icd.so)
    [ -n "$library" ] || skip 'oclgrind is not installed'
    only "$library"
    # it knows no calls that optimizers make up; the log holds what it finds
    export TAMIS_OPENCL_OPTIONS=-cl-opt-disable OCLGRIND_DATA_RACES=1 OCLGRIND_LOG="$folder/log"
    : >"$folder/log"
    "$@"
    [ ! -s "$folder/log" ] || { head -40 "$folder/log"; exit 1; }
    exit 0
    ;;
emulated)
    grep -qw f16c /proc/cpuinfo 2>/dev/null || skip 'the processor does not convert fp16 (f16c)'
    for program in g++ python3; do command -v $program >/dev/null || skip "$program is not installed"; done
    # kernels are cached with what compiles them
    XDG_CACHE_HOME=$folder/$(cat "$top"/tests/gpu/emulated/emulated.h "$top"/tests/gpu/emulated/translate.py | cksum | cut -d' ' -f1)
    export TAMIS_CUDA_DRIVER="$1" TAMIS_NVRTC="$1" TAMIS_PROBE=0 XDG_CACHE_HOME
    shift
    ;;
*)
    echo "with.sh: nvrtc, pocl, optimised, intel, oclgrind or emulated, not '$what'" >&2
    exit 2
    ;;
esac
exec "$@"
