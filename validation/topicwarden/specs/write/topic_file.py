"""The text of a new YAML file: a topic, or a folder's ``_defaults.yaml``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from topicwarden.specs.validated_document import FlatSettings
from topicwarden.specs.write.yaml_values import yaml_scalar, yaml_setting

_ORDER = ("partitions", "replication_factor")
_OWNER_COMMENT = "# owner: the team that owns these topics"


def topic_text(
    name: str | None,
    metadata: Mapping[str, str],
    own: FlatSettings,
    contents: Mapping[str, Any],
    stacks: Mapping[str, FlatSettings],
) -> str:
    """Return a topic's document. ``name`` is None if the file's name is the topic's name.

    ``metadata`` has the description and the owner, if known. ``contents`` has the settings below ``contents:``, and
    ``stacks`` has the overrides by stack.
    """
    lines = [f"topic: {yaml_scalar(name)}"] if name else []
    lines += [f"{key}: {yaml_scalar(value)}" for key, value in metadata.items()]
    lines += _setting_lines(own)
    lines += _mapping_lines({"contents": contents} if contents else {})
    for index, (stack, settings) in enumerate(stacks.items()):
        lines += [*(["stacks:"] if not index else []), f"  {yaml_scalar(stack)}:"]
        lines += [f"    {line}" for line in _setting_lines(settings)]
    return "".join(f"{line}\n" for line in lines)


def defaults_text(common: FlatSettings, has_owner: bool) -> str:
    """Return a ``_defaults.yaml``. Without ``has_owner`` (an inherited owner), a comment asks for the owner."""
    lines = [] if has_owner else [_OWNER_COMMENT]
    return "".join(f"{line}\n" for line in (*lines, *_setting_lines(common)))


def _mapping_lines(mapping: Mapping[str, Any]) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield f"{key}:"
            yield from (f"  {line}" for line in _mapping_lines(value))
        elif isinstance(value, (list, tuple)):
            yield f"{key}:"
            for item in value:
                first, *more = _mapping_lines(item) if isinstance(item, Mapping) else [_scalar(item)]
                yield from (f"  - {first}", *(f"    {line}" for line in more))
        else:
            yield f"{key}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    return yaml_scalar(value) if isinstance(value, str) else json.dumps(value)


def _setting_lines(settings: FlatSettings) -> Iterator[str]:
    for key in _ORDER:
        if (key,) in settings:
            yield f"{key}: {'null' if settings[key,] is None else settings[key,]}"
    config = sorted((str(path[1]), value) for path, value in settings.items() if path[0] == "config")
    if config:
        yield "config:"
        yield from (f"  {name}: {yaml_setting(name, value)}" for name, value in config)
