"""Mends what has one right answer in a topic's YAML, and leaves every other byte as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from topicwarden.specs.fix.keys import misspelt_keys
from topicwarden.specs.fix.order import key_order
from topicwarden.specs.fix.parts import Part, parts
from topicwarden.specs.fix.units import unit_spelling
from topicwarden.specs.fix.written import said_values
from topicwarden.specs.model import Defaults, Settings, Spec
from topicwarden.specs.nodes import Document, read_documents

Step: TypeAlias = Callable[[str, list[Part]], str]

_BOM: Final = b"\xef\xbb\xbf"
_STEPS: Final[tuple[Step, ...]] = (misspelt_keys, unit_spelling, said_values, key_order)


def fixed(data: bytes, defaults: bool) -> bytes:
    """The file as it should be written; ``defaults`` for a ``_defaults.yaml``.

    Misspelt keys with one near name, units, numbers and flags written as text, and the order of a document's own keys.
    A file that is not YAML, or that names a key twice, is given back as it is; so is what has more than one answer.
    """
    documents = _read(data)
    if documents is None:
        return data
    mark = _BOM if data.startswith(_BOM) else b""
    text = data.decode("utf-8-sig")
    before = None
    # A key that is mended gives its own keys a meaning, so that they can be mended next.
    while text != before:
        before = text
        for step in _STEPS:
            text, documents = _stepped(step, text, documents, Defaults if defaults else Spec)
    return mark + text.encode("utf-8")


def _stepped(step: Step, text: str, documents: list[Document], shape: type[Settings]) -> tuple[str, list[Document]]:
    changed = step(text, parts(text, documents, shape))
    after = None if changed == text else _read(changed.encode("utf-8"))
    # The edits are of text; whatever they should make of it, it must stay YAML of as many documents.
    if after is None or len(after) != len(documents) or (step is key_order and not _same(after, documents)):
        return text, documents
    return changed, after


def _read(data: bytes) -> list[Document] | None:
    documents, problems = read_documents(data, "")
    return None if problems or any(document.problems for document in documents) else documents


def _same(after: list[Document], before: list[Document]) -> bool:
    return [document.value for document in after] == [document.value for document in before]
