"""The JSON Schema Test Suite: its cases by draft, and the schemas that its tests refer to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.spark.codecs.suites import suite

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
_REMOTE = "http://localhost:1234/"


@dataclass(frozen=True)
class Case:
    """A schema with values that are valid or not. ``name`` is the file in the suite, and the case's description."""

    draft: str
    name: str
    schema: str
    tests: tuple[tuple[str, bytes, bool], ...]
    """Description, value, and whether it is valid."""

    @property
    def remote(self) -> bool:
        """Whether the schema refers to one of the suite's remote schemas."""
        return _REMOTE in self.schema


def cases(draft: str, *, optional: bool) -> Iterator[Case]:
    """Yield the required or the optional cases of a draft."""
    folder = suite("json-schema") / "tests" / draft
    for file in sorted(folder.glob("optional/**/*.json" if optional else "*.json")):
        for case in json.loads(file.read_bytes()):
            tests = tuple((test["description"], _text(test["data"]).encode(), test["valid"]) for test in case["tests"])
            name = f"{file.relative_to(folder)}: {case['description']}"
            yield Case(draft, name, _text(_declared(case["schema"], draft)), tests)


@cache
def remotes(draft: str) -> dict[str, str]:
    """Return the remote schemas by URI; those that name no draft are of ``draft``."""
    folder = suite("json-schema") / "remotes"
    return {
        f"{_REMOTE}{file.relative_to(folder)}": _text(_declared(json.loads(file.read_bytes()), draft))
        for file in folder.glob("**/*.json")
    }


def _declared(schema: Any, draft: str) -> Any:
    return {"$schema": DRAFTS[draft], **schema} if isinstance(schema, dict) else schema


def _text(value: Any) -> str:
    return json.dumps(value)
