#!/bin/sh
# Runs every libFuzzer target for SECONDS each: fuzz.sh SECONDS
set -eu
cmake --preset release -DBUILD_TESTING=ON -DTAMIS_FUZZ_SECONDS="$1" >/dev/null
exec cmake --build build/release --target fuzz
