"""Places of a plan, as a pull request names them."""

from __future__ import annotations

from topicwarden.model.finding import FindingLocation
from topicwarden.model.planned_change import PlanReport


def within(report: PlanReport, prefix: str) -> PlanReport:
    """The report with ``prefix``, such as ``kafka/``, before each file."""
    if not prefix:
        return report

    def moved(place: FindingLocation | None) -> FindingLocation | None:
        return place and place.model_copy(update={"file": prefix + place.file})

    topics = [
        topic.model_copy(
            update={
                "place": moved(topic.place),
                "consequences": [each.model_copy(update={"place": moved(each.place)}) for each in topic.consequences],
            }
        )
        for topic in report.topics
    ]
    allowances = [each.model_copy(update={"place": moved(each.place)}) for each in report.allowances]
    return report.model_copy(update={"topics": topics, "allowances": allowances})
