"""Test the catalogues of a stack: their settings without encryption, and audits with no or wrong settings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support import reports
from tests.support.notices import old_queue
from topicwarden.kafka.connect.stack_connection import stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.catalogues.publisher import catalogue_targets, left_queues, publish_audit

SECRET = "hunter2-token"


def project_with(root: Path, catalogues: dict[str, Any] | None) -> Project:
    (root / "stacks").mkdir()
    config: dict[str, Any] = {"kafka:bootstrapServers": ["B-2:9093", "b-1:9093"], "kafka:tlsEnabled": False}
    if catalogues is not None:
        config["topicwarden:catalogues"] = catalogues
    (root / "stacks" / "Pulumi.prod.yaml").write_text(json.dumps({"config": config}), encoding="utf-8")
    return Project(root)


def test_targets_have_the_cluster_of_the_stack_unless_they_name_one(tmp_path: Path) -> None:
    project = project_with(
        tmp_path,
        {
            "marquez": {"openlineage": "https://marquez/", "token": SECRET, "cluster": "Proxy:9092"},
            "file": {"openlineage": "lineage/events.ndjson"},
        },
    )
    marquez, file = catalogue_targets(project, "prod", stack_settings(project, "prod"))
    assert (marquez.cluster, file.cluster) == ("kafka://proxy:9092", "kafka://b-1:9093")
    assert (marquez.settings.url, file.settings.url) == ("https://marquez", None)
    assert file.settings.file == tmp_path / "lineage" / "events.ndjson"
    assert SECRET not in repr([marquez, file])


def test_a_wrong_setting_is_refused_with_its_path_and_without_secrets(tmp_path: Path) -> None:
    catalogues = {
        "hub": {"openlineage": f"https://me:{SECRET}@hub"},
        "file": {"openlineage": "x", "token": f"{SECRET} x"},
    }
    project = project_with(tmp_path, catalogues)
    with pytest.raises(Refusal) as refused:
        catalogue_targets(project, "prod", stack_settings(project, "prod"))
    text = str(refused.value)
    assert "stacks/Pulumi.prod.yaml: topicwarden:catalogues.hub.openlineage: expected a URL such as" in text
    assert "write the credential as token" in text
    assert "topicwarden:catalogues.file.token: expected printable characters without spaces" in text
    assert SECRET not in text
    (failure,) = publish_audit(project, "prod", reports.empty())
    assert "the audit does not reach the catalogues of stack prod" in failure and SECRET not in failure


@pytest.mark.parametrize(
    "catalogues",
    [SECRET, {"hub": SECRET}, {"hub": {"datahub": SECRET}}, {"file": {"openlineage": f"https://{SECRET}:65536"}}],
)
def test_a_decrypted_value_is_never_shown(catalogues: Any, tmp_path: Path) -> None:
    project = project_with(tmp_path, catalogues)
    with pytest.raises(Refusal) as refused:
        catalogue_targets(project, "prod", stack_settings(project, "prod"))
    assert SECRET not in str(refused.value)


def test_a_stack_without_catalogues_publishes_nothing_and_writes_nothing(tmp_path: Path) -> None:
    project = project_with(tmp_path, None)
    assert publish_audit(project, "prod", reports.empty()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["stacks"]


def test_an_audit_is_published_to_a_file_of_the_project(tmp_path: Path) -> None:
    project = project_with(tmp_path, {"file": {"openlineage": "lineage/events.ndjson"}})
    assert publish_audit(project, "prod", reports.rich()) == []
    assert len((tmp_path / "lineage" / "events.ndjson").read_text(encoding="utf-8").splitlines()) == 2
    (tmp_path / "lineage" / "events.ndjson").unlink()
    (tmp_path / "lineage" / "events.ndjson").mkdir()
    (failure,) = publish_audit(project, "prod", reports.rich())
    assert failure.startswith("catalogue file: cannot write ")


@pytest.mark.parametrize("read", [False, True])
def test_a_pipe_in_place_of_a_file_blocks_nothing(tmp_path: Path, read: bool) -> None:
    os.mkfifo(tmp_path / "events")
    reader = os.open(tmp_path / "events", os.O_RDONLY | os.O_NONBLOCK) if read else None
    (failure,) = publish_audit(project_with(tmp_path, {"file": {"openlineage": "events"}}), "prod", reports.rich())
    assert failure.startswith("catalogue file: cannot write ")
    if reader is not None:
        os.close(reader)


def test_audits_in_the_queue_of_an_earlier_version_are_named_once(tmp_path: Path) -> None:
    project = project_with(tmp_path, None)
    queues = project.cache / "catalogues" / "prod"
    old_queue(queues / "hub" / "datahub.sqlite", "", [{}, {}])
    old_queue(queues / "marquez" / "openlineage.sqlite", "", [])
    assert publish_audit(project, "prod", reports.empty()) == [
        "catalogue hub: 2 audits in the queue of an earlier version will not be delivered: "
        f"{queues / 'hub' / 'datahub.unused'}"
    ]
    assert list(left_queues(project, "prod")) == []
