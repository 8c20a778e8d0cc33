#!/bin/sh
# browser.py on the Python package of a library that is built: browser.sh SOURCE LIBTAMIS.so FOLDER
# Ends with 77 and the reason where Python's packages are missing.
set -eu
export PYTHONPATH="$1/python:$1/lab/python" TAMIS_LIBRARY="$2" PYTHONDONTWRITEBYTECODE=1
for python in "$1/build/python/bin/python" python3; do
    if "$python" -c 'import jinja2, matplotlib, numpy' 2>/dev/null; then
        mkdir -p "$3"
        "$python" "$1/lab/python/tests/trial.py" "$3"
        exec "$python" "$1/lab/python/tests/browser.py" "$3/results-a.jsonl" "$3"
    fi
done
echo 'skipped: no Python with jinja2, matplotlib and numpy: scripts/install-python-packages.sh'
exit 77
