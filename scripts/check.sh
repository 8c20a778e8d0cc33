#!/bin/sh
# Checks to run while working: a fast build, its quick tests, the format, and static analysis of changed files. Takes under 90
# seconds after a change of a line.
cd "$(dirname "$0")/.." || exit
. scripts/test-steps.sh

step 'build'
build check -DBUILD_TESTING=ON

step 'quick tests'
suite check quick

step 'format and static checks of what changed'
check lint scripts/lint.sh changed

finish '90 s after a change of one line, on two cores that do nothing else'
