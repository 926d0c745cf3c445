"""Say from when on a stack's topics, groups and access can be idle or unused: observations must go back that far."""

from __future__ import annotations

from topicwarden.model.timestamps import utc
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.usage.use_history import RememberedUse


def too_young(policy: UsagePolicy | None, remembered: RememberedUse) -> list[str]:
    """Return a note on the periods of ``policy`` that are longer than topics have been observed; none if no period is.

    A new project has this note instead of a finding for each topic.
    """
    if policy is None or remembered.observed_ms < 0:
        return []
    since = remembered.observed_at - remembered.observed_ms
    subjects: dict[int, list[str]] = {}
    for subject, period in (
        ("idle topics", policy.idle_after),
        ("idle groups", policy.idle_groups_after),
        ("unused access", policy.unused_access_after),
    ):
        if period is not None and period > remembered.observed_ms:
            subjects.setdefault(since + period, []).append(subject)
    if not subjects:
        return []
    parts = [f"{_listed(names)} from {utc(at)} on" for at, names in sorted(subjects.items())]
    return [f"the use of topics has been observed since {utc(since)}; it shows {', '.join(parts)}"]


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
