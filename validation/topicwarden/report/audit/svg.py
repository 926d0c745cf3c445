"""Builds SVG elements with escaped texts and short numbers."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from markupsafe import Markup


def element(tag: str, *children: Markup | str, **attributes: float | str | None) -> Markup:
    """Return an element with escaped attributes and children.

    ``font_size`` is written as ``font-size``, and ``class_`` as ``class``. Attributes that are None are left out.
    Numbers have one decimal.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    content = "".join(child if isinstance(child, Markup) else escape(child, quote=False) for child in children)
    return Markup(f"<{tag}{written}>{content}</{tag}>")


def drawing(width: float, height: float, elements: Iterable[Markup]) -> Markup:
    """Return an ``svg`` element of a size in pixels, which scales with its place on the page."""
    size = f"0 0 {_text(float(width))} {_text(float(height))}"
    return element("svg", *elements, xmlns="http://www.w3.org/2000/svg", viewBox=size, width=width, height=height)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
