"""Test --fix and --diff: problems with one right answer are fixed, and every other byte stays the same."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.cases import KINDS, Case, cases
from tests.support.command import project, topicwarden
from topicwarden.specs.fix import apply_fixes
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve

REPOSITORY = Path(__file__).parents[3]
UNIT = REPOSITORY / "tests" / "unit"
EXAMPLES = [
    *(
        pytest.param(path.name, path.read_bytes(), id=path.relative_to(REPOSITORY).as_posix())
        for path in sorted((REPOSITORY / "topics").rglob("*.yaml"))
    ),
    *(
        pytest.param(Path(path).name, data, id=f"{folder}-{kind}-{case.name}-{path}")
        for folder in ("check", "policies", "specs")
        for kind in KINDS
        for case in cases(UNIT / folder / "cases", kind)
        for path, data in case.data().items()
        if path.startswith("topics/") and path.endswith(".yaml")
    ),
]
BEFORE = """\
# The orders of the shop.\r
\r
stacks: {dev: {config: {"retention_ms": '2 Days'}}}   # by stack\r
# about the configuration\r
config:\r
    log.segment.bytes:   64Mi   # as Kubernetes says it\r
    # kept, and wide:     yes\r
\r
ownr: "team-orders"\r
description: >\r
   One record\r
   an order.\r
\r
replicaton_factor: 3\r
partition: 12"""
AFTER = """\
# The orders of the shop.\r
\r
description: >\r
   One record\r
   an order.\r
owner: "team-orders"\r
\r
partitions: 12\r
replication_factor: 3\r
\r
# about the configuration\r
config:\r
    segment.bytes:   64MiB   # as Kubernetes says it\r
    # kept, and wide:     yes\r
stacks: {dev: {config: {"retention.ms": '2d'}}}   # by stack"""


def _fixed(text: str, defaults: bool = False) -> str:
    return apply_fixes(text.encode(), defaults).decode()


STILL_INVALID = (
    "partitions: '0'",
    f"partitions: '{'1' * 5_000}'",
    f"config: {{min.insync.replicas: '0{'1' * 5_000}'}}",
    "config: {segment.ms: forever}",
    "config: {delete.retention.ms: never}",
    "config: {index.interval.bytes: unlimited}",
    "config: {compression.gzip.level: 1_000}",
    "config: {segment.bytes: _1}",
    "contents: {partitions: {max_skew: '4,5'}}",
    "contents: {key: {max_share: '0,1'}}",
    "contents: {timestamps: {max_late: '0,5'}}",
    "config: {min.cleanable.dirty.ratio: '007'}",
    "contents: {records: {max_bytes: forever}}",
    "contents: {timestamps: {max_late: none}}",
    "stacks: {dev: {config: {flush.ms: never}}}",
)


def test_all_problems_are_reported_together() -> None:
    assert _fixed(BEFORE) == AFTER
    assert apply_fixes(b"\xef\xbb\xbf" + BEFORE.encode(), False) == b"\xef\xbb\xbf" + AFTER.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("7D", "7d"),
        ("7 days", "7d"),
        ("36hours", "36h"),
        ("1.5 Hrs", "1.5h"),
        ("10min", "10m"),
        ('"90 SECONDS"', '"90s"'),
        ("500MS", "500ms"),
        ("forever", "-1"),
        ("7M", "7M"),  # ambiguous: minutes or months
        ("2 weeks", "2 weeks"),
        ("1_000", "1000"),
        ('"1,000"', '"1,000"'),  # in half of Europe: 1.0
        ('"1,5"', '"1,5"'),
        ("604_800_000", "604800000"),
        ('"604_800_000"', "604800000"),
        ("01000", "01000"),  # YAML 1.1 reads 512
        ("07", "7"),
        ("08", "8"),
        ("1e6", "1000000"),
        ("!!str 1_000", "!!str 1_000"),
        ("7d", "7d"),
        ("&x 7D", "&x 7D"),
        ("soon", "soon"),
    ],
)
def test_durations(before: str, after: str) -> None:
    assert _fixed(f"config: {{retention.ms: {before}}}\n") == f"config: {{retention.ms: {after}}}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [("64kib", "64KiB"), ("1 Gi", "1GiB"), ("10 bytes", "10B"), ("1mb", "1mb"), ("1KB", "1KB"), ("1G", "1G")],
)
def test_sizes(before: str, after: str) -> None:
    assert _fixed(f"contents: {{records: {{max_bytes: {before}}}}}\n").split("max_bytes: ")[1] == f"{after}}}}}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('partitions: "3"', "partitions: 3"),
        ("partitions: '3'", "partitions: 3"),
        ("partitions: 1_000", "partitions: 1000"),
        ("partitions: 1e3", "partitions: 1000"),
        ("partitions: 3.0", "partitions: 3"),
        ("replication_factor: '03'", "replication_factor: 3"),
        ("partitions: three", "partitions: three"),
        ("partitions: 1.5", "partitions: 1.5"),
        ("partitions: &n '3'", "partitions: &n '3'"),
        ("config: {min.insync.replicas: 1_0}", "config: {min.insync.replicas: 10}"),
        ("config: {preallocate: yes}", "config: {preallocate: true}"),
        ("config: {preallocate: 'Off'}", "config: {preallocate: false}"),
        ("contents: {key: {required: on}}", "contents: {key: {required: true}}"),
        ("contents: {partitions: {max_skew: '4.5'}}", "contents: {partitions: {max_skew: 4.5}}"),
        ("contents: {timestamps: {max_late: 2 days}}", "contents: {timestamps: {max_late: 2d}}"),
        ("stacks: {dev: {partitions: '3'}}", "stacks: {dev: {partitions: 3}}"),
        ("owner: yes", "owner: yes"),  # an owner is text
        # The number that these mean is invalid, too.
        *((same, same) for same in STILL_INVALID),
    ],
)
def test_values_that_the_message_spells(before: str, after: str) -> None:
    assert _fixed(f"{before}   # kept\n") == f"{after}   # kept\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("retenton.ms: 1", "retention.ms: 1"),
        ("retention_ms: 1", "retention.ms: 1"),
        ("log.retention.ms: 1", "retention.ms: 1"),  # the broker's name of the setting
        ("'Retention.MS': 1", "'retention.ms': 1"),
        ("retention.min: 1", "retention.min: 1"),  # another unit
        ("log.retention.hours: 1", "log.retention.hours: 1"),
        ("mix.compaction.lag.ms: 1", "mix.compaction.lag.ms: 1"),  # ambiguous: min or max
        ("retention.ms: 1, retenton.ms: 2", "retention.ms: 1, retenton.ms: 2"),
        ("retentin.ms: 1, retenton.ms: 2", "retentin.ms: 1, retenton.ms: 2"),
    ],
)
def test_configuration_names(before: str, after: str) -> None:
    assert _fixed(f"config: {{{before}}}\n") == f"config: {{{after}}}\n"


@pytest.mark.parametrize(
    "text",
    [
        "ownr: x\n\tpartitions: 3\n",  # not YAML
        "ownr: x\nownr: y\n",
        "ownr: !!python/object:x y\n",
        "ownr: \x00\n",
        "",
        "# only a comment\n",
        "[a, b]\n",
        "config: {retention.ms: 7d}\nowner: &o x\ndescription: *o\n",  # an alias refers to an earlier anchor
        "partitions: 3\nzzz: 1\nowner: x\n",  # the correct position of zzz is unknown
        "# of partitions, or of the file?\npartitions: 3\nowner: x\n",
        "{partitions: 3, owner: x}\n",
        "partitions: 3\ndescription: |+\n  x\n\n",
    ],
)
def test_problems_without_a_unique_fix_are_not_fixed(text: str) -> None:
    assert _fixed(text) == text


@pytest.mark.parametrize(
    "setting", ["partitions: 010", "config: {retention.bytes: 010}", "config: {flush.messages: 010}"]
)
def test_an_octal_number_is_not_guessed(setting: str, tmp_path: Path) -> None:
    assert _fixed(f"{setting}\n") == f"{setting}\n"
    files = {"topics/a.yaml": f"{setting}\nreplication_factor: 1\n"}
    done = topicwarden("check", cwd=project(tmp_path, files))
    assert "YAML 1.1 reads 8, YAML 1.2 reads 10: write the intended number" in done.out


def test_each_document_of_a_file_is_put_in_order() -> None:
    text = "owner: x\ntopic: a\n---\n# b\n\nowner: y # why\n\n# the name\ntopic: b\n...\n"
    assert _fixed(text) == "topic: a\nowner: x\n---\n# b\n\n# the name\ntopic: b\n\nowner: y # why\n...\n"


def test_an_editor_modeline_does_not_belong_to_the_first_key() -> None:
    line = "# yaml-language-server: $schema=x.json\n"
    assert _fixed(f"{line}partitions: 3\nowner: x\n") == f"{line}owner: x\npartitions: 3\n"


@pytest.mark.nightly(
    "The suite keeps a fixed fifth of the examples.",
    stays=[str(each.id) for each in EXAMPLES[::5] if str(each.id).isascii()],
)
@pytest.mark.parametrize(("name", "data"), EXAMPLES)
def test_a_fix_is_idempotent(name: str, data: bytes) -> None:
    once = apply_fixes(data, name == "_defaults.yaml")
    assert apply_fixes(once, name == "_defaults.yaml") == once
    # No content is lost: keys and units may be respelled, and lines may move.
    comments = re.compile(rb"(?m)^\s*#[^\r\n]*")
    assert sorted(comments.findall(data)) == sorted(comments.findall(once))


@pytest.mark.parametrize("case", cases(UNIT / "specs" / "cases", "good"), ids=lambda case: case.name)
def test_unchanged_checks_have_the_same_verdict(case: Case, tmp_path: Path) -> None:
    fixed, tree = case.write(tmp_path / "fixed"), case.write(tmp_path / "tree")
    for path in (fixed / "topics").rglob("*"):
        if path.is_file():
            path.write_bytes(apply_fixes(path.read_bytes(), path.name == "_defaults.yaml"))
    assert _topics(fixed) == _topics(tree)


def _topics(tree: Path) -> list[object]:
    def described(declaration: Declaration) -> object:
        return declaration.topic, declaration.locations.settings

    loaded = load(tree / "topics", tree, ("dev", "prod"))
    assert loaded.problems == ()
    return [described(declaration) for stack in ("dev", "prod") for declaration in resolve(loaded, stack).declarations]


def test_the_example_project_needs_no_fix() -> None:
    done = topicwarden("check", "--diff", cwd=REPOSITORY)
    assert (done.code, done.out) == (0, "")


def test_a_diff_changes_nothing_and_can_be_applied(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": BEFORE, "topics/_defaults.yaml": "partitions: 3\nowner: x"})
    done = topicwarden("check", "--diff", cwd=root)
    assert done.code == 1
    assert done.err == "2 files to fix\n"
    assert (root / "topics/a.yaml").read_bytes() == BEFORE.encode()
    subprocess.run(["git", "apply"], cwd=root, input=done.out.encode(), check=True)
    assert (root / "topics/a.yaml").read_bytes() == AFTER.encode()
    assert topicwarden("check", "--diff", cwd=root).code == 0


def test_a_fix_prints_its_diff_writes_and_checks_again(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": BEFORE, "topics/b.yaml": "ownr: x\nzzz: 1\n"})
    (root / "topics/a.yaml").chmod(0o640)
    done = topicwarden("check", "--fix", cwd=root)
    assert (root / "topics/a.yaml").read_bytes() == AFTER.encode()
    assert (root / "topics/a.yaml").stat().st_mode & 0o777 == 0o640
    assert done.code == 1
    assert "+owner: x\n" in done.out
    assert 'topics/b.yaml:2:1: unknown key "zzz"' in done.out
    assert "ownr" not in done.out.split("topics/b.yaml:2:1")[1]
    assert sorted(path.name for path in (root / "topics").iterdir()) == ["a.yaml", "b.yaml"]


def test_the_diff_keeps_out_of_what_programs_read(tmp_path: Path) -> None:
    root = project(tmp_path, {"topics/a.yaml": AFTER.replace("owner", "ownr")})
    done = topicwarden("check", "--fix", "--format", "json", cwd=root)
    assert done.code == 0
    assert done.out.startswith("{")
    assert "+owner" in done.err


def test_only_files_that_were_named_are_touched(tmp_path: Path) -> None:
    files = {"topics/a.yaml": "ownr: x\n", "topics/b.yaml": "ownr: x\n", "topics/_defaults.yaml": "ownr: x\n"}
    root = project(tmp_path, files)
    topicwarden("check", "--fix", "topics/a.yaml", cwd=root)
    assert [(root / file).read_text() for file in files] == ["owner: x\n", "ownr: x\n", "ownr: x\n"]


def test_a_number_of_too_many_octal_digits_is_a_problem_of_its_line(tmp_path: Path) -> None:
    """Python converts no text of more than 4,300 digits to a number."""
    text = f'partitions: "0{"7" * 5_000}"\nreplication_factor: 1\nconfig: {{retention.bytes: 0{"7" * 5_000}}}\n'
    root = project(tmp_path, {"topics/a.yaml": text})
    assert [each.location.line for each in load(root / "topics", root, []).problems] == [1, 3]
