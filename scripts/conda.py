#!/usr/bin/env python3
"""Builds packages of conda into build/conda from the wheels in build/wheels (python/conda/recipe.yaml), and compares their content.

The builder, rattler-build, is PyPI's package py-rattler-build. No channel is needed: dependencies are named, not installed. So the recipe's
own tests, which need an environment of conda, do not run here; the wheels have been tested.
"""
import json
import os
import pathlib
import shutil
import sys
import tarfile
import zipfile

import rattler_build

TOP = pathlib.Path(__file__).resolve().parents[1]
PLATFORMS = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}


def build(version: str, platform: str) -> pathlib.Path:
    """Build the recipe's package for a platform and return its path."""
    os.environ["TAMIS_VERSION"] = version
    recipe = rattler_build.Stage0Recipe.from_file(TOP / "python" / "conda" / "recipe.yaml")
    config = rattler_build.RenderConfig(rattler_build.PlatformConfig(target_platform=platform, build_platform="linux-64"))
    built, = recipe.run_build(output_dir=TOP / "build" / "conda", channels=[], package_format="tar.bz2", render_config=config)
    package, = built.packages
    return pathlib.Path(package)


def compare(package: pathlib.Path, wheel: pathlib.Path, platform: str) -> None:
    """Check that the package has the wheel's files, byte for byte, and the wheel's dependencies."""
    with zipfile.ZipFile(wheel) as files:
        want = {f"site-packages/{name}": files.read(name) for name in files.namelist() if not name.endswith("/")}
    with tarfile.open(package) as files:
        have = {member.name: files.extractfile(member).read() for member in files if member.isfile()}
    index = json.loads(have["info/index.json"])
    assert {name: data for name, data in have.items() if not name.startswith("info/")} == want, f"{package} and {wheel} differ"
    assert index["subdir"] == platform and index["noarch"] == "python", index
    assert index["depends"] == ["python >=3.9", "numpy >=1.22", "__glibc >=2.17"], index
    metadata = next(data for name, data in want.items() if name.endswith(".dist-info/METADATA")).decode()
    assert "\nRequires-Python: >=3.9\n" in metadata and "\nRequires-Dist: numpy>=1.22\n" in metadata, "the recipe's dependencies are not the wheel's"


def main() -> int:
    shutil.rmtree(TOP / "build" / "conda", ignore_errors=True)
    wheels = sorted((TOP / "build" / "wheels").glob("tamis-*manylinux*.whl"))
    for wheel in wheels:
        platform = next(platform for processor, platform in PLATFORMS.items() if wheel.stem.endswith(f"_{processor}"))
        package = build(wheel.name.split("-")[1], platform)
        compare(package, wheel, platform)
        print(f"  {package.relative_to(TOP)}, {package.stat().st_size // 1024} KiB")
    return not wheels


if __name__ == "__main__":
    sys.exit(main())
