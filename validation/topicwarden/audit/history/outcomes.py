"""Save the outcome of each audit, grouped by stack and selected topics, for the trend in the report.

::

    v4/outcomes/<selection>/<started>-<uuid>/   a JSON file: this audit, and each earlier one

Each audit writes the earlier ones again, so that later audits read few files. The newest parts are merged, because two
audits that run at the same time do not know of each other.

What an audit of an earlier revision found, and the present one no longer claims, is withdrawn and not resolved: nothing
about the topic has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from pydantic import TypeAdapter

from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.store import FAILURES, HistoryStore, HistoryUnavailable, reason_of
from topicwarden.model.finding import OF_CLUSTER, AuditReport, Finding, PastAudit, PastFinding
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.usage.history_files import part_name

_REVISIONS: Final[Mapping[str, int]] = {"group-lag": 3, "idle-group": 2, "key-partition": 2, "retention-time": 2}
WITHDRAWN: Final = "withdrawn: this version of the check no longer concludes it"


def revision(check: str) -> int:
    """Return the revision of a check."""
    return _REVISIONS.get(check, 1)


MOST_AUDITS = 60
"""The number of audits that are saved for one stack and one selection of topics."""

_PARTS = 3
_FILE = "part.json"
_AUDITS = TypeAdapter(list[PastAudit])


def trend(
    history: AuditHistory, report: AuditReport, patterns: Iterable[str], unsettled: Collection[tuple[str, str]] = ()
) -> list[PastAudit]:
    """Return the earlier audits of the same cluster, stack, scope and ``patterns``, the oldest first; save this one.

    The last one has what did not pass, for ``with_changes``. ``unsettled`` as there; what these checks found earlier is
    saved again.
    """
    store = history.store
    if store is None or report.cluster_id is None:
        return []
    folder = f"outcomes/{selection_key(report, patterns)}"
    try:
        earlier = _read(store, folder)
        changed = with_changes(report, earlier)
        current = PastAudit(
            started=report.started,
            topics=worst_verdicts(report),
            findings=[*_past_findings(changed), *(each for each in changed.resolved if _at(each) in unsettled)],
        )
        _write(store, folder, [*map(_without_findings, earlier), current][-MOST_AUDITS:])
    except (*FAILURES, HistoryUnavailable):
        history.add_note("has no readable outcomes of earlier audits: there is no trend")
        return []
    try:
        store.delete(folder, [part.name for part in store.parts(folder)[:-_PARTS]])
    except FAILURES as error:
        history.add_note(f"has an old part that cannot be deleted: {reason_of(error)}")
    return earlier


def with_changes(
    report: AuditReport, earlier: Sequence[PastAudit], unsettled: Collection[tuple[str, str]] = ()
) -> AuditReport:
    """Return ``report`` with what is new, still open, resolved and withdrawn since the last ``earlier`` audit.

    ``unsettled``: the topics and checks that did not judge every record. What they found earlier is not resolved.
    """
    trend = [_without_findings(audit) for audit in earlier]
    if not earlier or earlier[-1].findings is None:
        return report.model_copy(update={"trend": trend})
    before = {_at(each): each for each in earlier[-1].findings}
    findings = [
        finding
        if finding.verdict is Verdict.PASS
        else finding.model_copy(
            update={"since": before[at].since if (at := (finding.topic, finding.check)) in before else report.started}
        )
        for finding in report.findings
    ]
    worst = _worst_findings(findings)
    audited = {topic.name for topic in report.topics} | {f.topic for f in report.findings if f.topic == OF_CLUSTER}
    withdrawn = [each for at, each in before.items() if each.topic in audited and _is_withdrawn(each, worst.get(at))]
    resolved = [
        each
        for at, each in before.items()
        if at not in worst and at not in unsettled and each.topic in audited and each not in withdrawn
    ]
    return report.model_copy(
        update={"trend": trend, "findings": findings, "resolved": resolved, "withdrawn": withdrawn}
    )


def _at(finding: PastFinding) -> tuple[str, str]:
    return finding.topic, finding.check


def _is_withdrawn(before: PastFinding, now: Finding | None) -> bool:
    """Return whether an earlier revision of a check claimed more about a topic than the present one does."""
    claims_less = now is None or WORST_FIRST.index(now.verdict) > WORST_FIRST.index(before.verdict)
    return before.revision < revision(before.check) and claims_less


def _worst_findings(findings: Iterable[Finding]) -> dict[tuple[str, str], Finding]:
    """Return the worst finding of each topic and check that is not a pass."""
    worst: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        if finding.verdict is not Verdict.PASS:
            at = finding.topic, finding.check
            worst[at] = min(worst.get(at, finding), finding, key=lambda each: WORST_FIRST.index(each.verdict))
    return worst


def _past_findings(report: AuditReport) -> Iterator[PastFinding]:
    for (topic, check), finding in _worst_findings(report.findings).items():
        since = report.started if finding.since is None else finding.since
        yield PastFinding(topic=topic, check=check, verdict=finding.verdict, since=since, revision=revision(check))


def _without_findings(audit: PastAudit) -> PastAudit:
    return audit.model_copy(update={"findings": None})


def selection_key(report: AuditReport, patterns: Iterable[str]) -> str:
    """Return a name for all audits that count the same topics: of one cluster, stack, scope and ``patterns``."""
    scope = [f"scope {pattern}" for pattern in sorted(report.scope)]
    selection = "\0".join([str(report.cluster_id), report.stack, *scope, *sorted(patterns)])
    return sha256(selection.encode()).hexdigest()[:16]


def worst_verdicts(report: AuditReport) -> dict[Verdict, int]:
    """Return the number of topics by their worst verdict; a topic without findings passes."""
    worst: dict[str, Verdict] = {topic.name: Verdict.PASS for topic in report.topics}
    for finding in report.findings:
        if finding.topic != OF_CLUSTER:
            worst[finding.topic] = _worse(finding, worst)
    counts = Counter(worst.values())
    return {verdict: counts[verdict] for verdict in WORST_FIRST if counts[verdict]}


def _worse(finding: Finding, worst: Mapping[str, Verdict]) -> Verdict:
    return min(finding.verdict, worst.get(finding.topic, Verdict.PASS), key=WORST_FIRST.index)


def _read(store: HistoryStore, folder: str) -> list[PastAudit]:
    contents = [store.read_bytes(folder, part.name, _FILE) for part in store.parts(folder)[-_PARTS:]]
    audits = [audit for content in contents if content is not None for audit in _AUDITS.validate_json(content)]
    different = {(audit.started, *sorted(audit.topics.items())): audit for audit in audits}
    return [audit for _, audit in sorted(different.items())][-MOST_AUDITS:]


def _write(store: HistoryStore, folder: str, audits: list[PastAudit]) -> None:
    name = part_name(audits[-1].started)
    store.write_bytes(folder, name, _FILE, _AUDITS.dump_json(audits))
    store.complete(folder, name)
