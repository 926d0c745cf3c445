"""The names of fields that a policy adds to those that look like personal data."""

from __future__ import annotations

from topicwarden.policies.policy import Policy
from topicwarden.policies.rules import personal_data


def personal_names(policy: Policy, stack: str) -> frozenset[str]:
    """Return the names of fields that the rule ``personal-data`` adds on ``stack``."""
    blocks = (placed.settings for placed in policy.rules.get(personal_data.RULE, ()))
    return frozenset(
        name
        for settings in blocks
        if isinstance(settings, personal_data.Settings) and settings.applies_on(stack)
        for name in settings.fields
    )
