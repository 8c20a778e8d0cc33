#!/bin/sh
# Unpacks, without installing, Debian packages for 64-bit ARM: the static libraries that the wheel is built with, the Python that tests
# it under emulation, and their dependencies. It needs neither root nor `dpkg --add-architecture`, since apt uses folders of its own.
# It does nothing if all is there.
#   scripts/unpack-aarch64.sh FOLDER
set -eu
[ $# -eq 1 ] || { echo 'usage: unpack-aarch64.sh FOLDER' >&2; exit 2; }
packages='zlib1g-dev liblzma-dev libzstd-dev python3 libpython3-dev libstdc++6'
[ "$(cat "$1/unpacked" 2>/dev/null || true)" != "$packages" ] || exit 0
rm -rf "$1"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
mkdir -p "$temporary/state/lists/partial" "$temporary/cache/archives/partial"
apt() {
    apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$temporary/state" -o Dir::State::status=/dev/null \
        -o Dir::Cache="$temporary/cache" -o APT::Sandbox::User="$(id -un)" "$@" >"$temporary/log" 2>&1 || { cat "$temporary/log" >&2; exit 1; }
}
apt update
# shellcheck disable=SC2086
apt install --no-install-recommends --download-only $packages
for file in "$temporary"/cache/archives/*.deb; do dpkg-deb -x "$file" "$folder"; done
echo "$packages" >"$folder/unpacked"
echo "unpacked for aarch64 into $1: $packages"
