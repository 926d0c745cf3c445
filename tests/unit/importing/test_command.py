"""Test `topicwarden import --from` as a user runs it: exit codes, written files and terminal output."""

from __future__ import annotations

import json
import os
import pty
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

from tests.support.command import COMMAND, Outcome, project, topicwarden
from topicwarden.extensions.interchange.import_files import ImportReport

POLICY = {"policies/topics.yaml": "rules: {owner: {level: error}}\n"}
ALIKE = {"topics/one.yaml": "partitions: 1\nreplication_factor: 1\n"}
OTHERWISE = {"topics/one.yaml": "partitions: 2\nreplication_factor: 1\n"}
TAKEN = {"topics/one.v1.yaml": "partitions: 1\nreplication_factor: 1\n"}

ALL_DELETED = (
    "apiVersion: kafka.jikkou.io/v1beta2\nkind: KafkaTopic\n"
    "metadata: {name: gone, annotations: {jikkou.io/delete: true}}\nspec: {partitions: 1, replicas: 1}\n"
)


def written(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in (root / "topics").rglob("*.yaml")}


def run(root: Path, text: str, *arguments: str, files: dict[str, str] | None = None) -> Outcome:
    (project(root, files or {}) / "topics").mkdir(exist_ok=True)
    (root / "source").write_text(text)
    return topicwarden("import", "--from", "source", *arguments, cwd=root)


@pytest.mark.parametrize(
    ("text", "files", "code"),
    [
        ("one:1:1", {}, 0),
        ("one:1:1", ALIKE, 0),
        ("one:1:1", OTHERWISE, 1),
        ("one:1:1", POLICY, 1),
        ("one:1:1,one.v1:1:1", POLICY | TAKEN, 1),
        ("one_v1:1:1", TAKEN, 1),
        ("one:1:1,two:1", {}, 1),
        ("nothing", {}, 1),
        (ALL_DELETED, ALIKE, 0),
    ],
    ids=["new", "as declared", "otherwise", "policy", "policy of some", "collision", "wrong", "unknown", "deleted"],
)
def test_a_dry_run_has_the_exit_code_of_the_real_run(
    tmp_path: Path, text: str, files: dict[str, str], code: int
) -> None:
    dry = run(tmp_path, text, "--dry-run", files=files)
    before = written(tmp_path)
    assert before == {name for name in files if name.startswith("topics/")}
    real = run(tmp_path, text)
    assert (dry.code, real.code) == (code, code), dry.out + dry.err + real.out + real.err
    # The problems are the same, but without source lines, because the dry run writes no files.
    problems = [line for line in real.out.splitlines() if line.endswith("]") and ": " in line]
    assert [line for line in problems if line not in dry.out] == []


def test_a_dry_run_finds_the_same_problems_in_access(tmp_path: Path) -> None:
    entry = {"acl_host": "*", "acl_operation": "All", "acl_permission_type": "Allow", "acl_principal": "User:ops"}
    acl = {**entry, "resource_name": "*", "resource_type": "Topic", "resource_pattern_type_filter": "Literal"}
    topic = {"name": "one", "partitions": 1, "replication_factor": 1, "config": {}}
    resources = [
        {"address": f"{kind}.x", "mode": "managed", "type": kind, "name": "x", "values": values}
        for kind, values in (("kafka_topic", topic), ("kafka_acl", acl))
    ]
    state = json.dumps({"format_version": "1.0", "values": {"root_module": {"resources": resources}}})
    dry, real = run(tmp_path, state, "--dry-run"), run(tmp_path, state)
    problem, count = "access/imported.yaml:2:5: warning: Allow All on Topic * for User:ops", "0 errors, 1 warning in"
    assert all(problem in done.out for done in (dry, real)), dry.out
    assert all(count in done.err for done in (dry, real)), dry.err + real.err


def test_the_diff_lists_everything_that_is_not_imported(tmp_path: Path) -> None:
    text = "services:\n  kafka:\n    environment:\n      KAFKA_PASSWORD: hunter2\n      KAFKA_CREATE_TOPICS: one:1:1\n"
    done = run(tmp_path, text, "--dry-run")
    assert done.code == 0
    assert "services.kafka.environment.KAFKA_PASSWORD" in done.err
    assert "not-imported" not in done.out
    assert "hunter2" not in done.out + done.err


def test_no_line_of_a_diff_is_a_command_to_the_runner(tmp_path: Path) -> None:
    channel = '{address: one, description: "##[error]planted", bindings: {kafka: {partitions: 1, replicas: 1}}}'
    source = f"asyncapi: 3.0.0\ninfo: {{title: x, version: '1'}}\nchannels:\n  one: {channel}\n"
    (project(tmp_path, {}) / "topics").mkdir()
    (tmp_path / "source").write_text(source)
    done = topicwarden("import", "--from", "source", "--dry-run", cwd=tmp_path, GITHUB_ACTIONS="true")
    assert (done.code, "planted" in done.out, "##[" in done.out + done.err) == (0, True, False)


def test_labels_become_comments_of_the_topic(tmp_path: Path) -> None:
    text = ALL_DELETED.replace("jikkou.io/delete: true", "wiki: here").replace("gone", "kept")
    done = run(tmp_path, text, "--from-format", "jikkou")
    assert done.code == 0, done.out + done.err
    assert "# metadata.annotations.wiki: here\n" in (tmp_path / "topics" / "kept.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("--from", "missing"), "missing cannot be read: No such file"),
        (("--from", "source", "--from-format", "strimzy"), "did you mean strimzi?"),
        (("--from", "source", "other.*"), "none of 1 topic matches other.*"),
    ],
)
def test_a_command_that_cannot_run_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], output: str) -> None:
    run(tmp_path, "one:1:1", "--dry-run")
    done = topicwarden("import", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert output in done.err
    assert "Traceback" not in done.out + done.err


def test_notes_are_wrapped_between_words_on_a_terminal(tmp_path: Path) -> None:
    names = [f"services.kafka.environment.KAFKA_VARIABLE_{number}" for number in range(9)]
    lines = [f"      {name.rpartition('.')[2]}: x\n" for name in names]
    project(tmp_path, {"topics/other.yaml": "partitions: 1\nreplication_factor: 1\n"})
    text = "services:\n  kafka:\n    environment:\n      KAFKA_CREATE_TOPICS: one:1:1\n" + "".join(lines)
    (tmp_path / "source.yaml").write_text(text)
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    subprocess.run(
        [COMMAND, "import", "--from", "source.yaml", "--dry-run"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        check=True,
    )
    os.close(theirs)
    output = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert all(name in output for name in names)
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("length", [240, 244, 245, 249])
def test_topics_with_long_names_can_be_fixed_exported_and_imported(tmp_path: Path, length: int) -> None:
    name = ("orders." + "y" * length)[:length]
    declared = 'partitions: 1\nreplication_factor: 1\nconfig: {retention.ms: "7 days"}\n'
    contents = "contents: {value: {format: json, schema: s.json}}\n"
    names = [name, name[:-1] + "z"]
    files = {f"topics/{each}.yaml": declared + contents for each in names}
    root = project(tmp_path, {**files, "topics/s.json": "{}"})
    fixed = topicwarden("check", "--fix", cwd=root)
    assert fixed.code == 0, fixed.out + fixed.err
    for arguments in (("asyncapi", "--out", "a.yaml"), ("odcs", "--out", "contracts/")):
        done = topicwarden("export", "--to", *arguments, cwd=root)
        assert done.code == 0, done.out + done.err
    sources = [["a.yaml"], [f"contracts/{path.name}" for path in (root / "contracts").iterdir()]]
    assert [len(each) for each in sources] == [1, 2]
    for paths in sources:
        for path in (root / "topics").rglob("*.*"):
            path.unlink()
        done = topicwarden("import", *(word for path in paths for word in ("--from", path)), cwd=root)
        assert done.code == 0, done.out + done.err
        checked = topicwarden("check", cwd=root)
        assert checked.code == 0, checked.out + checked.err
        assert "2 topics: 0 errors" in checked.out + checked.err


def test_an_import_is_refused_before_it_writes_if_the_stack_does_not_own_all_topics(tmp_path: Path) -> None:
    """No cluster listens at the address: the refusal comes before the first request."""
    root = project(tmp_path, ALIKE)
    settings = "config:\n  kafka:bootstrapServers: [127.0.0.1:1]\n  topicwarden:scope: {topics: ['two.*']}\n"
    (root / "stacks" / "Pulumi.dev.yaml").write_text(settings)
    done = topicwarden("import", "--stack", "dev", cwd=root)
    assert done.code == 2
    assert (
        "the project declares 1 topic outside of the scope of stack dev, such as one, so nothing can be adopted"
        in done.err
    )
    assert "stacks/Pulumi.dev.yaml" in done.err


def test_an_import_of_access_says_what_the_next_deploy_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def importing(*_: object, **__: object) -> Iterator[tuple[ImportReport, None]]:
        yield ImportReport("dev", access=True, users=2), None

    monkeypatch.setattr("topicwarden.extensions.interchange.import_operation.importing_topics", importing)
    project(tmp_path, ALIKE)
    done = topicwarden("import", "--access", cwd=tmp_path)
    needs = "first, 2 users in access/ need their password as a secret"
    assert f"next: `topicwarden up --stack dev` adopts the access, which stays as it is; {needs}" in done.err
    assert "next:" not in topicwarden("import", "--access", "--dry-run", cwd=tmp_path).err
