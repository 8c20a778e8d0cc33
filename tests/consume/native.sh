#!/bin/sh
# `pip install .` configures TAMIS_CPU_ISA=native: the best kernels that run here, as a library with all kernels names them, and those that
# run everywhere. Wheels for other machines have all. native.sh SOURCE PROGRAM WORK
set -eu
source=$1 program=$2 work=$3
cmake -S "$source" -B "$work" -DTAMIS_CPU_ISA=native -DBUILD_TESTING=OFF -DTAMIS_PROGRAM=OFF >"$work.log" 2>&1 || { cat "$work.log"; exit 1; }
kernels=$(sed -n 's/^-- kernels of the CPU: //p' "$work.log")
best=$(TAMIS_CPU_ISA='' "$program" devices --no-ceilings --json | sed -n 's/.*"instruction_set": *"\([^"]*\)".*/\1/p' | head -1)
best=${best#x86-64-} # x86-64-v4-bf16 is v4's with another table for bf16
best=${best%%-*}
case $kernels in
    "$best" | "$best;"v2 | "$best;"neon) ;;
    *) echo "native means '$kernels', and the best that runs is $best"; exit 1 ;;
esac
grep -q 'TAMIS_CPU_ISA = "native"' "$source/pyproject.toml"
grep -q 'cmake.define.TAMIS_CPU_ISA= ' "$source/scripts/wheel.sh"
