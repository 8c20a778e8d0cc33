# Functions of test.sh, test-long.sh and check.sh, which source this file in the project's folder.
set -u
mkdir -p build
passed=0
failed=0
skipped=0
begin=$(date +%s)
last=$begin

took() {
    now=$(date +%s)
    [ "$now" -eq "$last" ] || echo "   $((now - last)) s"
    last=$now
}

# prints the seconds of the last step and the title of the next one
step() {
    took
    printf '\n-- %s (%d min %02d s)\n' "$*" $(((now - begin) / 60)) $(((now - begin) % 60))
}

# beside NAME COMMAND...: starts a command in the background at low priority; `besides NAME` waits for it and prints its
# output
besides=
beside() {
    name=$1
    shift
    setsid nice "$@" >"build/beside-$name.log" 2>&1 &
    besides="$besides $!"
    eval "beside_$name=$!"
    trap 'for process in $besides; do kill -- "-$process" 2>/dev/null; done' EXIT
}
besides() {
    eval "process=\$beside_$1"
    wait "$process"
    result=$?
    besides=$(echo "$besides " | sed "s/ $process / /; s/ *$//")
    cat "build/beside-$1.log"
    return $result
}

# finish [HOW LONG IT SHOULD TAKE]: prints the counts and the total time, and exits
finish() {
    took
    printf '\n%d passed, %d failed, %d skipped, in %d min %02d s\n' $passed $failed $skipped $(((now - begin) / 60)) \
        $(((now - begin) % 60))
    [ $# -eq 0 ] || echo "it should take at most $*"
    [ "$failed" -eq 0 ]
    exit
}

# check NAME COMMAND...: counts a check as passed or failed. The command returns 77 after printing the reason of a skip, which is a
# failure in CI.
check() {
    name=$1
    shift
    result=0
    "$@" || result=$?
    case $result/${TAMIS_CI:-0} in
        0/*) passed=$((passed + 1)) ;;
        77/0) skipped=$((skipped + 1)) ;;
        *) echo "FAILED: $name"; failed=$((failed + 1)) ;;
    esac
}

build() { scripts/build.sh "$@" || { failed=$((failed + 1)); finish; }; }

# prints the progress of ctest every twenty seconds until it ends
watch() {
    log=$1
    process=$2
    while kill -0 "$process" 2>/dev/null; do
        sleep 1
        waited=$((waited + 1))
        [ $((waited % 20)) -ne 0 ] || grep -E '^ *[0-9]+/[0-9]+ Test ' "$log" | tail -1 |
            sed -E 's|^ *([0-9]+)/([0-9]+) Test +#[0-9]+: ([^ ]+) .*|   \1 of \2 tests, the last: \3|'
    done
}

# suite PRESET LABELS [EXCLUDED LABELS [EXCLUDED NAMES]]: runs a build's tests, one more at a time than there are cores, since some wait
# for others
suite() {
    preset=$1
    labels=$2
    but=${3:-none of them}
    names=${4:-none of them}
    log=build/$preset/tests.log
    waited=0
    rm -f "build/$preset/tests.xml"
    ctest --test-dir "build/$preset" -L "$labels" -LE "$but" -E "$names" --output-on-failure -j $(($(nproc) + 1)) --output-junit tests.xml \
        --test-output-size-passed 4000000 --test-output-size-failed 4000000 >"$log" 2>&1 &
    watch "$log" $!
    wait $!
    result=$?
    if [ "$result" -ne 0 ]; then
        grep -E '\[  FAILED  \]|^FAILED |^E  |ERROR|runtime error|SUMMARY|^Assertion|Test  *#.*(Failed|Timeout|Exception)' "$log" | head -60
    fi
    count build/"$preset"/tests.xml "$preset" "$result"
}

# adds the counts of count-tests.py
count() {
    counted=$(scripts/count-tests.py "$1" "$2" tests/expected.txt) || counted="0 1 0"
    echo "$counted" | sed '$d'
    set -- "$2" "$3" $(echo "$counted" | tail -1)
    [ "$2" -eq 0 ] || [ "$4" -gt 0 ] || set -- "$1" "$2" "$3" 1 "$5"
    passed=$((passed + $3))
    failed=$((failed + $4))
    skipped=$((skipped + $5))
    echo "$1: $3 cases passed, $4 failed, $5 skipped"
}

# NVIDIA's run-time compiler, as installed by scripts/install-python-packages.sh
if [ -z "${TAMIS_NVRTC:-}" ]; then
    for file in build/python/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1*; do
        [ ! -e "$file" ] || export TAMIS_NVRTC="$PWD/$file"
    done
fi
