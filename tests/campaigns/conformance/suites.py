"""Read the public conformance suites of JSON Schema and CEL."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, text_format

from tests.campaigns.conformance.library_versions import Selection
from tests.support.conformance_data import suite
from topicwarden.specs.record_schemas.protobuf import protoc_path

# Read the JSON Schema Test Suite: the cases of a draft, and the schemas that its tests reference.

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
_REMOTE = "http://localhost:1234/"


@dataclass(frozen=True)
class SchemaCase:
    """A schema and its tests. ``name`` is the file in the suite, and the case's description."""

    draft: str
    name: str
    schema: str
    tests: tuple[tuple[str, bytes, bool], ...]
    """For each test: its description, the value, and whether the value is valid."""

    @property
    def remote(self) -> bool:
        """Return whether the schema references one of the suite's remote schemas."""
        return _REMOTE in self.schema


def cases(draft: str, selection: Selection, *, optional: bool) -> Iterator[SchemaCase]:
    """Yield the cases in the selected files of a draft, which are those that are required or those that are optional.

    Each draft selects other files: all drafts together select each name of a file.
    """
    folder = suite("json-schema") / "tests" / draft
    files = sorted(folder.glob("optional/**/*.json" if optional else "*.json"))
    for file in selection.of(files, list(DRAFTS).index(draft)):
        for case in json.loads(file.read_bytes()):
            tests = tuple((test["description"], _text(test["data"]).encode(), test["valid"]) for test in case["tests"])
            name = f"{file.relative_to(folder)}: {case['description']}"
            yield SchemaCase(draft, name, _text(_declared(case["schema"], draft)), tests)


@cache
def remotes(draft: str) -> dict[str, str]:
    """Return the remote schemas by URI. Schemas without a declared draft use ``draft``."""
    folder = suite("json-schema") / "remotes"
    return {
        f"{_REMOTE}{file.relative_to(folder)}": _text(_declared(json.loads(file.read_bytes()), draft))
        for file in folder.glob("**/*.json")
    }


def _declared(schema: Any, draft: str) -> Any:
    return {"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) else schema


def _text(value: Any) -> str:
    return json.dumps(value)


# Read the public conformance suite of CEL: expressions, the values that they name, and their results.

FILES: Final = (
    *("basic", "comparisons", "conversions", "dynamic", "enums", "fields", "fp_math", "integer_math", "lists"),
    *("logic", "macros", "parse", "plumbing", "proto2", "proto3", "string", "timestamps", "wrappers"),
)
"""The files of the language itself. The others test extensions, and the container that a checker may have."""
_FOLDER: Final = Path("cel") / "expr"
_TYPES: Final = "cel/expr/conformance/{0}/test_all_types.proto"
_SYNTAX: Final = 'syntax = "proto3"; package cel.expr; message Constant {} message Expr {} message SourceInfo {}'
"""``checked.proto`` imports ``syntax.proto`` for constants of declarations, which no test of these files has."""
_ESCAPES: Final = re.compile(r"[^ -~]|[\\']")


class NoLiteral(Exception):
    """A value has no literal in an expression."""


@dataclass(frozen=True)
class Expression:
    """One test: an expression, the variables that it uses, and the value that it has (None: an error)."""

    name: str
    expression: str
    container: str
    bindings: dict[str, Any]
    result: Any | None


@dataclass(frozen=True)
class MessageCase:
    """An expression over ``value``, which is a message of the type ``kind`` in ``data``, and its result."""

    name: str
    expression: str
    kind: str
    data: bytes
    result: Any | None


class CelSuite:
    """The tests, and the Protocol Buffers types that they use; ``scratch`` is an empty folder."""

    def __init__(self, scratch: Path) -> None:
        self._folder = suite("cel")
        self._set = descriptor_pb2.FileDescriptorSet.FromString(self._compiled(scratch))
        self._pool = descriptor_pool.DescriptorPool()
        for file in self._set.file:
            self._pool.Add(file)

    def _compiled(self, scratch: Path) -> bytes:
        syntax = scratch / _FOLDER / "syntax.proto"
        syntax.parent.mkdir(parents=True)
        syntax.write_text(_SYNTAX, encoding="utf-8")
        folders = [f"-I{self._folder / 'proto'}", f"-I{scratch}"]
        options = [*folders, "--include_imports", f"--descriptor_set_out={scratch}/set"]
        names = ("proto2/test_all_types_extensions", "proto2/test_all_types", "proto3/test_all_types", "test/simple")
        files = [f"cel/expr/conformance/{name}.proto" for name in names]
        subprocess.run([str(protoc_path()), *options, *files], check=True)
        return (scratch / "set").read_bytes()

    def descriptors(self, version: str) -> bytes:
        """Return the serialised ``FileDescriptorSet`` of the messages in the syntax ``version``, such as ``proto3``."""
        needed = [file for file in self._set.file if file.name.startswith("google/protobuf/")]
        needed += [file for file in self._set.file if file.name == _TYPES.format(version)]
        return bytes(descriptor_pb2.FileDescriptorSet(file=needed).SerializeToString())

    def cases(self, file: str) -> Iterator[Expression]:
        """Yield the tests of a file that are evaluated with the standard macros, and have one result."""
        path = self._folder / "tests" / "simple" / "testdata" / f"{file}.textproto"
        current = message_factory.GetMessageClass(
            self._pool.FindMessageTypeByName("cel.expr.conformance.test.SimpleTestFile")
        )()
        text_format.Parse(path.read_text(encoding="utf-8"), current, descriptor_pool=self._pool)
        for section in current.section:
            for test in section.test:
                kind = test.WhichOneof("result_matcher") or "value"
                if kind not in ("value", "typed_result", "eval_error") or test.disable_macros or test.check_only:
                    continue
                result = {"value": test.value, "typed_result": test.typed_result.result}.get(kind)
                if kind == "value" and not test.HasField("value"):
                    result = type(test.value)(bool_value=True)
                bindings = {name: bound.value for name, bound in test.bindings.items()}
                yield Expression(f"{file}/{section.name}/{test.name}", test.expr, test.container, bindings, result)

    def message_cases(self, version: str) -> Iterator[MessageCase]:
        """Yield the tests that construct one message: the message is ``value``, and the rest of the test is over it."""
        container = f"cel.expr.conformance.{version}"
        kind = f"{container}.TestAllTypes"
        environment = cel.NewEnv(self._pool, container=container)
        for file in FILES:
            for case in self.cases(file):
                constructed = _constructor(case.expression)
                if constructed is None or case.container != container:
                    continue
                try:
                    current = environment.compile(constructed).eval().value()
                except RuntimeError:  # there is no such message, which is what the test is about
                    continue
                if isinstance(current, message.Message):
                    expression = case.expression.replace(constructed, "value", 1)
                    yield MessageCase(case.name, expression, kind, current.SerializeToString(), case.result)


def _constructor(expression: str) -> str | None:
    """Return the only ``TestAllTypes{…}`` of an expression."""
    begin = expression.find("TestAllTypes{")
    if begin < 0 or expression.count("TestAllTypes") > 1:
        return None
    depth = 0
    for at in range(begin, len(expression)):
        depth += {"{": 1, "}": -1}.get(expression[at], 0)
        if expression[at] == "}" and depth == 0:
            return expression[begin : at + 1]
    return None


def holds(expression: str, result: Any | None) -> str:
    """Return an expression that is true if ``expression`` has this result, and of the same type.

    Without a result, return one that can only fail to be evaluated. Raise NoLiteral for a result without a literal.
    """
    if result is None:
        return f"type({expression}) == type({expression})"
    if result.WhichOneof("kind") == "bool_value" and result.bool_value:
        return expression
    if result.WhichOneof("kind") == "double_value" and math.isnan(result.double_value):
        return f"({expression}) != ({expression})"
    expected_value = literal(result)
    typed = "" if result.WhichOneof("kind") == "type_value" else f" && type({expression}) == type({expected_value})"
    return f"({expression}) == {expected_value}{typed}"


def literal(value: Any) -> str:
    """Return a value of the suite as it is written in an expression."""
    kind = value.WhichOneof("kind")
    if kind not in _LITERALS:
        raise NoLiteral(kind)
    return _LITERALS[kind](getattr(value, kind))


_LITERALS: Final[dict[str, Callable[[Any], str]]] = {
    "null_value": lambda _: "null",
    "bool_value": lambda current: str(current).lower(),
    "int64_value": str,
    "uint64_value": lambda current: f"{current}u",
    "double_value": lambda current: repr(current) if math.isfinite(current) else f"double('{current}')",
    "string_value": lambda current: "'" + _ESCAPES.sub(lambda found: f"\\U{ord(found[0]):08x}", current) + "'",
    "bytes_value": lambda current: "b'" + "".join(f"\\x{byte:02x}" for byte in current) + "'",
    "list_value": lambda current: f"[{', '.join(map(literal, current.values))}]",
    "map_value": lambda current: (
        "{" + ", ".join(f"{literal(one.key)}: {literal(one.value)}" for one in current.entries) + "}"
    ),
    "type_value": str,
    "enum_value": lambda current: str(current.value),
}


def plain(value: Any) -> Any:
    """Return a value as JSON has it; raise NoLiteral for one that JSON cannot have without losing its type."""
    kind = value.WhichOneof("kind")
    match kind:
        case "null_value":
            return None
        case "bool_value" | "int64_value" | "string_value":
            return getattr(value, kind)
        case "double_value" if math.isfinite(value.double_value):
            return value.double_value
        case "list_value":
            return [plain(one) for one in value.list_value.values]
        case "map_value" if all(one.key.WhichOneof("kind") == "string_value" for one in value.map_value.entries):
            return {one.key.string_value: plain(one.value) for one in value.map_value.entries}
    raise NoLiteral(kind)
