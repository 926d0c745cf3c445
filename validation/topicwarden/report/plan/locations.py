"""Make the file names of a plan relative to the Git repository, for pull requests."""

from __future__ import annotations

from dataclasses import replace

from topicwarden.model.planned_change import PlanReport
from topicwarden.model.problem import Location


def with_prefix(report: PlanReport, prefix: str) -> PlanReport:
    """Return the plan with ``prefix``, such as ``kafka/``, in front of each file name."""
    if not prefix:
        return report

    def prefixed(location: Location | None) -> Location | None:
        return location and replace(location, file=prefix + location.file)

    topics = [
        topic.model_copy(
            update={
                "location": prefixed(topic.location),
                "consequences": [
                    each.model_copy(update={"location": prefixed(each.location)}) for each in topic.consequences
                ],
            }
        )
        for topic in report.topics
    ]
    allowances = [each.model_copy(update={"location": prefixed(each.location)}) for each in report.allowances]
    return report.model_copy(update={"topics": topics, "allowances": allowances})
