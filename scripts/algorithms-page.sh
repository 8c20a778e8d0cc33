#!/bin/sh
# Writes the first part of docs/algorithms.md, the registry as a table, anew from PROGRAM; what was written by hand stays.
set -eu
cd "$(dirname "$0")/.."
page=docs/algorithms.md
new=$page.new
"${1:-build/release/tools/tamis/tamis}" algorithms --markdown >"$new"
sed -n '/^## /,$p' "$page" | sed '1s/^/\n/' >>"$new"
mv "$new" "$page"
