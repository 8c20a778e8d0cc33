"""Helpers around Tamis: `python -m tamis.report` makes a page of what was measured."""
