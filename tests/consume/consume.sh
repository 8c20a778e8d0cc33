#!/bin/sh
# Installs the build into a folder of its own and uses it from outside: by CMake and by pkg-config, shared and static, and
# from C++ where there is a compiler. consume.sh BUILD SOURCE WORK
set -eu
build=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work/project"
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
cp "$source/main.c" "$source/model.c" "$work/project/"
cp "$source/project.cmake" "$work/project/CMakeLists.txt"
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure.log" 2>&1 ||
    { cat "$work/configure.log"; exit 1; }
cmake --build "$work/project/build" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
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
    mkdir -p "$work/project-cxx"
    cp "$source/header.cpp" "$work/project-cxx/"
    cp "$source/project-cxx.cmake" "$work/project-cxx/CMakeLists.txt"
    cmake -S "$work/project-cxx" -B "$work/project-cxx/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure-cxx.log" 2>&1 ||
        { cat "$work/configure-cxx.log"; exit 1; }
    cmake --build "$work/project-cxx/build" >"$work/build-cxx.log" 2>&1 || { cat "$work/build-cxx.log"; exit 1; }
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
