"""The text of ``access:`` of a topic's file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from topicwarden.kinds.acl.spec import ConsumeSpec, OperationsSpec, ProduceSpec, operations_yaml
from topicwarden.model.access import (
    NO_TOPIC_ACCESS,
    WILDCARD,
    Grant,
    TopicAccess,
)
from topicwarden.model.units import DURATION
from topicwarden.specs.write.yaml_values import yaml_scalar

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:@=+-]*")
OTHER_SPELLING: Final = "Kafka compares addresses as text, and no client has this spelling of one"
"""Why a host cannot be declared that the YAML would read in another spelling."""


def declarable(access: TopicAccess) -> tuple[TopicAccess, list[str]]:
    """Return the part of a topic's access that YAML can declare, and why each other part cannot be declared."""
    refused: list[str] = []

    def kept(model: type[BaseModel], entries: Iterable[Any], as_yaml: Any) -> list[Any]:
        return [entry for entry in entries if not _refused_entry(model, as_yaml(entry), entry.host, refused)]

    return (
        TopicAccess(
            tuple(kept(ProduceSpec, access.produce, lambda each: _grant(each, "transactional_id"))),
            tuple(kept(ConsumeSpec, access.consume, lambda each: _grant(each, "group"))),
            tuple(kept(OperationsSpec, access.acls, operations_yaml)),
        ),
        refused,
    )


def _refused_entry(model: type[BaseModel], entry: dict[str, Any], host: str, refused: list[str]) -> bool:
    """Return whether ``model`` does not accept ``entry``, or changes its host; add the reason to ``refused``."""
    try:
        read = model.model_validate(entry)
    except ValidationError as error:
        refused.append(f"{flow(entry)}: {error.errors(include_url=False)[0]['msg']}")
        return True
    if getattr(read, "host", host) != host:
        refused.append(f"{flow(entry)}: {OTHER_SPELLING}")
        return True
    return False


def topic_access_lines(access: TopicAccess) -> Iterator[str]:
    """Yield the lines of ``access:`` of a topic; none without access."""
    if access == NO_TOPIC_ACCESS:
        return
    yield "access:"
    yield from _list("produce", [_short(_grant(each, "transactional_id")) for each in access.produce], "  ")
    yield from _list("consume", [_short(_grant(each, "group")) for each in access.consume], "  ")
    yield from _list("acls", [operations_yaml(each) for each in access.acls], "  ")


def _grant(grant: Grant, key: str) -> dict[str, Any]:
    return {
        "principal": grant.principal,
        **({key: grant.name} if grant.name is not None else {}),
        **({"prefix": True} if grant.prefix else {}),
        **({"host": grant.host} if grant.host != WILDCARD else {}),
        **({"max_lag": DURATION.format(grant.max_lag)} if grant.max_lag is not None else {}),
    }


def grant_text(grant: Grant, consumes: bool) -> str:
    """Return an entry of ``consume`` or ``produce`` in one line: ``{principal: User:billing, group: billing}``."""
    return flow(_short(_grant(grant, "group" if consumes else "transactional_id")))


def _short(entry: dict[str, Any]) -> Any:
    return entry["principal"] if len(entry) == 1 else entry


def _list(key: str, entries: list[Any], indent: str = "") -> Iterator[str]:
    if entries:
        yield f"{indent}{key}:"
        yield from (f"{indent}  - {flow(entry)}" for entry in entries)


def flow(value: Any) -> str:
    """Return ``value`` as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_key(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return yaml_key(value) if isinstance(value, str) else json.dumps(value)


def yaml_key(text: str) -> str:
    """Return ``text`` as a key, or as a value in one line."""
    plain = _PLAIN.fullmatch(text) and not text.endswith(":") and yaml_scalar(text) == text
    return text if plain else json.dumps(text, ensure_ascii=not text.isprintable())
