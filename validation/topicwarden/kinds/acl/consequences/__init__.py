"""The consequences of a change of ACLs."""

from topicwarden.kinds.acl.consequences import access_lost, access_opened, first_acl, self_lockout

CONSEQUENCES = (
    self_lockout,
    access_lost,
    first_acl,
    access_opened,
)
