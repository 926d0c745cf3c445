"""GitHub and GitLab for tests: the variables of a run, and a stand-in for the comments of their REST APIs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "the token of the job"
BOT = {"user": {"login": "github-actions[bot]"}, "author": {"id": 9}}
"""The author of new comments, as GitHub and as GitLab write it."""
PERSON = {"user": {"login": "octocat"}, "author": {"id": 1}}
_LISTS = re.compile(r"/repos/acme/topics/issues/7/comments|/projects/5/merge_requests/7/notes")
_ONE = re.compile(r"/repos/acme/topics/issues/comments/(\d+)|/projects/5/merge_requests/7/notes/(\d+)")
_GITHUB_LIMIT = 65_536


@dataclass
class CommentServer:
    """The comments and the calls. The next calls of a method answer with its ``errors``, status codes, if it has any.

    Every page has at most two comments, whatever size a client requests.
    """

    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    errors: dict[str, list[int]] = field(default_factory=dict)
    url: str = ""

    @property
    def bodies(self) -> list[str]:
        return [str(each["body"]) for each in self.comments]

    @property
    def changes(self) -> list[str]:
        return [call for call in self.calls if not call.startswith("GET")]

    def answer(self, method: str, target: str, body: dict[str, str]) -> Any:
        """Return the answer in JSON; None if there is nothing at this place."""
        url = urlsplit(target)
        if _LISTS.fullmatch(url.path) and method == "GET":
            page = int(parse_qs(url.query)["page"][0])
            return self.comments[2 * page - 2 : 2 * page]
        if _LISTS.fullmatch(url.path) and method == "POST":
            assert len(body["body"]) <= _GITHUB_LIMIT
            self.comments.append({"id": 100 + len(self.comments), "body": body["body"], **BOT})
            return self.comments[-1]
        if (found := _ONE.fullmatch(url.path)) and method == ("PATCH" if found[1] else "PUT"):
            (comment,) = (each for each in self.comments if each["id"] == int(found[1] or found[2]))
            comment["body"] = body["body"]
            return comment
        return {"id": 9} if url.path == "/user" else None


@contextmanager
def comment_server(comments: Sequence[dict[str, Any]] = ()) -> Iterator[CommentServer]:
    """Yield a running server that has ``comments``."""
    state = CommentServer([dict(comment) for comment in comments])

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            assert TOKEN in (self.headers["PRIVATE-TOKEN"] or self.headers["Authorization"].removeprefix("Bearer "))
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
            state.calls.append(f"{self.command} {urlsplit(self.path).path}")
            errors = state.errors.get(self.command)
            status = errors.pop(0) if errors else 200
            answer = state.answer(self.command, self.path, body) if status == 200 else {}
            self.send_response(404 if answer is None else status)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815 -- the names of BaseHTTPRequestHandler

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def github_variables(
    folder: Path, api: str = "", *, head: object = "acme/topics", event: str = "pull_request"
) -> dict[str, str]:
    """Return the variables of a run for pull request 7, whose branch is in the repository ``head``."""
    path = folder / "event.json"
    repo = {"full_name": head} if isinstance(head, str) else head
    path.write_text(json.dumps({"pull_request": {"number": 7, "head": {"repo": repo}}}), encoding="utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": api,
        "GITHUB_EVENT_NAME": event,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "acme/topics",
        "GITHUB_RUN_ID": "42",
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }


def gitlab_variables(api: str = "", *, project: str = "5") -> dict[str, str]:
    """Return the variables of a pipeline in ``project`` for merge request 7 of project 5, from project 6."""
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": api,
        "CI_JOB_URL": "https://gitlab.example/acme/topics/-/jobs/42",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "6",
        "CI_PROJECT_ID": project,
    }
