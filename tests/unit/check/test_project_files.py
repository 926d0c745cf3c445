"""Test which files belong to a project: how they are found, how paths are shown, and what limits them."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import COMMAND, process, project, topicwarden
from topicwarden.model.files import replace_file

# Files of a project that are broken, hostile, of another stack, or links to themselves.

TOPIC = "{partitions: 1, replication_factor: 1}\n"
PULUMI = "name: shop\nruntime: python\nmain: stacks/\nstackConfigDir: stacks\n"
ALIASES = ("x", *(f"*{name}" for name in "abcdefg"))
BOMB = "".join(f"{name}: &{name} [{', '.join([item] * 10)}]\n" for name, item in zip("abcdefgh", ALIASES, strict=True))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/a.yaml": TOPIC, "Pulumi.yaml": PULUMI, "stacks/Pulumi.prod.yaml": "config: {}\n"})


def checked(root: Path, *arguments: str) -> tuple[int, str]:
    done = topicwarden("check", "--format", "text", *arguments, cwd=root)
    return done.code, done.out + done.err


def test_a_pipe_in_place_of_a_file_is_a_problem_and_does_not_block(root: Path) -> None:
    (root / "topics" / "a.yaml").write_text(
        "{partitions: 1, replication_factor: 1, contents: {value: {format: json, schema: s.json}}}\n"
    )
    os.mkfifo(root / "topics" / "s.json")
    os.mkfifo(root / "stacks" / "Pulumi.pipe.yaml")
    code, output = checked(root)
    assert code == 1
    assert output.count("expected a regular file, got a device, pipe or socket") == 2


@pytest.mark.parametrize("file", ["pipe.pem", "/dev/zero"])
def test_an_endless_certificate_file_is_a_problem(root: Path, file: str) -> None:
    os.mkfifo(root / "pipe.pem")
    (root / "stacks" / "Pulumi.prod.yaml").write_text(
        f"config: {{kafka:bootstrapServers: ['a:9092'], kafka:caCertFile: {file}}}\n"
    )
    code, output = checked(root)
    assert code == 1
    assert "cannot be read: expected a regular file, got a device, pipe or socket" in output


def test_a_stack_file_has_a_limited_size_and_a_limited_number_of_problems(root: Path) -> None:
    (root / "stacks" / "Pulumi.large.yaml").write_text("config:\n" + "  a: 1\n" * 300_000)
    (root / "stacks" / "Pulumi.many.yaml").write_text(
        "config:\n" + "".join(f"  topicwarden:{number}: 1\n" for number in range(20_000))
    )
    code, output = checked(root)
    assert code == 1
    assert "cannot be read: expected a file of at most 1MiB, got 2,100,008 bytes" in output
    assert len(output.splitlines()) < 150


def test_aliases_that_expand_without_end_are_refused_in_a_stack_file(root: Path) -> None:
    (root / "stacks" / "Pulumi.bomb.yaml").write_text(f"{BOMB}config: *h\n")
    code, output = checked(root)
    assert (code, "[yaml-alias]" in output) == (1, True), output


@pytest.mark.parametrize("text", ["", "name: [\n", "- a\n", "runtime: python\n", "name: shop\n", "\x00"])
def test_a_project_file_that_pulumi_refuses_is_an_error_of_the_check(root: Path, text: str) -> None:
    (root / "Pulumi.yaml").write_text(text)
    code, output = checked(root)
    assert code == 1
    assert output.startswith("Pulumi.yaml:")
    assert "[project-file]" in output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a b\nruntime: python\n", "1:7: Pulumi refuses this file: name: expected text that matches"),
        ("name: 5\nruntime: python\n", "1:7: Pulumi refuses this file: name: expected text, got the number 5"),
        ("name: shop\nruntime: 5\n", "2:10: Pulumi refuses this file: runtime: expected a mapping, got the number 5"),
        ("name: shop\nruntime: ''\n", "2:10: Pulumi refuses this file: runtime: expected text, got empty text"),
        (
            "name: shop\nruntime: python\nmain: 5\n",
            "3:7: Pulumi refuses this file: main: expected text, got the number 5",
        ),
        ("name: shop\nruntime: python\nbackend: 5\n", "3:10: Pulumi refuses this file: backend: expected a mapping"),
        ("name: shop\nruntime: python\ndescription: 5\n", "3:14: Pulumi refuses this file: description: expected text"),
        ("name: shop\nruntime: python\nconfig: [1]\n", "3:9: Pulumi refuses this file: config: expected a mapping"),
        (
            "name: shop\nruntime: python\nplugins: {providers: 5}\n",
            "3:22: Pulumi refuses this file: plugins.providers: expected a list",
        ),
        ("name: a\nname: b\nruntime: python\n", '2:1: Pulumi refuses this file: the key "name" is written twice'),
    ],
)
def test_an_invalid_value_in_the_project_file_is_an_error_at_its_location(root: Path, text: str, message: str) -> None:
    (root / "Pulumi.yaml").write_text(text)
    code, output = checked(root)
    assert (code, output.startswith(f"Pulumi.yaml:{message}")) == (1, True), output


@pytest.mark.parametrize(
    "more",
    ["config: stacks\n", "config: {shop:a: 1}\n", "runtime: {name: python, options: {virtualenv: v}}\n", "x: 1\n"],
)
def test_a_project_file_that_pulumi_accepts_is_accepted(root: Path, more: str) -> None:
    (root / "Pulumi.yaml").write_text(f"name: shop\n{'' if 'runtime' in more else 'runtime: python' + chr(10)}{more}")
    assert checked(root)[0] == 0


@pytest.mark.parametrize("where", ["topics/many.yaml", "policies/many.yaml"])
@pytest.mark.parametrize("text", ["".join(f"key{n}: 1\n" for n in range(10_000)), "---\nx: 1\n" * 10_000])
def test_a_file_of_errors_has_a_limited_number_of_them(root: Path, where: str, text: str) -> None:
    (root / "policies").mkdir(exist_ok=True)
    (root / where).write_text(text)
    code, output = checked(root)
    assert code == 1
    assert "there are more errors than these 100; correct them, and check again [problems-more]" in output
    assert len(output.splitlines()) < 500


def test_a_hidden_file_is_skipped_with_a_warning(root: Path) -> None:
    (root / "topics" / ".b.yaml").write_text("nonsense: [")
    (root / "topics" / ".a.yaml.swp").write_text("an editor's")
    code, output = checked(root)
    assert (code, output.count("[file-hidden]"), ".swp" in output) == (0, 1, False)


def test_a_broken_file_of_another_stack_does_not_block_a_stack(root: Path) -> None:
    (root / "stacks" / "Pulumi.dev.yaml").write_text("config: {topicwarden:nothing: 1}\n")
    assert checked(root, "--stack", "prod")[0] == 0
    assert checked(root, "--stack", "dev")[0] == 1
    assert checked(root)[0] == 1


NOWHERE = "this symbolic link is broken; delete it or put the file here [file-link]"


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/b.yaml": "partitions: 1\nreplication_factor: 1\n", "policies/p.yaml": ""})


@pytest.mark.parametrize("link", ["topics/a.yaml", "policies/a.yaml", "topics/_defaults.yaml"])
def test_a_file_that_links_to_itself_is_a_problem(linked: Path, link: str) -> None:
    (linked / link).symlink_to(Path(link).name)
    for arguments in ((), (link,), ("--fix",)):
        done = topicwarden("check", *arguments, cwd=linked)
        assert (done.code, done.err.count("Traceback")) == (1, 0), done.err
        assert f"{link}:1:1: {NOWHERE}" in done.out


def test_links_in_a_circle_are_problems_of_their_own(linked: Path) -> None:
    (linked / "topics/x.yaml").symlink_to("y.yaml")
    (linked / "topics/y.yaml").symlink_to("x.yaml")
    done = topicwarden("check", cwd=linked)
    assert [line for line in done.out.splitlines() if "file-link" in line] == [
        f"topics/{name}.yaml:1:1: {NOWHERE}" for name in "xy"
    ]


def test_a_folder_that_links_to_itself_holds_nothing(linked: Path) -> None:
    (linked / "topics/shop").symlink_to("shop")
    assert topicwarden("check", cwd=linked).code == 0
    done = topicwarden("check", "topics/shop/a.yaml", cwd=linked)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err


def test_a_schema_that_links_to_itself_cannot_be_read(linked: Path) -> None:
    (linked / "topics/b.yaml").write_text(
        "partitions: 1\nreplication_factor: 1\ncontents: {value: {format: json, schema: loop.json}}\n"
    )
    (linked / "topics/loop.json").symlink_to("loop.json")
    done = topicwarden("check", cwd=linked)
    assert done.code == 1
    assert f"topics/b.yaml:3:42: topics/loop.json cannot be read: {os.strerror(40)}" in done.out


def test_stack_settings_that_link_to_themselves_cannot_be_read(linked: Path) -> None:
    (linked / "stacks/Pulumi.prod.yaml").symlink_to("Pulumi.prod.yaml")
    done = topicwarden("check", cwd=linked)
    assert done.code == 1
    assert f"stacks/Pulumi.prod.yaml:1:1: cannot be read: {os.strerror(40)} [file-unreadable]" in done.out


# Test that unrealistically large files are rejected before they use much time or memory.

MIB = 1 << 20


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/b.yaml": "partitions: 1\nreplication_factor: 1\n"})


def test_a_line_of_a_million_characters_is_refused(plain: Path) -> None:
    (plain / "topics/a.yaml").write_text("owner: x\ndescription: " + "a" * 1_000_000 + "\n")
    done = topicwarden("check", cwd=plain)
    assert done.code == 1
    location, source, caret = done.out.splitlines()
    assert location.startswith("topics/a.yaml:2:500001: expected lines of at most 500,000 characters")
    assert location.endswith("[yaml-line]")
    assert len(source) < 200
    assert len(caret) < 200


def test_a_hundred_megabytes_are_refused_without_being_read(plain: Path) -> None:
    for room in ("topics", "policies"):
        (plain / room).mkdir(exist_ok=True)
        with (plain / room / "a.yaml").open("wb") as stream:
            stream.truncate(100 * MIB)
    # The process may use less memory than the size of the files.
    limited = (
        "import os, resource, sys; limit = int(sys.argv[1]); "
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit)); os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, str(_needed(plain) + 60 * MIB), str(COMMAND), "check", "topics", "policies"],
        cwd=plain,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("[file-size]") == 2


def _needed(plain: Path) -> int:
    """Return the address space, in bytes, of a process that has run the imports of a check."""
    code = (
        "import topicwarden.cli.check, re; print(re.search(r'VmPeak:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=plain, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


def test_exploding_aliases_are_refused(plain: Path) -> None:
    levels = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(9))
    (plain / "topics/a.yaml").write_text(f"l0: &l0 [lol]\n{levels}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = process("check", cwd=plain)
    assert done.out.count("[yaml-alias]") == 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before < 100 * 1024


def test_names_that_differ_only_in_case_are_a_warning(plain: Path) -> None:
    topic = "partitions: 1\nreplication_factor: 1\n"
    (plain / "topics/b.yaml").write_text(f"topic: Shop.Orders\n{topic}---\ntopic: shop_orders\n{topic}")
    done = topicwarden("check", cwd=plain)
    assert done.code == 0
    first = done.out.splitlines()[0]
    assert first == (
        "topics/b.yaml:5:8: warning: shop_orders and Shop.Orders (topics/b.yaml:1:8) differ only in upper and "
        "lower case; rename one [topic-case]"
    )


def test_a_folder_of_stacks_without_permission_is_not_called_empty(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (root / "stacks").iterdir():
        file.unlink()  # as they are seen without the permission
    monkeypatch.setattr("topicwarden.specs.stacks.stack_selection.os.access", lambda *_: False)
    assert checked(root) == (2, f"topicwarden: {root / 'stacks'} cannot be read: check its permissions\n")


def test_a_pulumi_yaml_without_permission_needs_no_new_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("topicwarden.specs.stacks.project_file.read_regular_file", denied)
    line = "Pulumi.yaml:1:1: cannot be read: Permission denied; check its permissions [project-file]"
    assert line in checked(root)[1].splitlines()


def test_a_file_that_cannot_be_written_is_named_and_not_its_draft(tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    with pytest.raises(NotADirectoryError) as raised:
        replace_file(tmp_path / "folder" / "a.yaml", "")
    assert raised.value.filename == str(tmp_path / "folder" / "a.yaml")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pulumi.a b.yaml", 'Pulumi has no stack "a b": expected ASCII letters, digits'),
        ("Pulumi.ü.yaml", 'Pulumi has no stack "ü": '),
        ("Pulumi...yaml", 'Pulumi has no stack ".": '),
        ("Pulumi.prod.yml", "expected a name that ends in .yaml, got .yml; rename the file"),
    ],
)
def test_a_settings_file_that_is_of_no_stack_is_an_error(root: Path, name: str, message: str) -> None:
    (root / "stacks" / name).write_text("config: {}\n", encoding="utf-8")
    done = topicwarden("check", cwd=root)
    assert done.code == 1
    assert f"stacks/{name}:1:1: {message}" in done.out
    assert topicwarden("ci", "stacks", cwd=root).out == '["dev", "prod"]\n'
