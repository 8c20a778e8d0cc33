#!/bin/sh
# Makes a virtual environment in FOLDER for another processor's Python, unpacked in ROOT (unpack-aarch64.sh), which runs under
# qemu: emulated-python.sh ROOT FOLDER. Its bin/python is a script, so that processes started by sys.executable are emulated too.
set -eu
root=$(cd "$1" && pwd)
mkdir -p "$2/bin"
folder=$(cd "$2" && pwd)
echo "home = $root/usr/bin" >"$folder/pyvenv.cfg"
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec qemu-aarch64-static -L "%s" -0 "$0" "%s" "$@"\n' "$root" "$root/usr/bin/python3" >"$folder/bin/python"
chmod +x "$folder/bin/python"
