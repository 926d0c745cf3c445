"""Import and call the user's function that repairs records before they are copied."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from topicwarden.kafka.read.records_at_offsets import StoredRecord
from topicwarden.model.field_types import FUNCTION
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal

RepairFunction: TypeAlias = Callable[[StoredRecord], StoredRecord | None]
"""A function that returns the record to copy; None for a record that is not copied."""

_EXPECTED = "expected a tuple (key, value, headers) or None: bytes or None, bytes or None, [(text, bytes), …]"


def unchanged(record: StoredRecord) -> StoredRecord:
    """Return the record itself: nothing is repaired."""
    return record


def repair_function(name: str, root: Path) -> RepairFunction:
    """Return the function ``module:function`` of the project folder ``root``, or of the Python path.

    The function receives key, value and headers, and returns them as they are to be copied, or None. A message about it
    never contains a record. Raises Refusal if it cannot be imported, and, when it is called, if it fails.
    """
    if not re.match(FUNCTION, name):
        raise Refusal(f"--with: expected module:function, got {quoted(name)}")
    function = _imported(name, root)

    def repair(record: StoredRecord) -> StoredRecord | None:
        try:
            result = function(record.key, record.value, list(record.headers))
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- the user's code; its message may contain a record
            # `from None`: a traceback would show the record.
            raise Refusal(f"{record.location}: {name} failed with {type(error).__name__}") from None
        return None if result is None else _repaired(record, result, name)

    return repair


def _imported(name: str, root: Path) -> Callable[..., Any]:
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(root))
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise Refusal(f"--with: the import of {module_name} failed with {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(root))
    function: Callable[..., Any] | None = getattr(module, attribute, None)
    if not callable(function):
        raise Refusal(f"--with: {module_name} has no function {quoted(attribute)}")
    return function


def _repaired(record: StoredRecord, result: object, name: str) -> StoredRecord:
    if not isinstance(result, tuple) or len(result) != len(("key", "value", "headers")):
        raise Refusal(f"{record.location}: {name} returned {type(result).__name__}: {_EXPECTED}")
    key, value, headers = result
    valid = all(part is None or isinstance(part, bytes) for part in (key, value)) and isinstance(headers, list | tuple)
    if not valid or not all(map(_is_header, headers)):
        raise Refusal(f"{record.location}: {name} returned another type: {_EXPECTED}")
    return replace(record, key=key, value=value, headers=tuple((text, content) for text, content in headers))


def _is_header(header: object) -> bool:
    match header:
        case (str() as name, bytes() | None):
            return not any(0xD800 <= ord(character) < 0xE000 for character in name)  # surrogates have no UTF-8
    return False
