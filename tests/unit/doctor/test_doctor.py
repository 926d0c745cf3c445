"""Test the diagnosis of topicwarden doctor, and the command where it contacts no cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.command import project, topicwarden
from tests.support.http_answers import answering, failing, http
from tests.support.projects import project_of
from topicwarden.audit.access_checks import ACCESS_CHECKS
from topicwarden.audit.checks import CHECKS
from topicwarden.kafka.read.cluster_service import BrokerFeatures, features_of
from topicwarden.kafka.read.user_permissions import GroupPermissions, TopicPermissions
from topicwarden.kinds.topic.consequences import CONSEQUENCES
from topicwarden.model.access import ResourceType
from topicwarden.model.diagnosis import Ability, Diagnosis, InstalledPart, PermissionState, Possession, RegistryState
from topicwarden.model.project import Project
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.operations.doctor import installation
from topicwarden.operations.doctor.command_permissions import ACCESS, AUDIT, COMMANDS
from topicwarden.operations.doctor.diagnose import ALL_COMMANDS, API_USES, ClusterState, diagnose, registry_state
from topicwarden.operations.doctor.permission_states import UserPermissions, permission_states
from topicwarden.report import terminal
from topicwarden.report.doctor import document
from topicwarden.specs.stacks.registry_settings import RegistrySettings

# What `topicwarden doctor` concludes and prints, and which permissions are missing, on plain values.


def render(diagnosis: Diagnosis, width: int) -> str:
    return terminal.text(document(diagnosis), width)


EVERY = frozenset({"Read", "Write", "Create", "Delete", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"})
CLUSTER = dict.fromkeys(("Create", "Alter", "Describe", "DescribeConfigs", "AlterConfigs"), True)
GROUPS = GroupPermissions(frozenset({"g"}), frozenset())
APIS = {use.name: use.version for use in API_USES} | {"DescribeQuorum": 0}
PARTS = [InstalledPart(name="Pulumi CLI", version="3.250.0", commands=["plan", "up", "rebalance", "import"])]
TOPIC = Topic("a", 1, 1, {})


def state(
    operations: frozenset[str] = EVERY, apis: Mapping[str, int] = APIS, cluster: Mapping[str, bool] = CLUSTER
) -> ClusterState:
    permissions = UserPermissions(cluster, TopicPermissions({"a": operations}), GROUPS)
    return ClusterState("c", 3, BrokerFeatures(apis, {"metadata.version": 27}), permissions)


def abilities(diagnosis: Diagnosis) -> dict[str, str]:
    return {each.command: each.ability.value for each in diagnosis.commands}


def test_a_user_with_all_permissions_is_ready() -> None:
    diagnosis = diagnose("dev", PARTS, state(), [TOPIC])
    assert set(abilities(diagnosis).values()) == {"ready"}
    assert diagnosis.healthy
    assert diagnosis.undecidable == []
    text = render(diagnosis, 100)
    assert "every command can run" in text
    assert "missing" not in text
    assert "Kafka 4.1 (metadata.version 27), KRaft, 3 brokers" in text


def test_a_missing_permission_limits_the_commands_that_need_it() -> None:
    diagnosis = diagnose("dev", PARTS, state(EVERY - {"Read"}), [TOPIC])
    limited = {name for name, ability in abilities(diagnosis).items() if ability == "limited"}
    assert limited == {"plan", "up", "destroy", "audit", "watch", "usage", "redrive", "infer"}
    assert not diagnosis.healthy
    (required,) = (each for each in AUDIT if str(each.permission) == "Read on Topic")
    assert {each.check for each in diagnosis.undecidable} == {*required.affected}
    first = render(diagnosis, 80).splitlines()[0]
    assert first == "missing: Read on Topic on 1 of 1 topic: a"


def test_a_cluster_that_no_stack_declares_is_named_by_its_address_and_asks_for_permissions_of_its_file() -> None:
    text = render(diagnose("a:9092,b:9092", PARTS, state(EVERY - {"Read"}), [TOPIC]), 160)
    assert "cluster a:9092,b:9092: " in text
    assert "grant them to the user of --command-config" in text
    assert "stack" not in text


def test_a_watch_needs_what_an_audit_needs() -> None:
    assert (COMMANDS["watch"], ACCESS["watch"]) == (COMMANDS["audit"], ACCESS["audit"])
    diagnosis = diagnose("dev", PARTS, state(EVERY - {"Read"}), [TOPIC], commands=["watch"])
    assert abilities(diagnosis) == {"watch": "limited"}
    missing = [InstalledPart(name="pyspark", version=None, commands=["audit", "watch"], remedy="install it")]
    assert abilities(diagnose(None, missing, None, commands=["watch"])) == {"watch": "cannot run"}


def test_a_redrive_is_ready_although_its_writes_cannot_be_tested() -> None:
    diagnosis = diagnose("dev", PARTS, state(EVERY - {"Write"}), [TOPIC], commands=["redrive"])
    assert abilities(diagnosis) == {"redrive": "ready"}
    found = {each.permission: each for each in diagnosis.permissions}
    assert found["Write on Topic"].state is Possession.UNTESTED
    assert found["Write on Topic"].reason == "only the topic of --to needs it"
    without = {name: version for name, version in APIS.items() if name != "TxnOffsetCommit"}
    limited = diagnose("dev", PARTS, state(apis=without), [TOPIC])
    assert [name for name, ability in abilities(limited).items() if ability == "limited"] == ["redrive"]


def test_a_permission_that_no_selected_command_needs_is_not_reported() -> None:
    diagnosis = diagnose("dev", PARTS, state(EVERY - {"Read"}), [TOPIC], commands=["rebalance", "import"])
    assert abilities(diagnosis) == {"rebalance": "ready", "import": "ready"}
    assert diagnosis.undecidable == []


def test_delete_is_needed_once_yaml_allows_it() -> None:
    few = EVERY - {"Delete"}
    assert diagnose("dev", PARTS, state(few), [TOPIC], commands=["up"]).healthy
    allowed = Topic("a", 1, 1, {}, allow=frozenset({Allowance(AllowedChange.DELETE)}))
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


def test_the_registry_of_the_stack_is_one_line_and_limits_the_commands_that_need_it() -> None:
    found = RegistryState(
        url="http://r", commands=["audit"], subjects=2, mode="READONLY_OVERRIDE", compatibility="FULL"
    )
    diagnosis = diagnose("dev", PARTS, state(), [TOPIC], registry=found)
    assert diagnosis.healthy
    mode = "mode READONLY_OVERRIDE, in which no schema can be registered"
    line = f"registry http://r, 2 subjects, {mode}, compatibility FULL"
    assert line in [" ".join(each.split()) for each in render(diagnosis, 200).splitlines()]
    lost = RegistryState(
        commands=["audit"], problem="the Schema Registry at http://r cannot be reached: refused; start it"
    )
    diagnosis = diagnose("dev", PARTS, state(), [TOPIC], registry=lost)
    assert abilities(diagnosis) == {**dict.fromkeys(ALL_COMMANDS, "ready"), "audit": "limited"}
    assert render(diagnosis, 200).startswith(lost.problem)
    assert "registry  " not in render(diagnosis, 200)


def test_the_state_of_a_registry_has_its_subjects_mode_and_level() -> None:
    answers = {"/subjects": ["a", "b"], "/mode": {"mode": "READWRITE"}, "/config": {"compatibilityLevel": "FULL"}}
    with answering(lambda request: http(answers[request.path])) as server:
        found = registry_state(RegistrySettings(server.url, "u", "s3cret"), ["audit"])
        assert {each.method for each in server.requests} == {"GET"}
    expected = {"subjects": 2, "mode": "READWRITE", "compatibility": "FULL", "problem": ""}
    assert found.model_dump() == {"url": server.url, "commands": ["audit"], **expected}
    with answering(failing("403 Forbidden", 40301, "s3cret denied")) as server:
        refused = registry_state(RegistrySettings(server.url, "u", "s3cret"), ["audit"])
    assert "denies GET /subjects" in refused.problem
    assert "s3cret" not in refused.problem


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    many = TopicPermissions({f"topic-{number}": frozenset({"Describe"}) for number in range(30)})
    permissions = UserPermissions({**CLUSTER, "Alter": False}, many, GROUPS)
    cluster = ClusterState("c", 3, BrokerFeatures({}, {}), permissions)
    text = render(diagnose("dev", PARTS, cluster, [Topic("topic-1", 1, 1, {})]), width)
    longest_word = max(map(len, text.split()))
    # The last line is never wrapped, for grep.
    assert max(map(len, text.splitlines()[:-1])) <= max(width, longest_word + 17)
    assert "and 25 more" in " ".join(text.split())
    assert "neither KRaft nor ZooKeeper" in " ".join(text.split())


def test_names_from_the_cluster_are_escaped_on_the_terminal() -> None:
    permissions = UserPermissions(CLUSTER, TopicPermissions({"a\x1b[31m": frozenset({"Describe"})}), GROUPS)
    cluster = ClusterState("c\x1b[2J", 1, BrokerFeatures(APIS, {}), permissions)
    assert "\x1b" not in render(diagnose("dev", PARTS, cluster, [TOPIC]), 80)


def test_the_table_names_consequences_and_checks_that_exist() -> None:
    for command, permissions in COMMANDS.items():
        known = CHECKS if command in ("audit", "watch") else CONSEQUENCES
        assert [name for each in permissions for name in each.affected if name not in known] == [], command
        assert len({each.permission for each in permissions}) == len(permissions), command


def test_only_apis_of_every_broker_count() -> None:
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


def test_missing_programs_have_a_remedy_for_users_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr(installation, "package_version", lambda package: None)
    parts = {part.name: part for part in installation.installed_parts(Project(tmp_path))}
    assert {name for name, part in parts.items() if part.version is None} == parts.keys() - {"Python"}
    assert parts["pulumi"].remedy == "pip install 'topicwarden[deploy]'"
    assert parts["pyspark"].remedy == "pip install 'topicwarden[audit]'"
    diagnosis = diagnose(None, list(parts.values()), None)
    unable = {command.command for command in diagnosis.commands if command.ability is Ability.UNABLE}
    assert unable == {*COMMANDS}
    for part in parts.values():
        assert bool(part.remedy) == (part.version is None), part.name
        assert "make " not in part.remedy


def states(
    topics: TopicPermissions,
    *,
    declared: tuple[str, ...] = ("a", "b"),
    deletable: tuple[str, ...] = (),
    cluster: dict[str, bool | None] | None = None,
    groups: GroupPermissions = GROUPS,
    commands: tuple[str, ...] = tuple(COMMANDS),
) -> dict[str, PermissionState]:
    permissions = UserPermissions(CLUSTER if cluster is None else cluster, topics, groups)
    return {each.permission: each for each in permission_states(permissions, declared, deletable, commands)}


def test_with_all_permissions_none_is_missing() -> None:
    found = states(TopicPermissions({"a": EVERY, "b": EVERY}))
    untested = {name for name, each in found.items() if each.state is not Possession.GRANTED}
    unreported = {"Describe on TransactionalId", "Write on TransactionalId", "Read on Group"}
    assert untested == {*unreported, "Write on Topic"}, "only the topic of --to needs Write"
    assert found.keys() == {str(each.permission) for permissions in COMMANDS.values() for each in permissions}


@pytest.mark.parametrize(
    "operation",
    sorted({each.permission.operation for each in COMMANDS["up"] if each.permission.resource is ResourceType.TOPIC}),
)
def test_a_permission_is_missing_on_the_topics_that_lack_it(operation: str) -> None:
    topics = TopicPermissions(
        {"a": EVERY, "b": EVERY - {operation}}, missing=frozenset({"b"}) if operation == "Create" else frozenset()
    )
    found = states(topics, deletable=("b",), cluster={**CLUSTER, "Create": False}, commands=("up",))
    assert {name for name, each in found.items() if each.state is Possession.MISSING} == {f"{operation} on Topic"}
    assert found[f"{operation} on Topic"].topics == ["b"]


def test_permissions_that_no_declared_topic_needs_are_not_missing() -> None:
    few = frozenset({"Describe", "DescribeConfigs", "Read", "Alter", "AlterConfigs"})
    found = states(TopicPermissions({"a": few, "b": few}), cluster={**CLUSTER, "Create": False}, commands=("up",))
    assert found["Create on Topic"].state is Possession.UNNEEDED
    assert found["Delete on Topic"].state is Possession.UNNEEDED


def test_create_on_the_cluster_implies_create_on_topics() -> None:
    topics = TopicPermissions({"a": EVERY, "b": EVERY - {"Create"}}, missing=frozenset({"b"}))
    assert states(topics)["Create on Topic"].state is Possession.GRANTED


def test_only_describe_is_missing_on_a_hidden_topic() -> None:
    topics = TopicPermissions({"a": EVERY}, hidden=frozenset({"b"}))
    found = states(topics, cluster={**CLUSTER, "Create": False})
    assert (found["Describe on Topic"].state, found["Describe on Topic"].topics) == (Possession.MISSING, ["b"])
    assert (found["Read on Topic"].state, found["Read on Topic"].topics) == (Possession.UNTESTED, ["b"])
    assert "cannot see" in found["Read on Topic"].reason
    for tried, state in (
        ({"b": True}, Possession.GRANTED),
        ({"b": False}, Possession.MISSING),
        ({}, Possession.UNTESTED),
    ):
        topics = TopicPermissions({"a": EVERY}, hidden=frozenset({"b"}), creatable=tried)
        assert states(topics, cluster={**CLUSTER, "Create": False})["Create on Topic"].state is state


def test_undeclared_topics_matter_only_to_the_audit() -> None:
    topics = TopicPermissions(
        {"a": EVERY, "b": EVERY, "other": EVERY - {"Read"}, "__consumer_offsets": frozenset({"Describe"})}
    )
    assert states(topics)["Read on Topic"].topics == ["other"]
    assert states(topics, commands=("plan",))["Read on Topic"].state is Possession.GRANTED


@pytest.mark.parametrize("declared", [("a",), ()])
def test_a_permission_on_undeclared_topics_is_missing_only_for_commands_on_all_topics(
    declared: tuple[str, ...],
) -> None:
    topics = TopicPermissions({"a": EVERY, "other": EVERY - {"DescribeConfigs", "Read"}})
    state = ClusterState("c", 3, BrokerFeatures(APIS, {}), UserPermissions(CLUSTER, topics, GROUPS))
    specs = [Topic(name, 1, 1, {}) for name in declared]
    diagnosis = diagnose("dev", PARTS, state, specs)
    limited = {name for name, ability in abilities(diagnosis).items() if ability == "limited"}
    assert limited == {"audit", "watch", "import", "usage"}
    for name in ALL_COMMANDS:
        (alone,) = diagnose("dev", PARTS, state, specs, commands=[name]).commands
        assert alone in diagnosis.commands, "a command needs the same, whichever others are shown"
    text = render(diagnosis, 200)
    assert "missing: Read on Topic on 1 of 2 topics: other" in text
    assert "plan  " not in text.partition("remedy")[0]
    granted = next(line for line in text.splitlines() if "granted: " in line)
    assert "Read on Topic" not in granted, "it is missing"


def test_a_permission_that_declared_topics_miss_has_their_number_for_commands_on_declared_topics() -> None:
    topics = TopicPermissions({"a": EVERY - {"Read"}, "b": EVERY, "other": EVERY - {"Read"}})
    permissions = UserPermissions(CLUSTER, topics, GROUPS)
    found = [
        each for each in permission_states(permissions, ("a", "b"), (), COMMANDS) if "Read on T" in each.permission
    ]
    assert [(each.extent, each.topics) for each in found] == [
        (" on 1 of 2 topics", ["a"]),
        (" on 2 of 3 topics", ["a", "other"]),
    ]
    assert [each for each in found if "plan" in each.lost] == found[:1]
    assert [each for each in found if "audit" in each.lost] == found[1:]
    same = TopicPermissions({"a": EVERY - {"Read"}, "b": EVERY, "other": EVERY})
    assert states(same)["Read on Topic"].extent == " on 1 of 3 topics", "one entry if the same topics lack it"


def test_permissions_that_brokers_do_not_report_are_untested() -> None:
    found = states(TopicPermissions({"a": None, "b": EVERY}), cluster={"Describe": None, "Alter": False})
    assert found["Describe on Topic"].state is Possession.GRANTED, "the topic is visible"
    assert (found["Read on Topic"].state, found["Read on Topic"].topics) == (Possession.UNTESTED, ["a"])
    assert found["Describe on Cluster"].state is Possession.UNTESTED
    assert found["AlterConfigs on Cluster"].state is Possession.UNTESTED
    assert found["Alter on Cluster"].state is Possession.MISSING


def test_groups_are_named_if_they_exist() -> None:
    topics = TopicPermissions({"a": EVERY, "b": EVERY})
    some = states(topics, groups=GroupPermissions(frozenset({"g", "h"}), frozenset({"h"})))["Describe on Group"]
    assert (some.state, some.topics, some.extent) == (Possession.MISSING, ["h"], " on 1 of 2 groups")
    unknown = states(topics, groups=GroupPermissions(frozenset(), None))["Describe on Group"]
    assert unknown.state is Possession.UNTESTED
    denied = GroupPermissions(frozenset(), frozenset({"topicwarden-doctor"}))
    assert states(topics, groups=denied)["Describe on Group"].state is Possession.UNNEEDED, "there is no group"
    hidden = states(topics, groups=denied, cluster={**CLUSTER, "Describe": False})["Describe on Group"]
    assert (hidden.state, hidden.topics, hidden.extent) == (Possession.MISSING, [], "")


def test_permissions_on_access_count_only_if_the_stack_declares_access() -> None:
    few = state(cluster={**CLUSTER, "Describe": False})
    without = diagnose("dev", PARTS, few, [TOPIC], commands=["audit"])
    with_access = diagnose("dev", PARTS, few, [TOPIC], commands=["audit"], access=True)
    new = {each.check for each in with_access.undecidable} - {each.check for each in without.undecidable}
    assert new == {"acl-drift", "acl-without-effect", "scram-user-drift"}
    assert with_access.checks - without.checks == len(ACCESS_CHECKS)
    (describe,) = (each for each in with_access.permissions if each.permission == "Describe on Cluster")
    assert describe.lost["audit"].endswith("; checks of ACLs and SCRAM users")


def test_a_deploy_of_access_needs_more_permissions() -> None:
    names = {
        access: {
            each.permission for each in diagnose("dev", PARTS, state(), commands=["up"], access=access).permissions
        }
        for access in (False, True)
    }
    assert names[True] - names[False] == {
        "Alter on Cluster",
        "AlterConfigs on Cluster",
        "DescribeConfigs on Group",
        "AlterConfigs on Group",
    }


def test_the_table_of_access_names_existing_checks() -> None:
    named = {check for required in ACCESS["audit"] for check in required.affected}
    of_use = {"undeclared-consumer", "undeclared-producer"}
    assert named == {*ACCESS_CHECKS, *of_use} - {"idle-group"}, "groups are read whether or not access is declared"


# The command `topicwarden doctor` where it contacts no cluster.


def test_it_works_outside_of_a_project(tmp_path: Path) -> None:
    done = topicwarden("doctor", cwd=tmp_path)
    assert done.code in (0, 1)
    assert "Python" in done.out
    assert done.err == ""


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every cluster answer."""
    monkeypatch.setattr("topicwarden.operations.doctor.diagnose.read_cluster_state", lambda *_: state())


@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize("arguments", [(), ("--bootstrap-server", "localhost:9092")])
def test_installed_programs_are_found_without_a_stack_and_outside_of_a_project(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    cache = tmp_path / "cache"
    reader, pulumi, record = (
        cache / name for name in ("jars/reader/spark-reader-4.2.jar", "pulumi", "pulumi/chosen.json")
    )
    for folder in (reader.parent, pulumi, tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    reader.touch()
    (pulumi / "pulumi").write_text("#!/bin/sh\necho v3.250.0\n")
    (pulumi / "pulumi").chmod(0o755)
    record.write_text(json.dumps({"way": "official", "executable": str(pulumi / "pulumi")}))
    variables = {"TOPICWARDEN_CACHE": str(cache), "PATH": "/bin"}
    done = topicwarden("doctor", "--format", "json", *arguments, cwd=tmp_path / "elsewhere", **variables)
    assert done.err == ""
    parts = {part.name: part for part in Diagnosis.model_validate_json(done.out).parts}
    assert (parts["Pulumi CLI"].version, parts["Pulumi CLI"].remedy) == ("3.250.0", "")
    assert (parts["Spark reader"].version, parts["Spark reader"].remedy) != (None, "")


@pytest.mark.usefixtures("reached")
def test_the_pulumi_cli_is_needed_only_by_an_import_into_a_stack(tmp_path: Path) -> None:
    variables = {"TOPICWARDEN_CACHE": str(tmp_path / "cache"), "PATH": "/bin"}
    for options, ability in ((["--bootstrap-server", "localhost:9092"], Ability.READY), ([], Ability.UNABLE)):
        done = topicwarden("doctor", "--format", "json", "-c", "import", *options, cwd=tmp_path, **variables)
        (command,) = Diagnosis.model_validate_json(done.out).commands
        assert (command.command, command.ability, done.code) == ("import", ability, int(ability is Ability.UNABLE))


@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize("chosen", [("plan",), ("audit", "plan"), ("check",)])
def test_a_command_that_needs_a_stack_is_refused_for_a_cluster_that_no_stack_declares(
    tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    options = [option for name in chosen for option in ("--command", name)]
    done = topicwarden("doctor", "--bootstrap-server", "localhost:9092", *options, cwd=tmp_path)
    reason = "--bootstrap-server is for import, audit, usage; use --stack for the other commands"
    assert (done.code, done.out, done.err) == (2, "", f"topicwarden: --command {chosen[-1]}: {reason}\n")


def test_json_has_the_content_of_the_text(tmp_path: Path) -> None:
    report = json.loads(topicwarden("doctor", "--format", "json", "--command", "check", cwd=tmp_path).out)
    assert report["commands"] == [{"command": "check", "ability": "ready", "reasons": []}]
    assert report["stack"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "xml"], "there is no format 'xml'"),
        (["--command", "pln"], "did you mean plan?"),
        (["--stack", "prod"], "no stack prod; stacks: "),
    ],
)
def test_invalid_input_is_reported_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    root = project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"})
    done = topicwarden("doctor", *arguments, cwd=root)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def test_an_unreachable_cluster_is_reported_in_one_line(tmp_path: Path) -> None:
    settings = "config: {'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': false}\n"
    for number, files in enumerate(({}, {"a.yaml": "partitions: 1\nreplication_factor: 1\n"})):
        unreachable = project_of(tmp_path / f"{number}", files, settings)
        done = topicwarden("doctor", "--stack", "dev", cwd=unreachable.root)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("topicwarden: no Kafka cluster answers at 127.0.0.1:1: nothing listens on this port")
