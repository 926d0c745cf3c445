"""The process of `topicwarden watch` in the demo, and what it says about one fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import urllib3
import yaml

from topicwarden.child_processes import running
from topicwarden.cli.demo.project_copy import copy_of
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Refusal
from topicwarden.model.project import CACHE, Project
from topicwarden.model.verdict import Verdict
from topicwarden.specs.stacks.stack_settings import NOTIFICATIONS

STACK: Final = "dev"
ARGUMENTS: Final = ("watch", "--stack", STACK, "--every", "2s", "--listen", "127.0.0.1:0")
_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class WatchProcess:
    """A process of `topicwarden watch`; ``log`` has its output."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def address(self) -> str | None:
        """The host and the port of its server; None before it listens."""
        found = re.search(r"http://(\S+)", self._printed())
        return found[1] if found else None

    def get(self, path: str) -> str | None:
        """Return the text of a page; None if it is not served now. Raises Refusal if the process has ended."""
        if self.process.poll() is not None:
            lines = self._printed().splitlines()
            raise Refusal(f"`topicwarden watch` has ended: {lines[-1] if lines else self.process.returncode}")
        if self.address is None:
            return None
        try:
            answer = urllib3.request("GET", f"http://{self.address}{path}", timeout=_TIMEOUT_S, retries=False)
        except urllib3.exceptions.HTTPError:
            return None
        return answer.data.decode() if answer.status == 200 else None

    def failures_line(self, topic: str, check: str) -> str | None:
        """Return the line of `/metrics` that counts the failures of ``check`` on ``topic``; None if there is none."""
        labels = (f'topic="{topic}"', f'check="{check}"', 'verdict="fail"')
        lines = (self.get("/metrics") or "").splitlines()
        found = (each for each in lines if each.startswith("topicwarden_topic_findings{"))
        return next((each for each in found if all(label in each for label in labels)), None)

    def failure(self, topic: str, check: str) -> Finding | None:
        """Return the first failure of ``check`` on ``topic`` in the last report; None if there is none."""
        text = self.get("/report.json")
        findings = AuditReport.model_validate_json(text).findings if text else []
        failures = (each for each in findings if each.verdict is Verdict.FAIL)
        return next((each for each in failures if (each.topic, each.check) == (topic, check)), None)

    def _printed(self) -> str:
        return self.log.read_text("utf-8", errors="replace")


@contextmanager
def running_watch(project: Project, cache: Path, log: Path) -> Iterator[WatchProcess]:
    """Run `topicwarden watch` during the block, with the sandbox and the history in ``cache``."""
    command, variables = [sys.executable, "-m", "topicwarden", *ARGUMENTS], {**os.environ, CACHE: str(cache)}
    with running(command, project.root, variables, log) as process:
        yield WatchProcess(process, log)


def copy_with_receiver(project: Project, folder: Path, url: str) -> Project:
    """Return a copy of ``project`` in ``folder`` whose stack sends notifications to ``url``."""
    copied = copy_of(project, folder)
    file = copied.stacks / f"Pulumi.{STACK}.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["config"][NOTIFICATIONS] = {"demo": {"url": url}}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return copied
