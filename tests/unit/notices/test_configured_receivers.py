"""Test which receivers a stack file declares, and the messages about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.notices import SECRET_PATH
from topicwarden.kafka.connect.stack_connection import stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.report_deliveries import receivers_of
from topicwarden.specs.stacks.http_url import split_url
from topicwarden.specs.stacks.receiver_settings import Receiver

URL = f"https://hooks.example.com{SECRET_PATH}"


def project(folder: Path, settings: str) -> Project:
    (folder / "stacks").mkdir()
    (folder / "stacks" / "Pulumi.prod.yaml").write_text(f"config:\n  topicwarden:notifications: {settings}\n")
    return Project(folder)


def receivers(of: Project) -> tuple[Receiver, ...]:
    return receivers_of(of, "prod", stack_settings(of, "prod"))


def test_a_stack_declares_receivers_by_name(tmp_path: Path) -> None:
    one = project(tmp_path, f"{{chat: {{url: '{URL}'}}, a: {{url: 'http://b', token: t}}}}")
    assert receivers(one) == (
        Receiver("chat", URL),
        Receiver("a", "http://b", token="t"),
    )


def test_the_setting_may_be_json_as_pulumi_writes_it(tmp_path: Path) -> None:
    one = project(tmp_path, f"""'{{"chat": {{"url": "{URL}"}}}}'""")
    assert receivers(one) == (Receiver("chat", URL),)


def test_a_stack_without_receivers_has_none(tmp_path: Path) -> None:
    assert receivers(project(tmp_path, "null")) == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (URL, ": expected a mapping of names to receivers, each with url, got text"),
        (f"{{chat: '{URL}'}}", ".chat: expected a mapping with url, got text"),
        (
            f"{{chat: {{format: json, url: '{URL}'}}}}",
            ".chat.format: there are no formats any more, and every receiver",
        ),
        (f"{{chat: {{format: slack, url: '{URL}'}}}}", ".chat.format: there are no formats any more, and every"),
        (f"{{chat: {{format: null, url: '{URL}'}}}}", ".chat.format: there are no formats any more, and every"),
        ("{chat: {format: alertmanager, url: 'http://a'}}", ".chat.format: Alertmanager is no receiver any more; rem"),
        ("{chat: {}}", ".chat.url: is missing; write the URL that receives the notifications"),
        (f"{{chat: {{url: '{SECRET_PATH}'}}}}", ".chat.url: expected a URL such as https://receiver"),
        (f"{{chat: {{url: 'https://a:b@c{SECRET_PATH}'}}}}", ".chat.url: has a user, which no client"),
        (f"{{chat: {{url: '{URL}', username: me}}}}", ".chat.username: needs password; write it"),
        (f"{{chat: {{url: '{URL}', username: me, password: p, token: t}}}}", ".chat.token: username is"),
        (f"{{chat: {{url: '{URL}', token: 'a b'}}}}", ".chat.token: has white space or a character"),
        (f"{{chat: {{url: '{URL}', token: ''}}}}", ".chat.token: is empty; write the token"),
        (f"{{chat: {{url: '{URL}#x'}}}}", ".chat.url: has a fragment after #, which no client sends"),
        (f"{{chat: {{url: '{URL}', username: 'a:b', password: p}}}}", ".chat.username: has a colon"),
        (f"{{chat: {{url: '{URL}', colour: red}}}}", ".chat.colour: unknown key; known are url, username"),
        (f"{{Chat: {{url: '{URL}'}}}}", ".Chat: expected a name of lower-case letters, digits and"),
        ("{../x: {url: 'http://a'}}", ".../x: expected a name of lower-case letters, digits and hyphens"),
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
