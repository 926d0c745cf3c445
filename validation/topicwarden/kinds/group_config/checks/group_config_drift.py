"""The settings of groups are the declared ones.

**fail**: a declared setting has another value on the cluster, or is not set there; or a setting was set on a group with
declared settings, and is not declared itself. **undecidable**: the settings of the group are not visible
(DescribeConfigs on the group), or the brokers have no settings of groups.

Example: ``consumer.session.timeout.ms`` is declared as 60s, and was set to 45000 with ``kafka-configs`` by hand.

Confirm: ``kafka-configs --describe --entity-type groups --entity-name G`` prints the settings.

Remedy: `topicwarden up --refresh` writes the declared value; or declare the live value. A setting that nobody declared
stays: declare it, or remove it with ``kafka-configs --alter --delete-config``.

Prevent: grant AlterConfigs on groups to nobody but the user of deploys.

Source: ``GroupConfig``, KIP-848, KIP-932, KIP-1071.
"""

from topicwarden.audit.access_check import DriftCheck, by_name
from topicwarden.kafka_facts.configs import group_definitions
from topicwarden.kinds.group_config.change import PART


def _equal(name: str, expected: str | None, seen: str | None) -> bool:
    definition = group_definitions().get(name)
    if expected is None or seen is None or definition is None:
        return expected == seen
    return definition.equivalent(expected, seen)


_CHECK = DriftCheck(PART, by_name("group {}".format, _equal))
applies, judge = _CHECK.applies, _CHECK.judge
