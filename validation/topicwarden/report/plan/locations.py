"""Make the file names of a plan relative to the Git repository, for pull requests."""

from __future__ import annotations

from topicwarden.model.finding import FindingLocation
from topicwarden.model.planned_change import PlanReport


def with_prefix(report: PlanReport, prefix: str) -> PlanReport:
    """Return the plan with ``prefix``, such as ``kafka/``, in front of each file name."""
    if not prefix:
        return report

    def prefixed(place: FindingLocation | None) -> FindingLocation | None:
        return place and place.model_copy(update={"file": prefix + place.file})

    topics = [
        topic.model_copy(
            update={
                "place": prefixed(topic.place),
                "consequences": [
                    each.model_copy(update={"place": prefixed(each.place)}) for each in topic.consequences
                ],
            }
        )
        for topic in report.topics
    ]
    allowances = [each.model_copy(update={"place": prefixed(each.place)}) for each in report.allowances]
    return report.model_copy(update={"topics": topics, "allowances": allowances})
