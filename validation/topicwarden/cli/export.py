"""`topicwarden export`: write the declared topics of a stack as an AsyncAPI document or as data contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.regular_file import read_regular_file
from topicwarden.model.replace_file import replace_file
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.operations.declared_topics import declared
from topicwarden.report import terminal_output
from topicwarden.specs.export import asyncapi_document, odcs_contract
from topicwarden.specs.export.exported_topic import ExportedTopic, LostSetting, warnings, with_schemas
from topicwarden.specs.stack_selection import selected_stacks

_MAX_BYTES: Final = 256 << 20
STANDARDS: Final = {"asyncapi": "AsyncAPI", "odcs": "ODCS"}


def export(standard: str, stack: str | None, patterns: Sequence[str], out: Path | None, *, overwrite: bool) -> int:
    """Write the declared topics to ``out`` (None: standard output); return the exit code.

    ``out`` is a file for AsyncAPI and a folder for ODCS. Raise Refusal for a file that exists and differs, unless
    ``overwrite`` is set.
    """
    if standard not in STANDARDS:
        suggestion = did_you_mean(standard, STANDARDS) or ": expected " + " or ".join(STANDARDS)
        raise Refusal(f"there is no standard {standard!r}{suggestion}")
    project = find_project()
    stacks = selected_stacks(project, stack)
    if len(stacks) > 1:
        raise Refusal(f"a topic can differ by stack; select one with --stack: {', '.join(stacks)}")
    all_declared = declared(project, stacks[0], "exported")
    declarations = [each for each in all_declared if selected(each.topic.name, patterns)]
    if not declarations:
        raise none_selected("declared topic", patterns, (each.topic.name for each in all_declared))
    topics = with_schemas(declarations, project.root)
    documents, lost = _asyncapi(topics, stacks[0]) if standard == "asyncapi" else _odcs(topics)
    if out is None:
        terminal_output.write("---\n".join(documents.values()))
    else:
        paths = {out if standard == "asyncapi" else out / name: text for name, text in documents.items()}
        _write(paths, overwrite=overwrite)
    for warning in warnings(lost, STANDARDS[standard]):
        terminal_output.note(str(warning))
    terminal_output.note(f"{counted(len(topics), 'topic')} exported")
    return 0


def _asyncapi(topics: Sequence[ExportedTopic], stack: str) -> tuple[dict[str, str], list[LostSetting]]:
    document, lost = asyncapi_document.document(f"Kafka topics of stack {stack}", topics)
    return {"asyncapi.yaml": _yaml(document)}, lost


def _odcs(topics: Sequence[ExportedTopic]) -> tuple[dict[str, str], list[LostSetting]]:
    contracts = {f"{each.topic.name}.odcs.yaml": _yaml(odcs_contract.contract(each)) for each in topics}
    return contracts, [lost for each in topics for lost in each.lost_settings(None)]


class _PlainDumper(yaml.SafeDumper):
    """Writes equal values twice, instead of an anchor and an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=120)


def _write(files: Mapping[Path, str], *, overwrite: bool) -> None:
    """Write the files; none if one of them exists with another text and ``overwrite`` is not set."""
    try:
        changed = {
            path: text
            for path, text in files.items()
            if not path.exists() or read_regular_file(path, _MAX_BYTES) != text.encode()
        }
        existing = [path for path in changed if path.exists()]
        if existing and not overwrite:
            more = f" (and {len(existing) - 1} more)" if len(existing) > 1 else ""
            raise Refusal(f"{existing[0]} exists and differs{more}; pass --overwrite, or another --out")
        for path, text in changed.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            terminal_output.note(f"wrote {replace_file(path, text)}")
    except OSError as error:
        raise Refusal(f"{error.filename} cannot be written: {error.strerror}") from error
