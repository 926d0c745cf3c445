"""Every group that reads a topic with declared access is declared.

The check applies if the stack declares an ACL that allows to read or write the topic, and not all topics. A declaration
explains a group if a principal that it allows to read the topic may also read the group: by declared ACLs, by live
ACLs, or because its declarations name no group and no ACL decides.

**fail**: no declaration explains the group, and it read the topic after the access was declared as it is now:

- it has members that read the topic, and no such group existed at an earlier observation with the same access;
- it has members, and the access was the same for longer than a member that is gone stays listed
  (``group.max.session.timeout.ms``);
- it has members, and its committed offsets moved between two observations with the same access;
- it has no member, and its committed offsets moved twice, in different intervals.

Only a principal with Read on the topic and on the group can commit its offsets (``KafkaApis``, OffsetCommit), so this
is proof without knowing the principal. **suspect**: only traces that may be older than the access, or a single move
without a member, which may be an administrator's reset; or declared ACLs of the topic are not deployed yet.
**undecidable**: there may be groups that this user may not see; or an ACL or setting that is not visible may explain
the group. A use is reported for 7 days after it was last seen. Groups in ``exempt_groups`` of the policy ``usage``
pass, and so do groups, and principals that may be the user, out of the scope of the stack. Brokers do not report
readers without a group, and MirrorMaker and Flink may have none. Super users need no ACL: declare or exempt their
groups.

Example: ``group mallory (1 member from 10.0.0.7) reads the topic, and no declared access explains it``.

Confirm: ``kafka-consumer-groups --describe --group G --members --verbose`` prints the members; ``kafka-acls --list
--topic T`` and ``kafka-acls --list --group G`` print who may be the user.

Remedy: declare the group in the YAML of the topic, ``access: {consume: [{principal: User:billing, group: G}]}``; or
stop the client, and remove the ACL that allows it.

Prevent: grant access by declarations only; do not grant Read on all groups.

Source: ``KafkaApis.handleOffsetCommitRequest``, ``ClassicGroup.describe``; KIP-848, KIP-932 and KIP-1071.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.undeclared_use import access_is_declared, undeclared_uses
from topicwarden.audit.evidence import EveryGroup
from topicwarden.model.usage import UserKind


class Required(EveryGroup): ...


def applies(subject: Required) -> bool:
    return access_is_declared(subject)


def judge(subject: Required) -> Iterable[CheckResult]:
    yield from undeclared_uses(subject, (UserKind.GROUP,))
