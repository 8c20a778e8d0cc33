#!/bin/sh
# Checks the format, products of sizes that may overflow and the length of device functions, and runs clang-tidy on the library's
# host code and the program. Kernels are else checked by compiler warnings only, since clang 14 lacks some of gcc's vector built-ins.
#   lint.sh           all checks, with the static analyser at full depth: half an hour of a core
#   lint.sh quick     all checks, with the analyser limited to a tenth of a second a file
#   lint.sh changed   as quick, but only for files that differ from the last commit; the format of all files
set -eu
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null && command -v clang-tidy >/dev/null || { echo 'lint: clang-format and clang-tidy are needed' >&2; exit 1; }
# other versions format differently and find other faults
style=14
for tool in clang-format clang-tidy; do
    version=$($tool --version | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -1)
    [ "$version" = $style ] || { echo "skipped: lint: $tool is version $version, and the style is that of $style"; exit 77; }
done
mode=${1:-all}
files() { if [ "$mode" = changed ]; then git diff --name-only --diff-filter=d HEAD -- "$@"; else git ls-files "$@"; fi; }

bad=$(git ls-files '*.c' '*.cc' '*.h' | xargs -r -P "$(nproc)" -n 40 clang-format --dry-run 2>&1 | grep 'warning:' || true)
if [ -n "$bad" ]; then
    echo "$bad" | head -20
    echo "lint: $(echo "$bad" | wc -l) places out of format: run make format" >&2
    exit 1
fi
echo 'lint: format is right'
! git grep -nI 'SPDX-[L]icense' || { echo 'lint: LICENSE is for all files: none has a line of its own' >&2; exit 1; }
scripts/words.py
scripts/size-products.py
echo 'lint: no product of sizes is allocated unchecked'
git ls-files 'src/gpu/*.cu' 'src/gpu/*.simt' 'src/gpu/*.h' 'lab/gpu/*.cu' 'lab/gpu/*.simt' 'lab/gpu/*.h' | xargs awk '
    FNR == 1 { begin = 0 }
    /^(FUNCTION|NOINLINE|KERNEL|static|template|inline|__)/ && !(begin && last ~ /^template/) { begin = FNR }
    { last = $0 }
    /^}/ && begin { if (FNR - begin >= 100) { print "lint: " FILENAME ":" begin ": a function of more than 100 lines" > "/dev/stderr"; bad = 1 } begin = 0 }
    END { exit bad }'
echo 'lint: no function of kernels exceeds 100 lines'
git grep -nE '[^_]exp\(.* - (SHIFT|\*?[a-z>.-]*most\))' -- src/gpu lab/gpu | awk '
    /^src\/gpu\/dialect\/simt.h:.*FUNCTION real relative_exp/ { found = 1; next }
    { print "lint: " $0 ": relative_exp (simt.h) says what scores of -infinity give" > "/dev/stderr"; bad = 1 }
    END { exit bad || !found }'
echo 'lint: one rule for scores of -infinity'
[ "$(git grep -lE 'tamis_dense_check_at\(' -- src/core src/group src/slabs src/cpu src/gpu)" = src/core/operand.c ] || {
    echo 'lint: tamis_operand_check (core/operand.h) checks the dense matrices of all calls' >&2
    exit 1
}
echo 'lint: one check of the matrices of calls'
folder=build/release
[ $mode != changed ] || folder=build/check
[ -f $folder/compile_commands.json ] || cmake --preset "$(basename $folder)" >/dev/null
depth=
[ $mode = all ] || depth='--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=3000'
mkdir -p build
# one file for each process: after other files, the analyser reports a va_list as uninitialised
without='^src/cpu/(kernels|messages/table)'
for optional in src/mpi/ src/python/; do # their headers may not be there
    grep -q $optional $folder/compile_commands.json || without="$without|^$optional"
done
# shellcheck disable=SC2086
files 'src/*.c' 'tools/*.c' 'lab/bench/peers/*.c' | grep -Ev "$without" |
    xargs -r -P "$(nproc)" -n 1 clang-tidy -p $folder --quiet $depth 2>/dev/null >build/tidy.log || {
    grep -E 'error|warning' build/tidy.log | head -40
    exit 1
}
echo 'lint: clang-tidy has nothing to say'
