#!/bin/sh
# Tests the library on a machine with a GPU and writes docs/evidence/<chip>.json. It runs every algorithm at every width of a list;
# the cross tests on CUDA and on NVIDIA's OpenCL; the tests of dense operations, gradients, batches, graphs and models; the kernels
# under compute-sanitizer; `tamis check` of every algorithm; the memory of PyTorch and CuPy; the benchmarks beside cuSPARSE; and the
# Python package with PyTorch, CuPy and JAX.
# It needs gcc, CMake and python3, but no CUDA toolkit: it finds NVRTC where toolkits and Python packages install it. Each step has a
# time limit, and the whole run fifteen minutes. A failed step is recorded, and the others still run.
#   DEVICE    cuda:0 by default (opencl:0 tests this script where there is no CUDA)
#   UNPACKED  a folder with include/ and lib/ of libraries that are not installed (scripts/unpack-dependencies.sh)
#   OUT       the folder of the evidence, docs/evidence by default
#   TOTAL     seconds for everything, 900 by default
#   ONLY      runs only these steps, separated by commas (units: all from dense to models). The other steps are taken from OUT's
#             evidence, which must have the same sources, driver and compiler; without such evidence they are missing
#   TAMIS_NVRTC, TAMIS_OPENCL, TAMIS_MATRIX_PATH (colon-separated folders whose .npz files are measured too)
set -u
cd "$(dirname "$0")/.."
device=${DEVICE:-cuda:0}
total=${TOTAL:-900}
top=$PWD/build/gpu-check
build=$top/build
steps=$top/steps
all="build widths cross-${device%%:*} cross-opencl python units memcheck racecheck check zero-copy calls bench"
for step in $(echo "${ONLY:-}" | tr , ' '); do
    case " $all " in *" $step "*) continue ;; esac
    echo "gpu-check: ONLY has $step: expected some of $all, separated by commas" >&2
    exit 2
done
rm -rf "$steps"
mkdir -p "$steps" "$top/cache" "$top/icd"
start=$(date +%s)
failures=0
export XDG_CACHE_HOME="$top/cache" TAMIS_PROBE=0

left() { echo $((start + total - $(date +%s))); }

# record NAME STATUS PASSED FAILED SKIPPED NOTE: records a step for the evidence, and prints a line
record() {
    printf 'status=%s\npassed=%s\nfailed=%s\nskipped=%s\nseconds=%s\nnote=%s\n' "$2" "$3" "$4" "$5" \
        $(($(date +%s) - step_start)) "$6" >"$steps/$1"
    printf '%-11s %-8s %6s passed, %s failed, %s skipped  %s\n' "$1" "$2" "$3" "$4" "$5" "$6"
    [ "$2" != failed ] || failures=$((failures + 1))
}

# wanted NAME: true if the step should run
wanted() {
    case ,${ONLY:-$1}, in *,"$1",*) ;; *) return 1 ;; esac
}

# begin NAME LIMIT: sets limit. False if the step is not wanted, or if the time is over, which it records as a failure.
begin() {
    step_start=$(date +%s)
    wanted "$1" || return 1
    limit=$(least "$2" "$(left)")
    [ "$limit" -lt 5 ] || return 0
    record "$1" failed 0 0 0 'the time was over before it began'
    return 1
}

# ------------------------------------------------------------------------------------------ what is here

. scripts/gpu-setup.sh
sanitizer=$(command -v compute-sanitizer || first /usr/local/cuda*/bin/compute-sanitizer)

# ------------------------------------------------------------------------------------------ build

ONLY=${ONLY:+build,$ONLY}
begin build 180
if build_here "$build" "$top/build.log" "$limit" tamis_program tamis_shared tamis_ml_shared tamis_xla_shared bench_calls tamis_test_core tamis_test_operations tamis_test_cross \
    tamis_test_gpu tamis_test_ml; then
    record build passed 1 0 0 ''
else
    tail -20 "$top/build.log"
    record build failed 0 1 0 'see build/gpu-check/build.log'
    exit 1
fi
tamis=$build/tools/tamis/tamis
if ! timeout 60 "$tamis" devices --no-ceilings --json >"$top/devices.json" 2>"$top/devices.log" ||
    ! python3 scripts/gpu-evidence.py present "$top/devices.json" "$device"; then
    echo "gpu-check: $device cannot be used" >&2
    exit 1
fi

# ------------------------------------------------------------------------------------------ the cross tests

# cross NAME LIMIT DEVICE [sweep]: runs a process for each processor, since compiling takes the time, each with its own seed. They
# draw random problems until the limit is near; with sweep they divide the problems of every algorithm and type at every width of a
# list among them. Reaching the limit is a failure: the test is incomplete, or it hangs.
cross() {
    begin "$1" "$2" || return
    workers=$(least "${WORKERS:-$([ -n "${4:-}" ] && echo 16 || echo 12)}" "$(nproc)")
    rm -f "$top/$1".*.log "$top/$1".*.code
    for w in $(seq "$workers"); do
        what=$((limit - 25))
        [ -z "${4:-}" ] || what="sweep $((w - 1)) $workers"
        (
            # shellcheck disable=SC2086
            TAMIS_TEST_SEED=$((start + w)) timeout -k 5 $((limit + 5)) \
                "$build/tests/tamis_test_cross" test_gpu_cross "$3" $what >"$top/$1.$w.log" 2>&1
            echo $? >"$top/$1.$w.code"
        ) &
    done
    wait
    if grep -q '^skipped: ' "$top/$1".*.log; then
        record "$1" skipped 0 0 0 "$(grep -h '^skipped: ' "$top/$1".*.log | head -1 | cut -c 10-300)"
        return
    fi
    grep -h '^FAILED' "$top/$1".*.log | head -20
    # each process prints its progress before each problem; a process that hangs does so in the last problem printed
    counts=$(for log in "$top/$1".*.log; do grep ' problems: ' "$log" | tail -1; done |
        awk '{ runs += $3; declined += $5; failed += $7 } END { print runs - failed + 0, failed + 0, declined + 0 }')
    cut=$(cat "$top/$1".*.code | grep -c -E '^(124|137)$')
    died=$(cat "$top/$1".*.code | grep -c -v -E '^(0|1|124|137)$')
    note="$workers seeds from $((start + 1))"
    [ "$cut" -eq 0 ] || note="$note; $cut cut off by the time limit"
    [ "$died" -eq 0 ] || note="$note; $died died"
    [ -z "${4:-}" ] || note="every algorithm and type at every width; $note"
    [ "$cut" -eq 0 ] || for log in "$top/$1".*.log; do grep '; next: ' "$log" | tail -1; done | head -5
    died=$((died + cut))
    # shellcheck disable=SC2086
    set -- "$1" $counts
    if [ "$2" -gt 0 ] && [ "$3" -eq 0 ] && [ "$died" -eq 0 ]; then state=passed; else state=failed; fi
    record "$1" $state "$2" "$3" "$4" "$note"
}

cross widths 100 "$device" sweep
cross cross-"${device%%:*}" 80 "$device"

if [ "${device%%:*}" = cuda ] && wanted cross-opencl; then
    step_start=$(date +%s)
    library=$(ldconfig -p 2>/dev/null | sed -n 's/.*=> \(.*libnvidia-opencl\.so\.1\)$/\1/p' | head -1)
    [ -n "$library" ] || library=$(first /usr/local/nvidia/lib64/libnvidia-opencl.so.1 /usr/lib/*-linux-gnu/libnvidia-opencl.so.1 \
        /usr/lib64/libnvidia-opencl.so.1)
    if [ -n "$library" ]; then
        echo "$library" >"$top/icd/nvidia.icd"
        export OCL_ICD_VENDORS="$top/icd" OPENCL_VENDOR_PATH="$top/icd"
        cross cross-opencl 40 opencl:0
    else
        record cross-opencl skipped 0 0 0 'there is no libnvidia-opencl.so.1'
    fi
fi

# ------------------------------------------------------------------------------------------ the Python package

# The package's tests on the device: PyTorch's tensors, CuPy's and JAX's arrays, masks and models. Tests without a device run
# elsewhere. A library that is not installed is a skip, named in the note; it is a failure if nothing ran on the device. They run
# beside the unit tests, which leave processors idle.
start_python() {
    if [ "${device%%:*}" != cuda ]; then
        record python skipped 0 0 0 'CUDA only'
    elif ! python3 -c 'import pytest, hypothesis, numpy, scipy' 2>"$top/python.log"; then
        record python skipped 0 0 0 "$(tail -1 "$top/python.log" | cut -c -300)"
    else
        beside=''
        ! python3 -c 'import xdist' 2>/dev/null || beside="-n $(least 12 "$(nproc)")"
        python_start=$step_start
        # shellcheck disable=SC2086
        PYTHONPATH=python:lab/python TAMIS_SOURCE=$PWD TAMIS_LIBRARY=$build/src/libtamis.so XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONDONTWRITEBYTECODE=1 \
            timeout -k 5 "$limit" python3 -m pytest -q -rfs -m 'not long' -k 'not cpu' -p no:cacheprovider $beside --junitxml="$top/python.xml" \
            tests/python/test_operators_torch.py tests/python/test_torch.py tests/python/test_torch_nn.py tests/python/test_attention_gradients.py tests/python/test_cupy.py \
            tests/python/test_jax.py tests/python/test_operators_jax.py tests/python/test_mask.py tests/python/test_torch_messages.py tests/python/test_pyg.py tests/python/test_dglsp.py \
            tests/python/test_pyg_layers.py tests/python/test_pyg_steps.py tests/python/test_compiled_graphs.py tests/python/test_torch_parts.py tests/python/test_torch_attention.py tests/python/test_torch_cached_attention.py \
            tests/python/test_torch_patterns.py tests/python/test_streams.py tests/python/test_ml_devices.py >"$top/python.log" 2>&1 &
        python=$!
    fi
}

end_python() {
    wait "$python"
    code=$?
    step_start=$python_start
    counts=$(python3 scripts/gpu-evidence.py pytest "$top/python.xml")
    # shellcheck disable=SC2086
    set -- $counts
    state=failed
    [ $code -ne 0 ] || [ "$1" -eq 0 ] || state=passed
    [ $state = passed ] || grep -E '^(FAILED|ERROR)|^[0-9]+ (passed|failed)' "$top/python.log" | head -20
    record python $state "$1" "$2" "$3" "$(XLA_PYTHON_CLIENT_PREALLOCATE=false python3 scripts/gpu-evidence.py packages torch cupy jax 2>/dev/null); code $code"
}

python=''
! begin python 430 || start_python

# ------------------------------------------------------------------------------------------ unit tests on the device

# start_units NAME LIMIT AREA TEST [ARGUMENT...]: starts a file of tests on the device, in parallel with the others; each has a time
# limit, and each randomised one its own seed
started=0
start_units() {
    units_limit=$(least "$2" "$(left)")
    started=$((started + 1))
    (
        name=$1 area=$3 test=$4
        shift 4
        begun=$(date +%s)
        log=$top/units.$name.$test.$started
        TAMIS_TEST_SEED=$((start + started)) timeout -k 5 "$units_limit" "$build/tests/tamis_test_$area" "$test" "$device" "$@" >"$log.log" 2>&1
        echo $? $(($(date +%s) - begun)) >"$log.code"
    ) &
    units_running="$units_running $!"
}

# units NAME NOTE: records the ended unit tests with that name
units() {
    step_start=$(($(date +%s) - $(cut -d' ' -f2 "$top/units.$1".*.code | sort -n | tail -1)))
    state=passed
    cat "$top/units.$1".*.log >"$top/$1.log"
    good=$(grep -c '^\[ *OK \]' "$top/$1.log")
    bad=$(grep -c '^\[ *FAILED *\] [a-z]' "$top/$1.log")
    if [ "$good" -eq 0 ] || grep -q -v '^0 ' "$top/units.$1".*.code; then state=failed; fi
    [ $state = passed ] || grep -A3 'ERROR' "$top/$1.log" | head -12
    cut=$(cat "$top/units.$1".*.code | grep -c -E '^(124|137) ')
    [ "$cut" -eq 0 ] || set -- "$1" "$2; $cut cut off by the time limit"
    record "$1" $state "$good" "$bad" 0 "$2"
}

if begin units 430; then
    rm -f "$top"/units.*
    units_running=''
    start_units dense 60 operations dense
    start_units dense 60 core test_device_memory
    start_units dense 60 gpu test_ceilings
    start_units masks 60 core test_mask
    start_units masks 60 operations mask
    start_units gradients 330 operations gradients 3
    start_units gradients 330 operations edge
    start_units gradients 100 core test_gradient
    start_units gradients-whole 330 core test_gradient_whole
    start_units softmax-rows 200 core test_softmax_rows
    start_units batches 430 operations products
    start_units two-devices 100 core test_two_devices
    start_units sums 200 core test_sums gpu-tensor
    start_units d-is-b 200 core test_d_is_b
    start_units graphs 60 gpu test_entry_order
    start_units graphs 60 gpu test_row_order
    # every n-th case of each row
    start_units graphs 430 operations message 13
    start_units graphs 330 operations graph_attention 3
    start_units graphs 330 operations segment 7
    start_units graphs 330 operations edge_network 3
    for models in properties recommenders topics; do start_units models 330 ml test_ml_$models; done
    # shellcheck disable=SC2086
    wait $units_running
    units dense 'include/tamis/dense.h against plain loops; copies of memory; probes'
    units masks 'include/tamis/mask.h against its definition read column by column'
    units gradients "include/tamis/gradient.h against the oracle's gradients"
    units gradients-whole 'the gradients of attention in one plan'
    units softmax-rows "softmax's row statistics, and gradients from them"
    units batches 'batches, and fp32 results of 16-bit operands'
    units two-devices "streams, events and copies: $(head -1 "$top"/units.two-devices.*.log)"
    units sums 'gpu-tensor in fp32 no farther from double than sums in order: spread, huge, tiny and infinite operands'
    units graphs 'the order of entries, messages, graph attention and segments, calls drawn from all'
    units d-is-b 'fused where D is B, promised or found'
    units models 'every model of include/tamis/ml.h against plain restatements'
fi
[ -z "$python" ] || end_python

# ------------------------------------------------------------------------------------------ compute-sanitizer

# Runs each algorithm and operation on a small matrix with a hub and empty rows, in types and widths that use different
# kernels.
sanitize() {
    begin "$1" 70 || return
    if [ -z "$sanitizer" ] || [ "${device%%:*}" != cuda ]; then
        record "$1" skipped 0 0 0 'compute-sanitizer is not here'
        return
    fi
    "$tamis" generate rmat --rows 600 --nnz 6000 --seed 3 -o "$top/small.mtx" >/dev/null 2>&1
    python3 scripts/gpu-evidence.py algorithms "$tamis" | awk '
        { print $0, "fp32 37 scale\n" $0, "fp16 128 scale\n" $0, "fp64 300 scale" }
        $1 == "fused" && $2 ~ /^gpu-/ { print $0, "fp32 100 softmax\n" $0, "bf16 64 softmax" }' >"$top/algorithms.txt"
    # shellcheck disable=SC2016
    timeout -k 5 "$limit" xargs -P "$(least 14 "$(nproc)")" -n 5 sh -c '
        log=$1/$2.$7.$6.$8.${10}.log
        timeout 40 "$3" --tool "$2" --error-exitcode 99 "$4" run "$6" "$1/small.mtx" -d "$5" -a "$7" --type "$8" -k "$9" \
            -e "${10}" --check >"$log" 2>&1
        code=$?
        # some tools do not support dynamic parallelism
        ! grep -q "Dynamic Parallelism is not supported" "$log" || code=4
        case $code in 0) echo ok ;; 4) echo "declined $7 $6 $8 ${10}" ;; *) echo "FAILED $7 $6 $8 ${10}: code $code, $log" ;; esac
    ' pair "$top" "$1" "$sanitizer" "$tamis" "$device" <"$top/algorithms.txt" >"$top/$1.txt" 2>&1
    cut=$?
    grep '^FAILED' "$top/$1.txt" | head -10
    good=$(grep -c '^ok' "$top/$1.txt")
    bad=$(grep -c '^FAILED' "$top/$1.txt")
    declined=$(grep -c '^declined' "$top/$1.txt")
    note=''
    [ $cut -ne 124 ] || note='cut off by its time limit'
    if [ "$bad" -eq 0 ] && [ "$good" -gt 0 ] && [ $cut -ne 124 ]; then state=passed; else state=failed; fi
    record "$1" $state "$good" "$bad" "$declined" "$note"
}
sanitize memcheck
sanitize racecheck

# ------------------------------------------------------------------------------------------ tamis check

# Checks every algorithm, edge and type, in a process for each edge and two types, since compiling takes most of the time; two
# larger matrices; and long sums. Reaching the limit is a failure: the check is incomplete.
if begin check 130; then
    rm -f "$top"/check.*
    for edge in scale mask residual quotient sigmoid exp leaky_relu softmax; do
        for types in fp32,fp16 fp64,bf16; do
            (
                timeout -k 5 "$limit" "$tamis" check tests/gpu/check.mtx --quick --device "$device" --edge "$edge" \
                    --type "$types" --inner 37 --json "$top/check.$edge.$types.jsonl" >"$top/check.$edge.$types.log" 2>&1
                echo $? >"$top/check.$edge.$types.code"
            ) &
        done
    done
    (
        timeout -k 5 "$limit" "$tamis" check generate:rmat:rows=3000,nnz=30000,name=rmat \
            generate:fem:rows=3000,nnz=60000,name=fem --quick --device "$device" --edge scale --type fp32 --inner 64 \
            --json "$top/check.larger.jsonl" >"$top/check.larger.log" 2>&1
        echo $? >"$top/check.larger.code"
    ) &
    # long sums: tensor cores truncate their addends
    (
        timeout -k 5 "$limit" "$tamis" check generate:uniform:rows=600,nnz=60000,name=dense --quick --device "$device" \
            --op sddmm --edge mask --type fp32 --inner 256,2048 --algorithm gpu-tensor,gpu-panels,gpu-nonzeros \
            --json "$top/check.long.jsonl" >"$top/check.long.log" 2>&1
        echo $? >"$top/check.long.code"
    ) &
    wait
    cat "$top"/check.*.jsonl >"$top/checks"
    note='every algorithm, edge and type'
    cut=$(cat "$top"/check.*.code | grep -c -E '^(124|137)$')
    [ "$cut" -eq 0 ] || note="$cut of 18 parts cut off by the time limit"
    bad=$(cat "$top"/check.*.code | grep -c -v -E '^(0|124|137)$')
    counts=$(python3 scripts/gpu-evidence.py checks "$top/checks")
    # shellcheck disable=SC2086
    set -- $counts
    if [ "$1" -gt 0 ] && [ "$2" -eq 0 ] && [ "$cut" -eq 0 ] && [ "$bad" -eq 0 ]; then state=passed; else state=failed; fi
    [ $state = passed ] || grep -h FAILED "$top"/check.*.log | head -5
    record check $state "$1" "$2" "$3" "$note"
fi

# ------------------------------------------------------------------------------------------ other libraries' memory

if begin zero-copy 60; then
    if [ "${device%%:*}" = cuda ]; then
        timeout -k 5 "$limit" python3 tests/gpu/test_zero_copy.py "$build/src/libtamis.so" >"$top/zero-copy.log" 2>&1
        code=$?
    else
        code=77
        echo 'skipped: CUDA only' >"$top/zero-copy.log"
    fi
    good=$(grep -c -E '^(PyTorch|CuPy), ' "$top/zero-copy.log")
    case $code in
    0) record zero-copy passed "$good" 0 0 'pointers, streams and a captured graph of PyTorch and CuPy' ;;
    77) record zero-copy skipped 0 0 0 "$(grep -h '^skipped: ' "$top/zero-copy.log" | head -1 | cut -c 10-300)" ;;
    *)
        tail -5 "$top/zero-copy.log"
        record zero-copy failed "$good" 1 0 "code $code, see build/gpu-check/zero-copy.log"
        ;;
    esac
fi

# ------------------------------------------------------------------------------------------ benchmarks

# The overhead of calls beside their kernels. The first run has cold caches, as on a new machine, and no driver cache
# for NVRTC.
if begin calls 60; then
    rm -rf "$top/cold"
    XDG_CACHE_HOME="$top/cold" CUDA_CACHE_DISABLE=1 timeout -k 5 "$limit" "$build/tests/gpu/bench_calls" "$device" 1 \
        >"$top/calls-cold.log" 2>&1 || true
    rm -rf "$top/cold"
    if XDG_CACHE_HOME="$top/cold" timeout -k 5 "$limit" "$build/tests/gpu/bench_calls" "$device" >"$top/calls.log" 2>&1; then
        record calls passed 3 0 0 "$(awk '/^[a-z]*$/ { printf "%s%s:", n++ ? "; " : "", $1 }
            /first plan/ { printf " first plan %s ms,", $3 }
            /execution/ { printf " execution %s us,", $4 }
            /^  single call  / { printf " single call %s us,", $3 }
            /trusted/ { printf " trusted %s us", $4 }
            /an empty kernel/ { printf "; the driver alone, an empty kernel: %s us", $4 }' "$top/calls.log")$(awk '
            /^[a-z]*$/ { name = $1 }
            /first plan/ { printf "%s %s %s ms", n++ ? "," : "; first plans without NVRTC'"'"'s cache:", name, $3 }
        ' "$top/calls-cold.log")"
    else
        record calls failed 0 1 0 "$(tail -1 "$top/calls.log" | cut -c -300)"
    fi
fi

if begin bench 230; then
    set -- generate:fem:rows=262144,nnz=12M,name=fem generate:rmat:rows=262144,nnz=8M,name=rmat \
        generate:uniform:rows=65536,nnz=8M,name=uniform generate:window:rows=65536,band=128,name=window
    if [ -n "${TAMIS_MATRIX_PATH:-}" ]; then
        files=$(echo "$TAMIS_MATRIX_PATH" | tr ':' '\n' | while read -r folder; do find "$folder" -name '*.npz' | sort; done)
        # shellcheck disable=SC2086
        set -- "$@" $files
    fi
    [ "${device%%:*}" = cuda ] && peers='--peers cusparse' || peers=''
    rm -f "$top/bench.jsonl"
    # shellcheck disable=SC2086
    timeout -k 5 $((limit - 3)) "$tamis" bench ${BENCH:-"$@"} --device "$device" $peers --edge mask --inner 32,128 --repeat 10 --seconds 1 \
        --json "$top/bench.jsonl" >"$top/bench.log" 2>&1
    code=$?
    # attention with 16 heads, on a block mask if TAMIS_MATRIX_PATH has one
    attention=generate:window:rows=4096,band=256,name=window4096
    for file in ${files:-}; do
        case $file in */attn4096.npz) attention=$file ;; esac
    done
    [ "${device%%:*}" != cuda ] ||
        timeout -k 5 40 "$tamis" bench "$attention" --device "$device" --op fused --edge softmax --batch 16 --inner 64,128 \
            --type fp32,fp16,bf16 --values none --repeat 10 --seconds 0.2 --json "$top/bench.jsonl" >>"$top/bench.log" 2>&1 || code=$?
    note=''
    [ $code -ne 124 ] || note='cut off by its time limit'
    # shellcheck disable=SC2046
    set -- $(python3 scripts/gpu-evidence.py checks "$top/bench.jsonl")
    if [ "$1" -gt 0 ] && [ "$2" -eq 0 ] && { [ $code -eq 0 ] || [ $code -eq 124 ]; }; then state=passed; else state=failed; fi
    [ $state = passed ] || tail -5 "$top/bench.log"
    record bench $state "$1" "$2" "$3" "$note"
fi

# ------------------------------------------------------------------------------------------ evidence

mkdir -p "${OUT:-docs/evidence}"
python3 scripts/gpu-evidence.py write "$top" "$device" "$(scripts/gpu-hash.sh)" "${OUT:-docs/evidence}" "${ONLY:-}" || failures=$((failures + 1))
echo "gpu-check: $failures steps failed, $(($(date +%s) - start)) s"
[ "$failures" -eq 0 ]
