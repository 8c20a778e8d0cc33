#!/bin/sh
# Runs the commands of a tutorial as a reader would copy them: tutorial.sh PAGE PROGRAM SOURCE WORK. Blocks that begin with ```sh
# are run in order, in a folder of their own that shows the source's documentation; the first that fails is named.
set -eu
page=$1 program=$2 source=$3 work=$4
rm -rf "$work"
mkdir -p "$work/bin"
ln -s "$program" "$work/bin/tamis"
ln -s "$source/docs" "$source/README.md" "$work/"
awk '/^```sh$/ { inside = 1; print "set -e"; next } /^```$/ { inside = 0; next } inside' "$page" >"$work/commands.sh"
grep -q tamis "$work/commands.sh"
cd "$work"
PATH="$work/bin:$PATH" sh -x ./commands.sh >output.txt 2>trace.txt || {
    status=$?
    tail -5 trace.txt
    echo "$page: the last of these fails with $status"
    exit 1
}
echo "$(grep -c '^+ tamis' trace.txt) commands of tamis"
