#!/bin/sh
# Makes a release in build/release-VERSION: sources, wheels for x86-64 and 64-bit ARM with their bills of materials, packages for conda
# and Debian, the changes, the list of frozen structures, and checksums. The tree must have no uncommitted changes, its results and
# evidence must be of these sources, and every test must pass.
#   release.sh          makes the release
#   release.sh check    only reports what is missing
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tamis VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
missing=0

# check WHAT COMMAND...: runs a check, and prints its output if it fails
check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ready    $what"; else
        echo "missing  $what"
        echo "$said" | sed 's/^/         /'
        missing=$((missing + 1))
    fi
}
clean() { [ -z "$(git status --porcelain)" ] || { git status --short; return 1; }; }
dated() { grep -Eq "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || { grep -F "## [$version]" CHANGELOG.md || echo 'there is no such section'; return 1; }; }
versions() {
    grep -Fqx "version: $version" CITATION.cff || { grep '^version:' CITATION.cff; return 1; }
    grep -Fqx "version = \"$version\"" lab/python/pyproject.toml || { grep '^version' lab/python/pyproject.toml; return 1; }
    head -1 debian/changelog | grep -q "^tamis ($version-[0-9]*) [a-z]" || { head -1 debian/changelog; return 1; }
}
check 'a tree without changes' clean
check 'evidence of these sources, without failed steps' scripts/gpu-stale.sh refuse
check 'results and evidence of these sources' lab/results/page.sh commits
check "CHANGELOG.md: a section $version with its date" dated
check 'the same version everywhere, and a distribution in debian/changelog' versions
check 'the list of structures has all of them' scripts/freeze-layout.sh check
if [ $missing -gt 0 ] || [ "${1:-}" = check ]; then
    echo "release.sh: $missing missing"
    [ $missing -eq 0 ]
    exit
fi

scripts/test.sh
out=build/release-$version
rm -rf "$out"
mkdir -p "$out"
git archive --prefix="tamis-$version/" HEAD | xz -9 >"$out/tamis-$version.tar.xz"
[ "$(tar -xOf "$out/tamis-$version.tar.xz" "tamis-$version/scripts/commit.sh" | sed -n "s/^packed='\(.*\)'/\1/p")" = "$(git rev-parse HEAD)" ] ||
    { echo 'release.sh: the sources do not tell their commit' >&2; exit 1; }
scripts/wheels.sh
scripts/deb.sh
for file in build/wheels/tamis-"$version"-*.whl build/deb/*.deb; do cp "$file" "$out"; done
for package in build/conda/*/*.tar.bz2; do # both platforms give it the same name
    cp "$package" "$out/$(basename "$package" .tar.bz2)-$(basename "$(dirname "$package")").tar.bz2"
done
sed -n "/^## \[$version\]/,/^## \[/{/^## \[$version\]/p;/^## \[/!p}" CHANGELOG.md >"$out/CHANGES-$version.md"
cp tests/consume/layout-0.2.txt "$out"
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "$out: commit $(git rev-parse HEAD)"
cat "$out/SHA256SUMS"
