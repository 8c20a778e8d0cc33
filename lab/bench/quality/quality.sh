#!/bin/sh
# The models beside other libraries on the same splits: quality.sh PROGRAM [OUT]. The libraries are installed from PyPI into
# build/quality-python; on generated data always, and on what of these is named:
#   JESTER=jester5k.mtx[.xz]  MSWEB=anonymous-msweb.data[.xz]  KOS=docword.kos.txt[.gz]  AP=ap.dat[.xz]
#   REUTERS=reuters.ldac[.xz]
#   SEEDS (1,2,3), TOPICS (20,50), PASSES (20), DEVICE (cpu)
# Results already in OUT/*.jsonl are not measured again: after an interruption the same command continues. OUT/page.md
# is lab/results/quality.md with the measured tables.
set -eu
program=$(realpath "$1")
out=${2:-build/quality}
mkdir -p "$out"
out=$(realpath "$out")
cd "$(dirname "$0")/../../.."
OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 TAMIS_LIBRARY=${TAMIS_LIBRARY:-$(dirname "$program")/../../src/libtamis.so} PYTHONPATH=python
export OPENBLAS_NUM_THREADS OMP_NUM_THREADS TAMIS_LIBRARY PYTHONPATH
scripts=lab/bench/quality
python=build/quality-python/bin/python
[ -x "$python" ] || python3 -m venv build/quality-python
"$python" -m pip install -q -r $scripts/requirements.txt
# LightFM's setup.py asks for the way in which pip called it until 25.2
"$python" -c 'import lightfm' 2>/dev/null || "$python" -m pip install -q --no-use-pep517 --no-build-isolation --no-deps lightfm==1.17 ||
    echo 'quality: LightFM cannot be built here, and is left out' >&2
seeds=${SEEDS:-1,2,3} device=${DEVICE:-cpu}
"$python" $scripts/topics.py "$program" "$out/topics.jsonl" --seeds "$seeds" --device "$device" --topics "${TOPICS:-20,50}" \
    --passes "${PASSES:-20}" ${KOS:+--data "kos=$KOS"} ${AP:+--data "ap=$AP:10473"} ${REUTERS:+--data "reuters=$REUTERS:4258"}
"$python" $scripts/ratings.py "$program" "$out/ratings.jsonl" --seeds "$seeds" --device "$device" ${JESTER:+--data "jester=$JESTER"}
"$python" $scripts/uses.py "$program" "$out/uses.jsonl" --seeds "$seeds" --device "$device" ${MSWEB:+--data "msweb=$MSWEB"}
"$python" $scripts/tune.py "$program" "$out/tune.jsonl" ${JESTER:+--data "jester=$JESTER"} ${MSWEB:+--data "msweb=$MSWEB"} ${KOS:+--data "kos=$KOS"}
"$python" $scripts/defaults.py "$program" "$out/defaults.jsonl" --device "$device" \
    ${JESTER:+--data "jester=$JESTER"} ${MSWEB:+--data "msweb=$MSWEB"} ${KOS:+--data "kos=$KOS"}
cp lab/results/quality.md "$out/page.md"
"$python" $scripts/table.py "$out/page.md" "$out"/*.jsonl
