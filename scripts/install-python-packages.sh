#!/bin/sh
# install-python-packages.sh [docs]: installs Python packages for tests in build/python, or those for the manual in
# build/docs-python. The packages for tests include NVIDIA's run-time compiler and headers, to compile every kernel without a GPU, and
# Intel's OpenCL for processors, a second implementation besides PoCL. SciPy is included because not every python3 finds Debian's.
# The script prints what it installs, and does nothing if all is installed. Without a network it says so and succeeds, and tests that
# need the packages are skipped with that reason; if TAMIS_CI is set, it fails. For processors other than x86-64 there are no packages
# for tests, which is no failure.
set -eu
cd "$(dirname "$0")/.."
group=${1:-tests}
folder=build/python
packages='
nvidia-cuda-nvrtc>=13,<14    compiles the CUDA kernels, without a driver or a GPU
nvidia-cuda-runtime>=13,<14  cuda.h, to compare our declarations with; the device-side launch library
intel-opencl-rt>=2026        OpenCL on the processor, with subgroups
intel-cmplr-lib-rt>=2026     libraries that it loads
scipy>=1.11                  writes the .npz that we read, and reads what we write
pytest>=7                    runs the tests of the Python package
hypothesis>=6                finds arguments on which it would fail
matplotlib>=3.7              draws the charts of reports
jinja2>=3                    writes the pages of reports'
if [ "$group" = docs ]; then
    folder=build/docs-python
    packages='
sphinx>=7,<9                 the manual
myst-parser>=3,<5            its pages in Markdown
breathe>=4.35,<5             its C reference, from what Doxygen says
furo>=2024.8                 its theme
sphinx-copybutton>=0.5       copy buttons on code'
fi

give_up() {
    echo "install-python-packages.sh: $*" >&2
    if [ -n "${TAMIS_CI:-}" ]; then
        echo 'install-python-packages.sh: TAMIS_CI is set, so that the tests that need these packages must run' >&2
        exit 1
    fi
    echo 'install-python-packages.sh: tests that need these packages will be skipped' >&2
    exit 0
}

list=$(echo "$packages" | sed -n 's/^\([^ ][^ ]*\) .*/\1/p')
[ "$(cat "$folder/installed" 2>/dev/null || true)" != "$list" ] || exit 0
if [ "$group" = tests ] && [ "$(uname -m)" != x86_64 ]; then
    echo "install-python-packages.sh: these packages are for x86-64, this is $(uname -m): tests that need them will be skipped" >&2
    exit 0
fi
command -v python3 >/dev/null || give_up 'there is no python3'
mkdir -p build
log=build/python.log
if [ ! -x "$folder/bin/pip" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >"$log" 2>&1 || give_up "python3 -m venv fails (Debian: python3-venv); see $log"
fi
printf 'Installing Python packages into %s:\n' "$folder"
echo "$packages" | sed -n 's/^\([^ ][^ ]*\)  *\(.*\)/  \1: \2/p'
# one at a time, so that an unavailable package does not prevent the others
complete=yes
for package in $list; do
    "$folder/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 20 --only-binary :all: "$package" \
        >>"$log" 2>&1 || { echo "  $package could not be installed: $(grep -i error "$log" | tail -1)" >&2; complete=no; }
done
[ $complete = yes ] || give_up "no network, or no such package; see $log"
echo "$list" >"$folder/installed"
