#!/bin/sh
# What people read of lab/results/*/*.jsonl.xz:
#   page.sh draw           a page X.html beside each X.jsonl.xz, by tamis_lab.report; git ignores these pages
#   page.sh claims         lab/results/README.md: what stands above its marker stays, below it come the papers'
#                                  claims beside the results
#   page.sh commits        fails unless results and evidence are all of these sources (commits.py)
set -eu
cd "$(dirname "$0")/../.."

draw() {
    scripts/install-python-packages.sh
    python=build/python/bin/python
    [ -x $python ] || python=python3
    for file in lab/results/*/*.jsonl.xz; do
        # the models' quality is no benchmark: lab/results/quality.md is written of it
        case $file in lab/results/quality/*) continue ;; esac
        xz -dc "$file" | grep -q '"record": "measurement"' || continue
        PYTHONPATH=python:lab/python "$python" -m tamis_lab.report "$file" -o "${file%.jsonl.xz}.html"
    done
}

claims() {
    cd lab/results
    marker='<!-- made by lab/results/page.sh from here on -->'
    {
        sed "\|^$marker\$|,\$d" README.md
        echo "$marker"
        python3 claims.py claims.txt ./*/*.jsonl.xz
    } >README.md.part
    mv README.md.part README.md
}

case ${1:-} in
    draw) draw ;;
    claims) claims ;;
    commits) lab/results/commits.py lab/results docs/evidence ;;
    *) echo 'usage: page.sh draw | claims | commits' >&2; exit 2 ;;
esac
