#!/bin/sh
# One format, and clang-tidy over the library's host code and the program. Kernels are left to the compilers' own warnings:
# clang 14 does not know all of gcc's vector built-ins, and what they include is checked through them.
set -eu
command -v clang-format >/dev/null && command -v clang-tidy >/dev/null || { echo 'lint: clang-format and clang-tidy are needed' >&2; exit 1; }
bad=$(git ls-files '*.c' '*.h' | xargs clang-format --dry-run 2>&1 | grep -c 'warning:' || true)
if [ "$bad" -ne 0 ]; then
    git ls-files '*.c' '*.h' | xargs clang-format --dry-run 2>&1 | grep 'warning:' | head -20
    echo "lint: $bad places out of format: run make format" >&2
    exit 1
fi
echo 'lint: format is right'
[ -f build/release/compile_commands.json ] || cmake --preset release >/dev/null
git ls-files 'src/*.c' 'tools/*.c' | grep -v '^src/cpu/kernels/' |
    xargs -P "$(nproc)" -n 1 clang-tidy -p build/release --quiet 2>/dev/null >build/tidy.log || {
    grep -E 'error|warning' build/tidy.log | head -40
    exit 1
}
echo 'lint: clang-tidy has nothing to say'
