#!/bin/sh
# Code that variables name is not loaded in a setuid process: secure.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/cache"
export TAMIS_NAMED=libm.so.6 XDG_CACHE_HOME="$folder/cache"
"$program" TAMIS_NAMED
[ "$(id -u)" = 0 ] || { echo 'skipped: only root makes a file of another user'; exit 77; }
cp "$program" "$folder/secure"
chmod 755 "$folder"
chown 65534 "$folder/secure"
chmod 4755 "$folder/secure"
"$folder/secure" TAMIS_NAMED setuid
