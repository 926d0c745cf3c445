"""The users with SCRAM credentials are the declared ones.

**fail**: a declared credential is not on the cluster, or has another number of iterations; or a credential that the
stack does not declare is of a user in its scope, and the scope names principals (``topicwarden:scope``).
**undecidable**: the users are not visible (Describe on the Cluster resource). Also **undecidable**: whether the
password is the declared one, because Kafka never returns it.

Example: ``orders-service`` is declared with 8192 iterations, and has 4096.

Confirm: ``kafka-configs --describe --entity-type users`` prints mechanisms and iterations.

Remedy: `topicwarden up --refresh` writes the declared credential. For a password that was changed by hand, declare a
new version of the secret.

Prevent: grant Alter on the Cluster resource to nobody but the user of deploys.

Source: ``DescribeUserScramCredentialsRequest``, KIP-554.
"""

from collections.abc import Iterable

from topicwarden.audit.access_check import AccessResult, AuditedAccess, hidden, undeclared_in_scope
from topicwarden.kinds.scram_user.change import PART, USERS
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict


def applies(access: AuditedAccess) -> bool:
    return bool(access.declared.part(USERS))


def judge(access: AuditedAccess) -> Iterable[AccessResult]:
    live = access.live.part(USERS)
    if live is None:
        yield hidden(access, USERS, "the users with SCRAM credentials")
        return
    present = 0
    for key, (user, location) in access.declared.located(USERS).items():
        found = live.get(key)
        credential = f"the {PART.title(key)}"
        if found is None:
            yield AccessResult(
                Verdict.FAIL,
                f"{credential} is declared, but not on the cluster",
                location=location,
                remedy="run `topicwarden up --refresh`, or remove the declaration",
            )
            continue
        present += 1
        if found.iterations != user.iterations:
            yield AccessResult(
                Verdict.FAIL,
                f"{credential} has {found.iterations:,} iterations, declared {user.iterations:,}",
                location=location,
                remedy="run `topicwarden up --refresh`, or declare the live number",
            )
    yield from undeclared_in_scope(access, PART, lambda key: str(key[0]))
    if present:
        whose = f"{counted(present, 'credential')} {'has' if present == 1 else 'have'}"
        yield AccessResult(
            Verdict.UNDECIDABLE,
            f"whether {whose} the declared password is not known: Kafka never returns passwords",
            remedy="a new version of the secret writes the password again",
        )
