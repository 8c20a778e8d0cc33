#!/bin/sh
# Runs suites and makes their reports: laboratory.sh PROGRAM [SUITE...]; without names, every suite but `real`.
#   DEVICE  cpu, cuda:0, opencl:0; the best one unless set
#   TIER    small or full (full unless set)
#   OUT     folder, build/results/<device> unless set; holds SUITE.jsonl, SUITE.html and SUITE.log
#   LIMIT   seconds for one suite (none unless set); what was measured until then is kept
#   OPTIONS further options of `tamis bench`, which win over the suites' own
# A suite that fails is named at the end, and the others still run.
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
    # --json without a table: the report shows it better; what it says of absent peers goes to the log
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
