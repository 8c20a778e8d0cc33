#!/bin/sh
# Builds the manual into build/docs/html. Fails when Doxygen warns: a broken link, an undocumented function or type.
# Fields and enumerators may go without a comment where their name says it all.
set -eu
cd "$(dirname "$0")/.."
command -v doxygen >/dev/null || { echo 'docs.sh: doxygen is missing: scripts/install-dependencies.sh docs' >&2; exit 1; }
mkdir -p build/docs
rm -rf build/docs/html build/docs/warnings.txt

TAMIS_VERSION=$(sed -n 's/^project(tamis VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
TAMIS_TOP=$PWD
export TAMIS_VERSION TAMIS_TOP
doxygen docs/Doxyfile

if grep -vE '(Member|Compound) .* (\(variable\)|\(enumvalue\)).* is not documented|^ *$' build/docs/warnings.txt; then
    echo 'docs.sh: the manual has the faults above' >&2
    exit 1
fi
if grep -noE 'href="[^":]*\.md"' build/docs/html/*.html; then
    echo 'docs.sh: the links above lead to no page of the manual' >&2
    exit 1
fi
echo "the manual is in build/docs/html/index.html ($(find build/docs/html -name '*.html' | wc -l) pages)"
