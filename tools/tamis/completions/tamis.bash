# bash completion for tamis; written by 'tamis --completion bash'
_tamis_files() {
    COMPREPLY=($(compgen -f -- "$current"))
    type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
}

# The last entry of a list with commas is completed; what stands before it is kept.
_tamis_words() {
    local before=
    [[ $current == *,* ]] && before=${current%,*},
    COMPREPLY=($(compgen -P "$before" -W "$1" -- "${current##*,}"))
}

_tamis() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options= operand=
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "devices algorithms info generate convert run check bench explain report compare roofline spy als implicit-als ccd sfa lda gap cache help --help --version" -- "$current"))
        return
    fi
    case ${COMP_WORDS[1]} in
    devices)
        options="--help --json --ceilings --no-ceilings"
        case $previous in
        esac
        ;;
    algorithms)
        options="--help --op --device --markdown --json"
        case $previous in
        --op) _tamis_words "sddmm spmm fused"; return ;;
        --device|-d) return ;;
        esac
        ;;
    info)
        options="--help --json --histogram --no-histogram --from --relabel --undirected --rules"
        case $previous in
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        esac
        ;;
    generate)
        options="--help --output --rows --cols --nnz --density --seed --band --block --global --pattern --type --index --offset --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --rows|-m) return ;;
        --cols|-n) return ;;
        --nnz) return ;;
        --density) return ;;
        --seed) return ;;
        --band) return ;;
        --block) return ;;
        --global) return ;;
        --type|-t) _tamis_words "fp32 fp64 fp16 bf16"; return ;;
        --index) _tamis_words "int32 int64"; return ;;
        --offset) _tamis_words "int32 int64"; return ;;
        esac
        operand="uniform rmat banded fem block scatter window"
        ;;
    convert)
        options="--help --from --type --index --offset --format --values --duplicates --transpose --sort --relabel --undirected --dense --threads --quiet"
        case $previous in
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --type|-t) _tamis_words "fp32 fp64 fp16 bf16"; return ;;
        --index) _tamis_words "int32 int64"; return ;;
        --offset) _tamis_words "int32 int64"; return ;;
        --format|-f) _tamis_words "csr coo"; return ;;
        --values) _tamis_words "as-filed none ones"; return ;;
        --duplicates) _tamis_words "keep sum"; return ;;
        --threads) return ;;
        esac
        ;;
    run)
        options="--help --inner --width --a --b --d --output --edge --edge-scale --edge-slope --edge-epsilon --alpha --beta --initial --type --math --device --algorithm --parameters --threads --calls --repeat --check --json --seed --from --relabel --undirected"
        case $previous in
        --inner|-k) return ;;
        --width|-l) return ;;
        --a) _tamis_files; return ;;
        --b) _tamis_files; return ;;
        --d) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --edge|-e) _tamis_words "scale mask residual quotient sigmoid exp leaky_relu softmax"; return ;;
        --edge-scale) return ;;
        --edge-slope) return ;;
        --edge-epsilon) return ;;
        --alpha) return ;;
        --beta) return ;;
        --initial) _tamis_files; return ;;
        --type|-t) _tamis_words "fp32 fp64 fp16 bf16"; return ;;
        --math) _tamis_words "exact tf32"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithm|-a) _tamis_words "$(tamis --names algorithms 2>/dev/null)"; return ;;
        --parameters) return ;;
        --threads) return ;;
        --calls) return ;;
        --repeat|-r) return ;;
        --seed) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        esac
        operand="sddmm spmm fused"
        ;;
    check)
        options="--help --op --edge --inner --widths --type --device --algorithm --limit --arrangement --quick --verbose --json --seed --from --relabel --undirected"
        case $previous in
        --op) _tamis_words "sddmm spmm fused"; return ;;
        --edge|-e) _tamis_words "scale mask residual quotient sigmoid exp leaky_relu softmax"; return ;;
        --inner|-k) return ;;
        --widths) return ;;
        --type|-t) _tamis_words "fp32 fp64 fp16 bf16"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithm|-a) _tamis_words "$(tamis --names algorithms 2>/dev/null)"; return ;;
        --limit) return ;;
        --arrangement) _tamis_words "packed strided column coo"; return ;;
        --json|-j) _tamis_files; return ;;
        --seed) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        esac
        ;;
    bench)
        options="--help --op --edge --inner --width --batch --type --device --suite --tier --algorithm --parameters --variants --baseline --peers --threads --repeat --seconds --cold --calls --gather --check --no-check --json --values --share --beta --edge-scale --seed --from --relabel --undirected"
        case $previous in
        --op) _tamis_words "sddmm spmm fused"; return ;;
        --edge|-e) _tamis_words "scale mask residual quotient sigmoid exp leaky_relu softmax"; return ;;
        --inner|-k) return ;;
        --width|-l) return ;;
        --batch) return ;;
        --type|-t) _tamis_words "fp32 fp64 fp16 bf16"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --suite) return ;;
        --tier) _tamis_words "small full"; return ;;
        --algorithm|-a) _tamis_words "$(tamis --names algorithms 2>/dev/null)"; return ;;
        --parameters) return ;;
        --variants) return ;;
        --baseline|-b) return ;;
        --peers) _tamis_words "cusparse cublas torch torch-scatter torch-attention scipy graphblas openblas"; return ;;
        --threads) return ;;
        --repeat|-r) return ;;
        --seconds|-s) return ;;
        --calls) return ;;
        --json|-j) _tamis_files; return ;;
        --values) _tamis_words "as-filed none random"; return ;;
        --beta) return ;;
        --edge-scale) return ;;
        --seed) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        esac
        ;;
    explain)
        options="--help --inner --op --calls --edge --width --type --math --device --algorithm --threads --verbose --json --from --relabel --undirected"
        case $previous in
        --inner|-k) return ;;
        --op) _tamis_words "sddmm spmm fused"; return ;;
        --calls|-n) return ;;
        --edge|-e) _tamis_words "scale mask residual quotient sigmoid exp leaky_relu softmax"; return ;;
        --width|-l) return ;;
        --type|-t) _tamis_words "fp32 fp64 fp16 bf16"; return ;;
        --math) _tamis_words "exact tf32"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithm|-a) _tamis_words "$(tamis --names algorithms 2>/dev/null)"; return ;;
        --threads) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        esac
        ;;
    report)
        options="--help --output --title"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --title) return ;;
        esac
        ;;
    compare)
        options="--help --threshold --drift --json"
        case $previous in
        --threshold) return ;;
        esac
        ;;
    roofline)
        options="--help --output --device"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        esac
        ;;
    spy)
        options="--help --output --size --from --relabel --undirected --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --size|-s) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        esac
        ;;
    als) options=--help operand="train predict recommend topics score info" ;;
    implicit-als) options=--help operand="train predict recommend topics score info" ;;
    ccd) options=--help operand="train predict recommend topics score info" ;;
    sfa) options=--help operand="train predict recommend topics score info" ;;
    lda) options=--help operand="train predict recommend topics score info" ;;
    gap) options=--help operand="train predict recommend topics score info" ;;
    cache)
        options="--help --json"
        case $previous in
        esac
        operand="info clear"
        ;;
    help) operand="devices algorithms info generate convert run check bench explain report compare roofline spy als implicit-als ccd sfa lda gap cache" ;;
    esac
    ((COMP_CWORD > 2)) && case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
    "als train")
        options="--help --output --factors --iterations --regularization --weighted --no-weighted --biases --cg-steps --seed --type --tolerance --loss --no-loss --threads --device --algorithms --from --vocabulary --hold-out --leave-one-out --split-seed --held-out --checkpoint --checkpoint-seconds --resume --json --verbose --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --factors|-k) return ;;
        --iterations|-n) return ;;
        --regularization|-l) return ;;
        --cg-steps) return ;;
        --seed|-s) return ;;
        --type|-t) _tamis_words "fp32 fp64"; return ;;
        --tolerance) return ;;
        --threads) return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithms) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --vocabulary) _tamis_files; return ;;
        --hold-out) return ;;
        --split-seed) return ;;
        --held-out) _tamis_files; return ;;
        --checkpoint|-c) _tamis_files; return ;;
        --checkpoint-seconds) return ;;
        --json|-j) _tamis_files; return ;;
        esac
        ;;
    "als predict"|"implicit-als predict"|"ccd predict"|"sfa predict")
        options="--help --new --json --output --from --device --threads"
        case $previous in
        --new) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "als recommend"|"implicit-als recommend"|"ccd recommend"|"sfa recommend")
        options="--help --top --seen --new --json --output --from --device --threads"
        case $previous in
        --top|-n) return ;;
        --seen) _tamis_files; return ;;
        --new) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "als topics"|"implicit-als topics"|"ccd topics"|"sfa topics")
        options="--help --top --vocabulary --json --output --device --threads"
        case $previous in
        --top|-n) return ;;
        --vocabulary) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "als score"|"implicit-als score"|"ccd score"|"sfa score")
        options="--help --held-out --observed --fold-in --top --split-seed --json --from --device --threads"
        case $previous in
        --held-out) _tamis_files; return ;;
        --observed) _tamis_files; return ;;
        --top|-n) return ;;
        --split-seed) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "als info"|"implicit-als info"|"ccd info"|"sfa info")
        options="--help --json --device"
        case $previous in
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        esac
        ;;
    "implicit-als train")
        options="--help --output --factors --iterations --regularization --cg-steps --confidence --seed --type --tolerance --loss --no-loss --threads --device --algorithms --from --vocabulary --hold-out --leave-one-out --split-seed --held-out --checkpoint --checkpoint-seconds --resume --json --verbose --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --factors|-k) return ;;
        --iterations|-n) return ;;
        --regularization|-l) return ;;
        --cg-steps) return ;;
        --confidence) return ;;
        --seed|-s) return ;;
        --type|-t) _tamis_words "fp32 fp64"; return ;;
        --tolerance) return ;;
        --threads) return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithms) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --vocabulary) _tamis_files; return ;;
        --hold-out) return ;;
        --split-seed) return ;;
        --held-out) _tamis_files; return ;;
        --checkpoint|-c) _tamis_files; return ;;
        --checkpoint-seconds) return ;;
        --json|-j) _tamis_files; return ;;
        esac
        ;;
    "ccd train")
        options="--help --output --factors --iterations --regularization --weighted --no-weighted --inner-rounds --nonnegative --seed --type --tolerance --loss --no-loss --threads --device --algorithms --from --vocabulary --hold-out --leave-one-out --split-seed --held-out --checkpoint --checkpoint-seconds --resume --json --verbose --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --factors|-k) return ;;
        --iterations|-n) return ;;
        --regularization|-l) return ;;
        --inner-rounds) return ;;
        --seed|-s) return ;;
        --type|-t) _tamis_words "fp32 fp64"; return ;;
        --tolerance) return ;;
        --threads) return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithms) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --vocabulary) _tamis_files; return ;;
        --hold-out) return ;;
        --split-seed) return ;;
        --held-out) _tamis_files; return ;;
        --checkpoint|-c) _tamis_files; return ;;
        --checkpoint-seconds) return ;;
        --json|-j) _tamis_files; return ;;
        esac
        ;;
    "sfa train")
        options="--help --output --factors --iterations --regularization --column-regularization --cg-steps --rate --batch-rows --seed --type --tolerance --loss --no-loss --threads --device --algorithms --from --vocabulary --hold-out --leave-one-out --split-seed --held-out --stream --checkpoint --checkpoint-seconds --resume --json --verbose --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --factors|-k) return ;;
        --iterations|-n) return ;;
        --regularization|-l) return ;;
        --column-regularization) return ;;
        --cg-steps) return ;;
        --rate) return ;;
        --batch-rows) return ;;
        --seed|-s) return ;;
        --type|-t) _tamis_words "fp32 fp64"; return ;;
        --tolerance) return ;;
        --threads) return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithms) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --vocabulary) _tamis_files; return ;;
        --hold-out) return ;;
        --split-seed) return ;;
        --held-out) _tamis_files; return ;;
        --checkpoint|-c) _tamis_files; return ;;
        --checkpoint-seconds) return ;;
        --json|-j) _tamis_files; return ;;
        esac
        ;;
    "lda train")
        options="--help --output --factors --topics --iterations --inner-rounds --row-prior --column-prior --map --batch-rows --rate-decay --seed --type --tolerance --loss --no-loss --threads --device --algorithms --from --vocabulary --hold-out --leave-one-out --split-seed --held-out --observed --stream --checkpoint --checkpoint-seconds --resume --json --verbose --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --factors|-k) return ;;
        --topics) return ;;
        --iterations|-n) return ;;
        --inner-rounds) return ;;
        --row-prior) return ;;
        --column-prior) return ;;
        --batch-rows) return ;;
        --rate-decay) return ;;
        --seed|-s) return ;;
        --type|-t) _tamis_words "fp32 fp64"; return ;;
        --tolerance) return ;;
        --threads) return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithms) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --vocabulary) _tamis_files; return ;;
        --hold-out) return ;;
        --split-seed) return ;;
        --held-out) _tamis_files; return ;;
        --observed) _tamis_files; return ;;
        --checkpoint|-c) _tamis_files; return ;;
        --checkpoint-seconds) return ;;
        --json|-j) _tamis_files; return ;;
        esac
        ;;
    "lda predict"|"gap predict")
        options="--help --new --json --output --from --device --threads"
        case $previous in
        --new) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "lda recommend"|"gap recommend")
        options="--help --top --seen --new --json --output --from --device --threads"
        case $previous in
        --top|-n) return ;;
        --seen) _tamis_files; return ;;
        --new) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "lda topics"|"gap topics")
        options="--help --top --vocabulary --json --output --device --threads"
        case $previous in
        --top|-n) return ;;
        --vocabulary) _tamis_files; return ;;
        --output|-o) _tamis_files; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "lda score"|"gap score")
        options="--help --held-out --observed --fold-in --top --split-seed --json --from --device --threads"
        case $previous in
        --held-out) _tamis_files; return ;;
        --observed) _tamis_files; return ;;
        --top|-n) return ;;
        --split-seed) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --threads) return ;;
        esac
        ;;
    "lda info"|"gap info")
        options="--help --json --device"
        case $previous in
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        esac
        ;;
    "gap train")
        options="--help --output --factors --topics --iterations --inner-rounds --row-prior --column-prior --batch-rows --rate-decay --seed --type --tolerance --loss --no-loss --threads --device --algorithms --from --vocabulary --hold-out --leave-one-out --split-seed --held-out --observed --stream --checkpoint --checkpoint-seconds --resume --json --verbose --quiet"
        case $previous in
        --output|-o) _tamis_files; return ;;
        --factors|-k) return ;;
        --topics) return ;;
        --iterations|-n) return ;;
        --inner-rounds) return ;;
        --row-prior) return ;;
        --column-prior) return ;;
        --batch-rows) return ;;
        --rate-decay) return ;;
        --seed|-s) return ;;
        --type|-t) _tamis_words "fp32 fp64"; return ;;
        --tolerance) return ;;
        --threads) return ;;
        --device|-d) _tamis_words "$(tamis --names devices 2>/dev/null)"; return ;;
        --algorithms) return ;;
        --from) _tamis_words "auto matrix-market harwell-boeing metis smtx edges docword ldac ratings npy npz"; return ;;
        --vocabulary) _tamis_files; return ;;
        --hold-out) return ;;
        --split-seed) return ;;
        --held-out) _tamis_files; return ;;
        --observed) _tamis_files; return ;;
        --checkpoint|-c) _tamis_files; return ;;
        --checkpoint-seconds) return ;;
        --json|-j) _tamis_files; return ;;
        esac
        ;;
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -n $operand ]] && ((COMP_CWORD == 2)); then
        COMPREPLY=($(compgen -W "$operand" -- "$current"))
    else
        _tamis_files
    fi
}
complete -F _tamis tamis
