#!/bin/sh
# Follows docs/manual/new-edge.md in a copy of the tree, and checks the new edge on the CPU, on PoCL and from Python.
set -eu
cd "$(dirname "$0")/.."
copy=build/new-edge
rm -rf "$copy/tree"
mkdir -p "$copy/tree"
git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$copy/tree"
scripts/new-method-files.py docs/manual/new-edge.md "$copy/tree" "$copy/tree"
cmake -S "$copy/tree" --preset check -B "$copy/build" -DBUILD_TESTING=ON >"$copy/configure.log"
cmake --build "$copy/build" --target tamis_program tamis_shared tamis_test_core tamis_test_operations >"$copy/build.log" ||
    { cat "$copy/build.log" >&2; exit 1; }
"$copy/build/tests/tamis_test_core" test_edge_rows
"$copy/build/tests/tamis_test_operations" gradients
check() {
    tests/gpu/with.sh pocl "$copy" "$copy/build/tools/tamis/tamis" check tests/gpu/check.mtx --edge square "$@" >"$copy/check.log" ||
        { cat "$copy/check.log"; exit 1; }
    echo "$*: $(tail -1 "$copy/check.log")"
}
check --device cpu
check --device opencl:0 --quick --inner 37 --op sddmm --algorithm gpu-nonzeros
python=build/python/bin/python
[ ! -x "$python" ] || PYTHONPATH="$copy/tree/python" TAMIS_LIBRARY="$copy/build/src/libtamis.so" "$python" -c '
import numpy, scipy.sparse, tamis
S = scipy.sparse.csr_matrix(numpy.array([[2., 0.], [1., 3.]]))
A, B = numpy.array([[1., 2.], [3., 4.]]), numpy.array([[5., 6.], [7., 8.]])
found = tamis.sddmm(S, A, B, edge="square", scale=0.5).toarray()
assert numpy.allclose(found, S.multiply((0.5 * A @ B.T) ** 2).toarray()), found
print("python: correct")'
