"""The operations of topicwarden as functions: values in, a report out. No function prints or exits.

The names of ``__all__`` are the public Python API (docs/reference/python.md). Each is imported when it is used, because
a check needs neither Pulumi nor Spark nor a Kafka client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from topicwarden.audit.scan.read_limits import ReadLimits
    from topicwarden.model.finding import AuditReport
    from topicwarden.model.planned_change import PlanReport
    from topicwarden.model.problem import Problem, Refusal
    from topicwarden.model.project import Project, find_project
    from topicwarden.model.usage_report import UsageReport
    from topicwarden.model.verdict import FailOn, ReadScope, Verdict
    from topicwarden.operations.audit import AuditOptions, audit_topics
    from topicwarden.operations.check import CheckReport, check_topics
    from topicwarden.operations.plan import plan_topics
    from topicwarden.operations.progress_listener import ProgressListener
    from topicwarden.operations.redrive import RedriveOptions, RedriveReport, redrive_finding
    from topicwarden.operations.usage import UsageOptions, usage_topics
    from topicwarden.operations.watch import WatchOptions, watch_stacks

__all__ = [
    "AuditOptions",
    "AuditReport",
    "CheckReport",
    "FailOn",
    "PlanReport",
    "Problem",
    "ProgressListener",
    "Project",
    "ReadLimits",
    "ReadScope",
    "RedriveOptions",
    "RedriveReport",
    "Refusal",
    "UsageOptions",
    "UsageReport",
    "Verdict",
    "WatchOptions",
    "audit_topics",
    "check_topics",
    "find_project",
    "plan_topics",
    "redrive_finding",
    "usage_topics",
    "watch_stacks",
]

_MODULES: Final = {
    "topicwarden.audit.scan.read_limits": ("ReadLimits",),
    "topicwarden.model.finding": ("AuditReport",),
    "topicwarden.model.planned_change": ("PlanReport",),
    "topicwarden.model.problem": ("Problem", "Refusal"),
    "topicwarden.model.project": ("Project", "find_project"),
    "topicwarden.model.usage_report": ("UsageReport",),
    "topicwarden.model.verdict": ("FailOn", "ReadScope", "Verdict"),
    "topicwarden.operations.audit": ("AuditOptions", "audit_topics"),
    "topicwarden.operations.check": ("CheckReport", "check_topics"),
    "topicwarden.operations.plan": ("plan_topics",),
    "topicwarden.operations.progress_listener": ("ProgressListener",),
    "topicwarden.operations.redrive": ("RedriveOptions", "RedriveReport", "redrive_finding"),
    "topicwarden.operations.usage": ("UsageOptions", "usage_topics"),
    "topicwarden.operations.watch": ("WatchOptions", "watch_stacks"),
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
