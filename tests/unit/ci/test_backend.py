"""Test which credentials of Pulumi a command gets in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from topicwarden.cli import ci
from topicwarden.model.project import Project
from topicwarden.model.verdict import FailOn

SECRETS = {"PULUMI_ACCESS_TOKEN": "token", "PULUMI_CONFIG_PASSPHRASE": "mine", "PULUMI_BACKEND_URL": "s3://state"}


@pytest.fixture(autouse=True)
def working_directory(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def given_to(stack: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return Pulumi's variables that an audit of ``stack`` gets, in a job with ``variables``."""
    given: list[dict[str, str]] = []

    def topicwarden(_: Project, *__: str, **___: object) -> int:
        given.append({name: value for name, value in os.environ.items() if name in SECRETS})
        return 0

    monkeypatch.setattr(os, "environ", {**os.environ, **variables})
    monkeypatch.setattr(ci, "_topicwarden", topicwarden)
    monkeypatch.setattr(ci, "provide_stack", lambda *_: None)
    assert ci.run("audit", stack, Path("reports"), fail_on=FailOn.FAIL) == 0
    return given[-1]


def test_a_stack_gets_the_secrets_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_to("prod", SECRETS, monkeypatch) == SECRETS


def test_an_unset_secret_is_no_empty_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = {**SECRETS, "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_BACKEND_URL": ""}
    expected = {"PULUMI_ACCESS_TOKEN": "token", "PULUMI_BACKEND_URL": "https://api.pulumi.com"}
    assert given_to("prod", unset, monkeypatch) == expected


def test_a_sandbox_gets_no_secret_of_another_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_to("dev", SECRETS, monkeypatch) == {}
