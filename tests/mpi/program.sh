#!/bin/sh
# The program over processes: program.sh MPIRUN PROGRAM LIBRARY MATRIX WORKDIR. Results against the oracle and with one
# process's bits; and what goes wrong on one rank ends all, with its number, soon.
set -u
mpirun=$1 program=$2 library=$3 matrix=$4 work=$5
export TAMIS_MPI=$library OMP_NUM_THREADS=1 TAMIS_TIME_LIMIT=30
mkdir -p "$work"
failures=0
fail() {
    echo "FAILED: $*"
    [ ! -f "$work/log" ] || cat "$work/log"
    failures=$((failures + 1))
}
# expect CODE TEXT RANKS COMMAND...: zero or not, and what is said
expect() {
    code=$1 text=$2 ranks=$3
    shift 3
    timeout 1000 "$mpirun" -np "$ranks" "$@" >"$work/log" 2>&1
    got=$?
    if [ "$code" = 0 ]; then [ $got -eq 0 ] || fail "$* ended with $got"; else [ $got -ne 0 ] && [ $got -ne 124 ] || fail "$* ended with $got"; fi
    [ -n "$text" ] || return 0
    grep -q -e "$text" "$work/log" || fail "$* does not say '$text'"
    [ "$(grep -c -e "$text" "$work/log")" = 1 ] || fail "$* says '$text' more than once"
}
# a command whose argument is another one on one rank: rank OTHER ARGUMENT OTHERWISE
on_rank() { echo "x=$3; [ \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK} = $1 ] && x=$2;"; }

for ranks in 1 2 3 5; do
    expect 0 '^[1-9][0-9]* passed, 0 failed' $ranks "$program" check "$matrix" --transport mpi --quick --inner 5 --type fp32,fp16 \
        --edge scale,softmax --algorithm auto
done
expect 0 '"ranks": 3' 3 "$program" run sddmm "$matrix" --transport mpi --inner 16 --check --json
expect 0 'over mpi' 2 "$program" explain "$matrix" --transport mpi --op spmm --inner 16 --devices cpu,cpu
expect 0 'speed-up' 2 "$program" bench "$matrix" --transport mpi --op spmm --inner 16 --seconds 0.1 --repeat 6

# one file, written by one process, with one process's bits
"$program" generate fem --rows 300 --nnz 3000 -o "$work/mesh.mtx" >/dev/null 2>&1
"$program" run spmm "$work/mesh.mtx" --inner 8 --threads 1 --algorithm cpu-nonzeros -o "$work/one.npy" >/dev/null
expect 0 'written to' 3 "$program" run spmm "$work/mesh.mtx" --inner 8 --threads 1 --algorithm cpu-nonzeros --transport mpi -o "$work/three.npy"
cmp "$work/one.npy" "$work/three.npy" || fail 'three processes write another result than one'
# what is spoiled is noticed
TAMIS_SPOIL=result expect 1 'WRONG' 3 "$program" run spmm "$matrix" --transport mpi --inner 8 --check

expect 1 'rank 2: .*missing.mtx: cannot open' 3 sh -c "$(on_rank 2 "$work/missing.mtx" "$matrix") exec $program run spmm \$x --inner 8 --transport mpi"
expect 1 'rank 1: --inner = 9, but 8 on rank 0' 3 sh -c "$(on_rank 1 9 8) exec $program run spmm $matrix --inner \$x --transport mpi"
for other in '--alpha 3;1' '--beta 0.5;0' '--seed 7;1' '--edge mask;scale'; do
    option=${other% *} values=${other#* }
    expect 1 "rank 2: $option = ${values%;*}, but ${values#*;} on rank 0" 3 sh -c "$(on_rank 2 "$option=${values%;*}" "$option=${values#*;}") exec $program run sddmm $matrix --inner 8 \$x --transport mpi"
done
expect 1 'rank 1: the command = check, but run on rank 0' 2 sh -c "$(on_rank 1 check "'run spmm'") exec $program \$x $matrix --inner 8 --transport mpi"
# the same pattern with another value, and with another entry
"$program" generate fem --rows 60 --nnz 400 --seed 1 -o "$work/a.mtx" >/dev/null 2>&1
awk 'NR == 4 { $3 = $3 + 1 } { print }' "$work/a.mtx" >"$work/b.mtx"
expect 1 "rank 1: the values of the matrix differ from rank 0's" 2 sh -c "$(on_rank 1 "$work/b.mtx" "$work/a.mtx") exec $program run spmm \$x --inner 8 --transport mpi"
expect 1 'rank 1: the size of the matrix differs' 2 sh -c "$(on_rank 1 "$matrix" "$work/a.mtx") exec $program run spmm \$x --inner 8 --transport mpi"
# a file that cannot be written is found before there are ranks
timeout 1000 "$mpirun" -np 2 "$program" run spmm "$matrix" --inner 8 --transport mpi -o "$work/no/such/folder/c.npy" >"$work/log" 2>&1 &&
    fail 'a file was written to no folder'
grep -q 'no/such/folder' "$work/log" || fail 'no word of the folder'
# rows by METIS, where it is installed: found by each process alike, and the result in the file's order
if "$program" explain "$work/mesh.mtx" --op spmm --inner 8 --devices cpu,cpu --partition metis 2>&1 | grep -q '^partition  *metis'; then
    for op in sddmm spmm fused; do
        expect 0 'correct: ' 3 "$program" run $op "$work/mesh.mtx" --inner 8 --transport mpi --partition metis --beta 0.5 --check
    done
fi
expect 1 'no METIS: /nowhere/libmetis.so: not found' 1 env TAMIS_METIS=/nowhere/libmetis.so "$program" run spmm "$work/mesh.mtx" --inner 8 --devices cpu,cpu --partition metis
# models: one device's but for rounding, on any number of processes, which go on with each other's checkpoints
"$program" generate uniform --rows 300 --cols 120 --nnz 6k -o "$work/s.npz" --quiet >/dev/null 2>&1
training="--type fp64 --factors 8 --hold-out 0.1 --quiet"
loss_is() { # MODEL EXPECTED
    found=$("$program" info "$1" --json | sed -n 's/.*"loss": \([^,]*\),.*/\1/p')
    awk -v x="$found" -v y="$2" 'BEGIN { exit !(x > 0 && (x - y) ^ 2 <= (1e-9 * y) ^ 2) }' || fail "$1: the loss is $found, expected $2"
}
for method in als implicit-als; do
    "$program" train $method "$work/s.npz" -o "$work/one.model" $training --iterations 6 >"$work/log" 2>&1 || fail "$method on one device"
    loss=$("$program" info "$work/one.model" --json | sed -n 's/.*"loss": \([^,]*\),.*/\1/p')
    for ranks in 1 2 3 5; do
        rm -f "$work/many.model"
        expect 0 '' $ranks "$program" train $method "$work/s.npz" -o "$work/many.model" $training --iterations 6 --transport mpi
        loss_is "$work/many.model" "$loss"
    done
    "$program" train $method "$work/s.npz" -o "$work/part.model" $training --iterations 3 >"$work/log" 2>&1 || fail "$method, the first half"
    rm -f "$work/many.model"
    expect 0 '' 3 "$program" train $method "$work/s.npz" -o "$work/many.model" $training --iterations 6 --resume="$work/part.model" --transport mpi
    loss_is "$work/many.model" "$loss"
done
expect 0 '3 processes' 3 "$program" train als "$work/s.npz" -o "$work/many.model" --iterations 2 --transport mpi
expect 1 'rank 2: .*missing.npz: cannot open' 3 sh -c "$(on_rank 2 "$work/missing.npz" "$work/s.npz") exec $program train als \$x -o $work/no.model --transport mpi"
expect 1 'rank 1: --factors = 9, but 8 on rank 0' 3 sh -c "$(on_rank 1 9 8) exec $program train als $work/s.npz -o $work/no.model --factors \$x --transport mpi"
[ ! -f "$work/no.model" ] || fail 'a model was written of a training that failed'
expect 1 'signal 9\|: *137' 3 sh -c "x=; [ \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK} = 1 ] && x='timeout -s KILL 2'; exec \$x $program train als $work/s.npz -o $work/no.model --iterations 1000000 --transport mpi"
rm -f "$work/no.model.part"
# one that is killed in the midst of it
expect 1 'signal 9\|: *137' 3 sh -c "x=; [ \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK} = 1 ] && x='timeout -s KILL 2'; exec \$x $program run spmm $matrix --inner 8 --transport mpi --repeat 1000000"
# without the library
TAMIS_MPI=/nowhere/libtamis_mpi.so "$program" run spmm "$matrix" --transport mpi >"$work/log" 2>&1
[ $? -eq 4 ] && grep -q 'libtamis_mpi cannot be opened (/nowhere' "$work/log" || fail 'a missing library'
"$program" run spmm "$matrix" --transport mpi --link nccl >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'link does not go with --transport mpi' "$work/log" || fail 'a link'
echo "$failures failed"
[ $failures -eq 0 ]
