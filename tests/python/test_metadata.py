"""What the wheel says of itself: its version, description, files and processor."""
from __future__ import annotations

import base64
import email.parser
import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import platform
import re
import zipfile

import pytest

import tamis


@pytest.fixture
def wheel() -> importlib.metadata.Distribution:
    """The installed package, if that is what is imported."""
    inside = pathlib.Path(tamis.__file__).resolve().parent
    try:
        found = importlib.metadata.distribution("tamis")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("this is not an installed package")
    if pathlib.Path(str(found.locate_file("tamis"))).resolve() != inside:
        pytest.skip(f"another package is installed than {inside}")
    return found


def test_metadata(wheel, source):
    said = wheel.metadata
    assert said["Name"] == "tamis" and said["License-Expression"] == "Apache-2.0" and said["Author"] == "the authors of Tamis"
    assert said["Description-Content-Type"] == "text/markdown"
    description = said.get_payload() or said["Description"]
    assert description.strip() == (source / "python" / "README.md").read_text("utf-8").strip()
    assert set(said.get_all("Provides-Extra")) == {"scipy", "torch", "jax", "cuda"}
    assert [line for line in wheel.requires if "extra" not in line] == ["numpy>=1.22"]


def test_one_version(wheel, source):
    version = re.search(r"^project\(tamis VERSION ([0-9.]+)", (source / "CMakeLists.txt").read_text("utf-8"), re.M)[1]
    assert wheel.version == tamis.__version__ == version
    lab = (source / "lab" / "python" / "pyproject.toml").read_text("utf-8")
    assert f'version = "{version}"' in lab
    assert f"\nversion: {version}\n" in (source / "CITATION.cff").read_text("utf-8")


def test_what_is_in_it(wheel):
    """Every file is the one that was recorded, of this processor, and for every Python."""
    files = {str(path): path for path in wheel.files}
    for name in ("tamis/py.typed", "tamis/_operations.pyi", "tamis/lib/libtamis.so.1", "tamis/lib/libtamis_ml.so.1", "tamis/lib/libtamis_xla.so.1"):
        assert name in files
    if "manylinux" in wheel.read_text("WHEEL"):  # `pip install .` leaves it out without Python's headers
        assert "tamis/lib/_calls.abi3.so" in files
    assert any(name.endswith("/LICENSE") for name in files)
    for name, path in files.items():
        if path.hash is not None:
            digest = base64.urlsafe_b64encode(hashlib.new(path.hash.mode, path.read_binary()).digest()).decode().rstrip("=")
            assert digest == path.hash.value, name
    said = email.parser.Parser().parsestr(wheel.read_text("WHEEL"))
    assert said["Root-Is-Purelib"] == "false"
    for tag in said.get_all("Tag"):
        assert re.fullmatch(r"py3-none-(manylinux_2_17|manylinux2014|linux)_" + platform.machine(), tag)  # linux: of `pip install .`


def test_bill_of_materials(wheel):
    """A wheel for other machines has a bill of materials (PEP 770), with what is linked into it and a digest of each library."""
    if "manylinux" not in (wheel.read_text("WHEEL") or ""):
        pytest.skip("this is not a wheel for other machines")
    said = json.loads(wheel.read_text("sboms/tamis.cdx.json"))
    assert said["bomFormat"] == "CycloneDX" and said["metadata"]["component"]["version"] == wheel.version
    files = {one["name"]: one["hashes"][0]["content"] for one in said["components"] if one["type"] == "file"}
    libraries = {str(path): path for path in wheel.files if ".so" in str(path)}
    assert files == {name: hashlib.sha256(path.read_binary()).hexdigest() for name, path in libraries.items()}
    assert "libgcc" in [one["name"] for one in said["components"]]


def test_files_are_added_to_wheels(source, tmp_path):
    spec = importlib.util.spec_from_file_location("sbom", source / "scripts" / "sbom.py")
    sbom = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sbom)
    made, record = tmp_path / "tamis-1-py3-none-any.whl", "tamis-1.dist-info/RECORD"
    with zipfile.ZipFile(made, "w") as files:
        files.writestr("tamis/lib/libtamis.so.1", b"code")
        files.writestr(record, f"tamis/lib/libtamis.so.1,,\n{record},,\n")
    sbom.add_file(made, "sboms/tamis.cdx.json", "{}\n")
    assert list(tmp_path.iterdir()) == [made]
    with zipfile.ZipFile(made) as files:
        assert files.namelist() == ["tamis/lib/libtamis.so.1", "tamis-1.dist-info/sboms/tamis.cdx.json", record]
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"{}\n").digest()).decode().rstrip("=")
        assert files.read(record).decode() == f"tamis-1.dist-info/sboms/tamis.cdx.json,sha256={digest},3\ntamis/lib/libtamis.so.1,,\n{record},,\n"
        assert files.read("tamis/lib/libtamis.so.1") == b"code" and files.read("tamis-1.dist-info/sboms/tamis.cdx.json") == b"{}\n"


def test_the_description_stands_alone(source):
    """A package index has no files beside the description: it may link only to addresses."""
    links = re.findall(r"\]\(([^)]*)\)", (source / "python" / "README.md").read_text("utf-8"))
    assert [link for link in links if not link.startswith("https://")] == []


def test_classifiers(source):
    known = pytest.importorskip("trove_classifiers").classifiers
    text = (source / "pyproject.toml").read_text("utf-8")
    named = re.findall(r'"([^"]*)"', re.search(r"^classifiers = \[(.*?)\]", text, re.M | re.S)[1])
    assert named and [name for name in named if name not in known] == []
