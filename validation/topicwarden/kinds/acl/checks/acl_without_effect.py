"""Every access control list (ACL) that the stack declares or owns has an effect.

**fail**: the stack declares ACLs, and the brokers have no authorizer (``SECURITY_DISABLED``), so everyone may do
everything. **suspect**: an ACL names a topic that does not exist; or a principal ``User:x`` has no SCRAM credential,
and every listener authenticates clients with SCRAM only, so nobody is this principal. Both may be created later.
**undecidable**: the ACLs are not visible (Describe on the Cluster resource).

Only ACLs are judged that the stack declares, or that are in its scope if the scope names principals. Declared topics
that do not exist are findings of ``topic-missing``.

Example: a topic was deleted, and the ACLs of its old name remain: who creates a topic of this name again gets them.

Confirm: ``kafka-acls --list --topic T``; ``kafka-configs --describe --entity-type users`` prints users with SCRAM.

Remedy: remove the ACL, or create the topic or the user. If the brokers have no authorizer, set
``authorizer.class.name``.

Prevent: delete ACLs together with what they protect; declare access in the topic's own YAML.

Source: ``SecurityDisabledException``; ``StandardAuthorizer``, which does not know which resources exist.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from topicwarden.audit.access_check import AccessResult, AuditedAccess, hidden, listed
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import ACLS, ANY_PRINCIPAL, Acl, PatternType, ResourceType
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict

_DEFAULT_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


def applies(access: AuditedAccess) -> bool:
    return bool(access.declared.acls)


def judge(access: AuditedAccess) -> Iterable[AccessResult]:
    if access.live.security_disabled:
        number = counted(len(access.declared.acls), "declared ACL")
        yield AccessResult(
            Verdict.FAIL,
            f"{number} without effect: the brokers have no authorizer, so everyone may do everything",
            location=_first_location(access),
            remedy="set authorizer.class.name on the brokers and controllers, or remove the declared access",
        )
        return
    if access.live.acls is None:
        yield hidden(access, ACLS, "the ACLs")
        return
    acls = {acl for acl in access.live.acls if acl in access.declared.acls or access.owns(acl)}
    yield from _without_topic(access, acls)
    users = access.live.part(USERS)
    if users is not None and only_scram(access.broker_configs):
        yield from _without_user(access, acls, {f"User:{name}" for name, _ in users})


def _without_topic(access: AuditedAccess, acls: set[Acl]) -> Iterator[AccessResult]:
    found = defaultdict(list)
    for acl in acls:
        literal = acl.resource_type is ResourceType.TOPIC and acl.pattern_type is PatternType.LITERAL
        if literal and acl.resource_name in access.absent_topics - access.topics:
            found[acl.resource_name].append(acl)
    for topic, of_topic in sorted(found.items()):
        yield AccessResult(
            Verdict.SUSPECT,
            f"no topic {topic} exists, but {counted(len(of_topic), 'ACL')}: {listed(of_topic)}",
            location=_location(access, of_topic),
            remedy="remove the access, or declare the topic",
        )


def _without_user(access: AuditedAccess, acls: set[Acl], users: set[str]) -> Iterator[AccessResult]:
    found = defaultdict(list)
    declared = {f"User:{name}" for name, _ in access.declared.part(USERS)}
    for acl in acls:
        known = acl.principal in users or acl.principal in declared or acl.principal == ANY_PRINCIPAL
        if acl.principal.startswith("User:") and not known:
            found[acl.principal].append(acl)
    for principal, of_principal in sorted(found.items()):
        yield AccessResult(
            Verdict.SUSPECT,
            f"{principal} has no SCRAM credential, but {counted(len(of_principal), 'ACL')}: {listed(of_principal)}",
            location=_location(access, of_principal),
            because=("every listener of the brokers authenticates with SCRAM only",),
            remedy="remove the access, or create the user",
        )


def only_scram(broker_configs: Mapping[int, Mapping[str, str]]) -> bool:
    """Return whether every listener of every broker authenticates clients with SCRAM, and nothing else.

    False if settings are not visible, or with a principal builder that is not Kafka's.
    """
    return bool(broker_configs) and all(map(_only_scram, broker_configs.values()))


def _only_scram(settings: Mapping[str, str]) -> bool:
    if settings.get("principal.builder.class") != _DEFAULT_BUILDER:
        return False
    protocols = dict(_pairs(settings.get("listener.security.protocol.map", "")))
    controllers = _items(settings.get("controller.listener.names", ""))
    names = {each.partition("://")[0].upper() for each in _items(settings.get("listeners", ""))} - {
        each.upper() for each in controllers
    }
    every = settings.get("sasl.enabled.mechanisms", "GSSAPI")
    for name in names:
        mechanisms = settings.get(f"listener.name.{name.lower()}.sasl.enabled.mechanisms", every)
        if not protocols.get(name, name).startswith("SASL_"):
            return False
        if not all(each.startswith("SCRAM-") for each in _items(mechanisms)):
            return False
    return bool(names)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.strip("[]").split(",") if item.strip()]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for item in _items(text):
        name, _, value = item.partition(":")
        yield name.upper(), value


def _location(access: AuditedAccess, acls: Iterable[Acl]) -> Location | None:
    sources = (source for acl in sorted(acls) for source in access.declared.acls.get(acl, ()))
    return next((source.location for source in sources), None)


def _first_location(access: AuditedAccess) -> Location | None:
    return _location(access, access.declared.acls)
