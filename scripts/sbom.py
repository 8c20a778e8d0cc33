#!/usr/bin/env python3
"""The bill of materials of a wheel, as CycloneDX has them: sbom.py BUILD WHEEL puts it into the wheel, where PEP 770 wants it

What the wheel carries besides Tamis's own files is linked into its libraries: what CMake found for them in the folder BUILD, in the versions that the headers
there say. What it does not carry but needs is in its metadata."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
# name: CMake's variable for the include folder, the header with the version, the macros of its numbers, the licence
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
    if re.search(r"decimal +ON", (build / "src/base/build_information.c").read_text(encoding="utf-8")):  # header-only, without version macros
        found += [(name, run("dpkg-query", "-W", "-f", "${source:Upstream-Version}", f"lib{package}-dev"), licence)
                  for name, package, licence in (("fast_float", "fast-float", "MIT"), ("Dragonbox", "dragonbox", "BSL-1.0"))]
    compiler, = build.glob("CMakeFiles/*/CMakeCCompiler.cmake")  # CMake's cache lacks variables that a toolchain file sets
    found.append(("libgcc", re.search(r'CMAKE_C_COMPILER_VERSION "([^"]+)"', compiler.read_text(encoding="utf-8"))[1],
                  "GPL-3.0-or-later WITH GCC-exception-3.1"))
    if python := cache.get("TAMIS_ZIG_PYTHON"):
        found.append(("compiler-rt of Zig", run(python, "-I", "-m", "ziglang", "version"), "MIT"))
    return found


def licence_of(text):
    return [{"expression": text}] if " WITH " in text else [{"license": {"name": "public domain"} if text.startswith("LicenseRef") else {"id": text}}]


def add_file(wheel, name, text):
    """Add a file to a wheel's dist-info folder and to its RECORD; the other members do not change."""
    made = wheel.with_name(wheel.name + ".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        record, = (member for member in old.infolist() if member.filename.endswith(".dist-info/RECORD"))
        added = zipfile.ZipInfo(record.filename.replace("RECORD", name), record.date_time)
        added.compress_type, added.external_attr = record.compress_type, record.external_attr
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        for member in old.infolist():
            if member is not record:
                new.writestr(member, old.read(member))
        new.writestr(added, text)
        new.writestr(record, f"{added.filename},sha256={digest},{len(text.encode())}\n" + old.read(record).decode())
    made.replace(wheel)


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
             "properties": [{"name": "file", "value": wheel.name}, {"name": "commit", "value": run(str(SOURCE / "scripts/commit.sh"))}]}
    text = json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": about}, "components": components}, indent=1)
    add_file(wheel, "sboms/tamis.cdx.json", text + "\n")
    print(f"{os.path.relpath(wheel)}: " + ", ".join(f"{one['name']} {one['version']}" for one in components if one["type"] == "library"))


if __name__ == "__main__":
    main()
