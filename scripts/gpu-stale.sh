#!/bin/sh
# Says loudly which evidence of docs/evidence was made with other kernels than these. No failure: there is no GPU here, and
# `make gpu-check` on a machine that has one makes it anew.
set -u
cd "$(dirname "$0")/.."
if ! ls docs/evidence/*.json >/dev/null 2>&1; then
    echo 'evidence: none yet; make gpu-check on a machine with a GPU makes it'
    exit 0
fi
stale=$(python3 scripts/gpu-evidence.py stale docs/evidence "$(scripts/gpu-hash.sh)")
if [ -z "$stale" ]; then
    echo 'evidence: made with these kernels'
    exit 0
fi
rule='!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!'
printf '%s\n!! STALE EVIDENCE: the GPU kernels have changed since it was made.\n' "$rule"
echo "$stale" | sed 's/^/!!   /'
printf '!! make gpu-check on a machine with a GPU, and commit docs/evidence.\n%s\n' "$rule"
