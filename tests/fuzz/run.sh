#!/bin/sh
# run.sh FUZZER SEEDS FOUND SECONDS TARGET...: fuzzes each target for some seconds, from the committed seeds and from what
# earlier runs found (kept in FOUND). A crash, a leak or a hang leaves its input in FOUND and ends in failure.
set -u
fuzzer=$1 seeds=$2 found=$3 seconds=$4
shift 4
passed=0 failed=0
for target in "$@"; do
    mkdir -p "$found/$target"
    if TAMIS_FUZZ_TARGET=$target "$fuzzer" -max_total_time="$seconds" -max_len=2000 -timeout=10 -rss_limit_mb=2500 \
        -malloc_limit_mb=2000 -verbosity=0 -print_final_stats=1 -artifact_prefix="$found/crash-$target-" \
        "$found/$target" "$seeds/$target" >"$found/$target.log" 2>&1; then
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
