"""Test the import of AsyncAPI documents and data contracts into a project, with their schemas and references."""

from __future__ import annotations

from pathlib import Path

from tests.support.cases import find_case
from tests.support.command import Outcome, project, topicwarden
from tests.support.import_cases import CASES

ASYNCAPI = """\
asyncapi: 3.0.0
info: {title: Orders, version: 1.0.0}
channels:
  placed:
    address: orders.placed
    bindings: {kafka: {}}
    messages: {placed: {contentType: application/json, payload: {$ref: 'REFERENCE'}}}
"""
DEFAULTS = {"topics/_defaults.yaml": "partitions: 3\nreplication_factor: 1\n"}


def run(root: Path, text: str, *arguments: str, files: dict[str, str] | None = None) -> Outcome:
    (project(root, files or {}) / "topics").mkdir(exist_ok=True)
    (root / "source.yaml").write_text(text)
    return topicwarden("import", "--from", "source.yaml", *arguments, cwd=root)


def tree(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_a_second_import_changes_nothing_and_says_so(tmp_path: Path) -> None:
    text = find_case(CASES, "good", "asyncapi").files["orders.asyncapi.yaml"]
    first = run(tmp_path, text)
    assert first.code == 0, first.out + first.err
    assert "2 new topics" in first.err
    assert topicwarden("check", cwd=tmp_path).code == 0
    before = tree(tmp_path / "topics")
    second = run(tmp_path, text)
    assert second.code == 0, second.out + second.err
    assert "skipped: 2 already declared" in second.err
    assert tree(tmp_path / "topics") == before


def test_a_dry_run_checks_topics_whose_schemas_are_not_written(tmp_path: Path) -> None:
    text = find_case(CASES, "good", "asyncapi").files["orders.asyncapi.yaml"]
    done = run(tmp_path, text, "--dry-run")
    assert done.code == 0, done.out + done.err
    assert "+++ b/topics/orders/schemas/orders.placed.v1-value.json" in done.out
    assert tree(tmp_path / "topics") == {}


def test_counts_that_a_contract_does_not_have_come_from_the_defaults(tmp_path: Path) -> None:
    text = ASYNCAPI.replace("{$ref: 'REFERENCE'}", "{}")
    refused = run(tmp_path, text)
    assert refused.code == 1
    assert "source.yaml:6:23: expected the partitions, seen nothing; write the number here, or in" in refused.out
    done = run(tmp_path, text, files=DEFAULTS)
    assert done.code == 0, done.out + done.err
    assert "partitions" not in (tmp_path / "topics" / "orders" / "orders.placed.yaml").read_text()
    assert run(tmp_path, text).code == 0


def test_a_schema_in_a_file_beside_the_document_is_read(tmp_path: Path) -> None:
    files = {
        "schemas/order.yaml": "order: {type: object, properties: {item: {$ref: './item.json#'}}}\n",
        "schemas/item.json": '{"type": "object", "required": ["id"]}',
    }
    done = run(tmp_path, ASYNCAPI.replace("REFERENCE", "schemas/order.yaml#/order"), files=DEFAULTS | files)
    assert done.code == 0, done.out + done.err
    schema = (tmp_path / "topics" / "orders" / "schemas" / "orders.placed-value.json").read_text()
    assert '"$ref": "#/definitions/schema"' in schema
    assert '"required"' in schema


def test_an_existing_schema_file_is_never_overwritten(tmp_path: Path) -> None:
    taken = {"topics/orders/schemas/orders.placed-value.json": "{}\n"}
    done = run(tmp_path, ASYNCAPI.replace("{$ref: 'REFERENCE'}", "{type: object}"), files=DEFAULTS | taken)
    assert done.code == 0, done.out + done.err
    folder = tmp_path / "topics" / "orders"
    assert (folder / "schemas" / "orders.placed-value.json").read_text() == "{}\n"
    assert "schemas/orders.placed-value-2.json" in (folder / "orders.placed.yaml").read_text()


def test_no_file_outside_of_the_project_is_read_and_no_host_is_asked(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (tmp_path / "secret.yaml").write_text("{type: object, const: hunter2}\n")
    (root / "link").parent.mkdir()
    (root / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    for reference in ("../secret.yaml", "link.yaml"):
        done = run(root, ASYNCAPI.replace("REFERENCE", reference), files=DEFAULTS)
        assert done.code == 1
        assert f'$ref: "{reference}" is outside of the folder of this file; move both into one folder' in done.out
        assert "hunter2" not in done.out + done.err
    done = run(root, ASYNCAPI.replace("REFERENCE", "https://example.com/order.json"), files=DEFAULTS)
    assert done.code == 0, done.out + done.err
    assert "references to other hosts are not followed, so not imported: https://example.com/order.json" in done.err
