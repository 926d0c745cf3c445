"""``credential-removed``: a user's SCRAM credential ends, so that its clients cannot authenticate any more.

Open connections stay until ``connections.max.reauth.ms``, or until they break. A new password is a danger: clients that
have the old one cannot connect again. Kafka never returns passwords, and does not report who is connected.

``credential-replaced``: the deploy writes a credential that no deploy has written as it is, so its password may be
another one than any that this stack knows. That somebody has written a credential since a deploy did shows only in its
number of iterations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from topicwarden.kinds.scram_user.change import USERS, own_passwords, user_title, written_by_others
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "credential-removed"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "a SCRAM credential is deleted",
        (AllowedChange.REMOVE_CREDENTIAL,),
        "clients cannot authenticate again; another password is a danger, which needs no word",
    ),
    ChangeGuard(
        "a deploy replaces the password of a user, which no deploy of this stack has written, or somebody else since",
        (AllowedChange.REPLACE_CREDENTIAL,),
        "an adopted user has a password of somebody else: its clients cannot connect again; that somebody has written "
        "it since a deploy shows in its iterations only: until `topicwarden up --refresh`, a danger",
        "credential-replaced",
    ),
)
_MEASURED = "the credentials and ACLs of the cluster; Kafka does not report which users are connected"


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return each credential that is deleted, or gets another password."""
    others = written_by_others(context.change)
    live, actions = context.change.live.part(USERS) or {}, context.change.of(USERS)
    remaining, deleted = dict[str, list[str]](), dict[str, list[str]]()
    for user, mechanism in sorted({*live, *context.change.declared.part(USERS)}):
        goes = actions.get((user, mechanism)) is Action.DELETE
        (deleted if goes else remaining).setdefault(user, []).append(mechanism)
    for user, mechanisms in deleted.items():
        yield _deleted(context, user, mechanisms, remaining.get(user, []))
    for key, action in sorted(actions.items()):
        if key not in live:
            continue
        if action is Action.UPDATE:
            yield from _changed(context, *key)
        elif key in others:
            yield _left(context, *key)


def _deleted(context: AccessContext, user: str, mechanisms: Sequence[str], remaining: Sequence[str]) -> Consequence:
    keys = [(user, mechanism) for mechanism in mechanisms]
    none = "it has no SCRAM credential any more" if len(mechanisms) > 1 else "it has no other SCRAM credential"
    return Consequence(
        kind=KIND,
        severity=context.severity(AllowedChange.REMOVE_CREDENTIAL, keys),
        message=f"clients of User:{user} can no longer authenticate with {' or '.join(mechanisms)}",
        because=[
            f"it still has {' and '.join(remaining)}" if remaining else none,
            *_acls(context, user),
        ],
        measured=_MEASURED,
        remedy=context.remedy(
            AllowedChange.REMOVE_CREDENTIAL,
            f"declare the credential{'s' if len(mechanisms) > 1 else ''} until no client uses "
            f"{'them' if len(mechanisms) > 1 else 'it'} any more",
            keys,
        ),
        evidence={"user": user, "mechanism": " and ".join(mechanisms)},
    )


def _changed(context: AccessContext, user: str, mechanism: str) -> Iterable[Consequence]:
    declared = context.change.declared.part(USERS)[user, mechanism]
    location = context.change.declared.location(USERS, (user, mechanism))
    deployed = context.change.deployed.part(USERS).get((user, mechanism))
    if declared.password is None:
        return
    if (user, mechanism) not in own_passwords(context.change.deployed, context.change.live):
        yield _replaced(context, user, mechanism)
        return
    if deployed is not None and declared.password == deployed.password:
        return
    yield Consequence(
        kind=KIND,
        severity=Severity.DANGER,
        message=f"User:{user} gets the password of {declared.password.name} version {declared.password.version} for "
        f"{mechanism}: clients with another password cannot connect again",
        because=[
            "open connections stay until they break, or until connections.max.reauth.ms",
            *_connection(context, user, mechanism),
            *_acls(context, user),
        ],
        measured=_MEASURED,
        evidence={"user": user, "mechanism": mechanism},
        location=location,
    )


def _replaced(context: AccessContext, user: str, mechanism: str) -> Consequence:
    """Return that a deploy writes a credential whose password no deploy of this stack has written."""
    return Consequence(
        kind="credential-replaced",
        severity=context.severity(AllowedChange.REPLACE_CREDENTIAL, [(user, mechanism)]),
        message=f"the deploy replaces the password of User:{user} for {mechanism} with that of the stack's "
        "configuration: clients with the present password cannot connect again",
        because=[
            _unknown(context, user, mechanism),
            *_connection(context, user, mechanism),
            *_acls(context, user),
        ],
        measured=_MEASURED,
        remedy=context.remedy(AllowedChange.REPLACE_CREDENTIAL, _kept(context, user, mechanism), [(user, mechanism)]),
        evidence={"user": user, "mechanism": mechanism},
        location=context.change.declared.location(USERS, (user, mechanism)),
    )


def _left(context: AccessContext, user: str, mechanism: str) -> Consequence:
    """Return that somebody has written a credential since the last deploy, which only a refresh would replace."""
    key = (user, mechanism)
    keep = _kept(context, *key)
    refused = context.remedy(AllowedChange.REPLACE_CREDENTIAL, keep, [key])
    return Consequence(
        kind="credential-replaced",
        severity=Severity.DANGER,
        message=f"somebody has written the {user_title(key)} since the last deploy: `topicwarden up --refresh` would "
        "replace its password, and clients with the present one could not connect again",
        because=[
            _unknown(context, *key),
            "this deploy leaves it, unless it refreshes",
            *_connection(context, *key),
            *_acls(context, user),
        ],
        measured=_MEASURED,
        remedy=refused or f"{keep}; to replace it, run `topicwarden up --refresh`, which is allowed",
        evidence={"user": user, "mechanism": mechanism},
        location=context.change.declared.location(USERS, key),
    )


def _unknown(context: AccessContext, user: str, mechanism: str) -> str:
    """Return why the password of a credential may be another one than the stack's."""
    key, deployed = (user, mechanism), context.change.deployed
    if key not in deployed.passwords:
        return "no deploy of this stack has written its password, so it may be another one"
    found, wrote = (context.change.live.part(USERS) or {})[key], deployed.iterations[key]
    return (
        f"it has {found.iterations:,} iterations, and a deploy wrote it with {wrote:,}: somebody has written it since, "
        "so its password may be another one"
    )


def _kept(context: AccessContext, user: str, mechanism: str) -> str:
    """Return what keeps the password of a credential as it is on the cluster."""
    key, deployed = (user, mechanism), context.change.deployed
    found, recorded = (context.change.live.part(USERS) or {})[key], deployed.part(USERS).get(key)
    if recorded is None or (recorded.iterations == found.iterations and key not in deployed.passwords):
        return "declare its iterations as they are, and the password version that was adopted"
    version = f" and {recorded.password.name} version {recorded.password.version}" if recorded.password else ""
    return f"to keep it, declare {found.iterations:,} iterations{version}, and run `topicwarden refresh`"


def _connection(context: AccessContext, user: str, mechanism: str) -> Iterable[str]:
    """Yield a reason if this stack connects with the credential, whose password the deploy writes."""
    if (context.own.principal, context.own.mechanism) == (f"User:{user}", mechanism):
        yield "this stack connects with it: set the password of its connection in the same step"


def _acls(context: AccessContext, user: str) -> Iterable[str]:
    number = context.change.acls_after[f"User:{user}"]
    yield f"{counted(number, 'ACL') if number else 'no ACL'} {'name' if number > 1 else 'names'} it after the deploy"
