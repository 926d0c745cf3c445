"""A stand-in for a catalogue, which cannot run beside the tests: it validates what arrives, and records it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from tests.support.http_answers import Request, Server, answering, http

SCHEMAS: Final = Path(__file__).parents[1] / "unit" / "catalogues"
_ROOT: Final = "https://openlineage.io/spec"


@cache
def _validator(schema_url: str) -> Draft202012Validator:
    documents = [json.loads(file.read_text()) for file in (SCHEMAS / "openlineage").glob("*.json")]
    registry: Registry[Any] = Registry().with_resources(
        (document["$id"], Resource.from_contents(document)) for document in documents
    )
    core = next(document for document in documents if document["$id"] == f"{_ROOT}/2-0-2/OpenLineage.json")
    # The schema of owners refers to a version whose definition of a dataset's facet is the same.
    registry = registry.with_resource(f"{_ROOT}/1-0-3/OpenLineage.json", Resource.from_contents(core))
    return Draft202012Validator({"$ref": schema_url}, registry=registry, format_checker=FormatChecker())


def openlineage_errors(event: dict[str, Any]) -> list[str]:
    """Return the errors of an event and of each of its facets, by the schema that each one names."""
    named = [(event["schemaURL"], event)]
    holders = [event["run"]["facets"], event["job"]["facets"]]
    for dataset in event["inputs"]:
        holders += [dataset["facets"], dataset["inputFacets"]]
    named += [(facet["_schemaURL"], facet) for holder in holders for facet in holder.values()]
    return [error.message for url, content in named for error in _validator(url).iter_errors(content)]


@dataclass
class OpenLineageStandIn:
    """A stand-in for a server with OpenLineage's HTTP interface: the valid events so far, and errors of others."""

    server: Server
    events: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    answer: Callable[[Request], bytes | None] = lambda request: None


@contextmanager
def openlineage_stand_in() -> Iterator[OpenLineageStandIn]:
    """Run a stand-in that validates each event by the published schemas."""

    def respond(request: Request) -> bytes:
        if (other := stand_in.answer(request)) is not None:
            return other
        problems = openlineage_errors(request.json)
        if (request.method, request.path) != ("POST", "/api/v1/lineage"):
            problems.append(f"{request.method} {request.path}")
        stand_in.errors += problems
        if problems:
            return http({"errors": problems}, "422 Unprocessable Entity")
        stand_in.events.append(request.json)
        return http(b"", "201 Created")

    with answering(respond) as server:
        stand_in = OpenLineageStandIn(server)
        yield stand_in
