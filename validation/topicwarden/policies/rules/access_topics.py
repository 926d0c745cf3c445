"""Warn about access to topics that nobody declares, and about prefixes that reach the topics of several owners.

The rule is about applications and ACLs in files below `access/`. It ignores Kafka's own topics, whose names begin with
`__`, and names that the same principal may create, such as the internal topics of Kafka Streams. A principal that may
create any topic still gets a warning about a name that is similar to the name of a declared topic. A Deny about names
that the principal may create is ignored only if it is about the same names as the permission to create. A prefix
reaches every topic whose name begins with it, also one that another team declares later.

It is also about the dead-letter queues of share groups (`errors.deadletterqueue.topic.name` in `group_configs`). Kafka
writes to a topic only if it has `errors.deadletterqueue.group.enable`.

Remedy: correct the name, or declare the topic. End a prefix with a separator: `orders.` instead of `orders`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.topic_names import is_legal_part
from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    DeclaredAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.message_text import Suggestions, counted
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AccessViolation, AdviceSettings

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    names, by_name = sorted(topic.name for topic in topics), {topic.name: topic for topic in topics}
    did_you_mean = cache(Suggestions(names).did_you_mean)
    creators = _Creators(access.acls)
    messages: dict[tuple[PatternType, str], str | None] = {}
    seen: set[tuple[object, str]] = set()
    for acl, sources in access.acls.items():
        foreign = [source for source in sources if source.topic is None]
        if not foreign or acl.resource_type is not ResourceType.TOPIC or acl.resource_name == WILDCARD:
            continue
        if acl.resource_name.startswith("__") or not is_legal_part(acl.resource_name):
            continue
        if not _matching(acl, names) and creators.may_create(acl, did_you_mean):
            continue
        pattern = acl.pattern_type, acl.resource_name
        if pattern not in messages:
            messages[pattern] = _message(acl, names, by_name, did_you_mean)
        message = messages[pattern]
        if message is None:
            continue
        if acl.permission is PermissionType.DENY and acl.pattern_type is PatternType.PREFIXED and _matching(acl, names):
            continue
        for source in foreign:
            if (source.location, message) not in seen:
                seen.add((source.location, message))
                yield AccessViolation(source.location, message)

    for group, config in access.part(GROUP_CONFIGS).items():
        if message := _dead_letters(group, config.get("errors.deadletterqueue.topic.name", ""), by_name, did_you_mean):
            yield AccessViolation(access.sources(GROUP_CONFIGS, group)[0].location, message)


def _dead_letters(group: str, name: str, topics: Mapping[str, Topic], did_you_mean: Callable[[str], str]) -> str | None:
    if not name:
        return None
    if name not in topics:
        remedy = did_you_mean(name) or "; declare it, or correct the name"
        return f"no topic {name} is declared, to which the group {group} writes dead letters{remedy}"
    if topics[name].config.get("errors.deadletterqueue.group.enable") == "true":
        return None
    return (
        f"the topic {name} refuses the dead letters of the group {group}; set "
        "errors.deadletterqueue.group.enable: true in its YAML"
    )


class _Creators:
    """The principals that may create topics, by the names that they may use."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._of_any_name = set[str]()
        self._by_name = set[tuple[str, PatternType, str]]()
        for acl in acls:
            if acl.permission is PermissionType.DENY or acl.operation not in (Operation.CREATE, Operation.ALL):
                continue
            if acl.resource_type is ResourceType.TOPIC:
                self._by_name.add((acl.principal, acl.pattern_type, acl.resource_name))
            elif acl.resource_type is ResourceType.CLUSTER:
                self._of_any_name.add(acl.principal)

    def may_create(self, acl: Acl, did_you_mean: Callable[[str], str]) -> bool:
        """Return whether the principal of ``acl`` may create the topics that ``acl`` is about, and probably does so."""
        name, principals = acl.resource_name, (acl.principal, ANY_PRINCIPAL)
        if acl.permission is PermissionType.DENY:
            return (acl.principal, acl.pattern_type, name) in self._by_name
        patterns = [(acl.pattern_type, name), *((PatternType.PREFIXED, name[:end]) for end in range(1, len(name) + 1))]
        if any((principal, *pattern) in self._by_name for principal in principals for pattern in patterns):
            return True
        any_name = any(
            principal in self._of_any_name or (principal, PatternType.LITERAL, WILDCARD) in self._by_name
            for principal in principals
        )
        return any_name and not did_you_mean(name)


def _matching(acl: Acl, names: Sequence[str]) -> list[str]:
    """Return the declared topics that the ACL is about. ``names`` are sorted."""
    if acl.pattern_type is PatternType.LITERAL:
        index = bisect_left(names, acl.resource_name)
        return [acl.resource_name] if names[index : index + 1] == [acl.resource_name] else []
    return list(_with_prefix(acl.resource_name, names))


def _with_prefix(prefix: str, names: Sequence[str]) -> Iterator[str]:
    for index in range(bisect_left(names, prefix), len(names)):
        if not names[index].startswith(prefix):
            return
        yield names[index]


def _message(
    acl: Acl, names: Sequence[str], by_name: dict[str, Topic], did_you_mean: Callable[[str], str]
) -> str | None:
    matching = _matching(acl, names)
    if acl.pattern_type is PatternType.LITERAL:
        if matching:
            return None
        remedy = did_you_mean(acl.resource_name) or "; declare it, or correct the name"
        return f"no topic {acl.resource_name} is declared{remedy}"
    if not matching:
        return f"no declared topic begins with {acl.resource_name}; correct the prefix"
    by_owner = {by_name[name].owner or "nobody": name for name in reversed(matching)}
    if len(by_owner) < 2:
        return None
    examples = ", ".join(f"{name} of {owner}" for owner, name in sorted(by_owner.items()))
    return (
        f"the prefix {acl.resource_name} reaches {counted(len(matching), 'topic')} of {len(by_owner)} owners: "
        f"{examples}; name the topics, or a longer prefix"
    )
