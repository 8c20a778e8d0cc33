#!/bin/sh
# Runs the commands of a case, the lines after "$ ", and compares what they print with the lines between them.
#   run-case.sh PROGRAM NAME.case WORK_FOLDER      TAMIS_UPDATE=1: writes what they print into the case instead
# At the end of the last line that a command prints, "[exit N]" stands for an exit code other than 0, and "[hint]" at the
# end of a message for the line after it, "Try 'COMMAND --help'." with the command that the message begins with. mask.sed
# masks volatile numbers. Lines with "#" are comments. Exit code 77 (skipped) when a line "#needs PROGRAM" names one that
# is not installed, "#device NAME" a device that is not there, or "#root" a user that this one is not. GPUs are hidden
# from a case, whatever the machine has, until a line "#device".
set -u
program=$1
case_file=$2
work=$3
here=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$case_file" .case)

rm -rf "$work/$name"
mkdir -p "$work/$name/bin" "$work/cache"
ln -s "$program" "$work/$name/bin/tamis"
cp "$here"/cases/*.mtx "$here/cases/complete.bash" "$work/$name" || exit 1
PATH=$work/$name/bin:$PATH
XDG_CACHE_HOME=$work/cache
OMP_NUM_THREADS=2
TAMIS_LOAD=0 # tests run side by side, which makes measured plans doubtful
LC_ALL=C
SOURCE=$(cd "$here/../.." && pwd)
export PATH XDG_CACHE_HOME OMP_NUM_THREADS TAMIS_LOAD LC_ALL SOURCE
unset TAMIS_CPU_ISA TAMIS_PROBE
# As many checks are skipped as where there is no AMX, unless the build has no such kernels, as under sanitizers.
if grep -qs amx_bf16 /proc/cpuinfo && TAMIS_PROBE=0 TAMIS_CPU_ISA=v4-bf16 "$program" explain "$here/cases/small.mtx" --op spmm >/dev/null 2>&1; then
    export TAMIS_CPU_ISA=v4-bf16
fi
mkdir -p "$work/$name/no-drivers"
given_opencl=${TAMIS_OPENCL-} given_vendors=${OCL_ICD_VENDORS-}
TAMIS_CUDA_DRIVER=no-cuda-driver
TAMIS_OPENCL=no-opencl-loader
OCL_ICD_VENDORS=$work/$name/no-drivers
TAMIS_OPENCL_OPTIONS=-cl-opt-disable # compiled once, executed once
export TAMIS_CUDA_DRIVER TAMIS_OPENCL OCL_ICD_VENDORS TAMIS_OPENCL_OPTIONS

show_opencl() {
    unset TAMIS_OPENCL OCL_ICD_VENDORS
    [ -z "$given_opencl" ] || { TAMIS_OPENCL=$given_opencl && export TAMIS_OPENCL; }
    [ -z "$given_vendors" ] || { OCL_ICD_VENDORS=$given_vendors && export OCL_ICD_VENDORS; }
}

# Prints the lines of files, or of standard input, as one line with a separator between them: flat ['|' [FILE ...]]
flat() {
    separator=${1:- }
    [ $# -eq 0 ] || shift
    paste -sd "$separator" "$@" | tr -s ' '
}

# Runs a command with each of several endings; an exit code follows what that one prints: each COMMAND ENDING ...
each() {
    command=$1
    shift
    for ending; do
        eval "$command $ending"
        code=$?
        [ $code -eq 0 ] || echo "[exit $code]"
    done
}

skip() {
    echo "skipped: $1" >&2 # standard output is the transcript
    exit 77
}

cd "$work/$name" || exit 1
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    "#"* | "$ "*) printf '%s\n' "$line" ;;
    *) continue ;; # what the command before it is expected to print
    esac
    case $line in
    "#needs "*) command -v "${line#\#needs }" >/dev/null 2>&1 || skip "${line#\#needs } is not installed" ;;
    "#device "*)
        show_opencl
        tamis devices --no-ceilings 2>/dev/null | grep "^${line#\#device }  " | grep -qv '  absent: ' ||
            skip "${line#\#device } is not there"
        ;;
    "#root") [ "$(id -u)" = 0 ] || skip "only root makes files of other users" ;;
    "$ "*)
        (eval "${line#\$ }") </dev/null 2>&1
        code=$?
        [ $code -eq 0 ] || echo "[exit $code]"
        ;;
    esac
done <"$case_file" >transcript
status=$?
[ $status -eq 0 ] || { cat transcript; exit $status; }
sed -E -f "$here/mask.sed" transcript | awk '
    /^\[exit [0-9]+\]$/ && line[n] !~ /^[$#]/ { line[n] = line[n] " " $0; next }
    /^Try .* --help/ {
        split(line[n], message, ":")
        if ($0 == "Try \047" message[1] " --help\047.") { line[n] = line[n] " [hint]"; next }
    }
    { line[++n] = $0 }
    END { for (i = 1; i <= n; i++) print line[i] }' >masked
if [ "${TAMIS_UPDATE:-0}" = 1 ]; then
    cp masked "$case_file"
elif ! diff -u "$case_file" masked; then
    echo "The transcript of $name differs. If the new one is right: TAMIS_UPDATE=1 $0 $*"
    exit 1
fi
