"""Test the YAML that is written for topics, its files, and locks."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicwarden.deploy.file_backend import LockHolder, lock_holders, run_past_lost_locks
from topicwarden.extensions.interchange.write_files import write_files
from topicwarden.kafka_facts import configs
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic
from topicwarden.specs.fix import apply_fixes
from topicwarden.specs.load import LoadedSpecs, load
from topicwarden.specs.resolve import resolve
from topicwarden.specs.write import NewFile, draft
from topicwarden.specs.write.shared_defaults import divide
from topicwarden.specs.write.topic_file import topic_folders
from topicwarden.specs.write.yaml_values import load_scalar, yaml_text

# The writer on topics of every kind, together with existing declarations.

STACKS = ("dev", "prod")
EMPTY = LoadedSpecs((), {}, STACKS, ())


def project(folder: Path, files: dict[str, str]) -> LoadedSpecs:
    for name, text in files.items():
        path = folder / "topics" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    loaded = load(folder / "topics", folder, STACKS)
    assert loaded.problems == ()
    return loaded


def texts(files: tuple[NewFile, ...]) -> dict[str, str]:
    return {file.path: file.text for file in files}


@given(st.text(st.sampled_from("ab:#-|>' \n\t\r\x7f\x85\u2028\"\\\U0001f3f4\U000e007f")).filter(str.strip))
def test_a_text_of_several_lines_is_read_as_it_was(text: str) -> None:
    assert load_scalar(yaml_text(text)) == text


def test_a_text_of_several_lines_has_its_own_lines() -> None:
    assert yaml_text("multi\n\nline: x") == "|-\n  multi\n\n  line: x"


def test_a_live_value_is_imported_exactly_or_refused() -> None:
    taken = {
        "retention.ms": ["0", "1", "604800000", "604800001", "-1", str(2**63 - 1)],
        "max.message.bytes": ["1048588", "1000000", "1048576", "0"],
        "min.cleanable.dirty.ratio": ["0.01", "1.0E-4", "1.0", "0.0", "0.5"],
        "cleanup.policy": ["", "delete", "compact,delete", "delete,compact"],
        "compression.zstd.level": ["-131072", "22"],
        "leader.replication.throttled.replicas": ["*", "", "0:1,1:2"],
        "preallocate": ["true", "false"],
        "message.timestamp.type": ["LogAppendTime"],
        # Kafka 4.1 stores these values, although no loader accepts all of them:
        "compression.type": ["producer", "tar"],
        "confluent.placement.constraints": ["{}"],
    }
    for name, values in taken.items():
        for value in values:
            made = draft([Topic("a", 1, 1, {name: value})], EMPTY, "dev", ())
            refused = value in ("tar", "{}")
            assert bool(made.refused) is refused, (name, value)


@pytest.mark.parametrize("separator", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_a_line_break_in_a_comment_is_escaped(separator: str) -> None:
    [file] = draft([Topic("a", 1, 1)], EMPTY, "dev", (), comments={"a": [f"x{separator}allow: [delete]"]}).files
    assert file.text == f"# x{ascii(separator)[1:-1]}allow: [delete]\npartitions: 1\nreplication_factor: 1\n"


@pytest.mark.parametrize("line", ["allow: [delete]", "owner: eve", "description: other"])
def test_a_file_that_declares_more_than_the_topic_is_never_written(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.specs.write._comments", lambda lines: f"{line}\n")
    with pytest.raises(Refusal, match="please report this as a bug"):
        draft([Topic("a", 1, 1)], EMPTY, "dev", ())


def test_new_defaults_do_not_change_declared_topics(tmp_path: Path) -> None:
    current = {
        "orders/orders.old.yaml": "partitions: 1\nreplication_factor: 1\nconfig: {retention.ms: 1h}\n",
        "other.yaml": "partitions: 1\nreplication_factor: 1\n",
    }
    new = [Topic(f"orders.{name}", 6, 3, {"retention.ms": "604800000", "segment.ms": "1000"}) for name in "abc"]
    made = texts(draft(new, project(tmp_path, current), "dev", ()).files)
    # orders.old declares every value except segment.ms, which it would inherit.
    assert made["orders/_defaults.yaml"].splitlines()[1:] == [
        "partitions: 6",
        "replication_factor: 3",
        "config:",
        "  retention.ms: 7d",
    ]
    assert made["orders/orders.a.yaml"] == "config:\n  segment.ms: 1s\n"
    assert "_defaults.yaml" not in made


def test_existing_defaults_are_kept_and_extended(tmp_path: Path) -> None:
    current = {
        "_defaults.yaml": "replication_factor: 3\nconfig: {retention.ms: 1h, segment.ms: 5m}\n"
        "stacks: {dev: {replication_factor: 1, config: {retention.bytes: 1MiB}}}\n",
        "orders/_defaults.yaml": "partitions: 6\n",
    }
    loaded = project(tmp_path, current)
    new = [Topic("orders.a", 6, 3, {"retention.ms": "3600000"}), Topic("orders.b", 2, 1, {"segment.ms": "300000"})]
    made = texts(draft(new, loaded, "dev", ()).files)
    assert made == {
        "orders/orders.a.yaml": "config:\n  segment.ms: null  # inherited from the brokers\n"
        "stacks:\n  dev:\n    replication_factor: 3\n    config:\n"
        "      retention.bytes: null  # inherited from the brokers\n",
        "orders/orders.b.yaml": "partitions: 2\nreplication_factor: 1\n"
        "config:\n  retention.ms: null  # inherited from the brokers\n"
        "stacks:\n  dev:\n    config:\n      retention.bytes: null  # inherited from the brokers\n",
    }


AUDITOR = Grant("User:auditor")
SHOP = Grant("User:shop")
SHARED_ACCESS = {"orders/_defaults.yaml": "partitions: 1\nreplication_factor: 1\naccess: {consume: [User:auditor]}\n"}


@pytest.mark.parametrize("stack", [None, "dev"])
def test_topics_of_unknown_access_have_that_of_their_defaults(tmp_path: Path, stack: str | None) -> None:
    loaded = project(tmp_path, SHARED_ACCESS)
    made = draft([Topic("orders.a", 1, 1), Topic("zz", 2, 2)], loaded, stack, (), inherit_access=True)
    assert texts(made.files) == {
        "orders/orders.a.yaml": "topic: orders.a\n",
        "zz.yaml": "partitions: 2\nreplication_factor: 2\n",
    }


@pytest.mark.parametrize(
    ("access", "lines"),
    [
        (TopicAccess(), ["  consume: []"]),
        (TopicAccess(produce=(SHOP,)), ["  produce:", "    - User:shop", "  consume: []"]),
        (TopicAccess(consume=(SHOP,)), ["  consume:", "    - User:shop"]),
        (TopicAccess(consume=(AUDITOR,)), None),
    ],
    ids=["none", "another list", "another entry", "the same"],
)
@pytest.mark.parametrize("stack", [None, "dev"])
def test_known_access_is_declared_exactly_whatever_is_inherited(
    tmp_path: Path, access: TopicAccess, lines: list[str] | None, stack: str | None
) -> None:
    loaded = project(tmp_path, SHARED_ACCESS)
    [file] = draft([Topic("orders.a", 1, 1, access=access)], loaded, stack, ()).files
    written = [] if lines is None else ["access:", *lines]
    if stack and written:
        written = ["stacks:", "  dev:", *(f"    {line}" for line in written)]
    assert file.text.splitlines() == (written or ["topic: orders.a"])


def test_access_that_defaults_give_to_the_only_stack_is_replaced_there(tmp_path: Path) -> None:
    text = "partitions: 1\nreplication_factor: 1\nstacks: {dev: {access: {consume: [User:auditor]}}}\n"
    project(tmp_path, {"_defaults.yaml": text})
    loaded = load(tmp_path / "topics", tmp_path, ("dev",))
    [file] = draft([Topic("a", 1, 1, access=TopicAccess(consume=(SHOP,)))], loaded, "dev", ()).files
    assert file.text == "stacks:\n  dev:\n    access:\n      consume:\n        - User:shop\n"


def test_access_that_no_default_gives_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicwarden.specs.write._comments", lambda lines: "access: {consume: [User:eve]}\n")
    with pytest.raises(Refusal, match=r"would change orders\.a on all stacks; please report this as a bug"):
        draft([Topic("orders.a", 1, 1)], project(tmp_path, SHARED_ACCESS), None, (), inherit_access=True)


def test_names_that_no_file_can_have_are_written_in_the_document() -> None:
    names = ["_schemas", "_defaults", ".hidden", "Orders", "orders", "-", "a" * 249]
    made = draft([Topic(name, 1, 1) for name in names], EMPTY, None, ("orders.yaml",))
    assert made.refused == {}
    paths = [file.path.lower() for file in made.files]
    assert len(set(paths)) == len(paths)
    assert not any(
        part.startswith((".", "_")) for path in paths for part in path.split("/") if part != "_defaults.yaml"
    )


NAMES = st.from_regex(r"(orders|pay|a)?[._-]?[a-z]{1,3}([.-][a-z0-9]{1,3})?", fullmatch=True)
VALUES = {
    "boolean": st.sampled_from(["true", "false"]),
    "list": st.sampled_from(["", "compact", "delete", "compact,delete"]),
    "double": st.sampled_from(["0.0", "0.01", "1.0E-4", "1.0"]),
}


@st.composite
def topics(draw: st.DrawFn) -> list[Topic]:
    made: dict[str, Topic] = {}
    for name in draw(st.lists(NAMES, unique_by=lambda one: one.replace(".", "_"), max_size=8)):
        known = [each for each in configs.definitions("4.1").values() if "throttled" not in each.name]
        chosen = draw(st.lists(st.sampled_from(known), unique=True, max_size=3))
        config = {}
        for one in chosen:
            whole = st.one_of(
                st.sampled_from([1, 1000, 3600000, 604800000, 1048576, 1048588]), st.integers(1, 2**31 - 1)
            )
            value = draw(VALUES.get(one.type, st.sampled_from(one.choices) if one.choices else whole.map(str)))
            if one.problem(value) is None:
                config[one.name] = value
        made[name] = Topic(name, draw(st.sampled_from([1, 3, 6])), draw(st.sampled_from([1, 3])), config)
    return list(made.values())


@given(first=topics(), second=topics())
def test_written_yaml_is_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, first: list[Topic], second: list[Topic]
) -> None:
    """Two imports, one after the other, write files to disk, and the loader itself reads them back."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "topics").mkdir()
    expected: dict[str, Topic] = {}
    for drawn in (first, second):
        metric = {name.replace(".", "_") for name in expected}
        new = [topic for topic in drawn if topic.name.replace(".", "_") not in metric]
        taken = [path.relative_to(folder / "topics").as_posix().lower() for path in (folder / "topics").rglob("*")]
        made = draft(new, load(folder / "topics", folder, STACKS), "dev", taken)
        for file in made.files:
            assert file.path.lower() not in taken
            assert apply_fixes(file.text.encode(), file.topic is None) == file.text.encode()
            path = folder / "topics" / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        expected |= {topic.name: topic for topic in new if topic.name not in made.refused}
        resolved = resolve(load(folder / "topics", folder, STACKS), "dev")
        read = {current.topic.name: current.topic for current in resolved.declarations}
        assert {name: (one.partitions, one.replication_factor, dict(one.config)) for name, one in read.items()} == {
            name: (one.partitions, one.replication_factor, dict(one.config)) for name, one in expected.items()
        }


def test_the_topics_are_listed_once_however_many_folders_they_have() -> None:
    class Counted(dict[str, Any]):
        listed = 0

        def values(self) -> Any:
            self.listed += 1
            return super().values()

    topics = Counted({f"t{number}.x": ((f"t{number}",), {("partitions",): 1}) for number in range(50)})
    divided = divide(topics, LoadedSpecs((), {}, ("dev",), ()), None)
    assert divided.defaults == {(): {("partitions",): 1}}
    assert topics.listed == 1


# The creation of new files in ``topics/``: all or none, also after an import was killed.

FILES = (
    NewFile("_defaults.yaml", "partitions: 1\n", None),
    NewFile("orders/orders.a.yaml", "topic: orders.a\n", "orders.a"),
    NewFile("pay/pay.b.yaml", "topic: pay.b\n", "pay.b"),
)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_all_files_are_created_or_none(tmp_path: Path) -> None:
    # A killed import left this folder.
    (tmp_path / ".importing").mkdir()
    (tmp_path / ".importing" / "0").write_text("partitions: 99")
    write_files(tmp_path, FILES)
    assert below(tmp_path) == {file.path for file in FILES} | {"orders", "pay"}
    assert {file.path: (tmp_path / file.path).read_text() for file in FILES} == {f.path: f.text for f in FILES}


def test_an_import_without_new_files_removes_those_of_a_killed_one(tmp_path: Path) -> None:
    (tmp_path / ".importing").mkdir()
    (tmp_path / ".importing" / "0").write_text("partitions: 1")
    write_files(tmp_path, [])
    assert not list(tmp_path.iterdir())
    write_files(tmp_path / "missing", [])


@pytest.mark.parametrize("in_the_way", ["pay", "pay/pay.b.yaml"])
def test_an_unfixable_document_is_not_changed(tmp_path: Path, in_the_way: str) -> None:
    (tmp_path / in_the_way).parent.mkdir(exist_ok=True)
    (tmp_path / in_the_way).write_text("mine\n")
    before = below(tmp_path)
    with pytest.raises(Refusal, match="nothing was imported"):
        write_files(tmp_path, FILES)
    assert below(tmp_path) == before
    assert (tmp_path / in_the_way).read_text() == "mine\n"


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_file_created_during_the_write_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    target = tmp_path / "pay" / "pay.b.yaml"

    def appearing(name: str) -> Callable[..., object]:
        call = getattr(os, name)

        def wrapped(source: Path, to: Path, **options: bool) -> object:
            if Path(to) == target:
                target.write_text("mine\n")
            if name == "link" and not links:
                raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(source), None, str(to))
            return call(source, to, **options)

        return wrapped

    for name in ("link", "rename", "replace"):
        monkeypatch.setattr(os, name, appearing(name))
    with pytest.raises(Refusal, match=r"pay\.b\.yaml cannot be written: another process has just created this file"):
        write_files(tmp_path, FILES)
    assert below(tmp_path) == {"pay", "pay/pay.b.yaml"}
    assert target.read_text() == "mine\n"


def test_files_are_created_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Path, to: Path, **_: bool) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(source), None, str(to))

    monkeypatch.setattr(os, "link", refused)
    write_files(tmp_path, FILES)
    assert {file.path: (tmp_path / file.path).read_text() for file in FILES} == {f.path: f.text for f in FILES}


def test_a_failed_write_removes_only_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the last file fails, another process replaces the first file and adds a file to its folder."""
    link = os.link

    def meddling(source: Path, to: Path, **options: bool) -> None:
        if Path(to).name == "pay.b.yaml":
            (tmp_path / "mine").write_text("mine\n")
            (tmp_path / "mine").replace(tmp_path / "_defaults.yaml")
            (tmp_path / "orders" / "mine.yaml").write_text("mine\n")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(to))
        link(source, to, **options)

    monkeypatch.setattr(os, "link", meddling)
    with pytest.raises(Refusal, match="nothing was imported"):
        write_files(tmp_path, FILES)
    assert below(tmp_path) == {"_defaults.yaml", "orders", "orders/mine.yaml"}
    assert (tmp_path / "_defaults.yaml").read_text() == "mine\n"


def test_two_imports_do_not_write_at_once(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    try:
        with pytest.raises(Refusal, match="another import is writing"):
            write_files(tmp_path, FILES)
    finally:
        os.close(other)
    assert below(tmp_path) == set()


# Test that Pulumi's output identifies the lock holder; tests/engine/importing/test_kills.py uses real locks.

LOCKED = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete \
the lock file with `pulumi cancel`.
  s3://state/.pulumi/locks/organization/shop/dev/0131.json: created by ci@{host} (pid {pid}) at 2026-11-21T06:26:42Z
"""


def gone() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_lock_holder_is_read() -> None:
    [holder] = lock_holders(LOCKED.format(host="build-7", pid=20023))
    assert holder == LockHolder("ci", "build-7", 20023, "2026-11-21T06:26:42Z")
    assert lock_holders("error: no stack named 'dev' found") == ()


def test_only_a_process_of_this_machine_can_be_known_to_have_ended() -> None:
    here = socket.gethostname()
    assert LockHolder("ci", here, gone(), "").lost
    assert not LockHolder("ci", "another", gone(), "").lost
    # The process id now belongs to another process, which is not Pulumi.
    assert LockHolder("ci", here, os.getpid(), "").lost


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces of processes")
def test_a_pulumi_process_in_a_container_with_the_host_name_of_its_host_is_alive(tmp_path: Path) -> None:
    pulumi = shutil.copy("/bin/sleep", tmp_path / "pulumi")
    process = subprocess.Popen(["unshare", "--user", "--map-root-user", "--fork", "--pid", pulumi, "60"])
    try:
        while not (children := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
            if process.poll() is not None:
                pytest.skip("this user may not create a namespace")
        inside = next(line for line in Path(f"/proc/{children[0]}/status").read_text().splitlines() if "NSpid" in line)
        assert inside.split()[-1] == "1"
        while Path(f"/proc/{children[0]}/comm").read_text().strip() != "pulumi":
            pass
        assert not LockHolder("ci", socket.gethostname(), 1, "").lost
    finally:
        process.kill()
        for child in children:
            os.kill(int(child), signal.SIGKILL)


def test_a_lock_of_another_machine_is_never_ended() -> None:
    requested: list[tuple[str, ...]] = []

    def run(*arguments: str) -> CompletedProcess[str]:
        requested.append(arguments)
        return CompletedProcess(arguments, 1, "", LOCKED.format(host="build-7", pid=7))

    remedy = r"held by ci@build-7 \(process 7\) since 2026-11-21T06:26:42Z: .* `pulumi cancel prod` removes its lock"
    with pytest.raises(Refusal, match=remedy):  # without its name, Pulumi takes the stack that is selected
        run_past_lost_locks(run, "prod", "up")
    assert requested == [("up",)]


def test_names_that_differ_in_case_share_a_folder() -> None:
    """On a file system that ignores case, the files of both would be in one folder, and inherit the same defaults."""
    names = ["Orders.Placed", "orders.placed", "CRM.new"]
    folders = topic_folders(names, {"crm.customers": ("crm",)})
    assert folders == {"Orders.Placed": ("orders",), "orders.placed": ("orders",), "CRM.new": ("crm",)}
    assert topic_folders(["CRM.new"], {"CRM.a": ("CRM",), "crm.a": ("crm",)}) == {"CRM.new": ("CRM",)}
