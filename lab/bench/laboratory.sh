#!/bin/sh
# Runs suites and makes their reports: laboratory.sh PROGRAM [SUITE...]; without names, every suite except `real`.
#   DEVICE  cpu, cuda:0 or opencl:0; the best one by default
#   TIER    small or full (default)
#   OUT     folder for SUITE.jsonl, SUITE.html and SUITE.log, build/results/<device> by default
#   LIMIT   seconds for one suite (no limit by default); measurements made until then are kept
#   OPTIONS further options of `tamis bench`, which override the suites' own
# The other suites still run if one fails; failed suites are named at the end.
set -eu
program=$1
shift
device=${DEVICE:-best}
tier=${TIER:-full}
out=${OUT:-build/results/$(echo "$device" | tr -d :)}
if [ $# -eq 0 ]; then
    for file in "$(dirname "$0")"/suites/*.suite; do
        name=$(basename "$file" .suite)
        [ "$name" = real ] || set -- "$@" "$name"
    done
fi
mkdir -p "$out"
scripts/install-python-packages.sh
python=build/python/bin/python
[ -x $python ] || python=python3
failed=''
for suite in "$@"; do
    name=$(basename "$suite" .suite)
    start=$(date +%s)
    rm -f "$out/$name.jsonl"
    # --json without a table, which the report replaces; messages about absent peers go to the log
    status=0
    # shellcheck disable=SC2086
    ${LIMIT:+timeout --preserve-status -s INT "$LIMIT"} "$program" bench --suite "$suite" --tier "$tier" \
        --device "$device" --json "$out/$name.jsonl" ${OPTIONS:-} >"$out/$name.log" 2>&1 || status=$?
    lines=$(grep -c '"measurement"' "$out/$name.jsonl" 2>/dev/null || true)
    printf '%-12s %5s measurements, %4s s' "$name" "${lines:-0}" $(($(date +%s) - start))
    if [ "$status" -ne 0 ]; then
        printf '  exit code %s, see %s' "$status" "$out/$name.log"
        failed="$failed $name"
    fi
    echo
    if [ "${lines:-0}" -gt 0 ]; then
        PYTHONPATH=python:lab/python "$python" -m tamis_lab.report "$out/$name.jsonl" -o "$out/$name.html" >>"$out/$name.log" 2>&1 ||
            failed="$failed $name.html"
    fi
done
[ -z "$failed" ] || { echo "laboratory.sh: not whole:$failed" >&2; exit 1; }
