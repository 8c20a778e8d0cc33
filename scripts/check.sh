#!/bin/sh
# Checks to run while working: a fast build, its quick tests, the format, and static analysis of changed files. Takes under 90
# seconds after a change of a line.
cd "$(dirname "$0")/.." || exit
. scripts/test-steps.sh

step 'build'
build check -DBUILD_TESTING=ON

# most of those that take longer than four seconds, which are half of the time, are left to `make test`
step 'quick tests'
suite check quick '' "^(cli\.(bench|check|json-page|resume|texts)|tutorial\..*|cross_quick|message|graph_attention|edge_network|cached_attention|\
test_(16bit|cover|group|io_rows|ml_choice|ml_group|ml_group_choice|ml_uses|peers|pool|reading_peak|signals|sparse_convert|sparse_reorder))\$"

step 'format and static checks of what changed'
check lint scripts/lint.sh changed

finish '90 s after a change of one line, on two cores that do nothing else'
