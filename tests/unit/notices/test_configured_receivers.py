"""Test which receivers a stack file declares, messages about wrong ones, and what waits in an old queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.http_answers import answering, http
from tests.support.notices import SECRET_PATH, audit, heard, notifier, old_queue, receiver, waiting_queue
from topicwarden.kafka.connect.stack_connection import stack_settings
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices.old_queue import left_queues
from topicwarden.operations.report_deliveries import receivers_of
from topicwarden.specs.stacks.delivery_settings import Receiver
from topicwarden.specs.stacks.http_url import split_url

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


FAIL, PASS = Verdict.FAIL, Verdict.PASS
A, B = ("orders", "null-key"), ("bills", "retention")


def test_what_waits_in_an_old_queue_is_delivered_with_its_id(tmp_path: Path) -> None:
    file = tmp_path / "old" / "on-call.sqlite"
    waiting_queue(file)
    with answering(http(b"ok")) as server:
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: PASS, B: FAIL}, 3))
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: PASS, B: FAIL}, 4))
    sent = [request.json for request in server.requests]
    assert heard(sent) == {B: "fail"}
    assert [(each["id"] == "id-1", each["sequence"]) for each in sent] == [(True, 1), (False, 4)]
    assert not file.exists()


def test_an_old_queue_stays_until_its_contents_are_in_the_history(tmp_path: Path) -> None:
    file = tmp_path / "old" / "on-call.sqlite"
    waiting_queue(file)
    (tmp_path / "h").write_text("a file, no folder")
    one = notifier([receiver("http://127.0.0.1:1")], tmp_path / "h")
    one.take(audit({A: PASS, B: FAIL}, 3))
    assert file.exists()
    (tmp_path / "h").unlink()
    one.take(audit({A: PASS, B: FAIL}, 4))
    assert one.status()["on-call"].pending == 3 and not file.exists()


def test_a_queue_without_a_receiver_and_a_damaged_one_are_named_once(tmp_path: Path) -> None:
    waiting_queue(tmp_path / "alerts.sqlite")
    waiting_queue(tmp_path / "on-call.sqlite")
    old_queue(tmp_path / "quiet.sqlite", "{}", [])
    (tmp_path / "torn.sqlite").write_text("text")
    lines = list(left_queues(tmp_path, {"on-call", "torn"}))
    assert lines == [
        f'{tmp_path}/alerts.unused: the stack has no receiver "alerts"; not delivered: null-key on orders: fail, '
        "null-key on orders: resolved, retention on bills: fail",
        f"{tmp_path}/torn.unused is a damaged queue of an earlier version; what waited in it is lost",
    ]
    assert list(left_queues(tmp_path, {"on-call", "torn"})) == []
    assert (tmp_path / "on-call.sqlite").exists()


@pytest.mark.parametrize("state", ["", "text", '{"open": 5}'])
def test_an_unreadable_state_of_an_old_queue_counts_as_none(state: str, tmp_path: Path) -> None:
    old_queue(tmp_path / "old" / "on-call.sqlite", state, [])
    with answering(http(b"ok")) as server:
        notifier([receiver(server.url)], tmp_path / "h").take(audit({A: FAIL}))
        assert heard(request.json for request in server.requests) == {A: "fail"}
