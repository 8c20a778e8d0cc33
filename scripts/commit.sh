#!/bin/sh
# The commit of these sources. Of a working tree as git has it, with -dirty behind it where something else was changed than pages,
# results and evidence, which are written after what they tell of; of a tree that `git archive` packed, the one that it wrote into
# the next line (.gitattributes); else `unknown`. TAMIS_COMMIT says it for a copy that has neither.
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
