"""One new YAML file as text: a topic, or a folder's ``_defaults.yaml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from topicwarden.specs.validated_document import Leaves
from topicwarden.specs.write.yaml_values import scalar, setting

_ORDER = ("partitions", "replication_factor")
_OWNER = "# owner: the team that answers for these topics"


def topic_text(name: str | None, about: Mapping[str, str], own: Leaves, stacks: Mapping[str, Leaves]) -> str:
    """A topic's document; ``name`` is None where the file's name says it.

    ``about`` is what else is known: description, owner. ``stacks`` is what holds on one stack alone, by stack.
    """
    lines = [f"topic: {scalar(name)}"] if name else []
    lines += [f"{key}: {scalar(text)}" for key, text in about.items()]
    lines += _settings(own)
    for number, (stack, held) in enumerate(stacks.items()):
        lines += [*(["stacks:"] if not number else []), f"  {scalar(stack)}:"]
        lines += [f"    {line}" for line in _settings(held)]
    return "".join(f"{line}\n" for line in lines)


def defaults_text(common: Leaves, owned: bool) -> str:
    """A ``_defaults.yaml``; ``owned`` where its topics inherit an owner, so that nobody need be asked for one."""
    lines = [] if owned else [_OWNER]
    return "".join(f"{line}\n" for line in (*lines, *_settings(common)))


def _settings(held: Leaves) -> Iterator[str]:
    for key in _ORDER:
        if (key,) in held:
            yield f"{key}: {'null' if held[key,] is None else held[key,]}"
    config = sorted((str(path[1]), value) for path, value in held.items() if path[0] == "config")
    if config:
        yield "config:"
        yield from (f"  {name}: {setting(name, value)}" for name, value in config)
