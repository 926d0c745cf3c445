"""Test that no message of an import quotes a part of the source file beside the value that is imported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.cases import IMPORT_CASES as CASES
from tests.support.cases import cases, sources
from tests.support.command import project
from topicwarden.cli.import_ import import_
from topicwarden.extensions.interchange.convert import FORMATS, SourceFile
from topicwarden.model.problem import Refusal
from topicwarden.specs.yaml_nodes import KeyPath

SECRET = "hunter2-topsecret"
SOURCES = {
    name: [
        (case, file)
        for kind in ("good", "bad")
        for case in cases(CASES, kind)
        for file in sources(case)
        if case.name.startswith(name) and b"\0" not in file.data
    ]
    for name in FORMATS
}
STATE = (
    '{"format_version":"1.0","terraform_version":"1.9.0","values":{"root_module":{"resources":['
    '{"address":"kafka_user_scram_credential.u","mode":"managed","type":"kafka_user_scram_credential","name":"u",'
    f'"values":{{"id":"u|x","password":"{SECRET}","scram_iterations":8192,"scram_mechanism":"scram-sha-1",'
    '"username":"u"}},{"address":"confluent_kafka_topic.o","mode":"managed","type":"confluent_kafka_topic","name":"o",'
    f'"values":{{"credentials":[{{"key":"APIKEY1","secret":"{SECRET}"}}],"partitions_count":0,"topic_name":"o",'
    '"config":{"retention.mss":"1"}}}]}}}'
)
CRAFTED = {
    "terraform": STATE,
    "jikkou": "apiVersion: kafka.jikkou.io/v1\nkind: KafkaUser\nmetadata: {name: u}\n"
    f"spec: {{authentications: [{{type: scram-sha-1, password: {SECRET}}}]}}\n",
    "compose": f'services:\n  kafka: {{environment: {{SASL_PASSWORD: {SECRET}, KAFKA_CREATE_TOPICS: "a:0:1"}}}}\n',
    "shell-one-line": f'KAFKA_CREATE_TOPICS="a:1:1:deletePASSWORD={SECRET},b:1:1PASSWORD={SECRET}"\n',
    "shell": f'KAFKA_CREATE_TOPICS="a:1:1\nexport PASSWORD={SECRET}\n',
    "describe": "Topic: a\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    f"client-properties password={SECRET}\nTopic: b\tPartitionCount: x\tReplicationFactor: 1\tConfigs: \n",
    "describe-wrapped": "Topic: a\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: retention.ms=1,\n"
    f"{SECRET}\nsegment.bytes=1\n",
    "terraform-quota": '{"version": 4, "terraform_version": "1.7.5", "resources": [{"mode": "managed", '
    '"type": "kafka_quota", "name": "q", "instances": [{"attributes": {"entity_name": "app", '
    '"entity_type": "client-id", '
    f'"config": {{"producer_byte_rate": 1, "password": "{SECRET}"}}}}}}]}}]}}',
    "setting": "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: a}\n"
    f"spec: {{partitions: 1, replicas: 1, config: {{password {SECRET}: 1}}}}\n",
    "value": "apiVersion: v1\nkind: topic\nmetadata: {name: a}\n"
    f"spec: {{partitions: 1, replicationFactor: 1, configs: {{flush.ms: #'1', password: 'two\n  lines {SECRET}'}}}}\n",
    "syntax": f"topics:\n  a: {{partitions: 1, replication: 1}}\npassword: {SECRET}\n  b: {{partitions: 1\n",
    "tag": f"topics:\n  a: {{partitions: 1, replication: 1}}\npassword: !!int {SECRET}\n",
    "key": f"topics:\n  a: {{partitions: 1, replication: 1}}\npasswords: {{!!binary {SECRET}: 1, [{SECRET}]: 2}}\n",
    "reference": "asyncapi: 3.0.0\nservers: {s: {host: k, protocol: kafka}}\nchannels:\n"
    f"  a: {{$ref: 'https://u:{SECRET}@example.test/channel.yaml'}}\n",
}


def messages(folder: Path, name: str, text: str, output: pytest.CaptureFixture[str]) -> str:
    """Return what the command prints when it imports a file with this text."""
    (folder / "project" / "topics").mkdir(parents=True, exist_ok=True)
    root = project(folder / "project", {})
    (root / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        try:
            import_(sources=[Path(name)], files_only=True)
        except Refusal as refusal:
            return str(refusal)
        finally:
            for path in (root / "topics").rglob("*.yaml"):
                path.unlink()
    printed = output.readouterr()
    return printed.out + printed.err


@pytest.mark.parametrize("name", CRAFTED)
def test_a_secret_beside_a_mistake_is_not_printed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = messages(tmp_path, "source", CRAFTED[name], capsys)
    assert SECRET not in printed, printed
    assert "source:" in printed, printed


def mappings(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    if isinstance(value, dict):
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from mappings(item, (*path, key))


def planted(file: SourceFile, data: st.DataObject) -> str:
    """Return the text of the file with a secret at a random place, in a random layout."""
    documents = [document.value for document in file.documents]
    if file.syntax or not documents or not isinstance(documents[0], (dict, list)):
        lines = file.text.split("\n")
        lines.insert(data.draw(st.integers(0, len(lines))), f"PASSWORD={SECRET}")
        return "\n".join(lines)
    documents = json.loads(json.dumps(documents))
    # Each key of a topology of Julie is a part of the names of its topics.
    paths = [path for path in mappings(documents) if len(path) > 1 or "projects" not in documents[path[0]]]
    where = data.draw(st.sampled_from(paths or [()]))
    target: Any = documents
    for part in where:
        target = target[part]
    if isinstance(target, dict):
        secret = data.draw(st.sampled_from([SECRET, [SECRET], {"secret": SECRET}, f"two\nlines {SECRET}"]))
        items = [*target.items()]
        items.insert(data.draw(st.integers(0, len(items))), ("password", secret))
        target.clear()
        target |= dict(items)
    layout = data.draw(st.sampled_from(["one-line JSON", "block", "flow"]))
    if layout == "one-line JSON":
        return "\n---\n".join(map(json.dumps, documents))
    return str(yaml.safe_dump_all(documents, sort_keys=False, default_flow_style=layout == "flow", width=10_000))


def broken(text: str, data: st.DataObject) -> str:
    """Return the text with a random mistake outside of the secret."""
    kind = data.draw(st.sampled_from(["none", "cut", "delete", "insert", "number"]))
    at = data.draw(st.integers(0, len(text)))
    start = text.find(SECRET)
    if start - 1 <= at <= start + len(SECRET) or kind == "none":
        return text
    if kind == "cut":
        return text[:at]
    if kind == "number":
        return text[:at] + text[at:].replace(str(data.draw(st.integers(0, 9))), "x", 1)
    return (
        text[:at]
        + (data.draw(st.sampled_from(list(':{}[],"\t*&!%@` -#'))) if kind == "insert" else "")
        + text[at + (kind == "delete") :]
    )


@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=max(25, settings().max_examples // 2), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_secret_of_a_source_file_is_printed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    _, file = data.draw(st.sampled_from(SOURCES[name]))
    text = broken(planted(file, data), data)
    printed = messages(tmp_path, Path(file.file).name, text, capsys)
    assert SECRET not in printed, f"{text}\n{printed}"
