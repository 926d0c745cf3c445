"""A declared topic already exists on the cluster, but this stack did not deploy it.

If the topic is exactly as declared, a deploy adopts it without a change. If it differs, creating it would fail halfway
through the deploy, so the change is refused before.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import COUNTS, TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Action, Consequence, Setting, Severity
from topicwarden.plan.consequence_text import shorten, spelled

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.action is Action.ADOPT else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    visible = change.live is not None and bool(change.live.sources)
    differing = [each for each in change.settings if each.declared != each.live and (visible or each.name in COUNTS)]
    if not differing and not visible:
        return  # the module ``unseen`` refuses
    if not differing:
        yield Consequence(
            kind="adopted",
            severity=Severity.NOTE,
            message="the topic is on the cluster as declared; it is adopted without a change",
            location=change.at(),
        )
        return
    shown = [_values_text(setting) for setting in differing]
    yield Consequence(
        kind="foreign",
        severity=Severity.REFUSED,
        message=f"the topic is on the cluster, but this stack did not deploy it, and it differs: {shorten(shown)}",
        because=["Pulumi would try to create it, and fail in the middle of the deploy"],
        remedy="declare it as it is (`topicwarden import` writes this YAML), deploy, and change it after that",
        location=differing[0].location,
    )


def _values_text(setting: Setting) -> str:
    declared = "not declared" if setting.declared is None else f"declared {spelled(setting.name, setting.declared)}"
    return f"{setting.name} is {spelled(setting.name, setting.live)}, {declared}"
