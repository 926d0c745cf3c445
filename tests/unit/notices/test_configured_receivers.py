"""Test which receivers a stack file declares, and the messages about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.notices import SECRET_PATH
from topicwarden.kafka.connect.stack_connection import stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.notices.configured_receivers import receivers_of, state_folder
from topicwarden.stacks.http_url import split_url
from topicwarden.stacks.receiver_settings import Receiver

URL = f"https://hooks.example.com{SECRET_PATH}"


def project(folder: Path, settings: str) -> Project:
    (folder / "stacks").mkdir()
    (folder / "stacks" / "Pulumi.prod.yaml").write_text(f"config:\n  topicwarden:notifications: {settings}\n")
    return Project(folder)


def receivers(of: Project) -> tuple[Receiver, ...]:
    return receivers_of(of, "prod", stack_settings(of, "prod"))


def test_a_stack_declares_receivers_by_name(tmp_path: Path) -> None:
    one = project(
        tmp_path, f"{{chat: {{format: slack, url: '{URL}'}}, a: {{format: json, url: 'http://b', token: t}}}}"
    )
    assert receivers(one) == (
        Receiver("chat", "slack", URL),
        Receiver("a", "json", "http://b", token="t"),
    )
    assert state_folder(one, "prod") == tmp_path / ".cache" / "notifications" / "prod"


def test_the_setting_may_be_json_as_pulumi_writes_it(tmp_path: Path) -> None:
    one = project(tmp_path, f"""'{{"chat": {{"format": "slack", "url": "{URL}"}}}}'""")
    assert receivers(one) == (Receiver("chat", "slack", URL),)


def test_a_stack_without_receivers_has_none(tmp_path: Path) -> None:
    assert receivers(project(tmp_path, "null")) == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (URL, ": expected a mapping of names to receivers, each with format and url, got text"),
        (f"{{chat: '{URL}'}}", ".chat: expected a mapping with format and url, got text"),
        (f"{{chat: {{url: '{URL}'}}}}", ".chat.format: expected one of json, slack, alertmanager, got nothing"),
        ("{chat: {format: json}}", ".chat.url: is missing; write the URL that receives the notifications"),
        (f"{{chat: {{format: json, url: '{SECRET_PATH}'}}}}", ".chat.url: expected a URL such as https://receiver"),
        (f"{{chat: {{format: json, url: 'https://a:b@c{SECRET_PATH}'}}}}", ".chat.url: has a user, which no client"),
        (f"{{chat: {{format: json, url: '{URL}', username: me}}}}", ".chat.username: needs password; write it"),
        (f"{{chat: {{format: json, url: '{URL}', username: me, password: p, token: t}}}}", ".chat.token: username is"),
        (f"{{chat: {{format: json, url: '{URL}', token: 'a b'}}}}", ".chat.token: has white space or a character"),
        (f"{{chat: {{format: json, url: '{URL}', token: ''}}}}", ".chat.token: is empty; write the token"),
        (f"{{chat: {{format: json, url: '{URL}#x'}}}}", ".chat.url: has a fragment after #, which no client sends"),
        (f"{{chat: {{format: json, url: '{URL}', username: 'a:b', password: p}}}}", ".chat.username: has a colon"),
        (f"{{chat: {{format: json, url: '{URL}', colour: red}}}}", ".chat.colour: unknown key; known are format, url"),
        (f"{{Chat: {{format: json, url: '{URL}'}}}}", ".Chat: expected a name of lower-case letters, digits and"),
        ("{../x: {format: json, url: 'http://a'}}", ".../x: expected a name of lower-case letters, digits and hyphens"),
    ],
)
def test_a_wrong_receiver_is_refused_without_its_url(settings: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        receivers(project(tmp_path, settings))
    assert str(refusal.value).startswith(f"stacks/Pulumi.prod.yaml: topicwarden:notifications{message}")
    assert "SECRET" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "x",
            "ftp://a",
            "http://",
            "http://a:b",
            "http://a:0",
            "http://[",
            "http://a/b c",
            "http://a/é",
            "http:a",
        ),
        *("http://a..b", f"http://{'a' * 64}.b", "http://a:65536", "http://.", "http://a/\0"),
    ],
)
def test_only_complete_urls_of_http_are_valid(url: str) -> None:
    assert split_url(url) is None
