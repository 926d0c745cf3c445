"""Test the shell lines that write GitLab's note, against a server that implements GitLab's notes API."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.system.workflows.runner import TEMPLATE, load
from tests.unit.report import plans
from topicwarden.report.plan import render
from topicwarden.report.plan.markdown import marker

NOTES = "/api/v4/projects/5/merge_requests/7/notes"
TOKEN = "glpat-of-the-project"
BOT = 9


@dataclass
class Notes:
    """The notes of a merge request. Every page has two notes, regardless of the requested size."""

    stored: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def handler(self) -> type[BaseHTTPRequestHandler]:
        notes = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self, value: object, **headers: str) -> None:
                assert self.headers["PRIVATE-TOKEN"] == TOKEN
                notes.calls.append(self.command)
                self.send_response(200)
                for name, text in headers.items():
                    self.send_header(name.replace("_", "-"), text)
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def body(self) -> str:
                return parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())["body"][0]

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                if url.path == "/api/v4/user":
                    return self.answer({"id": BOT})
                assert url.path == NOTES
                page = int(parse_qs(url.query)["page"][0])
                rest = notes.stored[2 * page :]
                return self.answer(notes.stored[2 * page - 2 : 2 * page], x_next_page=str(page + 1) if rest else "")

            def do_POST(self) -> None:
                assert self.path == NOTES
                notes.stored.append({"id": 100 + len(notes.stored), "author": {"id": BOT}, "body": self.body()})
                self.answer({})

            def do_PUT(self) -> None:
                (note,) = (each for each in notes.stored if self.path == f"{NOTES}/{each['id']}")
                note["body"] = self.body()
                self.answer({})

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def notes() -> Notes:
    return Notes([{"id": n, "author": {"id": 1}, "body": f"{marker('prod')} a person's"} for n in range(3)])


@pytest.fixture
def url(notes: Notes) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), notes.handler()) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api/v4"
        finally:
            server.shutdown()
            thread.join()


def note(folder: Path, url: str, token: str = TOKEN) -> None:
    """Run the lines of the job `plan` that write the note."""
    (lines,) = (part for part in load(TEMPLATE / ".gitlab-ci.yml")["plan"]["script"] if "NOTE_TOKEN" in part)
    variables = {"CI_API_V4_URL": url, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7", "NOTE_TOKEN": token}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", lines],
        cwd=folder,
        env={**os.environ, **variables, "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="the lines call jq and curl")
def test_one_note_is_written_and_then_written_over(tmp_path: Path, notes: Notes, url: str) -> None:
    (tmp_path / "plan").mkdir()
    for report in (plans.rich(), plans.empty(), plans.many(3_000)):
        body = render(report, "markdown")
        (tmp_path / "plan" / "plan.md").write_text(body, encoding="utf-8")
        note(tmp_path, url)
        assert [re.sub(r"\s+\Z", "", each["body"]) for each in notes.stored[3:]] == [body.rstrip()]
        assert all("a person's" in each["body"] for each in notes.stored[:3])
    assert [call for call in notes.calls if call != "GET"] == ["POST", "PUT", "PUT"]
    assert [path.name for path in (tmp_path / "plan").iterdir()] == ["plan.md"]


def test_without_a_token_there_is_no_note(tmp_path: Path, notes: Notes, url: str) -> None:
    note(tmp_path, url, token="")
    assert notes.calls == []
