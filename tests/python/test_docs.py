"""The examples in docstrings and in the manual run, and print what they say."""
from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import json
import pathlib
import pkgutil
import re
import xml.etree.ElementTree as ElementTree

import numpy
import pytest

import tamis

pytest.importorskip("scipy.sparse")
scipy = importlib.import_module("scipy")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(pathlib.Path(tamis.__file__).parent)], "tamis.", onerror=lambda name: None)
                 if not module.name.startswith("tamis.lib"))


@pytest.mark.parametrize("page", ["docs/manual/python.md", "docs/manual/python-attention.md", "docs/manual/python-dgl.md",
                                  "docs/manual/python-distributed.md", "docs/manual/python-graphs.md", "docs/manual/python-pyg.md", "docs/manual/python-recommender.md",
                                  "docs/manual/python-topics.md", "docs/manual/python-transforms.md", "README.md", "python/README.md"])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_manual(source, page):
    """Blocks of pycon are sessions, one after another in one namespace; blocks of python run. Those of PyTorch, PyTorch Geometric and JAX need them."""
    names: dict = {}
    blocks = re.findall(r"^```(pycon|python)\n(.*?)^```", (source / page).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    if "import torch" in blocks[0][1] and not page.endswith("README.md"):  # what follows is on tensors too
        torch = pytest.importorskip("torch")
        if page.endswith("distributed.md") and not torch.distributed.is_available():
            pytest.skip("this PyTorch has no torch.distributed")
        if page.endswith("attention.md") and not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            pytest.skip("PyTorch has attention with masks from 2.0")
    for kind, block in blocks:
        code = re.sub("#.*", "", block)
        if any(other in code and importlib.util.find_spec(other) is None for other in ("torch", "torch_geometric", "jax", "lightning")):
            continue
        if kind == "python":
            exec(compile(block, page, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False)
        names = test.globs
        assert result.failed == 0
    gallery, name = program(source), page.rpartition("python-")[2].removesuffix(".md")
    if name in gallery.PICTURES and importlib.util.find_spec("matplotlib") is not None:
        drawn = gallery.PICTURES[name](names)
        fresh, kept = (ElementTree.fromstring(text) for text in (drawn.svg(), (source / f"docs/manual/pictures/python-{name}.svg").read_text("utf-8")))
        for part in ("title", "desc"):  # what the picture says is what it shows; its numbers may round otherwise elsewhere
            words = [re.sub(r"\d", "0", tree.findtext(f"{SVG}{part}") or "") for tree in (fresh, kept)]
            assert words[0] == words[1], "run docs/examples/python/gallery.py"
        assert [len(list(tree.iter())) for tree in (fresh, kept)] == [pytest.approx(len(list(kept.iter())), rel=0.05)] * 2


SVG = "{http://www.w3.org/2000/svg}"


def program(source):
    """docs/examples/python/gallery.py"""
    spec = importlib.util.spec_from_file_location("gallery", source / "docs" / "examples" / "python" / "gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name, words", [("language-model", "Tamis 263 ms at 1 %"), ("language-model-h200", "flex_attention 5.7 ms at 1 %"),
                                         ("language-model-h200-fp32", "flex_attention 36 ms at 1 %")])
def test_the_training_step_is_drawn_from_what_was_recorded(source, name, words):
    pytest.importorskip("matplotlib")
    gallery = program(source)
    records = (source / f"lab/results/language-model/{gallery.TRAINING_STEPS[name]}.jsonl").read_text("utf-8").splitlines()
    drawn = gallery.training_step([json.loads(line) for line in records])
    kept = ElementTree.fromstring((source / f"docs/manual/pictures/{name}.svg").read_text("utf-8"))
    assert kept.findtext(f"{SVG}desc") == drawn.words and words in drawn.words
    assert len(list(ElementTree.fromstring(drawn.svg()).iter())) == len(list(kept.iter()))


@pytest.mark.parametrize("page, name", [("attention", "python-attention"), ("attention", "language-model"),
                                        ("attention", "language-model-h200"), ("attention", "language-model-h200-fp32"), ("graphs", "python-graphs"),
                                        ("recommender", "python-recommender"), ("topics", "python-topics")])
def test_pictures_of_the_manual(source, page, name):
    """Each example has its picture: small, with words for who does not see it, and in the reader's colours."""
    page_text = (source / f"docs/manual/python-{page}.md").read_text("utf-8")
    (alternative,) = re.findall(rf"!\[([^]]*)\]\(pictures/{name}\.svg\)", page_text)
    text = (source / f"docs/manual/pictures/{name}.svg").read_text("utf-8")
    tree = ElementTree.fromstring(text)
    assert len(alternative) > 40 and len(text) < 48 << 10
    assert tree.get("role") == "img" and len(tree.findtext(f"{SVG}title")) > 20 and len(tree.findtext(f"{SVG}desc")) > 60
    style = tree.findtext(f"{SVG}style")
    assert "prefers-color-scheme:dark" in style and "svg{background:var(--paper)}" in style
    drawn = text.replace(style, "")
    assert re.findall(r"#[0-9a-fA-F]{6}\b|<image|<script|https?://(?!www\.w3\.org/)", drawn) == []  # no colour of its own, nothing from elsewhere
    used = set(re.findall(r"var\((--\w+)\)", drawn))
    assert used and all(style.count(f"{colour}:") == 2 for colour in used)  # light and dark


@pytest.fixture
def group():
    """A process group of one rank."""
    distributed = pytest.importorskip("torch").distributed
    if not distributed.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


OF_RANKS = ("tamis.torch.distributed", "tamis.torch._ghosts")


@pytest.mark.parametrize("name", OF_RANKS)
def test_docstrings_of_ranks(group, name):
    test_docstrings(name)


@pytest.mark.parametrize("name", [name for name in MODULES if name not in (*OF_RANKS, "tamis.torch._ranks")])
def test_docstrings(name):
    for other in ("torch", "jax"):
        if name.startswith((f"tamis.{other}", f"tamis._{other}")):
            pytest.importorskip(other)
    if name.endswith("._message_passing"):
        pytest.importorskip("torch_geometric")
    module = importlib.import_module(name)
    result = doctest.testmod(module, globs={**assumed(name), **vars(module)}, optionflags=FLAGS)
    assert result.failed == 0


def assumed(name):
    """What a package's docstring says that examples assume."""
    names = {"np": numpy, "scipy": scipy, "tamis": tamis}
    for package in ("tamis.torch", "tamis.ml"):
        if name.startswith(package):
            module = importlib.import_module(package)
            names.update((member, getattr(module, member)) for member in module.__all__)
    return names


def test_the_page_of_transforms_has_the_tables_that_are_tested(source):
    """`python tests/python/operators.py` prints them."""
    import operators as transforms
    page = (source / "docs/manual/python-transforms.md").read_text("utf-8")
    for tables in ((transforms.TORCH, transforms.TORCH_OPERATIONS, transforms.TORCH_TABLE), (transforms.JAX, transforms.JAX_OPERATIONS, transforms.JAX_TABLE)):
        assert transforms.rendered(*tables) in page


def public(name):
    """The functions and classes that a module offers, and the methods of these classes, by their names."""
    module = importlib.import_module(name)
    for member in module.__all__:
        thing = getattr(module, member)
        if not (inspect.isfunction(thing) or inspect.isclass(thing)) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        yield member, thing
        if inspect.isclass(thing):
            for method, what in [item for base in thing.__mro__ if base.__module__.startswith("tamis.") for item in vars(base).items()]:
                what = getattr(what, "__func__", what)
                if not method.startswith("_") and inspect.isfunction(what):
                    yield f"{member}.{method}", what


# for the package alone, or shown elsewhere: what a layer does by its class, what dgl.sparse's matrix does by its class and the functions, estimators
# by each of them
BY_PYTORCH = (".forward", ".reset_parameters", ".extra_repr", ".get_extra_state", ".set_extra_state")
INNER = {"Pattern.plan_of", "Estimator", "BatchEstimator"}


@pytest.mark.parametrize("name", ["tamis", "tamis.torch", "tamis.torch.nn", "tamis.torch.pyg", "tamis.torch.dglsp", "tamis.torch.distributed", "tamis.jax", "tamis.ml", "tamis.ml.metrics"])
def test_everything_public_has_an_example(name):
    for other in ("torch", "jax"):
        if name.startswith((f"tamis.{other}", f"tamis._{other}")):
            pytest.importorskip(other)
    without = [member for member, what in public(name)
               if ">>>" not in (what.__doc__ or "") and member not in INNER and not member.endswith(BY_PYTORCH)
               and not member.startswith("SparseMatrix.")]
    assert without == []
