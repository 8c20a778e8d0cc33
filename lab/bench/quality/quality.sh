#!/bin/sh
# The models beside other libraries on the same splits: quality.sh PROGRAM [OUT]. The libraries are installed from PyPI into
# build/quality-python; on generated data always, and on what of these is named:
#   JESTER=jester5k.mtx[.xz]  MSWEB=anonymous-msweb.data[.xz]  KOS=docword.kos.txt[.gz]  AP=ap.dat[.xz]
#   SEEDS (1,2,3), TOPICS (20,50), PASSES (20), DEVICE (cpu)
set -eu
program=$(realpath "$1")
out=${2:-build/quality}
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/../../.."
python=build/quality-python/bin/python
[ -x "$python" ] || python3 -m venv build/quality-python
"$python" -m pip install -q -r lab/bench/quality/requirements.txt
rm -f "$out"/*.jsonl
export OPENBLAS_NUM_THREADS=1
seeds=${SEEDS:-1,2,3} device=${DEVICE:-cpu}
"$python" lab/bench/quality/ratings.py "$program" "$out/ratings.jsonl" --seeds "$seeds" --device "$device" ${JESTER:+--data "jester=$JESTER"}
"$python" lab/bench/quality/uses.py "$program" "$out/uses.jsonl" --seeds "$seeds" --device "$device" ${MSWEB:+--data "msweb=$MSWEB"} \
    ${KOS:+--data "kos=$KOS"}
"$python" lab/bench/quality/defaults.py "$program" "$out/defaults.jsonl" --device "$device" ${JESTER:+--data "jester=$JESTER"} \
    ${MSWEB:+--data "msweb=$MSWEB"} ${KOS:+--data "kos=$KOS"}
"$python" lab/bench/quality/topics.py "$program" "$out/topics.jsonl" --seeds "$seeds" --device "$device" --topics "${TOPICS:-20,50}" \
    --passes "${PASSES:-20}" ${KOS:+--data "kos=$KOS"} ${AP:+--data "ap=$AP:10473"}
"$python" lab/bench/quality/table.py "$out"/*.jsonl | tee "$out/table.md"
