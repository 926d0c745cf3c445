"""The Schema Registry has the declared schema and the declared compatibility level of each subject.

The check applies if ``contents: {value: {registry: …}}``, or that of the key, is a mapping: a deploy then registers the
schema. It judges the subject of the topic's keys and the one of its values.

**fail**: the subject does not exist; or its latest version is not the declared schema, also after the registry compared
the canonical forms; or another compatibility level applies than the declared one. If the subject has no level of its
own, the registry's applies. What differs at the start of the audit is read again after the records, and the later
answer counts. **undecidable**: the registry could not be asked, or its answer is not one of its API.

A deploy cannot make an older version the latest again. So a declaration that went back to an earlier schema fails,
until the newer version is deleted by hand, or declared.

Example: ``the latest version of the subject "orders-value" is 5 (id 17), but the declared schema is version 4 (id
12)``; a producer with ``auto.register.schemas`` has registered version 5.

Confirm: ``curl $REGISTRY/subjects/orders-value/versions/latest`` and ``curl $REGISTRY/config/orders-value`` print the
version and the level.

Remedy: ``topicwarden up`` registers the declared schema and sets the level. If a newer version is right, declare its
schema. If it is wrong, stop the producer that registers it, and delete the version by hand.

Prevent: set ``auto.register.schemas=false`` in producers, and let only the deploy write to the registry.

Source: the REST API of Confluent's Schema Registry: ``GET /subjects/(subject)/versions/latest``, ``POST
/subjects/(subject)`` and ``GET /config/(subject)``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.collect.audited_subject import AuditedSubject
from topicwarden.audit.evidence import ManagedSubjects
from topicwarden.model.message_text import quoted
from topicwarden.model.subject import SubjectVersion
from topicwarden.model.verdict import Verdict

_READ_ONLY = "the registry is in READONLY mode, so a deploy is refused until it is writable"


class Required(ManagedSubjects): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    for part, audited in subject.subjects.items():
        if audited.error is None:
            yield from _judge_schema(part, audited)
            yield from _judge_level(part, audited)


def _judge_schema(part: str, audited: AuditedSubject) -> Iterable[CheckResult]:
    latest, registered, name = audited.latest, audited.registered, quoted(audited.name)
    register = f"`topicwarden up` registers {audited.declared.file}"
    if latest is None:
        yield _fail(part, "registry", audited, f"the subject {name} does not exist in the Schema Registry", register)
    elif registered is None:
        message = f"the latest version of the subject {name} is {_text(latest)}, and no version has the declared schema"
        remedy = f"{register}; if version {latest.version} is right, declare its schema"
        yield _fail(part, "schema", audited, message, remedy)
    elif registered.version != latest.version:
        message = (
            f"the latest version of the subject {name} is {_text(latest)}, but the declared schema is version "
            f"{_text(registered)}"
        )
        remedy = (
            f"if version {latest.version} is right, declare its schema; else stop the producer that registers it, and "
            f"delete it by hand: `curl -X DELETE $REGISTRY/subjects/{audited.name}/versions/{latest.version}`"
        )
        yield _fail(part, "schema", audited, message, remedy)


def _judge_level(part: str, audited: AuditedSubject) -> Iterable[CheckResult]:
    declared, level = audited.declared.compatibility, audited.compatibility
    if declared is None or audited.latest is None or level is declared:
        return
    name = quoted(audited.name)
    if level is None:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"the registry reports no compatibility level that applies to the subject {name}",
            path=("contents", part, "registry", "compatibility"),
            remedy=f"`topicwarden up` sets {declared}",
        )
        return
    message = f"the compatibility level of the subject {name} is {level}, declared is {declared}"
    remedy = f"`topicwarden up --refresh` sets {declared}; if {level} is right, declare it"
    yield _fail(part, "compatibility", audited, message, remedy)


def _fail(part: str, setting: str, audited: AuditedSubject, message: str, remedy: str) -> CheckResult:
    path = {"schema": ("schema",), "registry": ("registry",), "compatibility": ("registry", "compatibility")}[setting]
    latest = audited.latest
    return CheckResult(
        Verdict.FAIL,
        message,
        path=("contents", part, *path),
        because=(_READ_ONLY,) if audited.read_only else (),
        remedy=remedy,
        evidence={
            "subject": audited.name,
            **({"version": latest.version, "id": latest.id} if latest else {}),
            **({"declared_version": audited.registered.version} if audited.registered else {}),
        },
    )


def _text(version: SubjectVersion) -> str:
    return f"{version.version} (id {version.id})"
