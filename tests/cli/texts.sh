#!/bin/bash
# The man page and the completions that the build made: they are those of this program, and offer every command, every
# method of a model and every option that --help prints.   texts.sh PROGRAM FOLDER
set -u
export LC_ALL=C
program=$1 texts=$2 root=$(dirname "$0")/../..
failed=0
command -v python3 >/dev/null || { echo 'skipped: python3, which writes the man page, is not installed'; exit 77; }
fail() { echo "$*" >&2; failed=1; }

"$root/scripts/man-page.py" "$root/tools/tamis/texts/manual.mdoc" "$program" | cmp - "$texts/tamis.1" || fail 'tamis.1 is out of date'
for shell in bash zsh fish; do
    "$program" --completion "$shell" | cmp - "$texts/tamis.$shell" || fail "tamis.$shell is not what --completion $shell prints"
done

tamis() { "$program" "$@"; } # the completions ask it
# shellcheck disable=SC1091
. "$texts/tamis.bash"
offered() { # what bash offers for the last word
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _tamis
    printf '%s\n' "${COMPREPLY[@]}"
}
# the part of a text from a line with $2 to the next with $3
section() { awk -v title="$1" '!on && $0 == title { on = 1; next } on && index($0, ".S") { exit } on' "$texts/tamis.1"; }
part() { awk -v from="$2" -v to="$3" '!on && index($0, from) { on = 1; next } on && index($0, to) { exit } on' "$texts/$1"; }
# the names in the first column of a section of --help
names() { awk -v section="$1:" '$0 == section { on = 1; next } on && !NF { exit } on && /^  [^ ]/ { print $1 }'; }
options() {
    awk '$0 == "Options:" { on = 1; next } on && !NF { exit } on' |
        sed -nE 's/^ +(-[a-zA-Z], )?--(\[no-\])?([a-z0-9-]+).*/\2\3/p' | sed -nE 's/^\[no-\](.*)/\1\nno-\1/; p'
}

compare() { # WHO WANTED THERE: fails where a line of WANTED is not in THERE
    local lines
    lines=$(comm -23 <(echo "$2" | sort -u) <(echo "$3" | sort -u))
    [ -z "$lines" ] || fail "$1 lacks" $lines
}
check_options() { # COMMAND [METHOD]
    local wanted title="tamis $1"
    [ $# -eq 1 ] || title="$title METHOD"
    wanted=$(tamis "$@" --help | options)
    checked=$((checked + $(echo "$wanted" | wc -l)))
    compare "bash for tamis $*" "$wanted" "$(offered tamis "$@" -- | sed 's/^--//')"
    compare "what zsh is told for tamis $*" "$wanted" "$(tamis --complete "$@" -- | sed -n 's/^--\(.*\)\t..*/\1/p')"
    compare "the man page for $title" "$wanted" "$(echo help; section ".Ss $title" |
        grep -oE 'Fl -[a-z0-9-]+' | sed 's/^Fl -//')"
}

checked=0
commands=$(tamis --help | names Commands)
for command in $commands; do
    offered tamis "$command" | grep -qx "$command" || fail "bash does not offer $command"
    methods=$(tamis "$command" --help | names Methods)
    for method in $methods; do
        offered tamis "$command" "$method" | grep -qx "$method" || fail "bash does not offer $command $method"
        check_options "$command" "$method"
    done
    [ -n "$methods" ] || check_options "$command"
done
# every text belongs to a command, and every command has one
for name in $(sed -n 's/^== //p' "$root/tools/tamis/texts/commands.txt" | tr ' ' +); do
    # shellcheck disable=SC2086
    tamis ${name/+/ } --help >/dev/null || fail "commands.txt has ${name/+/ }, which is no command"
done
for command in $commands; do
    grep -qx "== $command" "$root/tools/tamis/texts/commands.txt" || fail "commands.txt lacks $command"
done
echo "$checked options of $(echo "$commands" | wc -w) commands"
[ $checked -gt 250 ] || fail 'fewer than there are: how --help prints them must have changed'
exit $failed
