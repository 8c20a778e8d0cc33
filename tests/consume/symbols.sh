#!/bin/sh
# What the shared library exports is what the public headers declare, no more and no less: symbols.sh LIBRARY HEADER...
set -eu
library=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$library" | grep -v '@TAMIS_PRIVATE' | awk '$2 ~ /^[TDBR]$/ { sub(/@.*/, "", $3); print $3 }' | grep -v '^TAMIS_' | sort >"$work/exported"
# declarations run over several lines: join them, then take the name before the parenthesis
cat "$@" | tr '\n' ' ' | grep -oE 'TAMIS_API[^;(]*\(' | grep -oE 'tamis_[a-z0-9_]+ *\($' | tr -d ' (' | sort >"$work/declared"
diff "$work/declared" "$work/exported" && echo "$(wc -l <"$work/exported") symbols, all declared"
