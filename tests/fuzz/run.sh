#!/bin/sh
# run.sh FUZZER MODELS SEEDS FOUND SECONDS TARGET...: fuzzes each target for some seconds, from the committed seeds, from what
# earlier runs found (kept in FOUND), and from what the command MODELS writes into a folder. A crash, a leak or a hang leaves its input in FOUND and ends in failure. A signal ends
# it, since libFuzzer itself ends a second late; one that comes before the first input, on a busy machine, lets the seeds
# be read alone.
set -u
fuzzer=$1 models=$2 seeds=$3 found=$4 seconds=$5
shift 5
passed=0 failed=0
fuzz() { # COMMAND...: of this target
    TAMIS_FUZZ_TARGET=$target "$@" -max_len=4000 -timeout=10 -rss_limit_mb=2500 -malloc_limit_mb=2000 \
        -verbosity=0 -print_final_stats=1 -artifact_prefix="$found/crash-$target-" "$found/$target" "$seeds/$target" \
        >"$found/$target.log" 2>&1
}
for target in "$@"; do
    mkdir -p "$found/$target"
    [ "$target" != model ] || "$models" fuzz_models --seeds "$found/model" || exit 1
    fuzz timeout --preserve-status -s INT "$seconds" "$fuzzer"
    result=$?
    [ $result -ne 130 ] || { fuzz "$fuzzer" -runs=1; result=$?; }
    if [ $result -eq 0 ] || [ $result -eq 72 ]; then # 72: ended by the signal
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: //p' "$found/$target.log") inputs in $seconds s"
        passed=$((passed + 1))
    else
        echo "$target: FAILED"
        tail -n 60 "$found/$target.log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
test "$failed" -eq 0
