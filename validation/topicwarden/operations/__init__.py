"""The operations of topicwarden as functions: values in, a report out. No function prints or exits.

The names of ``__all__`` are the public Python API (docs/reference/python.md). No import of a name loads Pulumi, Spark
or a Kafka client. A function that needs one loads it when it is called, and raises MissingExtra if it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from topicwarden.model.problem import missing_extra

if TYPE_CHECKING:
    from topicwarden.audit.scan.read_limits import ReadLimits
    from topicwarden.extensions.redrive.redrive_operation import redrive_finding
    from topicwarden.extensions.redrive.redrive_report import RedriveReport
    from topicwarden.extensions.watch.watch_operation import watch_stacks
    from topicwarden.model.finding import AuditReport
    from topicwarden.model.planned_change import PlanReport
    from topicwarden.model.problem import MissingExtra, Problem, Refusal
    from topicwarden.model.project import Project, find_project
    from topicwarden.model.usage_report import UsageReport
    from topicwarden.model.verdict import FailOn, ReadScope, Verdict
    from topicwarden.operations.audit import audit_topics
    from topicwarden.operations.check import CheckReport, check_topics
    from topicwarden.operations.infer import infer_stack
    from topicwarden.operations.operation_options import (
        AuditOptions,
        InferOptions,
        ProgressListener,
        RedriveOptions,
        UsageOptions,
        WatchOptions,
    )
    from topicwarden.operations.plan import plan_topics
    from topicwarden.operations.usage import usage_topics

__all__ = [
    "AuditOptions",
    "AuditReport",
    "CheckReport",
    "FailOn",
    "InferOptions",
    "MissingExtra",
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
    "infer_stack",
    "plan_topics",
    "redrive_finding",
    "usage_topics",
    "watch_stacks",
]

_MODULES: Final = {
    "topicwarden.audit.scan.read_limits": ("ReadLimits",),
    "topicwarden.model.finding": ("AuditReport",),
    "topicwarden.model.planned_change": ("PlanReport",),
    "topicwarden.model.problem": ("MissingExtra", "Problem", "Refusal"),
    "topicwarden.model.project": ("Project", "find_project"),
    "topicwarden.model.usage_report": ("UsageReport",),
    "topicwarden.model.verdict": ("FailOn", "ReadScope", "Verdict"),
    "topicwarden.operations.check": ("CheckReport", "check_topics"),
    "topicwarden.operations.operation_options": (
        "AuditOptions",
        "InferOptions",
        "RedriveOptions",
        "UsageOptions",
        "ProgressListener",
        "WatchOptions",
    ),
    "topicwarden.extensions.redrive.redrive_report": ("RedriveReport",),
}
"""The module of each public name that needs no extra."""
_FUNCTIONS: Final = {
    "audit_topics": "topicwarden.operations.audit",
    "infer_stack": "topicwarden.operations.infer",
    "plan_topics": "topicwarden.operations.plan",
    "redrive_finding": "topicwarden.extensions.redrive.redrive_operation",
    "usage_topics": "topicwarden.operations.usage",
    "watch_stacks": "topicwarden.extensions.watch.watch_operation",
}
"""The module of each public function that needs an extra."""


class _Deferred:
    """A public function whose module is imported by the first call, or to show its signature or docstring."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__, self.__name__, self.__qualname__ = module, name, name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        try:
            return self.__wrapped__(*arguments, **options)
        except ModuleNotFoundError as error:
            if missing := missing_extra(error):
                raise missing from error
            raise

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__name__}>"

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(import_module(self.__module__), self.__name__)
        return function

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.__wrapped__.__doc__


def __getattr__(name: str) -> Any:
    if module := _FUNCTIONS.get(name):
        value: Any = _Deferred(module, name)
    elif module := next((module for module, names in _MODULES.items() if name in names), None):
        value = getattr(import_module(module), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    return __all__
