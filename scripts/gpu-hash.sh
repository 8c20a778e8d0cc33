#!/bin/sh
# The sha256 over what runs on a GPU or decides what runs there, by name and content: kernels and the GPU's host sources, the
# core that plans and executes, what both stand on, the public headers. What a piece of evidence was made with.
set -eu
cd "$(dirname "$0")/.."
find include/tamis src/base src/backend src/core src/gpu src/select lab/gpu -type f \( -name '*.c' -o -name '*.h' -o -name '*.simt' -o -name '*.cu' \) |
    LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1
