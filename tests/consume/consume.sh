#!/bin/sh
# Installs the build into a folder of its own and uses it from outside: by CMake and by pkg-config, shared and static, and
# from C++ where there is a compiler. consume.sh BUILD SOURCE WORK
set -eu
build=$1 source=$2 work=$3
project() { # NAME SOURCE...: a project of these sources, built by NAME.cmake
    folder=$work/$1
    log=$work/$1.log
    mkdir -p "$folder"
    cp "$source/$1.cmake" "$folder/CMakeLists.txt"
    shift
    for file in "$@"; do cp "$source/$file" "$folder/"; done
    cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$log" 2>&1 || { cat "$log"; exit 1; }
    cmake --build "$folder/build" >"$log" 2>&1 || { cat "$log"; exit 1; }
}
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
project project main.c model.c
"$work/project/build/with_tamis"
"$work/project/build/with_tamis_static"
"$work/project/build/with_tamis_ml"
"$work/project/build/with_tamis_ml_static"

libraries=$(dirname "$(find "$work/prefix" -name tamis.pc)")
export PKG_CONFIG_PATH="$libraries"
# shellcheck disable=SC2046
cc -o "$work/shared" "$source/main.c" $(pkg-config --cflags --libs tamis)
LD_LIBRARY_PATH=$(dirname "$libraries") "$work/shared"
# shellcheck disable=SC2046
cc -o "$work/static" "$source/main.c" $(pkg-config --cflags tamis) "$(dirname "$libraries")/libtamis.a" \
    $(pkg-config --static --libs-only-l tamis | sed 's/-ltamis//') $(pkg-config --static --libs-only-other tamis)
"$work/static"
# shellcheck disable=SC2046
cc -o "$work/model" "$source/model.c" $(pkg-config --cflags --libs tamis_ml)
LD_LIBRARY_PATH=$(dirname "$libraries") "$work/model"
# the manual's line, for each of its examples
for example in "$source"/../../docs/examples/*.c; do
    ! grep -q '<tamis/mpi.h>' "$example" || continue
    module=tamis
    ! grep -q '<tamis/ml.h>' "$example" || module=tamis_ml
    # shellcheck disable=SC2046
    cc -std=c17 "$example" $(pkg-config --cflags --libs $module) -o "$work/example" || { echo "the line of the manual does not link $example"; exit 1; }
done
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2046
    g++ -std=c++17 -Wall -Wextra -Werror -o "$work/cxx" "$source/header.cpp" $(pkg-config --cflags --libs tamis)
    LD_LIBRARY_PATH=$(dirname "$libraries") "$work/cxx"
    project project-cxx header.cpp
    "$work/project-cxx/build/with_tamis"
    "$work/project-cxx/build/with_tamis_static"
else
    echo 'no g++: the headers were not tried from C++'
fi
[ -x "$work/prefix/bin/tamis" ] && "$work/prefix/bin/tamis" --version
installed() { # NAME OPTION...: the text of this name is there, and is what the program prints
    file=$(find "$work/prefix/share" -type f -path "*$1")
    shift
    [ -n "$file" ] && "$work/prefix/bin/tamis" "$@" | cmp - "$file"
}
find "$work/prefix/share" -path '*/man1/tamis.1' -size +10k | grep -q . || ! command -v python3 >/dev/null
installed /bash-completion/completions/tamis --completion bash
installed /zsh/site-functions/_tamis --completion zsh
