"""Convert the declared topics of a stack to an AsyncAPI document, or to data contracts. No cluster is contacted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from topicwarden.extensions.interchange.export import asyncapi_document, odcs_contract
from topicwarden.extensions.interchange.export.asyncapi_document import KafkaServer
from topicwarden.extensions.interchange.export.exported_topic import ExportedTopic, LostSetting, warnings, with_schemas
from topicwarden.model.files import fitting_stem
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.operations.declared_topics import declared
from topicwarden.specs.stacks.stack_file import read_stack_file
from topicwarden.specs.stacks.stack_selection import only_stack
from topicwarden.specs.stacks.stack_settings import SANDBOX

STANDARDS: Final = {"asyncapi": "AsyncAPI", "odcs": "ODCS"}

_ODCS = ".odcs.yaml"


@dataclass(frozen=True)
class ExportReport:
    """The documents, by name of the file; the settings that the standard cannot express; the number of topics."""

    documents: Mapping[str, str]
    warnings: tuple[str, ...]
    topics: int


def export_topics(project: Project, standard: str, stack: str | None, patterns: Sequence[str] = ()) -> ExportReport:
    """Return the declared topics that match the globs ``patterns`` as documents.

    ``standard`` is a key of ``STANDARDS``: AsyncAPI is one document, ODCS one for each topic. Raises Refusal if the
    declarations have errors, if no topic matches, or if ``stack`` is None and the project has several stacks.
    """
    if standard not in STANDARDS:
        suggestion = did_you_mean(standard, STANDARDS) or ": expected " + " or ".join(STANDARDS)
        raise Refusal(f"there is no standard {standard!r}{suggestion}")
    stack = only_stack(project, stack)
    all_declared = declared(project, stack, "exported")
    declarations = [each for each in all_declared if selected(each.topic.name, patterns)]
    if not declarations:
        raise none_selected("declared topic", patterns, (each.topic.name for each in all_declared))
    topics = with_schemas(declarations, project.root)
    documents, lost = _asyncapi(project, topics, stack) if standard == "asyncapi" else _odcs(topics)
    return ExportReport(documents, tuple(map(str, warnings(lost, STANDARDS[standard]))), len(topics))


def _asyncapi(
    project: Project, topics: Sequence[ExportedTopic], stack: str
) -> tuple[dict[str, str], list[LostSetting]]:
    stack_file = read_stack_file(project, stack)
    server = None
    if stack_file.registry_url:
        host = min(stack_file.addresses - {SANDBOX}, default="localhost:9092")
        server = KafkaServer(host, stack_file.registry_url, tls=stack_file.tls)
    document, lost = asyncapi_document.document(f"Kafka topics of stack {stack}", topics, server)
    return {"asyncapi.yaml": _yaml(document)}, lost


def _odcs(topics: Sequence[ExportedTopic]) -> tuple[dict[str, str], list[LostSetting]]:
    contracts = {
        f"{fitting_stem(each.topic.name, _ODCS)}{_ODCS}": _yaml(odcs_contract.contract(each)) for each in topics
    }
    return contracts, [lost for each in topics for lost in each.lost_settings(None)]


class _PlainDumper(yaml.SafeDumper):
    """Writes equal values twice, instead of an anchor and an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=120)
