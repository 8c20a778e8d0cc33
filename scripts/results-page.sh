#!/bin/sh
# Writes docs/results/README.md: what stands above its marker stays, below it come the papers' claims beside the results in
# docs/results/*/*.jsonl.xz.
set -eu
cd "$(dirname "$0")/../docs/results"
marker='<!-- made by scripts/results-page.sh from here on -->'
{
    sed "\|^$marker\$|,\$d" README.md
    echo "$marker"
    python3 ../../scripts/claims.py claims.txt ./*/*.jsonl.xz
} >README.md.part
mv README.md.part README.md
