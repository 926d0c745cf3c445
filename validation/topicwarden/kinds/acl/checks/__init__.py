"""The checks of ACLs in an audit."""

from topicwarden.kinds.acl.checks import acl_drift, acl_without_effect, authorizer_settings

CHECKS = (
    acl_drift,
    acl_without_effect,
    authorizer_settings,
)
