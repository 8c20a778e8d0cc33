#!/bin/sh
# Prints the commit of these sources. In a working tree it is git's HEAD, followed by -dirty if files other than pages, results
# and evidence have changed (these are written after the code that they describe). In a tree from `git archive` it is the commit in
# `packed` below, which .gitattributes has git insert; else `unknown`. TAMIS_COMMIT sets it for a copy that has neither.
# shellcheck disable=SC2016
packed='$Format:%H$'
cd "$(dirname "$0")/.." || exit
if [ -n "${TAMIS_COMMIT:-}" ]; then
    echo "$TAMIS_COMMIT"
elif [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
    dirty=
    git diff --quiet HEAD -- . ':!lab/results' ':!docs/evidence' ':!*.md' || dirty=-dirty
    echo "$(git rev-parse HEAD)$dirty"
else
    case $packed in *Format*) echo unknown ;; *) echo "$packed" ;; esac
fi
