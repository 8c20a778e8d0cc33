#!/bin/sh
# Builds Debian packages of the commit in build/deb by dpkg-buildpackage, then runs the packaged program.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tamis VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
command -v dpkg-buildpackage >/dev/null && [ -d /usr/share/debhelper ] || { echo 'deb.sh: the packages dpkg-dev and debhelper are needed' >&2; exit 1; }
folder=build/deb/tamis-$version
rm -rf build/deb
mkdir -p "$folder"
git archive HEAD | tar -x -C "$folder"
tar -C build/deb --exclude=debian -cJf "build/deb/tamis_$version.orig.tar.xz" "tamis-$version"
(cd "$folder" && dpkg-buildpackage --no-sign) >build/deb/build.log 2>&1 || { tail -40 build/deb/build.log >&2; exit 1; }
mkdir build/deb/root
for package in build/deb/libtamis1_*.deb build/deb/tamis_*.deb; do dpkg-deb -x "$package" build/deb/root; done
LD_LIBRARY_PATH=$(echo "$PWD"/build/deb/root/usr/lib/*) build/deb/root/usr/bin/tamis --version
ls build/deb/*.deb
