"""The checks of settings of groups in an audit."""

from topicwarden.kinds.group_config.checks import group_config_drift, idle_group

CHECKS = (
    group_config_drift,
    idle_group,
)
