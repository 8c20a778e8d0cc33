"""A page of what was measured: python -m tamis_lab.report RESULTS.jsonl ... -o report.html, which the program runs as `tamis report`.

`render` makes the page from results; it needs matplotlib and jinja2 (pip install ./lab/python).
"""
from __future__ import annotations

from typing import Any

__all__ = ["render"]


def __getattr__(name: str) -> Any:
    if name == "render":
        from .page import render
        return render
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
