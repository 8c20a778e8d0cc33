#!/bin/sh
# Code that variables name is not loaded in a setuid process, nor a Python that PATH has: secure.sh PROGRAM FOLDER TAMIS
set -eu
program=$1 folder=$2 tamis=$3
rm -rf "$folder"
mkdir -p "$folder/cache"
export TAMIS_NAMED=libm.so.6 XDG_CACHE_HOME="$folder/cache"
"$program" TAMIS_NAMED
[ "$(id -u)" = 0 ] || { echo 'skipped: only root makes a file of another user'; exit 77; }
cp "$program" "$folder/secure"
cp "$tamis" "$folder/tamis"
printf '#!/bin/sh\necho the Python of PATH was started\n' >"$folder/python3"
chmod 755 "$folder" "$folder/python3"
chown 65534 "$folder/secure" "$folder/tamis"
chmod 4755 "$folder/secure" "$folder/tamis"
"$folder/secure" TAMIS_NAMED setuid
PATH=$folder:$PATH
export PATH
status=0
said=$(LD_BIND_NOW=1 "$folder/tamis" compare a b 2>&1) || status=$?
echo "$said"
[ $status -eq 4 ] && [ "$said" = "tamis compare: this command is written in Python, which a setuid process does not start" ]
