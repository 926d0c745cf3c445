"""The checks of quotas in an audit."""

from topicwarden.kinds.quota.checks import quota_drift

CHECKS = (quota_drift,)
