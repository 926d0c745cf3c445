"""The folder, the file name and the text of a new YAML file: a topic, or a folder's ``_defaults.yaml``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from topicwarden.model.files import fitting_stem
from topicwarden.model.units import DURATION, SIZE
from topicwarden.specs.spec_files import DEFAULTS
from topicwarden.specs.validated_document import FlatSettings
from topicwarden.specs.write.yaml_values import yaml_scalar, yaml_setting, yaml_text

Folder: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class ContentsComments:
    """Comments about the settings below ``contents:``, by path, and the lines of comments below them."""

    of_settings: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    below: Sequence[str] = ()


NO_COMMENTS: Final = ContentsComments()
_SUFFIX: Final = ".yaml"


def topic_folders(names: Collection[str], declared: Mapping[str, Folder]) -> dict[str, Folder]:
    """Return the folder of each topic of ``names``; ``declared`` are the folders of the declared topics.

    If all declared topics with the same prefix are in one folder, a new topic goes there. Else ``orders.placed.v1``
    goes to ``orders/``. A prefix before a hyphen or an underscore gets a folder only if several new topics share it.
    A prefix of one topic, such as ``crm_refunds`` of ``crm_refunds.v1``, is replaced by a shared one, such as ``crm``.
    """
    whole = Counter(map(prefix, names))
    shared = Counter(_first_word(prefix(name)) for name in names)

    folders_by_prefix: dict[str, set[Folder]] = {}
    for name, folder in declared.items():
        if folder:
            folders_by_prefix.setdefault(prefix(name), set()).add(folder)
    dotted_prefixes = {prefix(name) for name in names if "." in name}
    chosen: dict[str, Folder] = {}
    for name in names:
        name_prefix = prefix(name)
        existing = folders_by_prefix.get(name_prefix, set())
        if name_prefix and len(existing) == 1:
            chosen[name] = next(iter(existing))
        else:
            if whole[name_prefix] == 1 and shared[_first_word(name_prefix)] > 1:
                name_prefix = _first_word(name_prefix)
            has_folder = name_prefix in dotted_prefixes or shared[name_prefix] > 1
            chosen[name] = (name_prefix,) if name_prefix and has_folder else ()
    # Some file systems ignore case, so two spellings would be one folder, with one _defaults.yaml.
    present = {*declared.values()}
    spellings = {_caseless(folder): folder for folder in present}
    for folder in sorted(chosen.values(), reverse=True):
        spellings.setdefault(_caseless(folder), folder)
    return {name: folder if folder in present else spellings[_caseless(folder)] for name, folder in chosen.items()}


def _caseless(folder: Folder) -> str:
    return "/".join(folder).lower()


def prefix(name: str) -> str:
    """Return the part of a topic's name before the first dot; without a dot, before the first hyphen or underscore."""
    return name.partition(".")[0] if "." in name else _first_word(name)


def _first_word(name: str) -> str:
    return re.split("[-_]", name, maxsplit=1)[0]


def file_name(name: str, folder: Folder, existing_paths: Collection[str]) -> tuple[str, bool]:
    """Return the path of a topic's file below ``topics/``, and whether its document needs a ``topic:`` key.

    ``existing_paths`` are in lower case, because some file systems ignore case. Raise ValueError if no name is free.
    """
    stem = name.lstrip("._") or "topic"
    for number in range(1, len(existing_paths) + 2):
        numbered = stem if number == 1 else f"{fitting_stem(stem, _SUFFIX)}-{number}"
        file = "/".join((*folder, f"{numbered}{_SUFFIX}"))
        if file.lower() not in existing_paths and not file.endswith(f"/{DEFAULTS}"):
            return file, file.rpartition("/")[2] != f"{name}.yaml"
    raise ValueError(f"there is no free file name for {name}")


_ORDER = ("partitions", "replication_factor")
_UNITS: Final = {
    **dict.fromkeys(("max_ahead", "max_late", "max_silence", "max_lag", "every", "within", "grace"), DURATION),
    "max_bytes": SIZE,
}
"""The units of settings below ``contents:``."""
_OWNER_COMMENT = "# owner: the team that owns these topics"


def topic_text(
    name: str | None,
    metadata: Mapping[str, str],
    own: FlatSettings,
    contents: Mapping[str, Any],
    stacks: Mapping[str, FlatSettings],
    *,
    access: Sequence[str] = (),
    access_stack: str | None = None,
    comments: ContentsComments = NO_COMMENTS,
) -> str:
    """Return a topic's document. ``name`` is None if the file's name is the topic's name.

    ``metadata`` has the description and the owner, if known. ``contents`` has the settings below ``contents:``, and
    ``stacks`` has the overrides by stack. ``access`` has the lines of ``access:`` for ``access_stack``, or for
    all stacks for None. ``comments`` are about the contents.
    """
    lines = [f"topic: {yaml_scalar(name)}"] if name else []
    lines += [f"{key}: {yaml_text(value)}" for key, value in metadata.items()]
    lines += _setting_lines(own)
    lines += contents_lines(contents, comments)
    lines += access if access_stack is None else []
    of_stack = {access_stack: access} if access_stack is not None and access else {}
    for index, stack in enumerate(dict.fromkeys((*stacks, *of_stack))):
        lines += [*(["stacks:"] if not index else []), f"  {yaml_scalar(stack)}:"]
        lines += [f"    {line}" for line in (*_setting_lines(stacks.get(stack, {})), *of_stack.get(stack, ()))]
    return "".join(f"{line}\n" for line in lines)


def defaults_text(common: FlatSettings, has_owner: bool) -> str:
    """Return a ``_defaults.yaml``. Without ``has_owner`` (an inherited owner), a comment asks for the owner."""
    lines = [] if has_owner else [_OWNER_COMMENT]
    return "".join(f"{line}\n" for line in (*lines, *_setting_lines(common)))


def contents_lines(contents: Mapping[str, Any], comments: ContentsComments = NO_COMMENTS) -> Iterator[str]:
    """Yield the lines of ``contents:`` with their comments; only comments if there is no setting."""
    yield from _mapping_lines(
        {"contents": contents} if contents else {},
        {("contents", *path): comment_text(comment) for path, comment in comments.of_settings.items()},
    )
    below = map(comment_text, comments.below)
    yield from (f"  # {comment}" if contents else f"# contents: {comment}" for comment in below)


def comment_text(comment: str) -> str:
    """Return a comment on one line: other text than printable characters, such as line breaks, is escaped."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in comment)


def _mapping_lines(
    mapping: Mapping[str, Any], comments: Mapping[tuple[str, ...], str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield the lines of a mapping. ``comments`` are by path."""
    for key, value in mapping.items():
        inner = {path[1:]: comment for path, comment in comments.items() if path[:1] == (key,)}
        comment = f"  # {inner[()]}" if inner.get(()) else ""
        if value == {}:
            yield f"{key}: {{}}{comment}"
        elif isinstance(value, Mapping):
            yield f"{key}:{comment}"
            yield from (f"  {line}" for line in _mapping_lines(value, inner))
        elif isinstance(value, (list, tuple)):
            yield f"{key}:{comment}"
            for item in value:
                first, *more = _mapping_lines(item) if isinstance(item, Mapping) else [_scalar(item)]
                yield from (f"  - {first}", *(f"    {line}" for line in more))
        else:
            yield f"{key}: {_UNITS[key].format(value) if key in _UNITS and value else _scalar(value)}{comment}"


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
