"""Load ``subjects/``: the files that declare subjects of a Schema Registry that are no single topic's.

A file below ``subjects/`` has no defaults. Its section of ``stacks`` for the stack overrides it, as in ``access/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from topicwarden.kinds.subject.spec import SubjectDocument
from topicwarden.specs.load import LoadedDocuments, load_documents


def load_subjects(folder: Path, root: Path, stacks: Sequence[str]) -> LoadedDocuments:
    """Read every YAML file below ``folder``; see ``load_documents``."""
    return load_documents(folder, root, stacks, SubjectDocument, "subjects")
