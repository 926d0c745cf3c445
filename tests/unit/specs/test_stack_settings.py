"""Test the settings of a stack file: what `check` and the JSON Schema accept, and which topics a scope owns."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from topicwarden.kafka_facts.topic_names import name_problem
from topicwarden.model.problem import Level
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import selected
from topicwarden.specs.editor_schema import stack_schema
from topicwarden.specs.stacks import certificate_settings, connection_settings
from topicwarden.specs.stacks.stack_file import read_stack_file
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope, shared_name, stack_scope
from topicwarden.specs.stacks.stack_settings import SETTINGS

SECRET = {"secure": "v1:abc:def"}
RIGHT: dict[str, list[Any]] = {
    "topicwarden:cluster": ["sandbox"],
    "topicwarden:scope": [
        {"topics": "orders.*"},
        '{"topics": ["orders.*"]}',
        {"topics": ["orders.*", "!orders.tmp.*", "x[!a-c]?"]},
    ],
    "topicwarden:kafkaVersion": ["4.1", "3.9.1"],
    "topicwarden:profile": ["apache", "msk-serverless"],
    "topicwarden:brokers": [3, "3"],
    "topicwarden:brokerMessageMaxBytes": [0, 1000, "2MiB", "1000"],
    "topicwarden:metadataMaxAge": [0, 1000, "24h", "1000"],
    "topicwarden:partitionFunctions": ["a.b:c", ["a:b"]],
    "topicwarden:schemaRegistry": [
        "https://registry",
        '{"url": "http://registry"}',
        {"url": "http://registry", "username": "me", "password": SECRET},
        SECRET,
    ],
    "topicwarden:history": ["none", "s3a://audits/topicwarden", SECRET],
    "topicwarden:catalogues": [
        {"marquez": {"openlineage": "https://marquez:5000/base", "token": SECRET, "cluster": "b:9092"}},
        {"a": {"openlineage": "lineage/events.ndjson", "namespace": "kafka-audits"}, "b": {"openlineage": SECRET}},
        {"datahub": {"openlineage": "https://datahub", "token": "t", "namespace": "audits", "caCert": SECRET}},
        '{"datahub": {"openlineage": "https://datahub"}}',
        SECRET,
    ],
    "topicwarden:notifications": [
        {"on-call": {"url": SECRET}},
        '{"on-call": {"url": "http://receiver:9093"}}',
        {"hook": {"url": "https://receiver/hook", "token": SECRET}, "chat": {"url": SECRET}},
        SECRET,
    ],
    "topicwarden:movedTo": ["4L6g3nShT-eMCtK--X86sw", SECRET],
    "kafka:bootstrapServers": ["kafka:9092", ["kafka-1:9092", "kafka-2:9092"], SECRET],
    "kafka:tlsEnabled": [True, "false"],
    "kafka:saslPassword": ["x", SECRET],
    "other:name": [5, {"any": ["thing"]}],
}
WRONG: dict[str, list[Any]] = {
    "topicwarden:cluster": ["prod", 5, SECRET],
    "topicwarden:scope": [
        "orders.*",
        ["orders.*"],
        {},
        {"topics": []},
        {"topics": [5]},
        {"topics": ["a/b"]},
        {"topics": "!"},
        {"topics": "a", "owner": "me"},
        SECRET,
    ],
    "topicwarden:kafkaVersion": [4.1, "2.8", "v4.1"],
    "topicwarden:profile": ["Apache", "pulsar", 3, ["apache"]],
    "topicwarden:brokers": [0, "three", True, None],
    "topicwarden:brokerMessageMaxBytes": [-1, "7d", [], 2**31],
    "topicwarden:metadataMaxAge": [-1, "2MiB", []],
    "topicwarden:partitionFunctions": ["a.b", [5]],
    "topicwarden:schemaRegistry": [
        "registry",
        5,
        {"username": "me", "password": "x"},
        {"url": "http://a", "user": "me"},
    ],
    "topicwarden:history": [5, "", ["a"]],
    "topicwarden:catalogues": [
        5,
        "https://marquez",
        {},
        [{"openlineage": "https://marquez"}],
        {"Marquez": {"openlineage": "https://marquez"}},
        {"a": {}},
        {"a": {"openlineage": "ftp://marquez"}},
        {"a": {"openlineage": "https://user:secret@marquez"}},
        {"a": {"openlineage": "https://marquez", "datahub": "https://datahub"}},
        {"a": {"openlineage": "https://marquez", "env": "PROD"}},
        {"a": {"openlineage": "https://marquez", "cluster": "broker"}},
        {"a": {"openlineage": "https://marquez", "namespace": "a b"}},
        {"a": {"datahub": "https://datahub"}},
        {"a": {"openlineage": "https://marquez", "token": 5}},
    ],
    "topicwarden:notifications": [
        "https://receiver/hook",
        ["https://receiver/hook"],
        {"on-call": "https://receiver/hook"},
        {"on-call": SECRET},
        {"On Call": {"url": SECRET}},
        {"on-call": {"format": "json", "url": SECRET}},
        {"on-call": {}},
        {"on-call": {"url": SECRET, "channel": "#alerts"}},
        {"on-call": {"url": 5}},
        {"on-call": {"url": SECRET | {"b": "x"}}},
    ],
    "topicwarden:movedTo": [12345, ""],
    "topicwarden:scopes": [{"topics": "orders.*"}],
    "kafka:bootstrapServers": [9092, []],
    "kafka:tlsEnabled": ["yes", 1],
    "kafka:saslPassword": [5],
    "kafka:saslUser": ["me"],
}


def problems(root: Path, name: str, value: Any) -> list[str]:
    (root / "stacks").mkdir(exist_ok=True)
    settings = {"kafka:saslUsername": "me"} if name == "kafka:saslPassword" else {}
    (root / "stacks" / "Pulumi.dev.yaml").write_text(json.dumps({"config": {**settings, name: value}}))
    return [str(each) for each in read_stack_file(Project(root), "dev").problems if each.level is Level.ERROR]


@pytest.mark.parametrize("name", dict.fromkeys((*SETTINGS, *RIGHT, *WRONG)))
def test_the_check_and_the_schema_of_editors_accept_the_same(name: str, tmp_path: Path) -> None:
    validator = Draft202012Validator(stack_schema())
    assert name in (*RIGHT, *WRONG), "add values of this setting"
    for value in RIGHT.get(name, ()):
        assert problems(tmp_path, name, value) == []
        assert [each.message for each in validator.iter_errors({"config": {name: value}})] == []
    for value in WRONG.get(name, ()):
        found = problems(tmp_path, name, value)
        assert found and all(f"{name}" in each and "[stack-setting]" in each for each in found), value
        assert not validator.is_valid({"config": {name: value}}), value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n", "1:1: expected a mapping, got a list [stack-setting]"),
        (
            "topicwarden:cluster: sandbox\n",
            '1:1: "topicwarden:cluster" is outside of config, where Pulumi ignores it; move it under `config:` '
            "[stack-setting]",
        ),
        (
            "config:\n  topicwarden:bootstrapServers: k:9092\n",
            '2:3: unknown setting "topicwarden:bootstrapServers"; did you mean kafka:bootstrapServers? [stack-setting]',
        ),
        ("confg:\n  topicwarden:cluster: sandbox\n", '1:1: unknown key "confg"; did you mean config? [stack-setting]'),
        (
            "config:\n  kafka:bootstrapServers: [a:1]\n  topicwarden:cluster: sandbox\n",
            "3:24: topicwarden:cluster: selects the sandbox, and kafka:bootstrapServers another cluster; remove one of "
            "them [stack-setting]",
        ),
        (
            "config:\n  topicwarden:brokerMessageMaxBytes: 3GiB\n",
            "2:38: topicwarden:brokerMessageMaxBytes: expected a size of at most 2147483647, the maximum of Kafka's "
            "setting, got 3221225472 [stack-setting]",
        ),
        (
            "config:\n  kafka:bootstrapServers: [a:1, 1]\n",
            "2:33: kafka:bootstrapServers[1]: expected a list such as [localhost:9092], got the number 1 in the list "
            "[stack-setting]",
        ),
        (
            "config:\n  kafka:bootstrapServers: [a:1]\n  kafka:saslMechanism: SCRAM-SHA-512\n"
            "  kafka:saslUsername: me\n",
            "3:24: kafka:saslMechanism: expected one of plain, scram-sha256, scram-sha512, oauthbearer, aws-iam, got "
            '"SCRAM-SHA-512"; did you mean scram-sha512? [stack-setting]',
        ),
        (
            "config:\n  kafka:bootstrapServers: [a:1]\n  kafka:saslUsername: me\n  kafka:saslPassword: hunter2\n",
            "4:23: warning: kafka:saslPassword is not encrypted; `pulumi config set --secret kafka:saslPassword` "
            "encrypts it in this file [plaintext-secret]",
        ),
        (
            "config:\n  topicwarden:schemaRegistry: {url: 'https://r', token: t}\n",
            "2:57: warning: token is not encrypted; `pulumi config set --secret --path "
            "'topicwarden:schemaRegistry.token'` encrypts it in this file [plaintext-secret]",
        ),
        (
            "config:\n  topicwarden:catalogues: {hub: {openlineage: 'https://d', token: t}}\n",
            "2:67: warning: token is not encrypted; `pulumi config set --secret --path "
            "'topicwarden:catalogues.hub.token'` encrypts it in this file [plaintext-secret]",
        ),
        (
            "config:\n  topicwarden:catalogues:\n    hub: {openlineage: 'https://d', namespac: a}\n",
            "3:47: topicwarden:catalogues.hub.namespac: unknown key; did you mean namespace? [stack-setting]",
        ),
        (
            "config:\n  topicwarden:catalogues:\n    hub: {datahub: 'https://s3cret'}\n",
            "3:20: topicwarden:catalogues.hub.datahub: DataHub gets no verdicts any more; remove this catalogue, or "
            "write `openlineage: https://…/openapi/openlineage`, with which DataHub shows lineage, but no verdicts "
            "[stack-setting]",
        ),
        (
            "config:\n  topicwarden:catalogues:\n    hub: {openlineage: 'https://d', env: PROD}\n",
            "3:42: topicwarden:catalogues.hub.env: belonged to `datahub`, which is gone; remove it [stack-setting]",
        ),
        (
            "config:\n  topicwarden:notifications:\n    chat: {url: 'https://hooks/s3cret'}\n",
            "3:17: warning: url is not encrypted; `pulumi config set --secret --path "
            "'topicwarden:notifications.chat.url'` encrypts it in this file [plaintext-secret]",
        ),
        (
            "config:\n  topicwarden:notifications:\n    chat: {url: {secure: v1:a:b}, username: me}\n",
            "3:45: topicwarden:notifications.chat.username: needs password; write it [stack-setting]",
        ),
        (
            "config:\n  topicwarden:notifications:\n    chat: {format: alertmanager, url: {secure: v1:a:b}}\n",
            "3:20: topicwarden:notifications.chat.format: Alertmanager is no receiver any more; remove this one, and "
            "let Prometheus evaluate `topicwarden rules alerts`, whose alerts Alertmanager routes [stack-setting]",
        ),
        (
            "config:\n  topicwarden:notifications:\n    chat: {format: slack, url: {secure: v1:a:b}}\n",
            "3:20: topicwarden:notifications.chat.format: there are no formats any more, and every receiver gets JSON "
            "with a text for Slack; remove the key [stack-setting]",
        ),
        (
            "config:\n  other:a: {1: x}\n  topicwarden:notifications: {1: {url: {secure: v1:a:b}}}\n"
            "  other:b: {2: x}\n",
            "3:31: topicwarden:notifications: a key is no text in YAML 1.1; quote it [stack-setting]",
        ),
        (
            "config:\n  topicwarden:scope: {topics: [a, 0123]}\n",
            "2:35: topicwarden:scope.topics[1]: the value is no text in YAML 1.1; quote it [stack-setting]",
        ),
        (
            "config:\n  topicwarden:notifications: {on: {url: {secure: v1:a:b}}}\n",
            "2:31: topicwarden:notifications: a key is no text in YAML 1.1; quote it [stack-setting]",
        ),
        (
            "config:\n  kafka:caCertFile: !secret s3cret\n",
            "2:21: kafka:caCertFile: the value cannot be read; delete its tag, or quote it [stack-setting]",
        ),
        (
            "config: !secret\n  kafka:caCertFile: a\n",
            "1:9: config: the value cannot be read; delete its tag, or quote it [stack-setting]",
        ),
        ("---\n---\nconfig: {}\n", "3:1: expected one document, got another; delete one [stack-setting]"),
        (
            "config:\n  topicwarden:notifications: {chat: {secure: v1:a:b}}\n",
            "2:37: topicwarden:notifications.chat: expected a mapping with url, got an encrypted value [stack-setting]",
        ),
        (
            "config:\n  topicwarden:schemaRegistry: {url: 'me:s3cret@r', username: me, password: {secure: v1:a}}\n",
            "2:37: topicwarden:schemaRegistry.url: has a user, which no client sends; write it as username and "
            "password [stack-setting]",
        ),
    ],
)
def test_an_error_in_a_stack_file_has_its_location(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(text)
    problems = read_stack_file(Project(tmp_path), "dev").problems
    assert [str(each) for each in problems] == [f"stacks/Pulumi.dev.yaml:{expected}"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("atlas: 'https://a'", '10:: expected a mapping with openlineage, got a mapping with "atlas"'),
        ("secure: v1:a:b", "10:: expected a mapping with openlineage, got an encrypted value"),
        ("openlineage: 'https://d:65536'", '24:.openlineage: expected a URL such as …, got "https://d:65536"'),
        ("openlineage: 'https://d?t=s3cret'", "24:.openlineage: …, got one with a query or a fragment; remove it"),
        ("openlineage: 'https://ö'", '24:.openlineage: …, or the path of a file, got "https://ö"'),
        ("openlineage: 'https://m', cluster: 'b:65536'", '46:.cluster: expected a host and a port, …, got "b:65536"'),
        ('openlineage: "a\\0b"', "24:.openlineage: expected the path of a file, got one with control characters"),
        ("openlineage: stacks", '24:.openlineage: expected the path of a file, got the folder "stacks"'),
        ("openlineage: a.yaml", '24:.openlineage: expected a file for events, such as …, got "a.yaml"'),
        ("openlineage: a, token: {secure: v1:a:b}", "34:.token: has no effect on events in a file; remove it"),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_refused(written: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(
        f"config:\n  topicwarden:catalogues:\n    hub: {{{written}}}\n"
    )
    column, _, rest = expected.partition(":")
    (problem,) = read_stack_file(Project(tmp_path), "dev").problems
    pattern = f"stacks/Pulumi.dev.yaml:3:{column}: topicwarden:catalogues.hub{rest} [stack-setting]"
    assert re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), str(problem)), problem
    assert "s3cret" not in str(problem)


def test_an_installation_that_cannot_read_certificates_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate_settings, "readable", lambda: False)
    (tmp_path / "stacks").mkdir()
    text = "config:\n  kafka:bootstrapServers: [a:1]\n  kafka:caCert: -----BEGIN CERTIFICATE-----\n"
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(text)
    assert [str(each) for each in read_stack_file(Project(tmp_path), "dev").problems] == [
        "stacks/Pulumi.dev.yaml:3:17: warning: kafka:caCert is not checked, because the Python package cryptography is "
        "not installed: `pip install 'topicwarden[cluster]'` [unchecked-certificate]"
    ]


@pytest.mark.parametrize(
    "written", ["!secret 1", "2026-13-45", "=", "0x_", "\n    ? [a]\n    : b", "x\t# comment", "{1: 0123, yes: 1e999}"]
)
def test_the_settings_of_other_programs_may_be_any_yaml(written: str, tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    text = f"config:\n  topicwarden:cluster: sandbox\t# comment\n  other:x: {written}\n"
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(text)
    assert read_stack_file(Project(tmp_path), "dev").problems == ()


def test_the_keys_of_pulumi_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    text = "secretsprovider: a\nencryptedkey: b\nencryptionsalt: c\nenvironment: [d]\nfuture: e\nconfig: {}\n"
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text(text)
    assert read_stack_file(Project(tmp_path), "dev").problems == ()


def test_every_setting_of_the_connection_is_described() -> None:
    described = stack_schema()["properties"]["config"]["properties"]
    names = (*SETTINGS, *connection_settings.NAMES, *connection_settings.OF_THE_PROVIDER)
    assert [name for name in names if len(described[name].get("description", "")) < 20] == []


def test_exclusions_apply_in_any_order() -> None:
    for patterns in (["orders.*", "!orders.tmp.*"], ["!orders.tmp.*", "orders.*"]):
        assert [selected(name, patterns) for name in ("orders.a", "orders.tmp.a", "a")] == [True, False, False]
    assert [selected(name, ["!orders.*"]) for name in ("orders.a", "a")] == [False, True]
    assert selected("a", [])


@pytest.mark.parametrize("value", [{"topics": ["a.*", "!a.b"]}, '{"topics":["a.*","!a.b"]}'])
def test_a_scope_is_a_mapping_or_the_json_that_pulumi_gives_to_programs(value: Any) -> None:
    scope = stack_scope(value)
    assert [scope.owns(name) for name in ("a.c", "a.b", "b", "__consumer_offsets")] == [True, False, False, False]
    assert EVERY_TOPIC.owns("__consumer_offsets")


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (["orders.*"], ["orders.*"], True),
        (["orders.*"], ["orders.eu.*"], True),
        (["orders.a"], ["orders.?"], True),
        (["orders.[ab]"], ["orders.?*"], True),
        (["!x"], ["!y"], True),
        (["orders.*"], ["billing.*"], False),
        (["orders.*", "!orders.eu.*"], ["orders.eu.*"], False),
        (["orders.*", "!orders.a*"], ["orders.*", "!orders.[!a]*", "!orders."], False),  # each pattern is in both
        (["orders.a"], ["orders.*", "!orders.a"], False),
        (["orders.*", "!*"], ["orders.*"], False),
    ],
)
def test_an_overlap_is_proven_by_a_name(one: list[str], other: list[str], overlap: bool) -> None:
    scopes = StackScope(tuple(one)), StackScope(tuple(other))
    for first, second in (scopes, scopes[::-1]):
        name = shared_name(first, second)
        assert (name is not None) == overlap, name
        assert name is None or (first.owns(name) and second.owns(name) and not name_problem(name))


def test_a_name_that_two_scopes_share_is_always_in_both() -> None:
    patterns = ["*", "a*", "*b", "a?", "[ab]*", "a", "!a*", "!*b", "!a", "?"]
    scopes = [StackScope(pair) for pair in product(patterns, repeat=2)]
    for first, second in product(scopes, repeat=2):
        name = shared_name(first, second)
        assert name is None or (first.owns(name) and second.owns(name))
