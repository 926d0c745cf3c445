"""A declared topic with the texts of its schemas, and the settings that an export cannot hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from topicwarden.model.problem import Level, Location, Problem, Refusal
from topicwarden.model.topic import Topic
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.write import explicit_contents


class LostSetting(NamedTuple):
    """A setting that is not exported: its location in YAML, and its path, such as ``contents.key.partitioner``.

    ``reason`` is None if the standard has no place for it.
    """

    location: Location
    setting: str
    reason: str | None = None


_NEVER_EXPORTED: Final = ("access", "allow")
"""Settings of a topic that no standard has a place for."""


@dataclass(frozen=True)
class ExportedTopic:
    """A topic, and the texts of its schemas by part: ``key``, ``value``."""

    declaration: Declaration
    schemas: Mapping[str, str]

    @property
    def topic(self) -> Topic:
        return self.declaration.topic

    def lost_settings(self, kept: Collection[tuple[str, str]] | None) -> Iterator[LostSetting]:
        """Yield the settings that are not exported; ``kept`` are paths below ``contents`` (None: all of them)."""
        for part, value in explicit_contents(self.topic.contents).items() if kept is not None else ():
            for key in value if isinstance(value, dict) else ():
                if (part, key) not in (kept or ()):
                    path = ("contents", part, key)
                    yield LostSetting(self.declaration.locations.at(path), ".".join(path))
            if not isinstance(value, dict):
                yield LostSetting(self.declaration.locations.at(("contents", part)), f"contents.{part}")
        locations = self.declaration.locations
        yield from (
            LostSetting(locations.at(path), ".".join(map(str, path)))
            for path, value in locations.settings.items()
            if path[0] in _NEVER_EXPORTED and value
        )


def with_schemas(declarations: Sequence[Declaration], root: Path) -> list[ExportedTopic]:
    """Return the topics with the texts of their schemas; ``root`` is the project's folder."""
    schemas = ProjectSchemas(root)
    return [ExportedTopic(declaration, _schemas(declaration, schemas)) for declaration in declarations]


def warnings(lost: Sequence[LostSetting], standard: str) -> list[Problem]:
    """Return one warning for each setting that is not exported, at its first location."""
    by_setting: dict[tuple[str, str], list[Location]] = {}
    for location, setting, reason in lost:
        key = setting, reason or f"{standard} has no place for it"
        by_setting.setdefault(key, []).append(location)
    return [
        Problem(
            min(locations),
            f"not exported, because {reason}: {setting}"
            + (f" ({len(locations):,} topics)" if len(locations) > 1 else ""),
            "not-exported",
            Level.WARNING,
        )
        for (setting, reason), locations in sorted(by_setting.items())
    ]


def _schemas(declaration: Declaration, schemas: ProjectSchemas) -> dict[str, str]:
    found = {}
    for part in ("key", "value"):
        path = schema_path(declaration, part)
        if path is not None:
            try:
                found[part] = schemas.text(path)
            except UnusableSchema as error:
                raise Refusal(f"{path} cannot be read; run `topicwarden check`") from error
    return found
