"""The settings of groups are the declared ones.

**fail**: a declared setting has another value on the cluster, or is not set there; or a setting was set on a group with
declared settings, and is not declared itself. **undecidable**: the settings of the group are not visible
(DescribeConfigs on the group), or the brokers have no settings of groups.

Example: ``consumer.session.timeout.ms`` is declared as 60s, and was set to 45000 with ``kafka-configs`` by hand.

Confirm: ``kafka-configs --describe --entity-type groups --entity-name G`` prints the settings.

Remedy: `topicwarden up --refresh` writes the declared value; or declare the live value.

Prevent: grant AlterConfigs on groups to nobody but the user of deploys.

Source: ``GroupConfig``, KIP-848, KIP-932, KIP-1071.
"""

from collections.abc import Iterable

from topicwarden.audit.access_check import AccessResult, AuditedAccess, hidden
from topicwarden.kafka_facts.configs import group_definitions
from topicwarden.model.verdict import Verdict


def applies(access: AuditedAccess) -> bool:
    return bool(access.declared.group_configs)


def judge(access: AuditedAccess) -> Iterable[AccessResult]:
    live = access.live.group_configs
    if live is None:
        yield hidden(access, "group_configs", "the settings of groups")
        return
    for group, (declared, location) in access.declared.group_configs.items():
        if group not in live:
            yield hidden(access, "group_configs", f"the settings of group {group}")
            continue
        found = live[group]
        for name in sorted(declared.keys() | found.keys()):
            expected, seen = declared.get(name), found.get(name)
            if not _equal(name, expected, seen):
                yield AccessResult(
                    Verdict.FAIL,
                    f"{name} of group {group} is {seen or 'not set'}, declared {expected or 'not set'}",
                    location=location,
                    remedy="run `topicwarden up --refresh`, or declare the live value",
                )


def _equal(name: str, expected: str | None, seen: str | None) -> bool:
    definition = group_definitions().get(name)
    if expected is None or seen is None or definition is None:
        return expected == seen
    return definition.equivalent(expected, seen)
