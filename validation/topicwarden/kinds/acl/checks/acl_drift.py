"""The access control lists (ACLs) of the cluster are the declared ones.

**fail**: a declared ACL is not on the cluster; or an ACL that the stack does not declare is in its scope, and the scope
names principals (``topicwarden:scope``). The brokers list all ACLs in one answer, so one audit is proof. **suspect**:
the scope names no principals, and an ACL on a topic with declared access is not declared. It may belong to another
stack. **undecidable**: the ACLs are not visible (Describe on the Cluster resource). A note counts the other ACLs that
are not declared.

Example: ``Allow Write on Topic orders.placed.v1 for User:mallory`` was created with ``kafka-acls`` by hand.

Confirm: ``kafka-acls --list --topic T`` prints the ACLs whose resource matches the topic; ``kafka-acls --list`` all.

Remedy: `topicwarden up --refresh` creates a missing ACL. Declare an ACL that is needed, or remove it with
``kafka-acls --remove``. topicwarden never removes an ACL that it has not created or adopted.

Prevent: grant Alter on the Cluster resource to nobody but the user of deploys.

Source: ``DescribeAclsRequest``, KIP-140, KIP-290.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator

from topicwarden.audit.access_check import AccessResult, AuditedAccess, DriftCheck, listed
from topicwarden.kinds.acl.change import PART
from topicwarden.model.access import Acl, PatternType, ResourceType
from topicwarden.model.finding import OF_CLUSTER
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict


def applies(access: AuditedAccess) -> bool:
    return _CHECK.applies(access) and not access.live.security_disabled


def _results(access: AuditedAccess, live: Collection[Acl]) -> Iterator[AccessResult]:
    yield from _missing(access, live)
    yield from _undeclared(access, live)
    if access.live.unknown_acls:
        number = counted(access.live.unknown_acls, "ACL")
        yield AccessResult(Verdict.PASS, f"{number} with a type or operation that this version does not know")


def _missing(access: AuditedAccess, live: Collection[Acl]) -> Iterator[AccessResult]:
    missing = defaultdict(list)
    for acl, sources in access.declared.acls.items():
        if acl not in live:
            for source in sources:
                missing[source].append(acl)
    for source, acls in missing.items():
        yield AccessResult(
            Verdict.FAIL,
            f"{source.description}: declared, but not on the cluster: {listed(acls)}",
            topic=source.topic or OF_CLUSTER,
            location=source.location,
            remedy="run `topicwarden up --refresh`, or remove the declaration",
            evidence={"missing ACLs": len(acls)},
        )


def _undeclared(access: AuditedAccess, live: Collection[Acl]) -> Iterator[AccessResult]:
    with_access = {acl.resource_name for acl in access.declared.acls if _of_one_topic(acl)}
    found: dict[tuple[str, Verdict], list[Acl]] = defaultdict(list)
    for acl in {*live} - access.declared.acls.keys():
        topic = acl.resource_name if _of_one_topic(acl) and acl.resource_name in access.topics else OF_CLUSTER
        if access.owns(acl):
            verdict = Verdict.FAIL
        elif topic in with_access and not access.scope.principals:
            verdict = Verdict.SUSPECT
        else:
            verdict = Verdict.PASS
        found[topic, verdict].append(acl)
    for (topic, verdict), acls in sorted(found.items()):
        number = counted(len(acls), "ACL")
        verb = "is" if len(acls) == 1 else "are"
        scope = "in the scope of the stack " if verdict is Verdict.FAIL else ""
        yield AccessResult(
            verdict,
            f"{number} {scope}{verb} on the cluster, but not declared: {listed(acls)}",
            topic=topic,
            remedy="" if verdict is Verdict.PASS else _REMEDY[verdict],
            evidence={"undeclared ACLs": len(acls)},
        )


_REMEDY = {
    Verdict.FAIL: "declare them, or remove them with kafka-acls --remove",
    Verdict.SUSPECT: "declare them; if they belong to another stack, name the stack's principals in topicwarden:scope",
}


def _of_one_topic(acl: Acl) -> bool:
    return acl.resource_type is ResourceType.TOPIC and acl.pattern_type is PatternType.LITERAL


_CHECK = DriftCheck(PART, notes=_results)
judge = _CHECK.judge
