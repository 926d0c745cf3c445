"""The consequences of a change of client metrics."""

from topicwarden.kinds.client_metrics.consequences import metrics_lost

CONSEQUENCES = (metrics_lost,)
