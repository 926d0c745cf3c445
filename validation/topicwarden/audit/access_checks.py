"""The table of the checks of access, by id. They run only if the stack declares access.

A check is a module of ``kinds/<kind>/checks/`` with ``applies`` and ``judge``. Its id is its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

from topicwarden.audit.access_check import AccessCheck, AccessResult, AuditedAccess
from topicwarden.kinds import members
from topicwarden.model.finding import OF_CLUSTER, Finding
from topicwarden.model.verdict import Verdict

ACCESS_CHECKS: Final[dict[str, AccessCheck]] = {
    module.__name__.rpartition(".")[2].replace("_", "-"): cast("AccessCheck", module) for module in members("checks")
}


def judge_access(access: AuditedAccess, selects: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield the findings of each check that applies; a plain pass for a check without any.

    ``selects`` says whether a finding on a topic, or on ``OF_CLUSTER``, is reported.
    """
    for check_id, check in ACCESS_CHECKS.items():
        if not check.applies(access):
            continue
        results = [result for result in check.judge(access) if selects(result.topic)]
        if not results and selects(OF_CLUSTER):
            results = [AccessResult(Verdict.PASS, "")]
        for result in results:
            yield Finding(
                check=check_id,
                verdict=result.verdict,
                topic=result.topic,
                message=result.message,
                because=list(result.because),
                remedy=result.remedy,
                evidence=dict(result.evidence),
                location=result.location,
            )
