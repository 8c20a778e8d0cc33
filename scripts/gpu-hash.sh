#!/bin/sh
# The sha256 over the kernels and the GPU's host sources, by name and content: what a piece of evidence was made with.
set -eu
cd "$(dirname "$0")/../src/gpu"
find . -type f \( -name '*.c' -o -name '*.h' -o -name '*.simt' -o -name '*.cu' \) | LC_ALL=C sort | xargs sha256sum |
    sha256sum | cut -d ' ' -f 1
