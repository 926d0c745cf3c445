"""The client-metrics subscriptions are the declared ones.

**fail**: a declared subscription has another setting on the cluster, or is not there. **undecidable**: the
subscriptions are not visible (DescribeConfigs on the Cluster resource), or the brokers have none (before Kafka 3.7, or
another implementation). The order of the items of ``metrics`` and ``match`` makes no difference to brokers.

Example: ``interval.ms`` is declared as 30s, and was set to 1000 with ``kafka-client-metrics`` by hand.

Confirm: ``kafka-client-metrics --describe --name NAME`` prints the settings.

Remedy: `topicwarden up --refresh` writes the declared value; or declare the live value. A setting that nobody declared
stays: declare it, or remove it with ``kafka-configs --alter --delete-config``.

Prevent: grant AlterConfigs on the Cluster resource to nobody but the user of deploys.

Source: ``ClientMetricsConfigs``, KIP-714.
"""

from topicwarden.audit.access_check import DriftCheck, by_name
from topicwarden.kinds.client_metrics.change import PART, equal_settings

_CHECK = DriftCheck(PART, by_name(PART.title, equal_settings))
applies, judge = _CHECK.applies, _CHECK.judge
