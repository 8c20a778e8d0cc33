#!/bin/sh
# Nothing connects to anything, and only the program starts other processes, which are Python: outside.sh PROGRAM LIBRARY...
# The program asks for an interpreter in one place (tools/tamis/cli/python.c), and for two processes' own pair of sockets.
set -eu
program=$1
shift
calls() { nm -D --undefined-only "$1" | sed 's/.* //; s/@.*//' | grep -xE 'socket|socketpair|connect|bind|listen|accept4?|getaddrinfo|gethostby.*|exec.*|fexecve|posix_spawnp?|system|popen|v?fork|clone' | tr '\n' ' ' || true; }
for library in "$@"; do
    found=$(calls "$library")
    [ -z "$found" ] || { echo "$library calls $found"; exit 1; }
done
found=$(calls "$program")
for call in $found; do
    case $call in execvp | posix_spawnp | socketpair) ;; *) echo "$program calls $call" && exit 1 ;; esac
done
echo "$# libraries call nothing outside, the program $found"
