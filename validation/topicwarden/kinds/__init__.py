"""One folder for each kind of access, with modules of the same names. ``KINDS`` lists the folders.

- ``change``: what identifies an entry, and how a change of it is shown.
- ``resource``: an entry as a resource of Pulumi: its name and properties, and how the provider writes it.
- ``drift``: whether the cluster has what is declared.

``plan``, ``deploy`` and ``audit`` go through the table, and treat all kinds in the same way.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

KINDS: Final = ("acl", "quota", "scram_user", "group_config")
"""The folders, in the order in which a plan shows the kinds."""


def of_each(layer: str, name: str) -> tuple[Any, ...]:
    """Return the value ``name`` of the module ``layer`` of each kind. A package calls this for its own layer only."""
    return tuple(getattr(import_module(f"{__name__}.{kind}.{layer}"), name) for kind in KINDS)
