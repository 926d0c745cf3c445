"""GitHub workflow commands, which GitHub Actions shows as annotations at the lines of a pull request."""

from __future__ import annotations

from topicwarden.report.display import printable


def annotation(command: str, message: str, properties: dict[str, str | int]) -> str:
    """Return the line ``::error file=…,line=…,title=…::message``.

    ``command`` is ``error``, ``warning`` or ``notice``. Escaping as in @actions/core (escapeData, escapeProperty),
    and of characters that control a terminal, because people read the log in terminals, too.
    """
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(message)}\n"


def _data(text: str) -> str:
    # The percent sign comes first; otherwise the percent signs of the other escapes would be escaped again.
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
