#!/bin/sh
# Structures may only grow into what they reserved: grown.sh SOURCE INCLUDE VERSION_INCLUDE LIBRARY WORK
# Every structure, field and enumerator of 0.2 (layout-0.2.txt) has its size, place and value still, and a program with that layout
# compiled in runs with the library of now. A new interface version begins a list of its own: what `layout.py print` prints.
set -eu
source=$1 include=$2 version=$3 library=$4 work=$5
rm -rf "$work"
mkdir -p "$work"
cc=${CC:-cc}
python3 "$source/layout.py" print "$include"/tamis/[a-uw-z]*.h >"$work/now.c"
"$cc" -I "$include" -I "$version" -o "$work/now" "$work/now.c"
"$work/now" | LC_ALL=C sort >"$work/now.txt"
gone=$(LC_ALL=C comm -23 "$source/layout-0.2.txt" "$work/now.txt")
if [ -n "$gone" ]; then
    echo "these have another size, place or value than in 0.2:"
    echo "$gone"
    exit 1
fi
python3 "$source/layout.py" header "$source/layout-0.2.txt" >"$work/layout.h"
"$cc" -Wall -Werror -I "$work" -o "$work/old" "$source/old_program.c" "$library" -lm
LD_LIBRARY_PATH=$(dirname "$library") "$work/old"
echo "$(grep -c '\.' "$source/layout-0.2.txt") fields of 0.2, $(grep -vc '\.' "$source/layout-0.2.txt") sizes and enumerators, all in place"
