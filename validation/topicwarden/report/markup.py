"""Elements of HTML, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from topicwarden.report.display import printable


class Markup(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


Attribute: TypeAlias = "str | bool"


def shown(text: str) -> Markup:
    """Return a text with its control characters visible, as markup; markup itself unchanged."""
    if isinstance(text, Markup):
        return text
    return Markup(text if text.isalnum() else escape(printable(text)))


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """Return an element with escaped attributes and children; ``class_`` is ``class``, ``aria_label`` ``aria-label``.

    Attributes that are False or empty are left out.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{shown(value)}"')
        for key, value in attributes.items()
        if value
    )
    return Markup(f"<{name}{written}>{''.join(map(shown, children))}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Return markup that follows each other."""
    return Markup("".join(map(shown, parts)))
