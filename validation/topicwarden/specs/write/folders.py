"""Choose the folder and the file name of a topic below ``topics/``, by the prefix of its name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import TypeAlias

from topicwarden.specs.spec_files import DEFAULTS

Folder: TypeAlias = tuple[str, ...]


def topic_folders(names: Collection[str], declared: Mapping[str, Folder]) -> dict[str, Folder]:
    """Return the folder of each topic of ``names``; ``declared`` are the folders of the declared topics.

    If all declared topics with the same prefix are in one folder, a new topic goes there. Else ``orders.placed.v1``
    goes to ``orders/``. A prefix before a hyphen or an underscore gets a folder only if several new topics share it.
    """
    folders_by_prefix: dict[str, set[Folder]] = {}
    for name, folder in declared.items():
        if folder:
            folders_by_prefix.setdefault(prefix(name), set()).add(folder)
    prefix_counts = Counter(map(prefix, names))
    dotted_prefixes = {prefix(name) for name in names if "." in name}
    chosen: dict[str, Folder] = {}
    for name in names:
        name_prefix = prefix(name)
        existing = folders_by_prefix.get(name_prefix, set())
        if name_prefix and len(existing) == 1:
            chosen[name] = next(iter(existing))
        else:
            has_folder = name_prefix in dotted_prefixes or prefix_counts[name_prefix] > 1
            chosen[name] = (name_prefix,) if name_prefix and has_folder else ()
    return chosen


def prefix(name: str) -> str:
    """Return the part of a topic's name before the first dot; without a dot, before the first hyphen or underscore."""
    return name.partition(".")[0] if "." in name else re.split("[-_]", name, maxsplit=1)[0]


def file_name(name: str, folder: Folder, existing_paths: Collection[str]) -> tuple[str, bool]:
    """Return the path of a topic's file below ``topics/``, and whether its document needs a ``topic:`` key.

    ``existing_paths`` are in lower case, because some file systems ignore case. Raise ValueError if no name is free.
    """
    stem = name.lstrip("._") or "topic"
    for number in range(1, len(existing_paths) + 2):
        file = "/".join((*folder, f"{stem}{'' if number == 1 else f'-{number}'}.yaml"))
        if file.lower() not in existing_paths and not file.endswith(f"/{DEFAULTS}"):
            return file, file.rpartition("/")[2] != f"{name}.yaml"
    raise ValueError(f"there is no free file name for {name}")
