#!/bin/sh
# `tamis check` with every algorithm of GPUs but those whose names begin with a word: check-but.sh WORD PROGRAM OPTIONS...
set -eu
word=$1
program=$2
shift 2
names=$("$program" algorithms --device gpu | sed -n 's/^\([a-z][^ ]*\)  (.*/\1/p' | grep -v "^$word" | sort -u | paste -sd, -)
exec "$program" check --algorithm "$names" "$@"
