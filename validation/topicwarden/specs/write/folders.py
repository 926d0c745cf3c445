"""Which folder below ``topics/`` a topic goes to, as a person would sort them: by what their names begin with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import TypeAlias

from topicwarden.specs.spec_files import DEFAULTS

Folder: TypeAlias = tuple[str, ...]


def folders(names: Collection[str], declared: Mapping[str, Folder]) -> dict[str, Folder]:
    """The folder of each of ``names``; ``declared`` are the folders of topics that the project has.

    Where the declared topics of a prefix have one folder, its new ones go there. Else ``orders.placed.v1`` goes to
    ``orders/``; a prefix that ends in a hyphen or an underscore makes a folder where two share it.
    """
    homes: dict[str, set[Folder]] = {}
    for name, folder in declared.items():
        if folder:
            homes.setdefault(prefix(name), set()).add(folder)
    shared = Counter(map(prefix, names))
    dotted = {prefix(name) for name in names if "." in name}
    found: dict[str, Folder] = {}
    for name in names:
        first = prefix(name)
        home = homes.get(first, set())
        if first and len(home) == 1:
            found[name] = next(iter(home))
        else:
            found[name] = (first,) if first and (first in dotted or shared[first] > 1) else ()
    return found


def prefix(name: str) -> str:
    """What stands before a topic's first dot, else before its first hyphen or underscore; empty where nothing does."""
    return name.partition(".")[0] if "." in name else re.split("[-_]", name, maxsplit=1)[0]


def file_name(name: str, folder: Folder, taken: Collection[str]) -> tuple[str, bool]:
    """The path below ``topics/`` of a topic's file, and whether its document must say the name.

    ``taken`` are paths that there are, in lower case: there are disks that do not tell capitals apart.
    """
    stem = name.lstrip("._") or "topic"
    for number in range(1, len(taken) + 2):
        file = "/".join((*folder, f"{stem}{'' if number == 1 else f'-{number}'}.yaml"))
        if file.lower() not in taken and not file.endswith(f"/{DEFAULTS}"):
            return file, file.rpartition("/")[2] != f"{name}.yaml"
    raise ValueError(f"no file name is left for {name}")
