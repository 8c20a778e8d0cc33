#!/bin/sh
# install.sh SCRIPT FOLDER: where Python packages cannot be had, scripts/install-python-packages.sh says so and succeeds, but
# fails where TAMIS_CI is set. It runs on a copy, with a python3 and a pip that fail.
set -u
script=$1 work=$2
failed=0

# expect NAME CODE WORDS: what the script said last
expect() {
    if [ "$code" -ne "$2" ] || ! printf '%s\n' "$said" | grep -q "$3"; then
        printf '%s: exit %d, expected %d with "%s"; it said:\n%s\n' "$1" "$code" "$2" "$3" "$said"
        failed=1
    fi
}

run() {
    said=$(env -u TAMIS_CI PATH="$work/bin:$PATH" "$@" "$work/scripts/install-python-packages.sh" 2>&1)
    code=$?
}

rm -rf "$work"
mkdir -p "$work/bin" "$work/scripts"
cp "$script" "$work/scripts/install-python-packages.sh"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/python3"
printf '#!/bin/sh\necho x86_64\n' >"$work/bin/uname"
chmod +x "$work/bin/python3" "$work/bin/uname"
run env
expect 'no venv' 0 'will be skipped'
run env TAMIS_CI=1
expect 'no venv in CI' 1 'TAMIS_CI is set'

mkdir -p "$work/build/python/bin"
printf '#!/bin/sh\necho "ERROR: no network"\nexit 1\n' >"$work/build/python/bin/pip"
chmod +x "$work/build/python/bin/pip"
run env
expect 'no network' 0 'will be skipped'
run env TAMIS_CI=1
expect 'no network in CI' 1 'TAMIS_CI is set'
[ ! -e "$work/build/python/installed" ] || { echo 'it counts as installed'; failed=1; }

printf '#!/bin/sh\nexit 0\n' >"$work/build/python/bin/pip"
run env TAMIS_CI=1
expect 'installed in CI' 0 'Installing Python packages'
[ -s "$work/build/python/installed" ] || { echo 'it does not count as installed'; failed=1; }
exit $failed
