"""Test what `topicwarden doctor` concludes and prints, on plain values."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from tests.support.user_rights import CLUSTER, EVERY, GROUPS
from topicwarden.audit.checks import CHECKS
from topicwarden.doctor import api_uses, installation
from topicwarden.doctor.command_rights import AUDIT, COMMANDS
from topicwarden.doctor.diagnose import ALL_COMMANDS, ClusterState, diagnose
from topicwarden.doctor.right_states import UserRights
from topicwarden.kafka.broker_features import BrokerFeatures, features_of
from topicwarden.kafka.user_rights import TopicRights
from topicwarden.model.diagnosis import Ability, Diagnosis, InstalledPart
from topicwarden.model.topic import Allowance, Permission, Topic
from topicwarden.plan.consequences import CONSEQUENCES
from topicwarden.report.doctor.text import render

APIS = {use.name: use.version for use in api_uses.API_USES} | {"DescribeQuorum": 0}
PARTS = [InstalledPart(name="Pulumi CLI", version="3.250.0", commands=["plan", "up", "rebalance", "import"])]
TOPIC = Topic("a", 1, 1, {})


def state(
    operations: frozenset[str] = EVERY, apis: Mapping[str, int] = APIS, cluster: Mapping[str, bool] = CLUSTER
) -> ClusterState:
    rights = UserRights(cluster, TopicRights({"a": operations}), GROUPS)
    return ClusterState("c", 3, BrokerFeatures(apis, {"metadata.version": 27}), rights)


def abilities(diagnosis: Diagnosis) -> dict[str, str]:
    return {each.command: each.ability.value for each in diagnosis.commands}


def test_a_user_with_all_rights_is_ready() -> None:
    diagnosis = diagnose("dev", PARTS, state(), [TOPIC])
    assert set(abilities(diagnosis).values()) == {"ready"}
    assert diagnosis.healthy
    assert diagnosis.undecidable == []
    text = render(diagnosis, 100)
    assert "every command can run" in text
    assert "missing" not in text
    assert "Kafka 4.1 (metadata.version 27), KRaft, 3 brokers" in text


def test_a_missing_right_limits_the_commands_that_need_it() -> None:
    diagnosis = diagnose("dev", PARTS, state(EVERY - {"Read"}), [TOPIC])
    assert {name for name, ability in abilities(diagnosis).items() if ability == "limited"} == {"plan", "up", "audit"}
    assert not diagnosis.healthy
    (required,) = (each for each in AUDIT if str(each.right) == "Read on Topic")
    assert {each.check for each in diagnosis.undecidable} == {*required.affected}
    first = render(diagnosis, 80).splitlines()[0]
    assert first == "missing: Read on Topic on 1 of 1 topic: a"


def test_a_right_that_no_selected_command_needs_is_not_reported() -> None:
    diagnosis = diagnose("dev", PARTS, state(EVERY - {"Read"}), [TOPIC], commands=["rebalance", "import"])
    assert abilities(diagnosis) == {"rebalance": "ready", "import": "ready"}
    assert diagnosis.undecidable == []


def test_delete_is_needed_once_yaml_allows_it() -> None:
    few = EVERY - {"Delete"}
    assert diagnose("dev", PARTS, state(few), [TOPIC], commands=["up"]).healthy
    allowed = Topic("a", 1, 1, {}, allow=frozenset({Permission(Allowance.DELETE)}))
    diagnosis = diagnose("dev", PARTS, state(few), [allowed], commands=["up"])
    assert abilities(diagnosis) == {"up": "limited"}


def test_a_missing_part_prevents_its_commands_also_without_a_stack() -> None:
    missing = [InstalledPart(name="pyspark", version=None, commands=["audit"], remedy="install it")]
    diagnosis = diagnose(None, missing, None)
    assert abilities(diagnosis) == {**dict.fromkeys(ALL_COMMANDS, "ready"), "audit": "cannot run"}
    assert render(diagnosis, 80).startswith("missing: pyspark\n")
    assert diagnose(None, missing, None, commands=["plan"]).healthy


def test_errors_in_the_yaml_prevent_every_command_but_check() -> None:
    diagnosis = diagnose("dev", PARTS, state(), [TOPIC], errors=2)
    assert abilities(diagnosis) == {**dict.fromkeys(ALL_COMMANDS, "cannot run"), "check": "ready"}


def test_an_api_that_one_broker_lacks_is_named_with_what_is_lost() -> None:
    apis = {name: version for name, version in APIS.items() if name != "DescribeLogDirs"} | {"ListOffsets": 6}
    diagnosis = diagnose("dev", PARTS, state(apis=apis), [TOPIC])
    assert [each.name for each in diagnosis.missing_apis] == ["DescribeLogDirs", "ListOffsets"]
    assert "not offered by all brokers: DescribeLogDirs" in render(diagnosis, 80)
    assert abilities(diagnosis)["import"] == Ability.READY


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    many = TopicRights({f"topic-{number}": frozenset({"Describe"}) for number in range(30)})
    rights = UserRights({**CLUSTER, "Alter": False}, many, GROUPS)
    cluster = ClusterState("c", 3, BrokerFeatures({}, {}), rights)
    text = render(diagnose("dev", PARTS, cluster, [Topic("topic-1", 1, 1, {})]), width)
    longest_word = max(map(len, text.split()))
    assert max(map(len, text.splitlines())) <= max(width, longest_word + 17)
    assert "and 25 more" in " ".join(text.split())
    assert "neither KRaft nor ZooKeeper" in " ".join(text.split())


def test_names_from_the_cluster_control_no_terminal() -> None:
    rights = UserRights(CLUSTER, TopicRights({"a\x1b[31m": frozenset({"Describe"})}), GROUPS)
    cluster = ClusterState("c\x1b[2J", 1, BrokerFeatures(APIS, {}), rights)
    assert "\x1b" not in render(diagnose("dev", PARTS, cluster, [TOPIC]), 80)


def test_the_table_names_consequences_and_checks_that_exist() -> None:
    for command, rights in COMMANDS.items():
        known = CHECKS if command == "audit" else CONSEQUENCES
        assert [name for each in rights for name in each.affected if name not in known] == [], command
        assert len({each.right for each in rights}) == len(rights), command


def test_only_what_every_broker_offers_counts() -> None:
    def answer(features: list[SimpleNamespace], **apis: int) -> SimpleNamespace:
        keys = {"fetch": 1, "list_offsets": 2, "leader_and_isr": 4, "describe_quorum": 55}
        listed = [SimpleNamespace(api_key=keys[name], max_version=version) for name, version in apis.items()]
        return SimpleNamespace(api_keys=listed, finalized_features=features)

    level = SimpleNamespace(name="metadata.version", max_version_level=21)
    found = features_of([answer([level], fetch=13, list_offsets=7), answer([level], fetch=12, describe_quorum=1)])
    assert found == BrokerFeatures({"Fetch": 12}, {"metadata.version": 21})
    assert (found.kafka, found.mode) == ("3.9", None)
    assert features_of([answer([], fetch=1, leader_and_isr=5)]).mode == "ZooKeeper"
    assert features_of([answer([], fetch=1, describe_quorum=1)]).mode == "KRaft"


@pytest.mark.parametrize(
    ("level", "line"),
    [(1, "3.0"), (7, "3.3"), (11, "3.5"), (25, "4.0"), (27, "4.1"), (30, "4.3"), (33, "4.4"), (34, "4.4 or later")],
)
def test_the_level_of_the_metadata_names_kafkas_line(level: int, line: str) -> None:
    assert BrokerFeatures({}, {"metadata.version": level}).kafka == line
    assert BrokerFeatures({}, {}).kafka is None


def test_missing_programs_have_a_remedy_for_users_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr(installation, "package_version", lambda package: None)
    parts = {part.name: part for part in installation.installed_parts(None)}
    assert {name for name, part in parts.items() if part.version is None} == parts.keys() - {"Python"}
    assert parts["pulumi"].remedy == "pip install 'topicwarden[deploy]'"
    assert parts["pyspark"].remedy == "pip install 'topicwarden[audit]'"
    for part in parts.values():
        assert bool(part.remedy) == (part.version is None), part.name
        assert "make " not in part.remedy
