#!/bin/sh
# PoCL whose compiler reads fewer declarations, in FOLDER: of the built-in functions those of scalars, which are all that kernels call. It
# reads 18 thousand lines before each kernel, which takes as long as the rest of compiling a small one. Prints the library's path; of another
# version than Debian 12's (3.1) that of the library given.   pocl.sh LIBRARY FOLDER
set -eu
library=$1 folder=$2
for file in "$library" /usr/lib/*-linux-gnu/"$library"; do [ ! -f "$file" ] || break; done
real=$(readlink -f "$file")
share=$(dirname "$real")/../../share/pocl
case $real in */libpocl.so.2.10.0) ;; *) echo "$library"; exit 0 ;; esac
if [ ! -e "$folder" ]; then
    new=$(mktemp -d "$folder.XXXXXX")
    mkdir -p "$new/lib/here" "$new/share/pocl/include"
    ln -s "$real" "$new/lib/here/libpocl.so.2"
    ln -s "$(dirname "$real")/pocl" "$new/lib/here/pocl"
    ln -s "$share"/*.bc "$new/share/pocl"
    ln -s "$share"/include/* "$new/share/pocl/include"
    rm "$new/share/pocl/include/opencl-c.h"
    # whole declarations, and what the preprocessor is told
    awk '/^#/ || more { print; more = /\\$/; next }
        /^ *(\/\/|\/\*|\*)/ { next }
        { declaration = declaration $0 "\n" }
        /;/ {
            if (declaration !~ /(float|double|half|char|short|int|long|bool)(2|3|4|8|16)[^a-z_0-9]|image|sampler|event_t|_explicit|intel_/)
                printf "%s", declaration
            declaration = ""
        }' "$share/include/opencl-c.h" >"$new/share/pocl/include/opencl-c.h"
    mv -T "$new" "$folder" 2>/dev/null || rm -rf "$new" # another test was here first
fi
echo "$folder/lib/here/libpocl.so.2"
