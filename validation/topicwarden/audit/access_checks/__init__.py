"""The table of the checks of access, by id. They run only if the stack declares access.

To add a check, add a module with ``applies`` and ``judge``, and a line in ``ACCESS_CHECKS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from topicwarden.audit.access_check import AccessCheck, AccessResult, AuditedAccess
from topicwarden.audit.access_checks import (
    acl_drift,
    acl_without_effect,
    authorizer_settings,
    group_config_drift,
    idle_group,
    quota_drift,
    scram_user_drift,
)
from topicwarden.model.finding import OF_CLUSTER, Finding
from topicwarden.model.verdict import Verdict

ACCESS_CHECKS: dict[str, AccessCheck] = {
    "acl-drift": acl_drift,
    "acl-without-effect": acl_without_effect,
    "authorizer-settings": authorizer_settings,
    "quota-drift": quota_drift,
    "scram-user-drift": scram_user_drift,
    "group-config-drift": group_config_drift,
    "idle-group": idle_group,
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
