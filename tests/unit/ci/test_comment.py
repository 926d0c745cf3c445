"""Test `topicwarden ci comment` against a stand-in for the APIs of GitHub and GitLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command import Outcome, topicwarden
from tests.support.comment_server import BOT, PERSON, TOKEN, CommentServer, comment_server
from tests.unit.ci import variables
from tests.unit.report import plans
from topicwarden.report.plan import render
from topicwarden.report.plan.markdown import marker

Comment = Callable[[str], Outcome]
QUOTED = f"{marker('dev')} quoted by a person"
PERSONS = [{"id": number, "body": QUOTED, **PERSON} for number in range(3)]
OTHER = {"id": 50, "body": f"{marker('prod')}\nanother stack", **BOT}


@pytest.fixture
def server() -> Iterator[CommentServer]:
    with comment_server([*PERSONS, OTHER]) as running:
        yield running


@pytest.fixture(params=["github", "gitlab"])
def comment(request: pytest.FixtureRequest, server: CommentServer, tmp_path: Path) -> Comment:
    """A function that writes its text as the comment of a run."""
    run = variables.github(tmp_path, server.url) if request.param == "github" else variables.gitlab(server.url)

    def write(text: str) -> Outcome:
        file = tmp_path / "plan.md"
        file.write_text(text, encoding="utf-8")
        return topicwarden("ci", "comment", file, cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)

    return write


def test_one_comment_is_created_and_then_updated(comment: Comment, server: CommentServer) -> None:
    for report in (plans.rich(), plans.empty(), plans.many(3_000)):
        body = render(report, "markdown")
        done = comment(body.replace(marker(report.stack), marker("dev")))
        assert (done.code, done.out) == (0, "")
        assert server.bodies == [QUOTED] * 3 + [str(OTHER["body"]), body.replace(marker(report.stack), marker("dev"))]
    assert [call.partition(" ")[0] for call in server.changes] in (["POST", "PATCH", "PATCH"], ["POST", "PUT", "PUT"])


def test_a_transient_error_is_retried_but_no_comment_is_written_twice(
    comment: Comment, server: CommentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    server.errors = {"POST": [502]}
    assert comment(marker("dev")).code == 2
    assert len(server.changes) == 1
    server.errors = {"GET": [503, 429]}
    assert comment(marker("dev")).code == 0
    assert server.bodies.count(marker("dev")) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "answers HTTP 403 Forbidden; the "),
        (401, "answers HTTP 401 Unauthorized; the "),
        (302, "answers HTTP 302 Found"),
        (500, "answers HTTP 500 Internal Server Error"),
    ],
)
def test_a_refusal_of_the_api_is_one_line_without_the_token(
    comment: Comment, server: CommentServer, status: int, message: str
) -> None:
    server.errors = {"GET": [status]}
    done = comment(marker("dev"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
    assert TOKEN not in done.err
    assert server.changes == []


def test_an_api_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    (tmp_path / "plan.md").write_text(marker("dev"))
    run = variables.github(tmp_path, "http://127.0.0.1:9")
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert done.code == 2
    assert "http://127.0.0.1:9/repos/acme/topics/issues/7/comments" in done.err
    assert "no answer: " in done.err


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({}, "no comment: this is no run of a pull request or merge request\n"),
        (
            variables.gitlab(project="6"),
            "no comment: the run of a fork may not write one",
        ),
        (variables.gitlab(), "no comment: TOPICWARDEN_COMMENT_TOKEN is not set\n"),
    ],
    ids=["no pull request", "fork", "no token"],
)
def test_a_run_without_a_comment_reports_the_reason(tmp_path: Path, run: dict[str, str], message: str) -> None:
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, **run)
    assert (done.code, done.out, done.err.startswith(message)) == (0, "", True)


@pytest.mark.parametrize("head", ["fork/topics", None], ids=["a fork", "a deleted fork"])
def test_a_fork_on_github_gets_no_comment(tmp_path: Path, head: object) -> None:
    run = variables.github(tmp_path, head=head)
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert (done.code, done.err.startswith("no comment: the run of a fork")) == (0, True)


def test_a_missing_plan_and_a_broken_event_are_reported_in_one_line(tmp_path: Path) -> None:
    run = variables.github(tmp_path)
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert (done.code, done.err.startswith("topicwarden: plan.md: expected the file plan.md")) == (2, True)
    (tmp_path / "event.json").write_text('{"pull_request": null}')
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert (done.code, done.err.startswith("topicwarden: GITHUB_EVENT_PATH: expected the JSON")) == (2, True)
