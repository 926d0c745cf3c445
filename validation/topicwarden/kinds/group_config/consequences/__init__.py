"""The consequences of a change of settings of groups."""

from topicwarden.kinds.group_config.consequences import group_settings

CONSEQUENCES = (group_settings,)
