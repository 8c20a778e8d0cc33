"""Drawings of matplotlib as markup: SVG that follows the page's colours, in light and dark, with a title and a description."""
from __future__ import annotations

import html
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, Callable, Optional

from ..plot import COLOURS, Style

_LOOK = {"svg.fonttype": "none", "svg.hashsalt": "tamis", "font.size": 12, "text.color": COLOURS["ink"], "xtick.color": COLOURS["ink"],
         "ytick.color": COLOURS["ink"], "axes.labelcolor": COLOURS["ink"], "figure.facecolor": "none", "axes.facecolor": "none",
         "savefig.facecolor": "none", "path.simplify": False}
_SVG = "http://www.w3.org/2000/svg"
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_numbers = itertools.count()
ElementTree.register_namespace("svg", _SVG)


def svg(width: float, height: float, title: str, description: str, draw: Callable[[Any], Any], style: Optional[str] = None) -> str:
    """Return as SVG what `draw` draws on its axes; width and height are in points. `style`: the style rules of a separate file; without
    them the drawing is a part of the page and has the page's rules.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    with matplotlib.rc_context(_LOOK):
        figure = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata=_METADATA)
    return _slim(buffer.getvalue(), width, height, title, description, style)


def _slim(text: str, width: float, height: float, title: str, description: str, style: Optional[str]) -> str:
    """The drawing without what a page does not need: fonts, groups of nothing, names that nothing refers to."""
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE.*?>", "", text, flags=re.S))
    kept = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    _tidy(root, f"d{next(_numbers)}-", kept)
    body = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    body = body.replace(f' xmlns:svg="{_SVG}"', "").replace("svg:", "")
    for name, colour in COLOURS.items():
        body = body.replace(colour, f"var(--{name})")
    given = f' xmlns="{_SVG}" width="{width:g}" height="{height:g}"' if style else ""
    rules = f"<style>{style}</style>" if style else ""
    return (f'<svg{given} viewBox="0 0 {width:g} {height:g}" role="img"><title>{html.escape(title)}</title>'
            f"<desc>{html.escape(description)}</desc>{rules}{body}</svg>")


def _tidy(element: ElementTree.Element, prefix: str, kept: set[str]) -> None:
    children = []
    for child in list(element):
        element.remove(child)
        _tidy(child, prefix, kept)
        name = child.tag.rpartition("}")[2]
        if name in ("metadata", "style") or (name in ("defs", "g") and len(child) == 0) or child.get("style") == "fill:none":
            continue
        children += list(child) if name == "g" and not child.attrib else [child]
    uses = [child.get("style") for child in children if child.tag.endswith("}use")]
    if uses and len(uses) == len(children) and len(set(uses)) == 1:  # marks that look alike: their group says how
        element.set("style", uses[0] or "")
        for child in children:
            child.attrib.pop("style", None)
    element.extend(children)
    element.tail = None
    if not (element.text or "").strip():
        element.text = None
    _tidy_attributes(element, prefix, kept)


def _tidy_attributes(element: ElementTree.Element, prefix: str, kept: set[str]) -> None:
    given = dict(element.attrib)
    element.attrib.clear()
    for name, value in given.items():
        name = name.rpartition("}")[2]
        if name == "style":
            rules = [rule.strip() for rule in value.split(";")]
            value = ";".join(rule.replace(": ", ":") for rule in rules if rule and not re.match("font|stroke-linecap|stroke-dashoffset", rule))
        elif name == "id":
            value = prefix + value if value in kept else ""
        elif name == "href":
            value = f"#{prefix}{value[1:]}"
        elif name == "clip-path":
            value = value.replace("url(#", f"url(#{prefix}")
        elif name == "transform" and value.startswith("rotate(-0 "):
            value = ""
        elif name == "d":
            value = re.sub(r"\s*([A-Za-z])\s*", r"\1", value).strip()
        if name in ("d", "x", "y", "width", "height", "transform"):
            value = re.sub(r"\.0+\b|(\.\d)\d+", r"\1", value)
        if value:
            element.set(name, value)


def mark(style: Style) -> str:
    """The mark of a method, for a legend; readers of the screen have its name."""
    def draw(ax: Any) -> None:
        ax.set_axis_off()
        ax.plot([0], [0], **style.marks(9))
    found = svg(14, 14, "", "", draw)
    return re.sub(r'role="img"><title></title><desc></desc>', 'width="14" height="14" aria-hidden="true">', found)
