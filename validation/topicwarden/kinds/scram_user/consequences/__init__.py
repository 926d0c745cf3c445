"""The consequences of a change of SCRAM users."""

from topicwarden.kinds.scram_user.consequences import credential_removed

CONSEQUENCES = (credential_removed,)
