#!/bin/sh
# The list of public structures, fields and enumerators whose sizes, offsets and values must not change
# (tests/consume/layout-0.2.txt):
#   freeze-layout.sh          adds the headers' new entries to the list; fails if a listed entry has changed
#   freeze-layout.sh check    fails if an entry is missing, for a release
set -eu
cd "$(dirname "$0")/.."
list=tests/consume/layout-0.2.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tamis"
version=$(sed -n 's/^project(tamis VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
sed "s/@PROJECT_VERSION@/$version/; s/@PROJECT_VERSION_[A-Z]*@/0/" cmake/version.h.in >"$work/tamis/version.h"
python3 tests/consume/layout.py print include/tamis/[a-uw-z]*.h >"$work/now.c"
"${CC:-cc}" -I include -I "$work" -o "$work/now" "$work/now.c"
"$work/now" | LC_ALL=C sort >"$work/now.txt"
gone=$(LC_ALL=C comm -23 $list "$work/now.txt")
[ -z "$gone" ] || { printf 'changed since %s was written:\n%s\n' $list "$gone" >&2; exit 1; }
new=$(LC_ALL=C comm -13 $list "$work/now.txt" | wc -l)
if [ "${1:-}" = check ]; then
    [ "$new" -eq 0 ] || { echo "$list lacks $new lines of the headers: scripts/freeze-layout.sh adds them" >&2; exit 1; }
else
    cp "$work/now.txt" $list
fi
echo "$list: $(wc -l <$list) lines, $new of them new"
