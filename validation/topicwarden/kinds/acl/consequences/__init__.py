"""The consequences of a change of ACLs."""

from topicwarden.kinds.acl.consequences import access_lost, access_opened, access_outside_scope, first_acl, self_lockout

CONSEQUENCES = (
    access_outside_scope,
    self_lockout,
    access_lost,
    first_acl,
    access_opened,
)
