"""One folder for each kind of access, with modules of the same names. ``AccessKind`` is the table of the kinds.

- ``spec``: the YAML, as a pydantic model, and the entries that a file declares.
- ``convert``: the YAML that an import writes, what is outside of a scope, and what a service or a version lacks.
- ``change``: what identifies an entry, and how a change of it is shown.
- ``consequences/``: what a change does to clients, one file each.
- ``resource``: an entry as a resource of Pulumi: its name and properties, and how the provider writes it.
- ``checks/``: what an audit judges, one file each, which is named as the check.

``specs``, ``plan``, ``deploy`` and ``audit`` go through the table, and treat all kinds in the same way.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

from topicwarden.model.change_terms import AccessKind

KINDS: Final = tuple(kind.name.lower() for kind in AccessKind)
"""The folders, in the order in which a plan shows the kinds."""
_FIRST_IN_FILES: Final = ("acl", "scram_user")


def modules(layer: str) -> tuple[ModuleType, ...]:
    """Return the module ``layer`` of each kind. A package calls this for its own layer only."""
    return tuple(import_module(f"{__name__}.{kind}.{layer}") for kind in KINDS)


def members(layer: str) -> tuple[ModuleType, ...]:
    """Return the modules in the package ``layer`` of each kind, sorted by name within a kind."""
    found = ((package.__name__, each.name) for package in modules(layer) for each in iter_modules(package.__path__))
    return tuple(import_module(f"{package}.{name}") for package, name in found)


def every_kind(layer: str) -> tuple[ModuleType, ...]:
    """Return the module ``layer`` of each kind, in the order in which they are deployed: access, topics, subjects."""
    return (*modules(layer), *(import_module(f"{__name__}.{kind}.{layer}") for kind in ("topic", "subject")))


def in_file_order(layer: str) -> tuple[ModuleType, ...]:
    """Return the module ``layer`` of each kind, in the order of their keys in a file: first, who may do what."""
    return tuple(import_module(f"{__name__}.{kind}.{layer}") for kind in dict.fromkeys((*_FIRST_IN_FILES, *KINDS)))
