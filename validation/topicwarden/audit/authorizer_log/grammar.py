"""The lines of an authorizer log, ``kafka-authorizer.log``: the logger ``kafka.authorizer.logger`` of each broker.

Sources: ``StandardAuthorizerData.buildAuditMessage`` (KRaft), and ``AclAuthorizer.logAuditMessage`` (Kafka 3.9 and
earlier, with ZooKeeper), which writes no rule. Both log what they allow at DEBUG, and what they refuse at INFO. At
TRACE they also log answers that grant nothing, such as the list of authorized operations.

Clients choose some names in a line, such as group ids, and names may have any text. So a line counts only if it has
exactly one reading: each text between two names occurs once. Any other line is unreadable, never guessed.
"""

from __future__ import annotations

import re
from typing import Final

from topicwarden.model.access import Operation, Resource, ResourceType

LOGGER: Final = "kafka.authorizer.logger"

_TOKEN: Final = r"[\[(]?[A-Za-z0-9_.$#:/-]+[\])]?:?|[-|:]"
_ZONE: Final = r"Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?"
_BEFORE_LEVEL: Final = rf"^[0-9]{{0,6}}(?: ?({_ZONE}))?\]?(?:[ \t]+(?:{_TOKEN})){{0,5}}?[ \t]+\[?"
_AFTER_LEVEL: Final = rf"\]?(?:[ \t]+(?:{_TOKEN})){{0,5}}?:?[ \t]+"
_END: Final = rf"(?: \({re.escape(LOGGER)}\))?(?: \[[A-Za-z0-9_.:#/-]+\])?$"

_UPPER: Final = {re.sub(r"(?<!^)(?=[A-Z])", "_", each).upper(): each for each in Operation}
"""The operations by their names in Java, such as ``DESCRIBE_CONFIGS``, which KRaft's lines have."""
_OPERATIONS: Final = {**_UPPER, **{str(each): each for each in Operation}}
_ALLOWING: Final = r"SuperUser|DefaultAllow|permissionType=ALLOW[\])]\)"
_DENYING: Final = r"DefaultDeny|permissionType=DENY[\])]\)"
_COUNT: Final = r"resourceRefCount = [0-9]+"
_RESULT: Final = r"is (?:Allowed|Denied) [oO]peration = "


def _twice(text: str) -> str:
    """Return a lookahead that refuses a line with the text twice, by which names could stand in for other fields."""
    return rf"(?!.*{text}.*{text})"


# A "?" may stand for a character that the charset of the broker's JVM lacks, and U+FFFD for bytes that are no UTF-8.
_ONE_READING: Final = (
    r"(?![\s\S]*[\x00-\x08\x0a-\x1f\x7f\u0085\u2028\u2029\ufffd?])"
    f"{_twice('Principal = ')}{_twice(_RESULT)}{_twice('for request = ')}"
)

TIME: Final = r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,][0-9]{3})?([\s\S]*)$"
"""A line of text: its time, and the rest after the milliseconds."""

DECISION: Final = (
    rf"{_BEFORE_LEVEL}{_ONE_READING}"
    rf"((?:DEBUG|TRACE)(?=.* is Allowed [oO]peration = )|(?:INFO|TRACE)(?=.* is Denied [oO]peration = )){_AFTER_LEVEL}"
    r"Principal = (.+) is "
    rf"(Allowed(?=.*(?:{_COUNT}|{_ALLOWING}){_END})|Denied(?=.*(?:{_COUNT}|{_DENYING}){_END})) "
    r"(?:operation = (?=.* based on rule )|Operation = (?!.* based on rule ))"
    rf"({'|'.join(sorted(_OPERATIONS, key=len, reverse=True))}) "
    r"from host = ([0-9A-Fa-f.:]+(?:%[A-Za-z0-9_.-]+)?) "
    rf"on resource = ({'|'.join(ResourceType)}):(?:LITERAL:(.*)|UNKNOWN:NONE) "
    r"for request = ([A-Za-z0-9_]+) with resourceRefCount = ([0-9]+)"
    r"(?: based on rule (SuperUser|DefaultAllow|DefaultDeny|"
    r"MatchingAcl\(acl=StandardAcl[\[(]resourceType=.*, permissionType=(?:ALLOW|DENY)[\])]\)))?"
    rf"{_END}"
)
"""The rest after the time in the line of a decision, without fractions of a second that are shorter than milliseconds.

The groups: time zone, level, principal, result, operation, host, resource type, resource name, request, number of
references, and rule. It is a regular expression of Python and of Java with the same meaning: matched at the start.
"""

GROUPS: Final = re.compile(DECISION).groups

EXPLANATION: Final = (
    rf"{_BEFORE_LEVEL}(?:DEBUG|TRACE){_AFTER_LEVEL}(?:"
    r"principal = .* is a super user, allowing operation without checking acls\.|"
    r"operation = .* on resource = .* is (?:ALLOW|DENY) based on acl = .*|"
    rf"No acl found for resource .*, authorized = (?:true|false)){_END}"
)
"""The rest after the time in other lines of ``AclAuthorizer``. They name no client together with a decision."""


def operation_of(name: str) -> Operation:
    """Return the operation with the name that either authorizer writes: ``DESCRIBE_CONFIGS`` or ``DescribeConfigs``."""
    return _OPERATIONS[name]


def resource_of(kind: str, name: str, references: str) -> Resource:
    """Return the resource of a decision.

    The name is empty if the broker asked about any resource of the type, for a producer id: the request refers to no
    resource, and the line has the name "hardcode" (``Authorizer.authorizeByResourceType``) or "NONE"
    (``AclAuthorizer``).
    """
    return Resource(ResourceType(kind), "" if references == "0" else name)


def uniform_rule(rule: str) -> str:
    """Return the rule as brokers before 4.2 write it; later, ``StandardAcl`` is a record, with square brackets."""
    if not rule.startswith("MatchingAcl(acl=StandardAcl["):
        return rule
    return f"MatchingAcl(acl=StandardAcl({rule.removeprefix('MatchingAcl(acl=StandardAcl[')[:-2]}))"
