from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import project, topicwarden
from topicwarden.model.project import find_project
from topicwarden.operations.show import show_topic, show_topics
from topicwarden.report import terminal
from topicwarden.report.shown_topics import list_document, topic_document

FILES = {
    "topics/_defaults.yaml": "owner: team-platform\nreplication_factor: 3\n"
    "config: {cleanup.policy: [compact, delete]}\n",
    "topics/shop/orders.yaml": (
        "topic: orders.placed.v1\npartitions: 12\nconfig:\n  retention.ms: 7d\n"
        "stacks:\n  dev: {partitions: 1, config: {retention.ms: null}}\n"
    ),
    "topics/shop/clicks.yaml": "partitions: 3\nconfig: {cleanup.policy: compact}\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, FILES, ("dev", "prod"))


def _rows(text: str) -> dict[str, list[str]]:
    """Return the other columns by the first column. Two spaces separate columns."""
    lines = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]
    return {line[0]: line[1:] for line in lines if line}


def test_each_value_has_the_location_that_declares_it(root: Path) -> None:
    done = topicwarden("show", "orders.placed.v1", "--stack", "prod", cwd=root)
    rows = _rows(done.out)
    assert done.code == 0
    assert done.out.startswith("orders.placed.v1 on stack prod, Kafka ")
    assert rows["topic"] == ["orders.placed.v1", "topics/shop/orders.yaml:1:8"]
    assert rows["owner"] == ["team-platform", "topics/_defaults.yaml:1:8"]
    assert rows["partitions"] == ["12", "topics/shop/orders.yaml:2:13"]
    assert rows["cleanup.policy"] == ["compact,delete", "topics/_defaults.yaml:3:26"]
    assert rows["retention.ms"] == ["604800000 (7 d)", "topics/shop/orders.yaml:4:17"]
    assert rows["min.insync.replicas"] == ["1", "Kafka's default, unless the broker sets min.insync.replicas"]


def test_a_stack_has_its_own_values_and_locations(root: Path) -> None:
    rows = _rows(topicwarden("show", "orders.placed.v1", "-s", "dev", cwd=root).out)
    assert rows["partitions"] == ["1", "topics/shop/orders.yaml:6:21"]
    assert rows["retention.ms"] == ["604800000 (7 d)", "Kafka's default, unless the broker sets log.retention.ms"]


def test_defaults_of_a_known_service_are_shown_as_its_own(root: Path) -> None:
    settings = 'config: {"kafka:bootstrapServers": "pkc-a1.us-east-1.aws.confluent.cloud:9092"}'
    (root / "stacks/Pulumi.dev.yaml").write_text(settings)
    rows = _rows(topicwarden("show", "orders.placed.v1", "-s", "dev", cwd=root).out)
    assert rows["min.insync.replicas"] == ["2", "Confluent Cloud's default"]
    assert rows["retention.ms"] == ["604800000 (7 d)", "Kafka's default, unless the broker sets log.retention.ms"]


def test_a_list_of_mappings_is_shown_as_yaml(root: Path) -> None:
    with (root / "topics/shop/clicks.yaml").open("a") as file:
        file.write(
            "allow: [{change: delete, until: 2027-01-31}, recreate]\ncontents:\n  value: {format: json}\n"
            "  unique: [{fields: [id]}]\n  expressions: [{id: a, require: 'size(key) > 0'}]\n"
        )
    rows = _rows(topicwarden("show", "clicks", "-s", "prod", cwd=root).out)
    assert rows["allow"][0] == "{change: delete, until: 2027-01-31}, {change: recreate}"
    assert rows["contents.unique"][0] == "{fields: [id]}"
    assert rows["contents.expressions"][0] == '{id: a, require: "size(key) > 0"}'


def test_programs_end_the_same_way(root: Path) -> None:
    done = topicwarden("show", "orders.placed.v1", "-s", "prod", "-f", "json", cwd=root)
    shown = json.loads(done.out)
    values = {".".join(each["path"]): each for each in shown["values"]}
    assert (shown["stack"], values["config.retention.ms"]["value"]) == ("prod", "604800000")
    assert values["config.retention.ms"]["location"] == {"file": "topics/shop/orders.yaml", "line": 4, "column": 17}
    assert values["config.segment.ms"]["location"] is None
    assert values["config.segment.ms"]["source"] == "Kafka's default"


def test_all_topics_with_their_numbers(root: Path) -> None:
    done = topicwarden("show", "--stack", "prod", cwd=root)
    assert done.err == "2 topics on stack prod\n"
    assert done.out.splitlines() == [
        "topic             parts  replicas  min ISR  cleanup         retention  owner          declared in",
        "clicks            3      3         (1)      compact         –          team-platform  topics/shop/clicks.yaml",
        "orders.placed.v1  12     3         (1)      compact,delete  7 d        team-platform  topics/shop/orders.yaml",
    ]
    topics = json.loads(topicwarden("show", "-s", "prod", "-f", "json", cwd=root).out)["topics"]
    assert [topic["topic"] for topic in topics] == ["clicks", "orders.placed.v1"]


def test_the_text_fits_the_terminal_and_topics_are_sorted_by_name(root: Path) -> None:
    (root / "topics" / "zoo").mkdir()
    (root / "topics" / "zoo" / "b.yaml").write_text(
        f"topic: billing.{'long.' * 15}v1\npartitions: 1\ndescription: {'many words ' * 20}\n"
    )
    found = find_project(root)
    topics = show_topics(found, "prod")
    for width in (80, 120, 200):
        text = terminal.text(list_document(topics), width)
        assert max(map(len, text.splitlines())) <= width
    starts = [line.split()[0] for line in terminal.text(list_document(topics), terminal.ANY_WIDTH).splitlines()]
    assert starts == ["topic", f"billing.{'long.' * 15}v1", "clicks", "orders.placed.v1"]
    billing = show_topic(found, "prod", topics.topics[0].topic)
    for width in (60, 80, 120):
        text = terminal.text(topic_document(billing), width)
        _, *lines = text.splitlines()
        assert max(map(len, lines)) <= width
        assert text.replace("\n", " ").count("words") == 20
    defaults = [each.path[-1] for each in billing.values if each.location is None]
    assert defaults == sorted(defaults)


def test_a_narrow_terminal_breaks_no_name_of_a_setting_and_no_location(root: Path) -> None:
    shown = show_topic(find_project(root), "prod", "orders.placed.v1")
    words = terminal.text(topic_document(shown), 80).split()
    assert [each.path[-1] for each in shown.values if each.path[-1] not in words] == []
    assert [str(each.location) for each in shown.values if each.location and str(each.location) not in words] == []
    assert "defaults" in words


def test_a_file_has_whole_lines_and_a_long_value_widens_no_other_line(root: Path) -> None:
    with (root / "topics/shop/clicks.yaml").open("a") as file:
        file.write(f"description: {'many words ' * 20}\n")
    lines = topicwarden("show", "clicks", "--stack", "prod", cwd=root).out.splitlines()
    (described,) = (line for line in lines if line.startswith("description"))
    assert described.endswith(f"{'many words ' * 20} topics/shop/clicks.yaml:3:14")
    assert max(len(line) for line in lines if line != described) < 200


def test_an_unknown_topic_has_a_suggestion_and_a_broken_one_is_mentioned(root: Path) -> None:
    done = topicwarden("show", "orders.placd.v1", "-s", "dev", cwd=root)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("declared for stack dev; did you mean orders.placed.v1?\n")
    (root / "topics/shop/clicks.yaml").write_text("partitions: x\n")
    done = topicwarden("show", "clicks", "-s", "dev", cwd=root)
    assert done.code == 2
    assert "1 error may hide topics and access: see `topicwarden check`" in done.err


def test_a_stack_is_required_if_there_are_several(root: Path) -> None:
    done = topicwarden("show", cwd=root)
    assert done.code == 2
    assert "select one with --stack: dev, prod" in done.err
    (root / "stacks/Pulumi.prod.yaml").unlink()
    (root / "topics/shop/orders.yaml").unlink()
    assert topicwarden("show", cwd=root).code == 0
