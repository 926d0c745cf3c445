"""The protocol that every check implements, and the result of a check.

A check refers to a setting by its path in the YAML. Only ``judge.findings`` maps a path to a file and a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.history.topic_state import Facts
from topicwarden.model.verdict import Verdict

Evidence = Mapping[str, int | float | str | None]
View = TypeVar("View", bound=AuditedTopic)


@dataclass(frozen=True)
class CheckResult:
    """A verdict on a topic or on some of its partitions, with the reasons.

    ``path`` is the path of the setting in the YAML, such as ``("config", "segment.ms")``. ``partitions`` is empty if
    the verdict concerns the whole topic.

    ``tracked_facts`` are the facts, by partition, that the next audit looks for again. A ``suspect`` can become a
    ``fail`` if the facts are unchanged then, and so are the ``relevant_settings``. A ``pass`` without a message is
    not reported; its tracked facts are remembered.
    """

    verdict: Verdict
    message: str
    path: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    because: tuple[str, ...] = ()
    remedy: str = ""
    evidence: Evidence = field(default_factory=dict)
    tracked_facts: Mapping[int, Facts] = field(default_factory=dict)
    relevant_settings: tuple[str, ...] = ()


class Check(Protocol[View]):
    """A module of ``checks/``. Its docstring is the documentation of the check; ``CHECKS`` has its id."""

    Required: type[View]
    """The evidence that the check requires: a class that combines kinds of evidence (``evidence.py``)."""

    def applies(self, subject: View, /) -> bool:
        """Return whether the check applies to the topic. If it does and has no results, the topic passes.

        The records may be missing here: a check of records takes ``Live`` or ``LiveSettings`` instead of ``Required``.
        """

    def judge(self, subject: View, /) -> Iterable[CheckResult]:
        """Yield the results; call this only if ``applies`` is true, and no required evidence is missing."""


def check(module: Check[View]) -> Check[Any]:
    """Return ``module``. mypy verifies with this call that ``judge`` only uses the evidence that is required."""
    return module
