"""Reads ``Pulumi.yaml``, without which Pulumi deploys nothing, and judges the names of the files of stacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from topicwarden.model.files import read_regular_file
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Location, Problem, limited
from topicwarden.model.project import Project, is_stack_name
from topicwarden.specs.spec_files import printable_path
from topicwarden.specs.validation_errors import validation_problems
from topicwarden.specs.yaml_nodes import UNREADABLE, ParsedDocument, read_documents

FILE: Final = "Pulumi.yaml"
_RULE: Final = "project-file"


class _Strict(BaseModel):
    """Accepts no value of another type; Pulumi ignores most keys that it does not know."""

    model_config = ConfigDict(strict=True, defer_build=True)


class _Runtime(_Strict):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = Field(min_length=1)
    options: dict[str, Any] = {}


class _Backend(_Strict):
    model_config = ConfigDict(strict=True, extra="forbid")

    url: str = ""


class _Plugin(_Strict):
    name: str
    path: str = ""
    version: str = ""


class _Plugins(_Strict):
    providers: list[_Plugin] = []
    analyzers: list[_Plugin] = []
    languages: list[_Plugin] = []


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _no_text(value: Any) -> Any:
    return None if isinstance(value, str) else value  # a text is the folder of the stack files


class PulumiProject(_Strict):
    """The keys of ``Pulumi.yaml`` that Pulumi needs, or refuses if their values have another type.

    Source: ``project.json`` and ``ValidateProjectName`` in Pulumi's ``sdk/go/common``.
    """

    name: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_.-]+$")
    runtime: Annotated[_Runtime, BeforeValidator(_named)]
    main: str | None = None
    description: str | None = None
    stack_config_dir: str | None = Field(default=None, alias="stackConfigDir")
    config: Annotated[dict[str, Any] | None, BeforeValidator(_no_text)] = None
    backend: _Backend | None = None
    plugins: _Plugins = Field(default_factory=_Plugins)


def read_project_file(root: Path) -> Mapping[str, Any]:
    """Return the settings in the ``Pulumi.yaml`` of the folder ``root``; raises ``ValueError`` with the reason."""
    try:
        settings = yaml.safe_load(read_regular_file(root / FILE))
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"cannot be read: {str(error).partition(chr(10))[0]}") from error
    if not isinstance(settings, dict):
        raise ValueError("cannot be read: expected a mapping")
    return settings


def project_file_problems(root: Path) -> Iterator[Problem]:
    """Yield the problems of a ``Pulumi.yaml`` that Pulumi cannot read; none if there is no such file."""
    if not (root / FILE).exists():
        return
    try:
        documents, problems = read_documents(read_regular_file(root / FILE), FILE)
    except OSError as error:
        denied = isinstance(error, PermissionError)
        remedy = "check its permissions" if denied else "`topicwarden init` writes one"
        yield Problem(Location(FILE), f"cannot be read: {error.strerror}; {remedy}", _RULE)
        return
    document = documents[0] if documents else ParsedDocument(FILE)
    problems += [problem for problem in document.problems if problem.rule in UNREADABLE]
    if not problems:
        try:
            PulumiProject.model_validate(document.value)
        except ValidationError as error:
            problems += validation_problems(error, document, PulumiProject)
    for problem in limited(problems):
        yield replace(problem, message=f"Pulumi refuses this file: {problem.message}", rule=_RULE)


def stack_file_name_problems(project: Project) -> Iterator[Problem]:
    """Yield a problem for each file of a stack whose name Pulumi does not read, or as the name of no stack."""
    for path in sorted(project.stacks.glob("Pulumi.*")):
        if path.suffix.lower() not in (".yaml", ".yml") or path.stem == "Pulumi":
            continue
        location = Location(printable_path(path.relative_to(project.root).as_posix()))
        stack = path.stem.removeprefix("Pulumi.")
        if path.suffix != ".yaml":
            message = f"expected a name that ends in .yaml, got {path.suffix}; rename the file"
            yield Problem(location, message, "file-name")
        elif not is_stack_name(stack):
            shown = quoted(printable_path(stack))
            message = f"Pulumi has no stack {shown}: expected ASCII letters, digits, '.', '_' and '-'; rename the file"
            yield Problem(location, message, "file-name")
