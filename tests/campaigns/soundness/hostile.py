"""Define what must not stop an audit: records beyond its limits, broken schemas and functions, and missing permissions.

Each is planted at a random position among valid and wrong records. An audit survives if it counts the wrong records
exactly, and reports ``undecidable`` where it cannot judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from kafka.admin import ACLOperation

from tests.campaigns.soundness.draw import Draw, history_of
from tests.campaigns.soundness.scenario import Deny, History, Record, Write
from tests.campaigns.soundness.scene import Scene
from tests.support.log_files import varint
from topicwarden.model.contents import Contents, HeaderContents, KeyContents, ValueContents
from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict

FUNCTION: Final = "soundness_partitioner:explode"
_HEADERS: Final = ("trace-id",)


@dataclass(frozen=True)
class Expected:
    """A finding that the audit must make. ``records`` is the count in its evidence; None means the whole topic."""

    check: str
    verdict: Verdict
    records: int | None = None


@dataclass(frozen=True)
class Guest:
    """One hostile topic, and the findings that an audit must make there."""

    history: History
    expected: tuple[Expected, ...]


Invite = Callable[[Draw], Guest]


@dataclass
class Survived:
    """By kind: the number of hostile topics, and the number for which the audit found everything."""

    planted: Counter[str] = field(default_factory=Counter)
    survived: Counter[str] = field(default_factory=Counter)
    trouble: list[str] = field(default_factory=list)

    def count(self, kind: str, guest: Guest, scene: Scene) -> None:
        self.planted[kind] += 1
        missing = list(_missing(guest, scene))
        self.survived[kind] += not missing
        self.trouble += [f"{kind} (seed {guest.history.seed}): {one}" for one in missing]


def _missing(guest: Guest, scene: Scene) -> Iterator[str]:
    """Return the expected findings that the audit did not make, and the unexpected faults that it reported."""
    checks = {one.check for one in guest.expected}
    seen = [
        Expected(one.check, one.verdict, _records(one.evidence.get("records")))
        for one in scene.report.of_topic(guest.history.topic.name)
        if one.check in checks and one.verdict is not Verdict.PASS
    ]
    if Counter(seen) != Counter(guest.expected):
        yield f"expected {list(guest.expected)}, got {seen}"


def _records(evidence: object) -> int | None:
    return evidence if isinstance(evidence, int) else None


@dataclass(frozen=True)
class Format:
    """A format with its schema and values: well-formed, wrong, and valid but beyond the limits of the audit."""

    name: str
    file: str
    schema: str
    good: tuple[bytes, ...]
    wrong: tuple[bytes, ...]
    beyond: tuple[bytes, ...]


def _nested(depth: int) -> bytes:
    """Return a protobuf message whose field 1 is a message, and so on."""
    value = b""
    for _ in range(depth):
        value = b"\x0a" + varint(len(value)) + value
    return value


_JSON: Final = Format(
    "json",
    "hostile.json",
    json.dumps({"type": "object", "properties": {"n": {"type": "number"}}}),
    good=(b"{}", b'{"n": 1}', b'{"n": 0.5, "m": []}', b'{"' + b"x" * 50_001 + b'": 1}'),
    wrong=(b"no { json", b'{"n": "text"}', b"[]", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'{"n": "\xc0\x80"}'),
    beyond=(
        b'{"a": ' + b"[" * 1_001 + b"]" * 1_001 + b"}",
        b'{"n": ' + b"1" * 1_001 + b"}",
        b'{"n": 0.' + b"1" * 1_001 + b"}",
    ),
)
FORMATS: Final[dict[str, Format]] = {
    "JSON beyond the limits": _JSON,
    "Avro beyond the limits": Format(
        "avro",
        "hostile.avsc",
        json.dumps({"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}),
        good=(b"\x00", b"\x02\x00", b"\x02" * 100 + b"\x00"),
        wrong=(b"\x05", b"", b"\x00\x00", b"\x02"),
        beyond=(b"\x02" * 200_000 + b"\x00", b"\x02" * 5_000 + b"\x00"),
    ),
    "Protobuf beyond the limits": Format(
        "protobuf",
        "hostile.proto",
        'syntax = "proto3"; message Node { Node below = 1; int64 id = 2; }',
        good=(b"", b"\x10\x07", _nested(50)),
        wrong=(b"\x0c", b"\x10", b"\x0a\x05", b"\xff"),
        beyond=(_nested(101), _nested(20_000)),
    ),
}
_UNUSABLE: Final[dict[str, tuple[str, str, str]]] = {
    "a schema with a regular expression that does not compile": ("json", "json", '{"pattern": "(["}'),
    "a schema with a reference to nothing": ("json", "json", '{"$ref": "#/$defs/none"}'),
    "a schema of an unknown dialect": ("json", "json", '{"$schema": "https://example.com/none", "type": "object"}'),
    "an Avro schema with a default of another type": (
        "avro",
        "avsc",
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": "x"}]}',
    ),
    "an Avro schema of an unknown type": ("avro", "avsc", '{"type": "none"}'),
    "a proto file with an unknown type": ("protobuf", "proto", 'syntax = "proto3"; message M { None a = 1; }'),
    "a schema that is not there": ("json", "json", ""),
}


def _topic(draw: Draw, most: int, policy: str = "delete", least: int = 1) -> Topic:
    """Return a topic without cleaning or deletion during the test."""
    return draw.topic(most, least, cleanup_policy=policy, segment_ms="600000", retention_ms="-1")


def _beyond(form: Format) -> Invite:
    def invite(draw: Draw) -> Guest:
        topic = _topic(draw, 3, draw.random.choice(("delete", "compact")))
        contents = Contents(
            value=ValueContents(format=form.name, schema=form.file), headers=HeaderContents(required=_HEADERS)
        )
        numbers = {"wrong": draw.few(), "beyond": draw.few(), "good": draw.random.randint(0, 60)}
        current = {
            kind: tuple(
                replace(record, value=draw.random.choice(getattr(form, kind)))
                for record in draw.records(topic, number, keys=1_000_000)
            )
            for kind, number in numbers.items()
        }
        bare = replace(draw.records(topic, 1, keys=1_000_000)[0], value=form.good[0], headers=())
        records = draw.among(current["good"], (*current["wrong"], *current["beyond"], bare))
        history = replace(history_of(topic, contents, Write(records)), wrong=frozenset(form.wrong))
        return Guest(
            history,
            (
                Expected("value-schema", Verdict.FAIL, numbers["wrong"]),
                Expected("value-schema", Verdict.UNDECIDABLE, numbers["beyond"]),
                Expected("header", Verdict.FAIL, 1),
            ),
        )

    return invite


def _recursion(draw: Draw) -> Guest:
    """Return a topic with a recursive schema and a value of 990 levels.

    The value is judged or undecidable. All other records are judged.
    """
    topic = _topic(draw, 1)
    deep = Record(0, b"deep", b'{"below":' * 990 + b"{}" + b"}" * 990, headers=_HEADERS)
    wrong, bare = Record(0, b"wrong", b'{"other": 1}', headers=_HEADERS), Record(0, b"bare", b"{}")
    good = tuple(replace(one, value=b'{"below": {}}') for one in draw.records(topic, draw.random.randint(0, 60)))
    contents = Contents(
        value=ValueContents(format="json", schema="recursive.json"), headers=HeaderContents(required=_HEADERS)
    )
    history = history_of(topic, contents, Write(draw.among(good, (deep, wrong, bare))))
    return Guest(replace(history, wrong=frozenset({wrong.value or b""})), (Expected("header", Verdict.FAIL, 1),))


def _unusable(kind: str) -> Invite:
    def invite(draw: Draw) -> Guest:
        form, suffix, text = _UNUSABLE[kind]
        topic = _topic(draw, 2)
        file = _file_of(kind, suffix) if text else "missing.json"
        contents = Contents(value=ValueContents(format=form, schema=file), headers=HeaderContents(required=_HEADERS))
        records = draw.records(topic, 1 + draw.few())
        bare = replace(records[0], headers=())
        history = history_of(topic, contents, Write(draw.among(records, (bare,))))
        undecided = Expected("value-schema", Verdict.UNDECIDABLE, len(records) + 1)
        return Guest(replace(history, wrong=frozenset()), (undecided, Expected("header", Verdict.FAIL, 1)))

    return invite


def _exploding(draw: Draw) -> Guest:
    topic = _topic(draw, 3, least=2)
    contents = Contents(key=KeyContents(partition_function=FUNCTION), headers=HeaderContents(required=_HEADERS))
    bare = replace(draw.records(topic, 1)[0], headers=())
    history = history_of(topic, contents, Write(draw.among(draw.records(topic, 20), (bare,))))
    return Guest(history, (Expected("key-partition", Verdict.UNDECIDABLE), Expected("header", Verdict.FAIL, 1)))


def _denied(kept: Sequence[ACLOperation], *expected: Expected) -> Invite:
    """Return a topic with wrong records. From the first audit on, this user has only the permissions in ``kept``."""

    def invite(draw: Draw) -> Guest:
        topic = _topic(draw, 2, draw.random.choice(("delete", "compact")))
        bad = tuple(replace(one, value=b"no { json", headers=()) for one in draw.records(topic, draw.few()))
        contents = Contents(value=ValueContents(format="json"), headers=HeaderContents(required=_HEADERS))
        history = history_of(topic, contents, Write(draw.among(draw.records(topic, 10), bad)), Deny(tuple(kept)))
        return Guest(history, expected)

    return invite


_SEE, _CONFIGS, _READ = ACLOperation.DESCRIBE, ACLOperation.DESCRIBE_CONFIGS, ACLOperation.READ
GUESTS: Final[dict[str, Invite]] = {
    **{kind: _beyond(form) for kind, form in FORMATS.items()},
    "a schema that recurs into a deep value": _recursion,
    **{kind: _unusable(kind) for kind in _UNUSABLE},
    "a partition function that raises": _exploding,
    "Read denied": _denied(
        (_SEE, _CONFIGS), Expected("value-schema", Verdict.UNDECIDABLE), Expected("header", Verdict.UNDECIDABLE)
    ),
    "DescribeConfigs denied": _denied((_SEE, _READ), Expected("config-drift", Verdict.UNDECIDABLE)),
    "Describe denied": _denied((ACLOperation.CREATE,), Expected("topic-missing", Verdict.UNDECIDABLE)),
}


def write_files(project: Project) -> None:
    """Write every schema, and the module of the partition function, to their places in a project."""
    texts = {form.file: form.schema for form in FORMATS.values()}
    texts |= {_file_of(kind, suffix): text for kind, (_, suffix, text) in _UNUSABLE.items() if text}
    texts["recursive.json"] = json.dumps(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": {"below": {"$ref": "#"}},
            "unevaluatedProperties": False,
        }
    )
    for name, text in texts.items():
        (project.topics / name).write_text(text, encoding="utf-8")
    module = Path(project.root) / f"{FUNCTION.partition(':')[0]}.py"
    module.write_text(
        "def explode(key: bytes, partitions: int) -> int:\n    raise SystemError(key)\n", encoding="utf-8"
    )


def _file_of(kind: str, suffix: str) -> str:
    return f"unusable-{list(_UNUSABLE).index(kind)}.{suffix}"
