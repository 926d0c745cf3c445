"""Test that subscriptions are compared as brokers read them: by a plan, an audit and an import."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.access_parts import declared_access, deployed_access, live_access
from tests.support.projects import project_of
from topicwarden.audit.access_check import AuditedAccess
from topicwarden.extensions.interchange.import_session import ImportSession
from topicwarden.extensions.interchange.live_access import draft_access
from topicwarden.kinds.client_metrics.change import CLIENT_METRICS, Subscription
from topicwarden.kinds.client_metrics.checks import client_metrics_drift
from topicwarden.model.planned_change import Action
from topicwarden.model.problem import Location
from topicwarden.plan.access_change import AccessChange, access_change
from topicwarden.plan.access_context import OwnClient, StackTopics
from topicwarden.plan.access_evidence import AccessEvidence
from topicwarden.plan.predict_access import judge_access

KEY = Subscription("m")
Settings = Mapping[str, str]
MATCH, SAME_MATCH = "client_id=b,client_software_name=j", " client_software_name=j, client_id=b"


def change_of(declared: Settings, deployed: Settings, live: Settings) -> AccessChange:
    return access_change(
        declared_access(parts={CLIENT_METRICS: {KEY: (declared, Location("access/a.yaml"))}} if declared else {}),
        deployed_access(parts={CLIENT_METRICS: {KEY: deployed}} if deployed else {}, homes={KEY: ("access/a.yaml",)}),
        live_access([], {CLIENT_METRICS: {KEY: live}}, {}),
    )


@pytest.mark.parametrize(
    ("declared", "live", "same"),
    [
        ({"match": MATCH}, {"match": SAME_MATCH}, True),
        ({"match": MATCH}, {"match": "client_id=b"}, False),
        ({"match": MATCH}, {"match": "client_id=j,client_software_name=b"}, False),
        ({"metrics": "a.,b."}, {"metrics": "b., a.,b."}, True),
        ({"metrics": "a.,b."}, {"metrics": "a."}, False),
        ({"metrics": "a."}, {}, False),
        ({"interval.ms": "1000"}, {"interval.ms": "1000", "metrics": "", "match": ""}, True),
        ({"interval.ms": "1000"}, {"interval.ms": "10000"}, False),
    ],
)
def test_settings_that_brokers_read_alike_are_the_same(declared: Settings, live: Settings, same: bool) -> None:
    actions = change_of(declared, declared, live).of(CLIENT_METRICS)
    assert actions == ({} if same else {KEY: Action.DRIFT})
    access = declared_access(parts={CLIENT_METRICS: {KEY: (declared, Location("access/a.yaml"))}})
    audited = AuditedAccess(access, live_access(parts={CLIENT_METRICS: {KEY: live}}))
    assert bool([*client_metrics_drift.judge(audited)]) is not same


@pytest.mark.parametrize(
    ("declared", "deployed", "live", "lost"),
    [
        ({"metrics": "b."}, {"metrics": "a.,b."}, {"metrics": "a.,b."}, "no longer asks for a."),
        ({"interval.ms": "9000"}, {"metrics": "a."}, {"metrics": "a."}, "no longer asks for a."),
        ({}, {"metrics": "a."}, {"metrics": "a."}, "no longer asks for a."),
        ({"metrics": "a."}, {"metrics": "*"}, {"metrics": "*"}, "no longer asks for *"),
        ({"metrics": "a.b."}, {"metrics": "a."}, {"metrics": "a."}, "no longer asks for a."),
        ({"metrics": "a."}, {"metrics": "a.b.,a.c."}, {"metrics": "a.b.,a.c."}, None),
        ({"metrics": "*"}, {"metrics": "a."}, {"metrics": "a."}, None),
        ({"interval.ms": "60000"}, {"interval.ms": "30000"}, {"interval.ms": "30000", "metrics": "a."}, None),
        ({}, {"interval.ms": "30000"}, {"interval.ms": "30000", "metrics": "a."}, None),
        ({"metrics": "a.", "match": MATCH}, {"metrics": "a."}, {"metrics": "a.", "match": SAME_MATCH}, None),
        ({"metrics": "a."}, {"metrics": "a.", "match": MATCH}, {"metrics": "a.", "match": MATCH}, None),
        (
            {"metrics": "a.", "match": "client_id=b"},
            {"metrics": "a.", "match": MATCH},
            {"metrics": "a.", "match": MATCH},
            None,
        ),
        (
            {"metrics": "a.", "match": MATCH},
            {"metrics": "a."},
            {"metrics": "a.", "match": "client_id=b"},
            f"asks only clients that match {MATCH}",
        ),
    ],
)
def test_only_metrics_that_clients_no_longer_push_are_lost(
    declared: Settings, deployed: Settings, live: Settings, lost: str | None
) -> None:
    change = change_of(declared, deployed, live)
    plan = judge_access(change, AccessEvidence(), StackTopics(), OwnClient("User:x"), now=0).plan
    found = [each.message for each in plan.consequences if each.kind == "metrics-lost"]
    assert found == ([] if lost is None else [f"the client metrics m: the subscription {lost}"])


@pytest.mark.parametrize(
    "settings", [{"match": SAME_MATCH, "metrics": "*"}, {"metrics": "a.,b.,a."}, {"metrics": "", "interval.ms": "1000"}]
)
def test_an_import_takes_subscriptions_in_any_spelling(tmp_path: Path, settings: Settings) -> None:
    assert "  m: " in imported(tmp_path, settings)


def test_an_import_leaves_out_a_subscription_without_values(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="client metrics m: none of its settings has a value"):
        imported(tmp_path, {"metrics": ""})


def imported(root: Path, settings: Settings) -> str:
    loaded: Any = SimpleNamespace(stacks=("dev",))
    session = ImportSession(project_of(root, {}), "dev", (), loaded, {}, ())
    draft = draft_access(session, live_access([], {CLIENT_METRICS: {KEY: settings}}), (), None)
    if draft.refused:
        raise ValueError(*draft.refused.values())
    (file,) = draft.files
    return file.text
