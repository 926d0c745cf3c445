"""The consequences of a change of quotas."""

from topicwarden.kinds.quota.client_rates import likely_rates
from topicwarden.kinds.quota.consequences import clients_throttled

CONSEQUENCES = (clients_throttled,)
EVIDENCE = likely_rates
