"""The check of client metrics in an audit."""

from topicwarden.kinds.client_metrics.checks import client_metrics_drift

CHECKS = (client_metrics_drift,)
