"""The users with SCRAM credentials are the declared ones.

**fail**: a declared credential is not on the cluster, or has another number of iterations; or a credential that the
stack does not declare is of a user in its scope, and the scope names principals (``topicwarden:scope``).
**undecidable**: the users are not visible (Describe on the Cluster resource). A note says that passwords are not
compared: Kafka never returns one, so nothing can show whether it is the declared one.

Example: ``orders-service`` is declared with 8192 iterations, and has 4096.

Confirm: ``kafka-configs --describe --entity-type users`` prints mechanisms and iterations.

Remedy: `topicwarden up --refresh` writes the declared credential. If somebody else has written it since a deploy, its
password may be another one, and clients with that would be locked out: this needs ``replace-credential``. To keep it,
declare its number of iterations, and run `topicwarden refresh`.

Prevent: grant Alter on the Cluster resource to nobody but the user of deploys.

Source: ``DescribeUserScramCredentialsRequest``, KIP-554.
"""

from collections.abc import Iterator, Mapping

from topicwarden.audit.access_check import AccessResult, AuditedAccess, DriftCheck
from topicwarden.kinds.scram_user.change import PART
from topicwarden.model.access import ScramUser
from topicwarden.model.message_text import counted
from topicwarden.model.topic import AllowedChange
from topicwarden.model.verdict import Verdict


def _differences(key: tuple[str, str], user: ScramUser, found: ScramUser | None) -> Iterator[tuple[str, str]]:
    credential = f"the {PART.title(key)}"
    if found is None:
        message = f"{credential} is declared, but not on the cluster"
        yield message, "run `topicwarden up --refresh`, or remove the declaration"
    elif found.iterations != user.iterations:
        message = f"{credential} has {found.iterations:,} iterations, declared {user.iterations:,}"
        yield (
            message,
            "run `topicwarden up --refresh`, which also writes the declared password, and if somebody else has written "
            f"the present one, needs {AllowedChange.REPLACE_CREDENTIAL.line}; or declare the live number, and run "
            "`topicwarden refresh`",
        )


def _passwords(access: AuditedAccess, live: Mapping[tuple[str, str], ScramUser]) -> Iterator[AccessResult]:
    if present := len(access.declared.part(PART.name).keys() & live.keys()):
        compared = f"the mechanisms and iterations of {counted(present, 'declared credential')} were compared"
        yield AccessResult(Verdict.PASS, f"{compared}, and not the passwords: Kafka never returns one")


_CHECK = DriftCheck(PART, _differences, lambda key: key[0], _passwords, plural="users with SCRAM credentials")
applies, judge = _CHECK.applies, _CHECK.judge
