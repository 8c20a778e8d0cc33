# Reads the lines of `tamis train --json`. To be sourced.
# shellcheck shell=sh

# number KEY FILE: the number behind the key in the last line that has it
number() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$2" | tail -n 1; }

# median FILE...: the median of the seconds of all iterations but the first of each fit
median() {
    grep -h '"iteration":' "$@" | grep -v '"iteration": 1,' | sed -n 's/.*"seconds": \([-0-9.e+]*\).*/\1/p' | sort -g |
        awk '{ s[NR] = $1 } END { print s[int((NR + 1) / 2)] }'
}
