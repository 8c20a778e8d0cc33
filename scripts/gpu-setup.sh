# shellcheck shell=sh
# Finds libraries on a machine with a GPU, for gpu-check.sh and measure.sh. Sourced from the project's folder.
#   UNPACKED     a folder with include/ and lib/ of libraries that are not installed (scripts/unpack-dependencies.sh)
#   TAMIS_NVRTC  NVRTC's file; by default it is searched for where toolkits and Python packages install it

first() { for file in "$@"; do [ ! -e "$file" ] || { echo "$file"; return; }; done; }
least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

if [ -n "${UNPACKED:-}" ]; then
    unpacked=$(cd "$UNPACKED" && pwd)
    export CMAKE_PREFIX_PATH="$unpacked" C_INCLUDE_PATH="$unpacked/include" LIBRARY_PATH="$unpacked/lib"
    export LD_LIBRARY_PATH="$unpacked/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    [ -n "${TAMIS_OPENCL:-}" ] || [ ! -e "$unpacked/lib/libOpenCL.so.1" ] || export TAMIS_OPENCL="$unpacked/lib/libOpenCL.so.1"
fi
if [ -z "${TAMIS_NVRTC:-}" ]; then
    site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null || true)
    TAMIS_NVRTC=$(first /usr/local/cuda/lib64/libnvrtc.so /usr/local/cuda*/lib64/libnvrtc.so.1? \
        build/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1? "$site"/nvidia/*/lib/libnvrtc.so.1?)
    if [ -n "$TAMIS_NVRTC" ]; then export TAMIS_NVRTC; else unset TAMIS_NVRTC; fi
fi

# build_here FOLDER LOG LIMIT TARGET...: an optimised build with the laboratory, within LIMIT seconds; its output goes
# to LOG
build_here() {
    here=$1 log=$2 seconds=$3
    shift 3
    generator='Unix Makefiles'
    ! command -v ninja >/dev/null || generator=Ninja
    cmake -S . -B "$here" -G "$generator" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON -DTAMIS_LAB=ON >"$log" 2>&1 &&
        timeout "$seconds" cmake --build "$here" -j "$(nproc)" --target "$@" >>"$log" 2>&1
}
