#!/bin/sh
# Prints the SHA-256 of the names and contents of all sources that run on a GPU or decide what runs there: kernels and the GPU's host
# code, the core that plans and executes, the layers below both, the public headers. It identifies the sources of evidence.
set -eu
cd "$(dirname "$0")/.."
find include/tamis src/base src/backend src/core src/gpu src/select lab/gpu -type f \( -name '*.c' -o -name '*.h' -o -name '*.simt' -o -name '*.cu' \) |
    LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1
