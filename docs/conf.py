"""Sphinx's settings for the manual, which scripts/docs.sh builds."""
import os
import re

from docutils import nodes
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

project = "Tamis"
author = "the authors of Tamis"
version = release = os.environ.get("TAMIS_VERSION", "")
extensions = ["myst_parser", "breathe", "sphinx_copybutton"]
root_doc = "docs/manual/index"
exclude_patterns = ["docs/evidence/*", "docs/faults.md", "docs/examples/*"]
myst_heading_anchors = 4
highlight_language = "none"
primary_domain = "c"

breathe_projects = {"tamis": os.path.join(TOP, "build/docs/xml")}
breathe_default_project = "tamis"
breathe_domain_by_extension = {"h": "c"}

nitpicky = True
nitpick_ignore = [("c:identifier", name) for name in ("int64_t", "uint64_t", "int32_t", "uint16_t", "size_t", "MPI_Comm")]

html_theme = "furo"
html_title = f"Tamis {version}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
copybutton_prompt_text = "$ "
html_static_path = ["manual.css"]
html_css_files = ["manual.css"]

NAVIGATION = {
    "Begin": ["quick-start", "tasks", "asked-for", "edges", "numerics", "plans"],
    "C": ["gradients", "attention", "gpu", "out-of-core", "several-devices", "threads", "../../reference/index"],
    "Python": ["python", "python-transforms", "python-attention", "python-graphs", "python-distributed", "python-pyg", "python-dgl", "python-recommender", "python-topics"],
    "The program": ["command-line", "files", "json", "exit-codes"],
    "Models": ["models", "recommenders", "topics", "../../lab/results/quality"],
    "Speed": ["../performance", "../algorithms", "scaling"],
    "The laboratory": ["laboratory", "../../lab/results/README", "../../lab/results/methods"] + [
        f"../../lab/notes/{name[:-3]}" for name in sorted(os.listdir(os.path.join(TOP, "lab/notes")))],
    "Tamis itself": ["architecture", "new-method", "new-chip", "new-edge", "new-model", "new-format", "api-design", "testing", "security", "../dependencies", "../../CONTRIBUTING", "../../CHANGELOG"],
}
NAME = re.compile(r"\b((?:tamis_|TAMIS_)\w+(?:\(\))?|tamis/\w+\.h)")


def add_navigation(app, docname, source):
    """The front page's hidden list of all pages: a forge that shows the page has no use for it."""
    if docname == root_doc and os.path.exists(os.path.join(app.srcdir, "CHANGELOG.md")):
        for caption, pages in NAVIGATION.items():
            source[0] += "\n```{{toctree}}\n:hidden:\n:caption: {}\n{}\n```\n".format(caption, "\n".join(pages))


def words_of_sources():
    """Every tamis_ name in the sources."""
    words = set()
    for folder in ("include", "src", "tools", "lab", "python", "tests", "cmake"):
        for path, _, files in os.walk(os.path.join(TOP, folder)):
            for name in files:
                with open(os.path.join(path, name), encoding="utf-8", errors="replace") as text:
                    words.update(name.replace("()", "") for name in NAME.findall(text.read()))
    return words


def link_names(app, doctree, docname):
    """Names of the C interface become links in every page; a name that neither it nor the sources have is a fault."""
    env = app.env
    if not hasattr(env, "tamis_names"):
        env.tamis_names = {name: (page, anchor) for name, _, _, page, anchor, _ in env.get_domain("c").get_objects()}
        env.tamis_names.update({page.replace("reference", "tamis") + ".h": (page, "") for page in env.found_docs if "reference/" in page})
        env.tamis_words = words_of_sources()
    for text in list(doctree.findall(nodes.Text)):
        parents = []
        parent = text.parent
        while parent is not None:
            parents.append(parent)
            parent = parent.parent
        if any(isinstance(one, (nodes.reference, nodes.literal_block, nodes.title, nodes.comment)) for one in parents):
            continue
        pieces = NAME.split(str(text))
        if len(pieces) == 1 or docname.startswith("reference/"):
            continue
        for number in range(1, len(pieces), 2):
            name = pieces[number].replace("()", "")
            if name in env.tamis_names:
                page, anchor = env.tamis_names[name]
                pieces[number] = make_refnode(app.builder, docname, page, anchor, nodes.Text(pieces[number]))
            elif name not in env.tamis_words and not name.endswith("_") and docname != "CHANGELOG":
                logging.getLogger(__name__).warning("%s is in no header and no source", name, location=text.parent)
        text.parent.replace(text, [nodes.Text(one) if isinstance(one, str) else one for one in pieces if one != ""])


def setup(app):
    app.connect("source-read", add_navigation)
    app.connect("doctree-resolved", link_names)
