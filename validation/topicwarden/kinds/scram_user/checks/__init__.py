"""The checks of SCRAM users in an audit."""

from topicwarden.kinds.scram_user.checks import scram_user_drift

CHECKS = (scram_user_drift,)
