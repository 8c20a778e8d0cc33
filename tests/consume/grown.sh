#!/bin/sh
# Structures may only grow into what they reserved: grown.sh SOURCE INCLUDE VERSION_INCLUDE LIBRARY WORK
# A program that was compiled against the headers of 0.2 (tests/consume/frozen) runs with the library of now, and every
# structure of those headers has its size and its fields in their places still.
set -eu
source=$1 include=$2 version=$3 library=$4 work=$5
rm -rf "$work"
mkdir -p "$work"
cc=${CC:-cc}
layout() { # INCLUDE NAME
    python3 "$source/layout.py" "$1"/tamis/[a-uw-z]*.h >"$work/$2.c"
    "$cc" -I "$1" -I "$version" -o "$work/$2" "$work/$2.c"
    "$work/$2" | sort >"$work/$2.txt"
}
layout "$source/frozen" frozen
layout "$include" now
gone=$(comm -23 "$work/frozen.txt" "$work/now.txt")
if [ -n "$gone" ]; then
    echo "these have another size or place than in 0.2:"
    echo "$gone"
    exit 1
fi
"$cc" -I "$source/frozen" -I "$version" -o "$work/old" "$source/old_program.c" "$library" -lm
LD_LIBRARY_PATH=$(dirname "$library") "$work/old"
echo "$(grep -vc '\.' "$work/frozen.txt") structures of 0.2, $(grep -c '\.' "$work/frozen.txt") fields, all in place"
