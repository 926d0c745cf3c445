"""JUnit XML as text."""

from __future__ import annotations

from io import BytesIO

from junitparser import JUnitXml


def text_of(tree: JUnitXml) -> str:
    """The whole file, with its XML declaration."""
    written = BytesIO()
    tree.write(written)
    return written.getvalue().decode("utf-8") + "\n"
