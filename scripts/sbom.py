#!/usr/bin/env python3
"""The bill of materials of a wheel, as CycloneDX has them: sbom.py BUILD WHEEL writes WHEEL.cdx.json

What the wheel carries besides Tamis's own files is linked into its libraries: what CMake found for them in the folder BUILD, in the versions that the headers
there say. What it does not carry but needs is in its metadata."""
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
# name: CMake's variable of its headers, the header with the version, the names of its numbers there, its licence
LINKED = {
    "zlib": ("TAMIS_ZLIB_INCLUDE", "zlib.h", ("ZLIB_VERSION",), "Zlib"),
    "liblzma": ("TAMIS_LZMA_INCLUDE", "lzma/version.h", ("LZMA_VERSION_MAJOR", "LZMA_VERSION_MINOR", "LZMA_VERSION_PATCH"), "LicenseRef-public-domain"),
    "zstd": ("TAMIS_ZSTD_INCLUDE", "zstd.h", ("ZSTD_VERSION_MAJOR", "ZSTD_VERSION_MINOR", "ZSTD_VERSION_RELEASE"), "BSD-3-Clause"),
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def cache_of(build):
    lines = (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    return dict(match.groups() for line in lines if (match := re.match(r"([\w-]+):\w+=(.*)$", line)))


def version_in(header, names):
    text = header.read_text(encoding="utf-8")
    return ".".join(re.search(rf'^#\s*define\s+{name}\s+"?([\w.]+)', text, re.M)[1] for name in names)


def linked(build):
    cache = cache_of(build)
    found = [(name, version_in(Path(cache[variable]) / header, names), licence)
             for name, (variable, header, names, licence) in LINKED.items() if not cache.get(variable, "NOTFOUND").endswith("NOTFOUND")]
    compiler, = build.glob("CMakeFiles/*/CMakeCCompiler.cmake")  # the cache has none that a file of a toolchain names
    found.append(("libgcc", re.search(r'CMAKE_C_COMPILER_VERSION "([^"]+)"', compiler.read_text(encoding="utf-8"))[1],
                  "GPL-3.0-or-later WITH GCC-exception-3.1"))
    if python := cache.get("TAMIS_ZIG_PYTHON"):
        found.append(("compiler-rt of Zig", run(python, "-I", "-m", "ziglang", "version"), "MIT"))
    return found


def licence_of(text):
    return [{"expression": text}] if " WITH " in text else [{"license": {"name": "public domain"} if text.startswith("LicenseRef") else {"id": text}}]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, wheel = Path(sys.argv[1]), Path(sys.argv[2])
    version = wheel.name.split("-")[1]
    components = [{"type": "library", "name": name, "version": of, "licenses": licence_of(licence)} for name, of, licence in linked(build)]
    with zipfile.ZipFile(wheel) as files:
        for name in sorted(files.namelist()):
            if name.startswith("tamis.libs/"):
                sys.exit(f"sbom.py: {wheel} carries {name}, of which nothing is known here")
            if ".so" in name:
                components.append({"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(files.read(name)).hexdigest()}]})
    about = {"type": "library", "name": "tamis", "version": version, "purl": f"pkg:pypi/tamis@{version}", "licenses": licence_of("Apache-2.0"),
             "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
             "properties": [{"name": "file", "value": wheel.name}, {"name": "commit", "value": run(str(SOURCE / "scripts/commit.sh"))}]}
    text = json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": about}, "components": components}, indent=1)
    out = wheel.with_name(wheel.name + ".cdx.json")
    out.write_text(text + "\n", encoding="utf-8")
    print(f"{os.path.relpath(out)}: " + ", ".join(f"{one['name']} {one['version']}" for one in components if one["type"] == "library"))


if __name__ == "__main__":
    main()
