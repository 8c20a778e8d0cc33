#!/bin/sh
# Makes the measurements of the pages, in pieces of at most nine minutes: measure.sh [PIECE...]. A PIECE is a name in the list below, or
# `gpu`, `gpus` or `cpu` for all pieces of that machine. Without arguments it prints the list, with the commits measured so far.
# A piece already measured at this commit is skipped, and an interrupted piece resumes where it can: repeat the same command until it
# reports that all is done. Results go to lab/results/<machine> and docs/evidence with their commit: in the records of `tamis bench`, in
# the evidence, and for every piece in pieces.txt. `make results-pages` refuses results of other sources.
#   TIME       seconds; a piece that could end later is not begun
#   KIT        a folder with matrices and recorded times (kit.py), ../shared/kit by default
#   JESTER, MSWEB, KOS, AP   real files for the models (models.sh)
#   RATINGS, DOCUMENTS       the same for applications.sh
#   DEVICES    the devices of two-devices, cuda:0,cuda:1 by default
#   MACHINE    the folder's name, by default made from the chip's
#   RESULTS, EVIDENCE        the folders of new and earlier results: lab/results, docs/evidence by default
#   TAMIS_COMMIT             the commit, in a copy without git
#   PYTHON     with NumPy, SciPy and PyTorch (python3)
#   UNPACKED, TAMIS_NVRTC    see gpu-setup.sh
set -u
cd "$(dirname "$0")/../.." || exit
results=${RESULTS:-lab/results}
evidence=${EVIDENCE:-docs/evidence}
python=${PYTHON:-python3}
kit=${KIT:-../shared/kit}
work=$PWD/build/measure
begun=$(date +%s)
commit=$(scripts/commit.sh)

# name, machine, minutes, description; a piece is stopped after these minutes
pieces='
check-cross     gpu   9 each algorithm at each width, the cross tests on CUDA and OpenCL, tamis check
check-units     gpu   9 the unit tests and the Python package on the device
check-tools     gpu   9 compute-sanitizer, the memory of other libraries, the cost of calls, the benchmark of the evidence
speed-neutral   gpu   9 the neutral set beside cuSPARSE, K = 32 and 128
speed-kit       gpu   6 the other matrices of the kit beside cuSPARSE and the recorded libraries
speed-widths    gpu   6 the real matrices of the kit beside cuSPARSE, K from 48 to 512
speed-newest    gpu   3 the real matrices of the kit beside another cuSPARSE: TAMIS_CUSPARSE names its file
methods-kit     gpu   9 each of our methods on the matrices of the kit: fp32 and bf16, K = 32 and 128
methods-more    gpu   9 the same where D is B, in TF32, and of transposes, as gradients have them
methods-attention gpu 6 each of our methods on masks, one head and sixteen, and on few queries beside many keys
suite-attention gpu   6 attention: masks of 4,096 to 65,536 positions beside PyTorch
suite-cusddmm   gpu   9 the suite of a paper
suite-esimd     gpu   9 the suite of a paper
suite-gpu-dynamic gpu 9 the suite of a paper
suite-preds     gpu   9 the suite of a paper
suite-study     gpu   9 the suite of a paper
training-attention gpu 8 attention in bf16 beside flex_attention, forward and backward
training-steps  gpu   4 steps of a language model by Tamis, flex_attention and a dense mask
training-attention-fp32 gpu 9 attention in fp32 beside flex_attention and a dense mask in fp32 and TF32, forward and backward
training-messages gpu 6 messages beside PyTorch and PyTorch Geometric, forward and backward
training-graphs gpu   6 graph attention beside PyTorch Geometric, plain and compiled, and anemoi-models, forward and backward
training-layers gpu   6 layers beside PyTorch Geometric, plain and compiled, forward and backward
models          gpu   9 the models on the device: the share of the kernels, and killed and resumed
two-devices     gpus  9 two devices beside one of them
cpu-speed       cpu   9 stand-ins beside the naive loop, one and two threads
cpu-libraries   cpu   9 the matrices of cpu-speed beside oneMKL and GraphBLAS, one and two threads
cpu-messages    cpu   9 messages beside PyTorch and PyTorch Geometric, plain and compiled, forward and backward, and their memory
cpu-layers      cpu   8 layers of PyTorch Geometric beside ours, forward and backward, and their memory
cpu-models      cpu   9 the models beside plain kernels
cpu-attention   cpu   5 the suite on the CPU
cpu-cusddmm     cpu   8 the suite on the CPU
cpu-esimd       cpu   8 the suite on the CPU
cpu-gpu-dynamic cpu   8 the suite on the CPU
cpu-preds       cpu   8 the suite on the CPU
cpu-study       cpu   8 the suite on the CPU
'
list() { echo "$pieces" | sed '/^$/d'; }
field() { list | awk -v name="$1" -v field="$2" '$1 == name { print $field }'; }

if [ $# -eq 0 ]; then
    list | while read -r name machine minutes what; do
        printf '%-18s %-4s %2s min  %s\n' "$name" "$machine" "$minutes" "$what"
        grep -hs "^$name " "$results"/*/pieces.txt | while read -r _ of date seconds; do
            echo "    measured of $of on $date in $seconds s"
        done
    done
    exit
fi

wanted=''
for piece in "$@"; do
    case $piece in
        gpu | gpus | cpu) wanted="$wanted $(list | awk -v machine="$piece" '$2 == machine { print $1 }')" ;;
        *)
            [ -n "$(field "$piece" 1)" ] || { echo "measure: there is no piece '$piece': measure.sh without one lists them" >&2; exit 2; }
            wanted="$wanted $piece"
            ;;
    esac
done
case $commit in
    *-dirty | unknown) echo "measure: the commit is $commit: such results are refused by the pages" >&2 ;;
esac
mkdir -p "$work"
# shellcheck source=scripts/gpu-setup.sh
. scripts/gpu-setup.sh
tamis=$work/build/tools/tamis/tamis
# plans choose by the cached measurements of the machine, which may have been disturbed: a new cache makes them measure
# it again
export XDG_CACHE_HOME="$work/cache"
export TAMIS_LIBRARY="$work/build/src/libtamis.so" PYTHONPATH=python:lab/python TAMIS_SOURCE="$PWD" PYTHONDONTWRITEBYTECODE=1
export TAMIS_PYTHON="$python" # the interpreter with PyTorch, for suites that compare with it

# ------------------------------------------------------------------------------------------ the machine

# prints the names of the driver's GPUs, one a line
gpus() {
    "$python" -c 'import ctypes, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit()
count, name = ctypes.c_int(), ctypes.create_string_buffer(200)
if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
    for device in range(count.value):
        cuda.cuDeviceGetName(name, 200, device)
        print(name.value.decode())'
}

# there MACHINE: true if its pieces can be measured here; sets the machine's name
there() {
    if [ "$1" = cpu ]; then
        called=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | sed 's/ Processor$//; s/^AMD //')-$(nproc)-cores
    else
        found=$(gpus)
        called=$(echo "$found" | head -1)
        [ -n "$called" ] || { echo 'no GPU: the CUDA driver finds none'; return 1; }
        [ "$1" != gpus ] || [ "$(echo "$found" | wc -l)" -gt 1 ] || { echo "one GPU alone: $called"; return 1; }
    fi
    called=${MACHINE:-$(echo "$called" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9][^a-z0-9]*/-/g; s/^-//; s/-$//')}
}

# ------------------------------------------------------------------------------------------ the pieces

# prints the seconds left of the piece's limit, at least 1
rest() { least_one $((piece_start + limit - $(date +%s))); }
least_one() { if [ "$1" -lt 1 ]; then echo 1; else echo "$1"; fi; }
within() { timeout -k 5 "$(rest)" "$@"; }

# check STEPS: keeps the other pieces' steps in evidence of these sources, also those measured on another machine
check() {
    out=$work/evidence-$commit
    if [ ! -d "$out" ]; then
        mkdir -p "$out"
        grep -ls "^ \"sources_sha256\": \"$(scripts/gpu-hash.sh)\"" "$evidence"/*.json | while read -r file; do cp "$file" "$out"; done
    fi
    OUT=$out TOTAL=$(rest) ONLY=$1 scripts/gpu-check.sh && mkdir -p "$evidence" && cp "$out"/*.json "$evidence"
}

# bench_each OUT FILES OPTION...: runs `tamis bench` once for each matrix, so that measured ones are skipped; OUT is written when
# all are measured
bench_each() {
    out=$1 files=$2
    shift 2
    for file in $files; do
        one=$folder/$(basename "$file" .npz).$out
        [ ! -e "$one" ] || continue
        rm -f "$one.part"
        within "$tamis" bench "$file" --json="$one.part" "$@" || return
        mv "$one.part" "$one"
    done
    for file in $files; do cat "$folder/$(basename "$file" .npz).$out"; done >"$folder/$out.jsonl"
}

matrices() { within "$python" lab/bench/kit.py matrices "$kit" "$work/matrices" "$@"; }

beside_cusparse() {
    files=$(matrices "$2") || return
    bench_each "$1" "$files" --device cuda:0 --op sddmm,spmm,fused --edge mask --inner "$3" --algorithm auto --peers cusparse \
        --baseline cusparse --repeat 20 --seconds 0.3 || return
    [ "$2" != real ] || return 0
    # fused, as the recorded libraries compute it
    bench_each "$1-scale" "$files" --device cuda:0 --op fused --edge scale --inner "$3" --algorithm auto --repeat 20 --seconds 0.2
}

# methods OUT FILES OPTION...: measures each of our applicable methods in the same way, with few repetitions. First all processors
# compile the kernels and compare the results, except for files that are already measured.
methods() {
    ours=$("$tamis" algorithms --device cuda:0 --json | "$python" -c 'import json, sys
print("auto", *(one["name"] for one in json.load(sys.stdin) if one["source"].startswith("ours")), sep=",")') || return
    out=$1 files=$2 new=''
    shift 2
    for file in $files; do [ -e "$folder/$(basename "$file" .npz).$out" ] || new="$new $file"; done
    within "$tamis" devices >/dev/null || return # measures the ceilings, by which plans choose, while the device is idle
    # shellcheck disable=SC2086
    [ -z "$new" ] || printf '%s\n' $new | within xargs -n 1 -P "$(nproc)" "$tamis" bench --device cuda:0 --algorithm "$ours" --repeat 1 --seconds 0 "$@" || return
    bench_each "$out" "$files" --device cuda:0 --algorithm "$ours" --repeat 3 --seconds 0.02 --no-check "$@"
}

# the kit's matrices, except those with millions of rows: generating their operands takes longer than the methods
methods_matrices() {
    { matrices neutral && matrices kit; } | grep -v -E '/(vas_stokes_1M-like|sx-stackoverflow-like|FullChip-like|dl32768x8192_s[78]0)\.npz$'
}

transposes() {
    for file in $1; do
        of=${file%.npz}.transposed.npz
        [ -e "$of" ] || within "$tamis" convert "$file" "$of" --transpose -q || return
        echo "$of"
    done
}

# masks of attention, and decoding: 1, 8 and 64 queries on the same keys
masks() {
    for n in 4096 16384; do
        printf 'generate:%s,pattern,name=%s\n' "window:rows=$n,band=512" "window_$n" "window:rows=$n,band=512,global=64" "global_$n" \
            "block:rows=$n,nnz=$((n * 512)),block=64" "blocks_$n"
    done
    printf 'generate:uniform:rows=%s,cols=%s,density=1,pattern,name=%s\n' 1 32768 decode_1x32768 8 8192 decode_8x8192 64 4096 decode_64x4096
}

# attention TYPE COMPILED MEASURED: compiles flex_attention until COMPILED tenths of the limit, and measures until MEASURED tenths
attention() {
    within "$python" lab/bench/attention.py compile "$work/flex" --type "$1" --seconds $((piece_start + limit * $2 / 10 - $(date +%s))) --processes "$(nproc)" >"$work/compile.log" 2>&1 &&
        within "$python" lab/bench/attention.py measure "$work/flex" --type "$1" --seconds $((piece_start + limit * $3 / 10 - $(date +%s))) >"$folder/attention-$1.csv"
}

# suite NAME DEVICE: runs each case of a suite separately, in the same way
suite() {
    text=lab/bench/suites/$1.suite
    kind=${2%%:*} tier=${TIER:-full}
    [ "$kind" = cpu ] || kind=gpu
    # cases N: prints the cases as lines (N = 0), or the suite with only the N-th case of this tier and machine
    cases() {
        sed -e ':join' -e '/\\$/{N;s/\\\n/ /;bjoin' -e '}' "$text" |
            awk -v tier="$tier" -v kind="$kind" -v n="$1" '$1 != "case" { if (n) print; next }
                $2 == tier && ($3 == kind || $3 == "any") && (++found == n || !n) { print }'
    }
    count=$(cases 0 | wc -l)
    for n in $(seq "$count"); do
        [ ! -e "$folder/$n.case" ] || continue
        mkdir -p "$folder/$n"
        cases "$n" >"$folder/$n/$1.suite"
        rm -f "$folder/$n.part"
        within "$tamis" bench --suite "$folder/$n/$1.suite" --tier "$tier" --device "$2" --json="$folder/$n.part" || return
        mv "$folder/$n.part" "$folder/$n.case"
    done
    for n in $(seq "$count"); do cat "$folder/$n.case"; done >"$folder/$1.jsonl"
}

cpu_matrices() {
    matrices neutral ct20stif-like pwtk-like dl4096x1024_s70 dl4096x1024_s90 dl8192x8192_s70 dl8192x8192_s90 HumanGene2-like nips-like rmat18 docs email-Enron-like
}

measure() {
    case $1 in
        check-cross) check widths,cross-cuda,cross-opencl,check ;;
        check-units) check units,python ;;
        check-tools) check memcheck,racecheck,zero-copy,calls,bench ;;
        speed-neutral) beside_cusparse speed-neutral neutral 32,128 ;;
        speed-kit) beside_cusparse speed-kit kit 32,128 && "$python" lab/bench/kit.py peers "$kit" >>"$folder/speed-kit.jsonl" ;;
        speed-widths) beside_cusparse speed-widths real 48,50,96,100,150,200,256,300,512 ;;
        speed-newest)
            [ -n "${TAMIS_CUSPARSE:-}" ] || { echo 'measure: TAMIS_CUSPARSE must name the file of another libcusparse.so' >&2; return 1; }
            files=$(matrices real) || return
            bench_each speed-newest "$files" --device cuda:0 --op sddmm,spmm --edge mask --inner 32,128 --algorithm auto --peers cusparse \
                --baseline cusparse --repeat 20 --seconds 0.1
            ;;
        methods-kit)
            files=$(methods_matrices) || return
            methods methods-kit "$files" --op sddmm,spmm,fused --type fp32,bf16 --inner 32,128
            ;;
        methods-more)
            files=$(methods_matrices) || return
            methods methods-tf32 "$files" --op sddmm,spmm,fused --math tf32 --inner 32,128 &&
                methods methods-d-is-b "$files" --op fused --edge scale,softmax --share --type fp32,bf16 --inner 32,128 &&
                files=$(transposes "$files") && methods methods-transposed "$files" --op spmm --type fp32,bf16 --inner 32,128
            ;;
        methods-attention)
            files=$(masks)
            methods methods-attention "$files" --op fused --edge softmax --type fp32,bf16 --inner 64,128 &&
                methods methods-attention-tf32 "$files" --op fused --edge softmax --math tf32 --inner 64,128 &&
                methods methods-attention-heads "$files" --op fused --edge softmax --type fp32,bf16 --inner 64 --batch 16 &&
                methods methods-attention-parts "$files" --op sddmm,spmm --edge softmax --type fp32,bf16 --inner 64 --values random
            ;;
        suite-*) suite "${1#suite-}" cuda:0 ;;
        training-attention) attention bf16 6 9 ;;
        training-steps)
            within "$python" docs/examples/python/language_model.py --device cuda --type bfloat16 --positions 8192 --members 2 \
                --features 512 --heads 8 --kept 1 5 25 50 --methods tamis flex sdpa --limit 40 >"$folder/language-model.txt"
            ;;
        training-attention-fp32) attention fp32 6 9 ;;
        training-messages) within "$python" lab/bench/messages.py --device cuda --seconds 250 --compile >"$folder/messages.txt" ;;
        training-graphs)
            within "$python" lab/bench/graph_attention.py --device cuda --seconds 200 --compile --types float16 bfloat16 float32 >"$folder/graph-attention.txt"
            ;;
        training-layers) within "$python" lab/bench/pyg_layers.py --device cuda --compiled >"$folder/pyg-layers.txt" ;;
        models)
            within lab/bench/applications.sh "$tamis" cuda:0 study-nnz-threads,study-spmm-row,study-fused-back-to-back >"$folder/applications.txt" &&
                within lab/bench/models.sh "$tamis" cuda:0 "$folder/models-iterations.txt" >"$folder/models.txt"
            ;;
        two-devices)
            rm -f "$folder"/two-devices*
            for part in scripts/strong-scaling lab/bench/group-models; do
                out=$folder/two-devices$([ $part = scripts/strong-scaling ] || echo -models)
                MATRICES=$work/matrices within $part.sh "$tamis" "${DEVICES:-cuda:0,cuda:1}" "$out.jsonl" >"$out.txt" || return
            done
            ;;
        cpu-speed)
            files=$(cpu_matrices) || return
            bench_each speed "$files" --device cpu --inner 128 --algorithm auto --baseline naive --threads 1,2 --repeat 9 --seconds 2
            ;;
        cpu-libraries)
            files=$(cpu_matrices) || return
            bench_each libraries "$files" --device cpu --op sddmm,spmm --inner 32,128 --algorithm auto --peers graphblas,mkl --threads 1,2 --repeat 7 --seconds 0.4
            ;;
        cpu-messages)
            for part in '' '--memory --widths 64'; do
                # shellcheck disable=SC2086
                within "$python" lab/bench/messages.py --edges 100000 1000000 --compile $part --json "$folder/messages.jsonl" || return
            done
            ;;
        cpu-layers)
            within "$python" lab/bench/pyg_layers.py --nodes 50000 --rounds 3 >"$folder/pyg-layers.txt" &&
                within "$python" lab/bench/pyg_layers.py --nodes 50000 --memory >"$folder/pyg-layers-memory.txt"
            ;;
        cpu-models) within env NONZEROS=500k RUNS=1 ITERATIONS=5 lab/bench/applications.sh "$tamis" cpu >"$folder/applications.txt" ;;
        cpu-*) suite "${1#cpu-}" cpu ;;
    esac
}

# ------------------------------------------------------------------------------------------ one after the other

failed='' left=''
for piece in $wanted; do
    machine=$(field "$piece" 2)
    limit=$((60 * $(field "$piece" 3) - 10))
    if ! there "$machine" >"$work/why"; then
        echo "$piece: $(cat "$work/why")"
        failed="$failed $piece"
        continue
    fi
    if grep -qs "^$piece $commit " "$results/$called/pieces.txt"; then
        echo "$piece: measured of this commit"
        continue
    fi
    if [ -n "${TIME:-}" ] && [ $(($(date +%s) - begun + limit)) -gt "$TIME" ]; then
        left="$left $piece"
        continue
    fi
    piece_start=$(date +%s)
    folder=$work/$commit/$called/$piece
    mkdir -p "$folder"
    # check- pieces need no build here: gpu-check.sh makes its own
    if [ "${piece#check-}" = "$piece" ] && ! build_here "$work/build" "$work/build.log" "$(rest)" tamis_program tamis_shared tamis_ml_shared; then
        tail -20 "$work/build.log" >&2
        echo 'measure: it does not build' >&2
        exit 1
    fi
    log=$work/$piece.log status=0 # after build_here, which sets another log
    measure "$piece" >"$log" 2>&1 || status=$?
    if [ $status -ne 0 ]; then
        tail -5 "$log"
        echo "$piece: exit code $status after $(($(date +%s) - piece_start)) s, see $log; called again it goes on"
        failed="$failed $piece"
        continue
    fi
    mkdir -p "$results/$called"
    for file in "$folder"/*.jsonl "$folder"/*.txt "$folder"/*.csv; do
        case $file in
            *'*'*) ;;
            *.jsonl) xz -9 -c "$file" >"$results/$called/$(basename "$file").xz" ;;
            *) cp "$file" "$results/$called" ;;
        esac
    done
    touch "$results/$called/pieces.txt"
    {
        grep -v "^$piece " "$results/$called/pieces.txt"
        echo "$piece $commit $(date -u +%Y-%m-%d) $(($(date +%s) - piece_start))"
    } | sort >"$work/pieces.part"
    mv "$work/pieces.part" "$results/$called/pieces.txt"
    echo "$piece: $(($(date +%s) - piece_start)) s"
done
[ -z "$left" ] || echo "measure: there was no time for$left: call it again"
[ -z "$failed" ] || echo "measure: not measured:$failed"
[ -z "$left$failed" ] || exit 1
echo "measure: all of it is measured of $commit"
