"""The environment of the templates of HTML pages: autoescaping, printable texts, and the filters that pages share."""

from __future__ import annotations

from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from topicwarden.report import display


def page_environment(*packages: str) -> Environment:
    """Return an environment with the templates of ``packages``. Each text is escaped, and its control characters."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "") for package in (*packages, "topicwarden.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": display.count,
        "size": display.size,
        "duration": display.duration,
        "timestamp": display.timestamp,
        "multiple": display.multiple,
        "ranges": display.ranges,
        "prose": prose,
    }
    return environment


def prose(sentence: str) -> Markup:
    """Return a sentence as one line of HTML, in which code is monospaced, without its backticks."""
    parts = ((escape(display.printable(part)), is_code) for part, is_code in display.code_spans(sentence))
    return Markup().join(Markup("<code>{}</code>").format(part) if is_code else part for part, is_code in parts)


def _printable(value: Any) -> Any:
    return display.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
