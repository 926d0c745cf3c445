"""All brokers have the same authorizer, and set the same of its settings, with equal values as far as they show them.

Each broker decides by its own settings, so with different ones a client is allowed or denied by chance.

**fail**: the class of the authorizer differs between two brokers, or another value that they show. **suspect**: a
setting is set on one broker, and not on another. **undecidable**: the brokers' settings are not visible
(DescribeConfigs on the Cluster resource). Brokers hide the values of ``super.users`` and
``allow.everyone.if.no.acl.found``, because they are settings of the authorizer, not of Kafka: if all brokers set them,
a note says that the values cannot be compared. Controllers are not judged: they do not show their settings to clients.

Example: ``allow.everyone.if.no.acl.found`` was removed from two of three brokers.

Confirm: ``kafka-configs --describe --all --entity-type brokers --entity-name N`` shows which settings are set.

Remedy: give all brokers and controllers the same settings.

Prevent: deploy all brokers from the same configuration.

Source: ``StandardAuthorizer.configure``; ``KafkaConfig`` and ``ConfigHelper``, which treat unknown settings as
sensitive.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from topicwarden.audit.access_check import AccessResult, AuditedAccess, hidden
from topicwarden.model.access import AuthorizerSettings
from topicwarden.model.verdict import Verdict

_REMEDY = "give all brokers and controllers the same value"


def applies(access: AuditedAccess) -> bool:
    return bool(access.declared.acls)


def judge(access: AuditedAccess) -> Iterable[AccessResult]:
    settings = access.live.settings
    if settings is None:
        yield hidden(access, "authorizer", "the settings of the authorizer")
        return
    yield from _differing("authorizer.class.name", settings, lambda each: each.class_name)
    if len({each.class_name for each in settings.values()}) == 1:
        yield from _differing("super.users", settings, _super_users)
        yield from _differing("allow.everyone.if.no.acl.found", settings, _open_without_acl)


def _super_users(settings: AuthorizerSettings) -> str | None:
    return None if settings.super_users is None else "; ".join(sorted(settings.super_users)) or "not set"


def _open_without_acl(settings: AuthorizerSettings) -> str | None:
    return None if settings.open_without_acl is None else str(settings.open_without_acl).lower()


def _differing(
    name: str, settings: Mapping[int, AuthorizerSettings], value: Callable[[AuthorizerSettings], str | None]
) -> Iterator[AccessResult]:
    shown: dict[str, list[int]] = {}
    hiding: list[int] = []
    for broker, each in sorted(settings.items()):
        text = value(each)
        if text is None:
            hiding.append(broker)
        else:
            shown.setdefault(text or "not set", []).append(broker)
    by_value = "; ".join(f"{text} on {_numbers(brokers)}" for text, brokers in shown.items())
    if len(shown) > 1:
        yield AccessResult(Verdict.FAIL, f"{name} differs between brokers: {by_value}", remedy=_REMEDY)
    elif shown and hiding:
        message = f"{name} is set on {_numbers(hiding)}, and its value is hidden; the others: {by_value}"
        yield AccessResult(Verdict.SUSPECT, message, remedy=_REMEDY)
    elif len(hiding) > 1:
        message = f"{name} is set on {_numbers(hiding)}, but brokers hide the values, so they cannot be compared"
        yield AccessResult(Verdict.PASS, message)


def _numbers(brokers: Iterable[int]) -> str:
    return f"broker {', '.join(map(str, brokers))}"
