"""The consequences of a change of quotas."""

from topicwarden.kinds.quota.consequences import clients_throttled

CONSEQUENCES = (clients_throttled,)
