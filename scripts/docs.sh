#!/bin/sh
# Builds the manual into build/docs/html. Fails on a broken link, a page outside the navigation, a name of the C interface that does
# not exist, and a declaration without a comment. Then a page that has such faults is built: each must be found.
set -eu
cd "$(dirname "$0")/.."
scripts/install-python-packages.sh docs
sphinx=build/docs-python/bin/sphinx-build
command -v doxygen >/dev/null || { echo 'docs.sh: doxygen is missing: scripts/install-dependencies.sh docs' >&2; exit 1; }
[ -x $sphinx ] || { echo 'docs.sh: Sphinx is missing: scripts/install-python-packages.sh docs' >&2; exit 1; }
out=build/docs
rm -rf $out
mkdir -p $out/source/reference $out/source/lab $out/faults/docs/manual
TAMIS_VERSION=$(sed -n 's/^project(tamis VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export TAMIS_VERSION
build() { $sphinx -q -E -b html -c docs --keep-going "$@" >$out/warnings.txt 2>&1; }

docs/headers.py pages $out/source/reference
doxygen docs/Doxyfile
[ ! -s $out/warnings.txt ] || { cat $out/warnings.txt; echo 'docs.sh: the headers have the faults above' >&2; exit 1; }
cp -r docs CONTRIBUTING.md CHANGELOG.md $out/source/
cp -r lab/results lab/notes $out/source/lab/
build -W -d $out/trees $out/source $out/html || { cat $out/warnings.txt; echo 'docs.sh: the manual has the faults above' >&2; exit 1; }
echo '<meta http-equiv="refresh" content="0; url=docs/manual/index.html">' >$out/html/index.html

cp docs/faults.md $out/faults/docs/manual/index.md
build -D html_theme=basic -d $out/faults-trees $out/faults $out/faults-html || true
sed -n 's/^- .*: //p' docs/faults.md | while read -r fault; do
    grep -qF "$fault" $out/warnings.txt || { cat $out/warnings.txt; echo "docs.sh: not found in docs/faults.md: $fault" >&2; exit 1; }
done
echo "the manual is in $out/html/index.html ($(find $out/html -name '*.html' | wc -l) pages)"
