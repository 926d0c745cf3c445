"""Test `topicwarden usage` without a cluster: its arguments, and the YAML that `--write` adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import usage_reports
from tests.support.command import topicwarden
from tests.support.projects import project_of
from topicwarden.model.project import Project
from topicwarden.model.usage import UseAction, UserKind
from topicwarden.model.usage_report import UndeclaredUse, UsageReport
from topicwarden.operations import usage_access
from topicwarden.operations.usage_access import add_used_access
from topicwarden.policies.check_specs import check
from topicwarden.specs.load import LoadedSpecs, load, load_files
from topicwarden.specs.resolve import resolve

SIZE = "partitions: 1\nreplication_factor: 1\n"
FLOW = "{partitions: 1, replication_factor: 1}"
ENTRY = "{principal: User:x, group: y}"


def reads(topic: str, group: str = "y", principal: str | None = "User:x", reason: str = "") -> UndeclaredUse:
    return UndeclaredUse(
        topic=topic,
        action=UseAction.READ,
        kind=UserKind.GROUP,
        name=group,
        principal=principal,
        candidates=[],
        access_declared=True,
        entry=f"{{principal: {principal or 'PRINCIPAL'}, group: {group}}}",
        reason=reason,
    )


def writes(topic: str) -> UndeclaredUse:
    return reads(topic).model_copy(
        update={"action": UseAction.WRITE, "kind": UserKind.PRODUCER_ID, "name": "7", "entry": "User:x"}
    )


def report(*uses: UndeclaredUse) -> UsageReport:
    return usage_reports.report([], stack="dev", undeclared=list(uses))


def two_stacks(folder: Path, files: dict[str, str]) -> Project:
    project = project_of(folder, files)
    (folder / "stacks" / "Pulumi.prod.yaml").write_text("config: {'topicwarden:cluster': sandbox}\n", encoding="utf-8")
    return project


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{SIZE}access:\n  consume: [User:b]  # note\n", f"{SIZE}access:\n  consume: [User:b, {ENTRY}]  # note\n"),
        (f"{SIZE}access: {{consume: []}}\n", f"{SIZE}access: {{consume: [{ENTRY}]}}\n"),
        (f"{SIZE}access: {{produce: [User:a]}}\n", f"{SIZE}access: {{produce: [User:a], consume: [{ENTRY}]}}\n"),
        (
            f"{SIZE}access:\n  consume:\n  - User:b  # note\n  # end\n\nallow: [delete]\n",
            f"{SIZE}access:\n  consume:\n  - User:b  # note\n  - {ENTRY}\n  # end\n\nallow: [delete]\n",
        ),
        (
            f"# a topic\n{SIZE}\n# changes\nallow: [delete]\n",
            f"# a topic\n{SIZE}access:\n  consume:\n    - {ENTRY}\n\n# changes\nallow: [delete]\n",
        ),
        (SIZE.rstrip(), f"{SIZE}access:\n  consume:\n    - {ENTRY}\n"),
        (SIZE.replace("\n", "\r\n"), f"{SIZE}access:\n  consume:\n    - {ENTRY}\n".replace("\n", "\r\n")),
        (FLOW, f"{FLOW[:-1]}, access: {{consume: [{ENTRY}]}}}}"),
        (
            f"topic: a\n{SIZE}---\n# second\ntopic: t\n{SIZE}---\ntopic: z\n{SIZE}",
            f"topic: a\n{SIZE}---\n# second\ntopic: t\n{SIZE}access:\n  consume:\n    - {ENTRY}\n---\ntopic: z\n{SIZE}",
        ),
        (f"\ufeff{SIZE}", f"\ufeff{SIZE}access:\n  consume:\n    - {ENTRY}\n"),
    ],
    ids=range(10),
)  # fmt: skip
def test_an_entry_is_added_and_every_other_byte_is_kept(tmp_path: Path, before: str, after: str) -> None:
    project = project_of(tmp_path, {})
    file = project.topics / "t.yaml"
    file.write_bytes(before.encode())
    shown = add_used_access(project, report(reads("t")), dry_run=True)
    assert file.read_bytes() == before.encode()
    added = add_used_access(project, report(reads("t")))
    assert file.read_bytes() == after.encode()
    assert (added.entries, added.left, added.problems) == (1, (), ())
    assert shown.files == added.files
    assert not check(project, ["dev"]).errors


@pytest.mark.parametrize(
    "text",
    [
        f"{SIZE}access:\n  consume:\n",
        f"{SIZE}access:\n",
        f"{SIZE}access:\n  produce: &p [User:a]\n  consume: *p\n",
        f"{SIZE}description: 'a\u2028b'\n",
    ],
)
def test_a_file_that_cannot_be_edited_is_left_to_a_person(tmp_path: Path, text: str) -> None:
    project = project_of(tmp_path, {"t.yaml": text})
    added = add_used_access(project, report(reads("t")))
    assert (project.topics / "t.yaml").read_text(encoding="utf-8") == text
    assert [(use.topic, use.reason) for use in added.left] == [
        ("t", "the layout of its file has no position for the entry")
    ]


def test_many_topics_are_edited_at_once_and_one_that_cannot_be_edited_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, bad = [f"t{number}" for number in range(64)], "t37"
    refused = f"{SIZE}access:\n  produce: &p [User:a]\n  consume: *p\n"
    documents = [f"topic: {name}\n{refused if name == bad else SIZE}" for name in names]
    files = {f"{number}.yaml": "---\n".join(documents[number : number + 16]) for number in range(0, 64, 16)}
    project, loads = project_of(tmp_path, files), list[None]()

    def counted_load(*arguments: Any) -> LoadedSpecs:
        loads.append(None)
        return load_files(*arguments)

    monkeypatch.setattr(usage_access, "load_files", counted_load)
    added = add_used_access(project, report(*map(reads, names)))
    assert (added.entries, [use.topic for use in added.left]) == (63, [bad])
    assert len(loads) <= 2 + 2 * 6, "each half is read once"
    declared = resolve(load(project.topics, project.root, ["dev"]), "dev").declarations
    users = {each.topic.name: len(each.topic.access.consume) for each in declared}
    assert users == dict.fromkeys(names, 1)


def test_only_exactly_known_principals_are_written_each_once(tmp_path: Path) -> None:
    project = project_of(tmp_path, {"t.yaml": SIZE, "u.yaml": SIZE})
    unknown = reads("t", "z", None, "2 principals can be the user")
    uses = (reads("t"), reads("t"), writes("t"), unknown, reads("u"))
    added = add_used_access(project, report(*uses))
    assert (project.topics / "t.yaml").read_text(encoding="utf-8") == (
        f"{SIZE}access:\n  consume:\n    - {ENTRY}\n  produce:\n    - User:x\n"
    )
    assert (added.entries, added.left) == (3, (unknown,))
    assert [file.file for file in added.files] == ["topics/t.yaml", "topics/u.yaml"]


def test_without_access_the_entry_is_of_one_stack(tmp_path: Path) -> None:
    project = two_stacks(tmp_path, {"t.yaml": SIZE})
    add_used_access(project, report(reads("t")))
    assert (project.topics / "t.yaml").read_text(encoding="utf-8") == (
        f"{SIZE}stacks:\n  dev:\n    access:\n      consume:\n        - {ENTRY}\n"
    )


def test_an_inherited_list_is_repeated_because_a_list_replaces_it(tmp_path: Path) -> None:
    defaults = "access: {consume: [{principal: User:all, group: g}]}\n"
    project = two_stacks(tmp_path, {"_defaults.yaml": defaults, "t.yaml": SIZE, "u.yaml": SIZE})
    add_used_access(project, report(reads("t")))
    assert (
        (project.topics / "t.yaml")
        .read_text(encoding="utf-8")
        .endswith(f"      consume:\n        - {{principal: User:all, group: g}}\n        - {ENTRY}\n")
    )


def test_the_list_that_is_in_force_gets_the_entry(tmp_path: Path) -> None:
    text = f"{SIZE}access: {{consume: [User:a]}}\nstacks: {{dev: {{access: {{consume: [User:b]}}}}}}\n"
    project = two_stacks(tmp_path, {"t.yaml": text})
    add_used_access(project, report(reads("t")))
    assert f"[User:b, {ENTRY}]" in (project.topics / "t.yaml").read_text(encoding="utf-8")


def test_a_violation_of_a_rule_by_a_new_entry_is_reported(tmp_path: Path) -> None:
    project = project_of(tmp_path, {"t.yaml": f"{SIZE}access: {{consume: [User:a]}}\n"})
    project.policies.mkdir(exist_ok=True)
    (project.policies / "p.yaml").write_text("rules: {incomplete-access: {level: error}}\n", encoding="utf-8")
    principal = reads("t").model_copy(update={"kind": UserKind.PRINCIPAL, "name": "User:x"})
    added = add_used_access(project, report(principal))
    assert [(problem.rule, problem.location.file) for problem in added.problems] == [
        ("incomplete-access", "topics/t.yaml")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "yaml"), "there is no format 'yaml': expected one of text, json, markdown, html, openmetrics"),
        (("--format", "jsn"), "did you mean json?"),
        (("--dry-run",), "--dry-run only shows the changes of --write: add --write"),
        (("--out", "topics/t.yaml"), "topics/t.yaml is not a folder"),
        (("--stack", "prod"), "prod"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    project = project_of(tmp_path, {"t.yaml": SIZE})
    stack = () if "--stack" in arguments else ("--stack", "dev")
    done = topicwarden("usage", *stack, *arguments, cwd=project.root)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def test_errors_in_the_yaml_are_one_line(tmp_path: Path) -> None:
    project = project_of(tmp_path, {"t.yaml": "partitions: many\n"})
    done = topicwarden("usage", "--stack", "dev", cwd=project.root)
    assert done.code == 2
    assert "topicwarden: the declared topics cannot be reported: topics/t.yaml:1:13" in done.err
