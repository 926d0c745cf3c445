"""Mends what has one right answer in a topic's YAML, and leaves every other byte as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from topicwarden.specs.document_model import ConfigSpec, DefaultsSpec, TopicDocument
from topicwarden.specs.fix.key_order import key_order
from topicwarden.specs.fix.misspelled_keys import misspelt_keys
from topicwarden.specs.fix.suggested_values import said_values
from topicwarden.specs.fix.text_edits import YamlDocument, parts
from topicwarden.specs.fix.unit_spelling import unit_spelling
from topicwarden.specs.yaml_nodes import YamlFile, read_documents

Step: TypeAlias = Callable[[str, list[YamlDocument]], str]

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
            text, documents = _stepped(step, text, documents, DefaultsSpec if defaults else TopicDocument)
    return mark + text.encode("utf-8")


def _stepped(step: Step, text: str, documents: list[YamlFile], shape: type[ConfigSpec]) -> tuple[str, list[YamlFile]]:
    changed = step(text, parts(text, documents, shape))
    after = None if changed == text else _read(changed.encode("utf-8"))
    # The edits are of text; whatever they should make of it, it must stay YAML of as many documents.
    if after is None or len(after) != len(documents) or (step is key_order and not _same(after, documents)):
        return text, documents
    return changed, after


def _read(data: bytes) -> list[YamlFile] | None:
    documents, problems = read_documents(data, "")
    return None if problems or any(document.problems for document in documents) else documents


def _same(after: list[YamlFile], before: list[YamlFile]) -> bool:
    return [document.value for document in after] == [document.value for document in before]
