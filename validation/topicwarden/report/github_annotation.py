"""GitHub's workflow commands, which Actions shows at the lines of the pull request."""

from __future__ import annotations


def annotation(command: str, message: str, properties: dict[str, str | int]) -> str:
    """The line ``::error file=…,line=…,title=…::message``, escaped as by @actions/core (escapeData, escapeProperty)."""
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{command} {shown}::{_data(message)}\n"


def _data(text: str) -> str:
    # The per cent sign first, or the others' would be escaped again.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
