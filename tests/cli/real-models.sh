#!/bin/sh
# Each model trained from a real file, killed and resumed: real-models.sh PROGRAM DATA FOLDER. TAMIS_SHARED_DATA, else DATA, is a
# folder with ratings/ and bow/ of the data sets that lab/bench/models.sh names. Ends with 77 where they are not there.
set -eu
program=$1 data=${TAMIS_SHARED_DATA:-$2} folder=$3
top=$(cd "$(dirname "$0")/../.." && pwd)
for file in ratings/jester5k.mtx.xz ratings/anonymous-msweb.data.xz bow/docword.kos.txt.gz bow/ap.dat.xz; do
    [ -r "$data/$file" ] || { echo "skipped: $data/$file is not here"; exit 77; }
done
mkdir -p "$folder"
# visits: a line C,"user",user and then V,page,1 for each of its pages
xz -dc "$data/ratings/anonymous-msweb.data.xz" | tr -d '\r' | awk -F, '/^C/ { user = $3 } /^V/ { print user "," $2 ",1" }' >"$folder/visits.csv"
JESTER=$data/ratings/jester5k.mtx.xz MSWEB=$folder/visits.csv KOS=$data/bow/docword.kos.txt.gz AP=$data/bow/ap.dat.xz \
    ITERATIONS=3 KILLED_ITERATIONS=12 "$top/lab/bench/models.sh" "$program" cpu "$folder/models.jsonl" | tee "$folder/models.md"
[ "$(grep -c 'the same bytes after' "$folder/models.md")" -eq 8 ]
