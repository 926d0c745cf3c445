"""The contracts of new topics for an import, inferred from their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from topicwarden.model.contents import Contents
from topicwarden.model.message_text import counted
from topicwarden.model.topic import Topic
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.write import ContentsComments, explicit_contents

if TYPE_CHECKING:
    from topicwarden.audit.infer_topics import TopicInference


@dataclass(frozen=True)
class ContentsDraft:
    """The topics with their contracts; and by topic, the schemas of the contracts and the comments about them."""

    topics: tuple[Topic, ...]
    schemas: Mapping[str, tuple[SchemaText, ...]] = field(default_factory=dict)
    evidence: Mapping[str, ContentsComments] = field(default_factory=dict)


def with_contents(topics: Iterable[Topic], inferences: Mapping[str, TopicInference]) -> ContentsDraft:
    """Return the topics with what is inferred. What a topic has from its subjects is kept, with their schemas."""
    drafted: list[Topic] = []
    schemas: dict[str, tuple[SchemaText, ...]] = {}
    evidence: dict[str, ContentsComments] = {}
    for topic in topics:
        inference = inferences.get(topic.name)
        if inference is None:
            drafted.append(topic)
            continue
        evidence[topic.name] = _comments(inference)
        if inference.inferred is None:
            drafted.append(topic)
            continue
        known = explicit_contents(topic.contents)
        contents = _merged(explicit_contents(inference.inferred.contents), known)
        inferred = inference.inferred
        schemas[topic.name] = tuple(
            SchemaText(part, "json", inferred.schema_text(part)) for part in inferred.schemas if part not in known
        )
        drafted.append(replace(topic, contents=Contents.model_validate(contents)))
    return ContentsDraft(tuple(drafted), schemas, evidence)


def _comments(inference: TopicInference) -> ContentsComments:
    inferred = inference.inferred
    if inferred is None:
        return ContentsComments(below=(f"nothing is inferred: {inference.unread}",))
    records = counted(inferred.records, "record")
    offsets = f", the newest {inference.read:,} of {inference.retained:,} offsets"
    read = f"inferred from {records}{offsets if inference.read < inference.retained else ', all that are retained'}"
    return ContentsComments({(): read, **inferred.comments}, inferred.suggestions)


def _merged(inferred: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``inferred`` with the settings of ``known``, which replace the encoding of a part as a whole."""
    merged = dict(inferred)
    for section, settings in known.items():
        own = inferred.get(section, {})
        kept = {name: value for name, value in own.items() if name not in ("format", "registry")}
        merged[section] = {**kept, **settings} if isinstance(settings, Mapping) else settings
    return merged
