#!/bin/sh
# Everything that CI runs, step by step; the first failure ends it. Ends with the counts of all test runs.
set -u
cd "$(dirname "$0")/.."
mkdir -p build
# tests run side by side, with more threads than cores: threads that wait must not spin
export OMP_WAIT_POLICY=passive
passed=0
failed=0

step() { printf '\n-- %s (%s)\n' "$*" "$(date +%H:%M:%S)"; }

finish() {
    echo
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# one check that passes or fails as a whole
check() {
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else echo "FAILED: $name"; failed=$((failed + 1)); fi
}

# the tests of a build folder with the labels given
suite() {
    preset=$1
    labels=$2
    log=build/$preset/tests.log
    ctest --test-dir "build/$preset" -L "$labels" --output-on-failure -j "$(nproc)" >"$log" 2>&1
    result=$?
    tests=$(sed -n 's/.* tests* failed out of \([0-9]*\)$/\1/p' "$log" | tail -1)
    bad=$(sed -n 's/.*, \([0-9]*\) tests* failed out of [0-9]*$/\1/p' "$log" | tail -1)
    if [ "$result" -ne 0 ]; then
        sed -n '/^The following tests FAILED/,$p' "$log"
        grep -E '\[  FAILED  \]|ERROR|runtime error|SUMMARY|^Assertion|Test  *#.*Failed' "$log" | head -60
        [ -n "$bad" ] && [ "$bad" -gt 0 ] || bad=1
    fi
    grep -iE '\*\*\*skipped' "$log" | head -20
    passed=$((passed + ${tests:-0} - ${bad:-0}))
    failed=$((failed + ${bad:-0}))
    echo "$preset: ${tests:-0} tests, ${bad:-0} failed"
}

# NVIDIA's run-time compiler, where scripts/install-python-packages.sh has put it
if [ -z "${TAMIS_NVRTC:-}" ]; then
    for file in build/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1*; do
        [ ! -e "$file" ] || export TAMIS_NVRTC="$PWD/$file"
    done
fi

step 'release: build, quick and medium tests'
scripts/build.sh release -DBUILD_TESTING=ON || { failed=$((failed + 1)); finish; }
suite release 'quick|medium'

step 'AddressSanitizer and UndefinedBehaviorSanitizer: quick tests'
scripts/build.sh asan || { failed=$((failed + 1)); finish; }
UBSAN_OPTIONS=print_stacktrace=1 suite asan quick

step 'ThreadSanitizer: quick tests'
scripts/build.sh tsan || { failed=$((failed + 1)); finish; }
suite tsan quick

step 'without OpenMP: quick tests'
scripts/build.sh serial || { failed=$((failed + 1)); finish; }
suite serial quick

step 'aarch64: the NEON kernels against the oracle, under emulation'
log=build/aarch64.log
scripts/test-aarch64.sh >"$log" 2>&1 || { tail -40 "$log"; echo 'FAILED: aarch64'; failed=$((failed + 1)); }
tail -1 "$log"
passed=$((passed + $(tail -1 "$log" | sed -n 's/^\([0-9]*\) passed.*/\1/p')))

step 'format and static checks'
check lint scripts/lint.sh

step 'the manual'
check docs scripts/docs.sh

step 'evidence from GPUs'
scripts/gpu-stale.sh

finish
