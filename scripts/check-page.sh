#!/bin/sh
# Writes the files that a page on adding something shows, and compiles its C files: check-page.sh PAGE BUILD TO
set -eu
cd "$(dirname "$0")/.."
rm -rf "$3"
scripts/new-method-files.py "$1" . "$3"
for file in $(find "$3/src" -name '*.c'); do
    "${CC:-cc}" -std=c17 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -D_GNU_SOURCE="" -I"$3/include" -I"$2/include" \
        -I"$3/src" -Iinclude -Isrc "$file"
done
