#!/bin/sh
# Unpacks, without installing, the libraries for building and testing, for a machine on which nothing can be installed:
#   scripts/unpack-dependencies.sh build/prefix       here; then copy the folder to that machine
#   make gpu-check UNPACKED=build/prefix              there
# It holds include/ and lib/ of zlib, cmocka and the OpenCL loader, for x86-64.
set -eu
[ $# -eq 1 ] || { echo 'usage: unpack-dependencies.sh FOLDER' >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
packages='zlib1g-dev zlib1g libcmocka-dev libcmocka0 ocl-icd-libopencl1'
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
(
    cd "$temporary"
    # shellcheck disable=SC2086
    apt-get download -q $packages >log 2>&1 || { cat log >&2; exit 1; }
    for file in *.deb; do dpkg-deb -x "$file" tree; done
)
mkdir -p "$folder/include" "$folder/lib"
cp -a "$temporary"/tree/usr/include/. "$folder/include/"
find "$temporary"/tree -path '*/lib/x86_64-linux-gnu/*' \( -name '*.so*' -o -name '*.a' \) -exec cp -a {} "$folder/lib/" \;
rm -f "$folder"/lib/*.a
# links into system folders become relative links
for link in "$folder"/lib/*; do
    target=$(readlink "$link" || true)
    case $target in */*) ln -sf "${target##*/}" "$link" ;; esac
done
echo "unpacked into $folder: $packages"
