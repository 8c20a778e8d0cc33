#!/bin/sh
# The sources of a release, build/tamis-VERSION.tar.xz: of a tree without changes, with evidence of these sources, that passes
# every test.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tamis VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -z "$(git status --porcelain)" ] || { echo 'release.sh: the tree has changes that are not committed' >&2; exit 1; }
scripts/gpu-stale.sh refuse
grep -q "^## $version" CHANGELOG.md || { echo "release.sh: CHANGELOG.md has no section $version" >&2; exit 1; }
scripts/test.sh
file=build/tamis-$version.tar.xz
git archive --prefix="tamis-$version/" HEAD | xz -9 >"$file.part"
mv "$file.part" "$file"
echo "$file"
