"""Stand-ins for catalogues, which cannot run beside the tests: they validate what arrives, and record it."""

from __future__ import annotations

import json
import re
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


@cache
def _types() -> dict[str, dict[str, str] | set[str]]:
    """Return the fields of each input type, and the values of each enumeration, of DataHub's GraphQL."""
    text = (SCHEMAS / "datahub" / "assertions.graphql").read_text()
    found: dict[str, dict[str, str] | set[str]] = {}
    for kind, name, body in re.findall(r"(input|enum) (\w+) \{(.*?)\}", text, re.DOTALL):
        fields = dict(re.findall(r"(\w+): (\S+)", body))
        found[name] = fields if kind == "input" else set(body.split())
    return found


def _value_errors(kind: str, value: Any, path: str) -> Iterator[str]:
    required, name = kind.endswith("!"), kind.removesuffix("!")
    if value is None:
        yield from [f"{path}: needs a value"] if required else []
    elif name.startswith("["):
        for number, each in enumerate(value):
            yield from _value_errors(name[1:-1], each, f"{path}[{number}]")
    elif isinstance(known := _types().get(name), dict):
        yield from (f"{path}: unknown field {field}" for field in value.keys() - known.keys())
        for each, expected in known.items():
            yield from _value_errors(expected, value.get(each), f"{path}.{each}")
    elif isinstance(known, set):
        yield from [] if value in known else [f"{path}: {value} is none of {known}"]
    elif not isinstance(value, {"String": str, "Long": int}[name]):
        yield f"{path}: {value} is no {name}"


_OPERATION: Final = re.compile(r"mutation (\w+)\((.*?)\) \{\n(.*)\n\}", re.DOTALL)
_FIELD: Final = re.compile(r"  (\w+): (\w+)\(urn: \$(\w+), (\w+): \$(\w+)\)( \{ urn \})?")
_MUTATIONS: Final = {
    "upsertCustomAssertion": ("String", "input", "UpsertCustomAssertionInput!", " { urn }"),
    "reportAssertionResult": ("String!", "result", "AssertionResultInput!", ""),
}


def graphql_errors(body: dict[str, Any]) -> list[str]:
    """Return what is wrong with a request by the types of DataHub, for the form of request that topicwarden sends."""
    operation = _OPERATION.fullmatch(body["query"])
    if not operation or operation[1] != body["operationName"]:
        return ["no operation of the expected form"]
    declared = dict(re.findall(r"\$(\w+): ([\w!]+)", operation[2]))
    errors = [f"{name}: unused or not declared" for name in declared.keys() ^ body["variables"].keys()]
    aliases = set()
    for line in operation[3].split("\n"):
        field = _FIELD.fullmatch(line)
        if not field or field[2] not in _MUTATIONS:
            return [f"no field of the expected form: {line}"]
        urn_type, argument, type_name, selection = _MUTATIONS[field[2]]
        expected = (urn_type, argument, type_name, selection)
        if (declared[field[3]], field[4], declared[field[5]], field[6] or "") != expected or field[1] in aliases:
            errors.append(f"wrong types or alias: {line}")
        aliases.add(field[1])
        errors += _value_errors("String!", body["variables"][field[3]], field[3])
        errors += _value_errors(type_name, body["variables"][field[5]], field[5])
    return errors


@dataclass
class DataHubStandIn:
    """A stand-in for DataHub: the definitions and results that arrived, by URN, and invalid requests.

    ``answer`` may return another answer for a request, such as an error.
    """

    server: Server
    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    answer: Callable[[Request], bytes | None] = lambda request: None


@contextmanager
def datahub_stand_in() -> Iterator[DataHubStandIn]:
    """Run a stand-in for DataHub's GraphQL, which does not know results of assertions without a definition."""

    def respond(request: Request) -> bytes:
        if (other := stand_in.answer(request)) is not None:
            return other
        body = request.json
        problems = graphql_errors(body)
        data: dict[str, Any] = {}
        for number in range(len(body["variables"]) // 2):
            urn, value = body["variables"][f"u{number}"], body["variables"][f"v{number}"]
            if body["operationName"] == "upsertCustomAssertion":
                stand_in.definitions[urn] = value
                data[f"a{number}"] = {"urn": urn}
            elif urn in stand_in.definitions:
                stand_in.results.setdefault(urn, []).append(value)
                data[f"a{number}"] = True
            else:
                problems.append(f"no assertion {urn}")
        stand_in.errors += problems
        return http({"data": None, "errors": [{"message": each} for each in problems]} if problems else {"data": data})

    with answering(respond) as server:
        stand_in = DataHubStandIn(server)
        yield stand_in


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
