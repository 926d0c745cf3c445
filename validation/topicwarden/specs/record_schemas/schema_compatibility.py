"""Compare schemas with the compatibility checkers of Apicurio Registry, in one JVM for all comparisons.

They are Java's Avro library (``SchemaCompatibility``), and Apicurio's checkers for JSON Schema and Protobuf.
``CompatibilityJudge.java`` calls them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from topicwarden import child_processes
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import Incompatibility
from topicwarden.scratch_folder import scratch_folder

_LIMIT_S: Final = 20
"""The longest time of one comparison."""
_MAX_BYTES: Final = 16 << 20
"""The maximum size of the schemas of a comparison and their references."""

_LIMITS: Final = {
    "could not determine version": (
        "the checker supports drafts 4, 6 and 7 of JSON Schema, and $schema names another one"
    ),
    "External JSON Schema resolution is disabled": (
        "the checker follows the references of a JSON Schema, but not those of the schemas that it refers to"
    ),
}
"""What the checkers cannot compare, by a text in their error."""


@dataclass(frozen=True)
class ResolvedSchema:
    """A schema with the texts of all schemas that it refers to, also indirectly, by the name in the reference."""

    format: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """A new schema, the versions before it (oldest first), and the level that decides which of them are compared.

    With the level NONE, only the syntax of the new schema is checked.
    """

    new: ResolvedSchema
    earlier: tuple[ResolvedSchema, ...]
    level: Compatibility


@dataclass(frozen=True)
class CompatibilityVerdict:
    """The incompatibilities of a comparison. ``error``: why the checkers could not compare; then nothing is known."""

    incompatibilities: tuple[Incompatibility, ...] = ()
    error: str | None = None


def incompatibilities(comparisons: Sequence[Comparison], checker: Sequence[str]) -> list[CompatibilityVerdict]:
    """Return the verdict of each comparison, in the same order.

    ``checker`` is the command of ``toolchain.schema_checker``. It is started only if there is something to compare. A
    comparison on which it fails does not stop the others. Raises OSError if it cannot be started.
    """
    requests: list[tuple[int, dict[str, Any]]] = []
    verdicts = [CompatibilityVerdict() for _ in comparisons]
    for number, comparison in enumerate(comparisons):
        if error := _incomparable(comparison):
            verdicts[number] = CompatibilityVerdict(error=error)
        else:
            requests += [(number, request) for request in _requests(comparison)]
    answers = zip(requests, _answers([request for _, request in requests], checker), strict=True)
    for number, group in groupby(answers, lambda answer: answer[0][0]):
        verdict = _verdict(comparisons[number].new.format, [answer for _, answer in group])
        if verdict == CompatibilityVerdict() and (name := _changed_import(comparisons[number])):
            error = f"the checker of Protobuf compares no imports, and {name} has changed"
            verdict = CompatibilityVerdict(error=error)
        verdicts[number] = verdict
    return verdicts


def _changed_import(comparison: Comparison) -> str | None:
    """Return the name of an import that has two texts, if one of the compared schemas has it in Protobuf."""
    new = comparison.new
    if new.format != "protobuf" or comparison.level is Compatibility.NONE:
        return None
    changed = {
        name
        for earlier in _compared(comparison)
        for name, text in earlier.references.items()
        if new.references.get(name, text) != text
    }
    return min(changed, default=None)


def _incomparable(comparison: Comparison) -> str | None:
    """Return why the checkers cannot compare, or None."""
    schemas = (comparison.new, *comparison.earlier)
    size = sum(
        len(text.encode(errors="replace")) for each in schemas for text in (each.text, *each.references.values())
    )
    if size > _MAX_BYTES:
        return f"the schemas have {size:,} bytes; expected at most {_MAX_BYTES:,}"
    return None


def _compared(comparison: Comparison) -> Sequence[ResolvedSchema]:
    """Return the earlier versions that the level compares, the newest first."""
    return comparison.earlier[::-1] if comparison.level.transitive else comparison.earlier[-1:]


def _requests(comparison: Comparison) -> Iterator[dict[str, Any]]:
    level = comparison.level
    for earlier in _compared(comparison):
        yield {
            "format": comparison.new.format,
            "old": earlier.text,
            "new": comparison.new.text,
            "backward": level.backward,
            "forward": level.forward,
            "newReferences": dict(comparison.new.references),
            "oldReferences": dict(earlier.references),
        }


def _answers(requests: Sequence[dict[str, Any]], checker: Sequence[str]) -> list[dict[str, Any]]:
    """Return the checker's answer for each request. It is started again after a request that ended it."""
    answers: list[dict[str, Any]] = []
    with scratch_folder() as scratch:
        while len(answers) < len(requests):
            lines = (json.dumps(request) for request in requests[len(answers) :])
            (scratch / "comparisons").write_text("\n".join(lines), encoding="utf-8")
            command = [*checker, str(_LIMIT_S), "comparisons"]
            done = child_processes.run(command, scratch, os.environ)
            arrived = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            answers += arrived or [{"error": _failure(done.returncode, done.stderr)}]
    return answers[: len(requests)]


def _failure(code: int, errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f"the checker ended with exit code {code}{f': {lines[0][:200]}' if lines else ''}"


def _verdict(form: str, answers: Sequence[Mapping[str, Any]]) -> CompatibilityVerdict:
    if error := next((answer["error"] for answer in answers if "error" in answer), None):
        why = next((why for text, why in _LIMITS.items() if text in error), str(error))
        return CompatibilityVerdict(error=why)
    found = [
        Incompatibility(each["path"], _message(form, each["path"], each["message"]), direction == "backward")
        for answer in answers
        for direction in ("backward", "forward")
        for each in answer[direction]
    ]
    return CompatibilityVerdict(tuple(dict.fromkeys(found)))


def _message(form: str, path: str, message: str) -> str:
    """Return a message that says what is wrong. Some of Avro's are only a name, and their kind follows from the path.

    Source: ``SchemaCompatibility.ReaderWriterCompatibilityChecker``.
    """
    if form != "avro":
        return re.sub(r"\s+,", ",", message)
    if re.search(r"/fields/\d+$", path):
        return f"the reader's field {message} is missing in the writer's schema, and has no default"
    if path.endswith("/symbols"):
        return f"the reader's enum lacks the symbols {message}, and has no default"
    if path.endswith("/name"):
        return f"the name differs, and is no alias: {message}"
    return f"the size differs: {message}" if path.endswith("/size") else message
