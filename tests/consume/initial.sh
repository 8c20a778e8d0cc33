#!/bin/sh
# The public headers and their _INIT macros give no warning in C and in C++, and mean the same in both:
# initial.sh SOURCE INCLUDE VERSION_INCLUDE WORK
set -eu
source=$1 include=$2 version=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
for macro in $(sed -n 's/^#define \(TAMIS_[A-Z_]*_INIT\).*/\1/p' "$include"/tamis/*.h | sort -u); do
    grep -q "= $macro;" "$source/initial.c" || { echo "initial.c does not use $macro"; exit 1; }
done
strict='-Wall -Wextra -pedantic -Wshadow -Werror'
# shellcheck disable=SC2086
"${CC:-cc}" -std=c11 $strict -I "$include" -I "$version" -o "$work/c" "$source/initial.c"
"$work/c" >"$work/expected.txt"
compilers=0
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || continue
    echo '#include <vector>' | "$compiler" -x c++ -fsyntax-only - 2>/dev/null || continue
    for standard in c++11 c++17 c++20; do
        echo '#include <tamis/tamis.h>
            tamis_options initial(); tamis_options initial() { tamis_options o = TAMIS_OPTIONS_INIT; return o; }' >"$work/casts.cpp"
        # shellcheck disable=SC2086
        "$compiler" -std=$standard $strict -Wold-style-cast -I "$include" -I "$version" -fsyntax-only "$work/casts.cpp"
        # shellcheck disable=SC2086
        "$compiler" -x c++ -std=$standard $strict -I "$include" -I "$version" -o "$work/cxx" "$source/initial.c"
        "$work/cxx" | cmp - "$work/expected.txt"
        # shellcheck disable=SC2086
        "$compiler" -std=$standard $strict -I "$include" -I "$version" -fsyntax-only "$source/header.cpp"
    done
    compilers=$((compilers + 1))
done
[ $compilers -gt 0 ] || echo 'skipped: no C++ compiler'
