"""Fix problems of a topic's YAML that have exactly one solution, and keep every other byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from topicwarden.specs.document_model import CommonSettings, DefaultsSpec, TopicDocument
from topicwarden.specs.fix.key_order import sort_keys
from topicwarden.specs.fix.misspelled_keys import fix_misspelled_keys
from topicwarden.specs.fix.text_edits import EditableDocument, yaml_documents
from topicwarden.specs.fix.values import fix_suggested_values, fix_units
from topicwarden.specs.yaml_nodes import ParsedDocument, read_documents

Step: TypeAlias = Callable[[str, list[EditableDocument]], str]

_BOM: Final = b"\xef\xbb\xbf"
_STEPS: Final[tuple[Step, ...]] = (fix_misspelled_keys, fix_units, fix_suggested_values, sort_keys)


def apply_fixes(data: bytes, defaults: bool) -> bytes:
    """Return the content of a file with all fixes; ``defaults`` is set for a ``_defaults.yaml``.

    Fixes misspelled keys with one similar name, units, numbers and booleans written as text, and the order of a
    document's top-level keys. A problem with several solutions is kept. A file that is not YAML, or that has a key
    twice, is returned unchanged.
    """
    documents = _read(data)
    if documents is None:
        return data
    byte_order_mark = _BOM if data.startswith(_BOM) else b""
    text = data.decode("utf-8-sig")
    previous = None
    # After a key is fixed, the keys below it are known and can be fixed in the next pass.
    while text != previous:
        previous = text
        for step in _STEPS:
            text, documents = _apply_step(step, text, documents, DefaultsSpec if defaults else TopicDocument)
    return byte_order_mark + text.encode("utf-8")


def _apply_step(
    step: Step, text: str, documents: list[ParsedDocument], model: type[CommonSettings]
) -> tuple[str, list[ParsedDocument]]:
    changed = step(text, yaml_documents(text, documents, model))
    after = None if changed == text else _read(changed.encode("utf-8"))
    # The edits change text. Discard them if the result is not YAML with the same number of documents.
    if after is None or len(after) != len(documents) or (step is sort_keys and not _same_values(after, documents)):
        return text, documents
    return changed, after


def _read(data: bytes) -> list[ParsedDocument] | None:
    documents, problems = read_documents(data, "")
    return None if problems or any(document.problems for document in documents) else documents


def _same_values(after: list[ParsedDocument], previous: list[ParsedDocument]) -> bool:
    return [document.value for document in after] == [document.value for document in previous]
