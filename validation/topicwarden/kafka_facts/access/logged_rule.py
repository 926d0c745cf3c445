"""The words in which brokers log what decided about an operation (``StandardAuthorizerData``)."""

from __future__ import annotations

import re

from topicwarden.kafka_facts.access.authorizer import Decision, Reason
from topicwarden.model.access import Acl


def logged_rule(decision: Decision) -> str:
    """Return the rule of a decision as ``LoggedUse.rule`` has it, and brokers before 4.2 write it to their log."""
    if decision.acl is not None:
        return logged_acl(decision.acl)
    if decision.reason is Reason.SUPER_USER:
        return "SuperUser"
    return "DefaultAllow" if decision.reason is Reason.OPEN else "DefaultDeny"


def logged_acl(acl: Acl) -> str:
    """Return the rule of an ACL, to compare it with a logged one: an ACL cannot safely be read from such text."""
    return (
        f"MatchingAcl(acl=StandardAcl(resourceType={_constant(acl.resource_type)}, resourceName={acl.resource_name}, "
        f"patternType={acl.pattern_type.upper()}, principal={acl.principal}, host={acl.host}, "
        f"operation={_constant(acl.operation)}, permissionType={acl.permission.upper()}))"
    )


def _constant(name: str) -> str:
    """Return the name of Java's constant: ``TransactionalId`` is ``TRANSACTIONAL_ID``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
