"""Convert a JUnit XML tree to text."""

from __future__ import annotations

from io import BytesIO

from junitparser import JUnitXml


def xml_text(tree: JUnitXml) -> str:
    """Return the whole file, with its XML declaration."""
    file = BytesIO()
    tree.write(file)
    return file.getvalue().decode("utf-8") + "\n"
