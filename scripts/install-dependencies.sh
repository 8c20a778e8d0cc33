#!/bin/sh
# Installs the missing Debian packages of these groups: build, test, python, aarch64, docs, mpi, deb. It prints each package with the
# reason, uses sudo if not root, and does nothing if all are installed.
#   scripts/install-dependencies.sh build test
set -eu

build='
cmake             the build system
ninja-build       runs the build
gcc               the compiler
libc6-dev         the C library
pkg-config        finds libraries
zlib1g-dev        .gz files, .npz
liblzma-dev       .xz files
libzstd-dev       .zst files
libisal-dev|none  .npz and .gz files written quickly
g++               for the two below
libfast-float-dev|none numbers read from text
libdragonbox-dev|none numbers written as text'

test='
libcmocka-dev     the test framework
clang             fuzzing with libFuzzer
libclang-rt-dev   its run time
clang-format      one style
clang-tidy        static checks
libomp-dev        omp.h for clang-tidy
mandoc            checks the manual page
chromium          looks at the page of tamis report
xz-utils          packs results for its test
python3           scripts that compare with NumPy and SciPy
libpython3-dev    Python.h: compiled steps of the package
python3-scipy     reads what we write, writes what we read
python3-venv      a folder for Python packages that only tests use
libgraphblas7|libgraphblas9|libgraphblas10 a peer of the benchmark
libopenblas0-pthread a peer of the benchmark
pocl-opencl-icd   OpenCL on the processor: runs the GPU kernels
ocl-icd-libopencl1 finds OpenCL implementations
opencl-c-headers  to compare our declarations with
libmetis5         partitions graphs, opened at run time
oclgrind|none     finds bad accesses and races in OpenCL kernels'

python='
python3           the wheel: runs its build and its tests
libpython3-dev    Python.h: compiled steps of the package
python3-venv      folders for both'

aarch64='
gcc-aarch64-linux-gnu  the compiler for 64-bit ARM
libc6-dev-arm64-cross  its C library
qemu-user-static       runs the result'

mpi='
libopenmpi-dev    groups of processes: libtamis_mpi
openmpi-bin       runs them'

deb='
dpkg-dev          dpkg-buildpackage
debhelper         the steps of a Debian package
python3           writes the manual page'

docs='
doxygen           the declarations and comments of the headers, as XML
python3           the manual: reads the headers
python3-venv      a folder for Sphinx and its theme'

# An entry may list alternatives separated by |; each version of Debian has one of them. "none": some versions have none, and the
# tests that need it are skipped.
names() { printf '%s' "$1" | tr '|' ' '; }
knows() { apt-cache show "$1" >/dev/null 2>&1; }

is_installed() {
    for name in $(names "$1"); do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
        [ "$status" != installed ] || return 0
    done
    case $1 in *'|none') knows apt && ! knows "${1%|none}" ;; *) return 1 ;; esac
}

# Prints the packages to install for these entries: the first available alternative of each. Fails if there is none.
choose() {
    unknown=0
    for entry in "$@"; do
        chosen=''
        for name in $(names "$entry"); do
            if [ "$name" = "$entry" ] || knows "$name"; then
                chosen=$name
                break
            fi
        done
        [ -n "$chosen" ] || is_installed "$entry" || unknown=1
        printf ' %s' "$chosen"
    done
    return $unknown
}

[ $# -gt 0 ] || set -- build
missing=''
reasons=''
for group in "$@"; do
    case $group in
        build) list=$build ;; test) list=$test ;; python) list=$python ;; docs) list=$docs ;; aarch64) list=$aarch64 ;; mpi) list=$mpi ;; deb) list=$deb ;;
        *) echo "install-dependencies.sh: no group '$group'; there are build, test, python, aarch64, docs, mpi, deb" >&2; exit 2 ;;
    esac
    while read -r package why; do
        [ -n "$package" ] || continue
        is_installed "$package" && continue
        missing="$missing $package"
        reasons="$reasons$(printf '  %-18s %s' "$package" "$why")
"
    done <<LIST
$list
LIST
done
[ -n "$missing" ] || exit 0

printf 'Installing Debian packages:\n%s' "$reasons"
as_root=''
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "not root and no sudo: install them by hand:$missing" >&2; exit 1; }
    as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
# on a fresh machine the package lists may be old or absent
# shellcheck disable=SC2046,SC2086
{ wanted=$(choose $missing) && $as_root apt-get install -y -q --no-install-recommends $wanted >/dev/null 2>&1; } || {
    $as_root apt-get update -q >/dev/null
    $as_root apt-get install -y -q --no-install-recommends $(choose $missing) >/dev/null
}
