"""Time deploys of many subjects of a Schema Registry, and compare them with deploys of as many topics.

The benchmark starts a broker and Apicurio::

    .venv/bin/python benchmarks/subjects.py [SUBJECTS]

A preview of unchanged subjects should take at most 1.5 times that of as many unchanged topics.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from brokers import started
from deploy import MeasuredStack

from access import PARALLEL
from tests.support.registry import running_registry
from topicwarden.model.project import find_project
from topicwarden.toolchain import environment

_SUBJECTS_OF_A_FILE = 1_000


class MeasuredSubjects(MeasuredStack):
    """A project with one topic and this number of subjects, whose registry is at ``url``."""

    def __init__(self, repository: Path, folder: Path, servers: list[str], subjects: int, url: str) -> None:
        super().__init__(repository, folder, servers, 1, partitions=1, provider="own")
        self._subjects, self._url = subjects, url

    def measure(self, variables: dict[str, str]) -> None:
        """Time each step."""
        self.prepare(variables)
        measure_previews(self)
        self._write_subjects("long")
        self.time("one new version: up", lambda: self._run("topicwarden", "up", "--stack", "dev", "--yes"))
        self.time("destroy", lambda: self._run("topicwarden", "destroy", "--stack", "dev", "--yes"))

    def _write_topics(self, first_retention: str) -> None:
        text = "{topic: bench.v1, owner: bench, partitions: 1, replication_factor: 1, allow: [delete]}\n"
        (self._root / "topics" / "one.yaml").write_text(text, encoding="utf-8")
        settings = self._root / "stacks" / "Pulumi.dev.yaml"
        line = f"  topicwarden:schemaRegistry: {self._url}\n"
        if line not in (written := settings.read_text(encoding="utf-8")):
            settings.write_text(written + line, encoding="utf-8")
        self._write_subjects("int")

    def _write_subjects(self, first_type: str) -> None:
        folder = self._root / "subjects"
        folder.mkdir(exist_ok=True)
        for first in range(0, self._subjects, _SUBJECTS_OF_A_FILE):
            numbers = range(first, min(first + _SUBJECTS_OF_A_FILE, self._subjects))
            for number in numbers:
                kind = first_type if number == 0 else "int"
                fields = [{"name": f"field{each}", "type": kind} for each in range(10)]
                schema = {"type": "record", "name": f"Order{number}", "namespace": "com.acme", "fields": fields}
                (folder / f"{number:05}.avsc").write_text(json.dumps(schema), encoding="utf-8")
            lines = (
                f"  bench-{number:05}-value: {{format: avro, schema: {number:05}.avsc, compatibility: BACKWARD}}\n"
                for number in numbers
            )
            text = "allow: [delete-subject]\nsubjects:\n" + "".join(lines)
            (folder / f"{first}.yaml").write_text(text, encoding="utf-8")


def measure_previews(stack: MeasuredStack) -> None:
    """Deploy the stack, and preview it twice and plan it without a change."""
    stack.time("create", lambda: stack._run("topicwarden", "up", "--stack", "dev", "--yes"))
    for step in ("empty preview", "empty preview again"):
        stack.time(step, lambda: stack._run("pulumi", "preview", "--stack", "dev", *PARALLEL, lean=True))
    stack.time("plan", lambda: stack._run("topicwarden", "plan", "--stack", "dev"))


def main() -> int:
    """Measure both stacks on the same broker; return 1 if the preview of subjects takes too long."""
    subjects = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    project = find_project()
    print(f"{'number':>7}  {'':9} {'step':26} {'wall s':>7} {'CPU s':>7} {'MiB':>7}", flush=True)
    with tempfile.TemporaryDirectory() as folder, started(Path(folder, "broker"), 1) as sandbox:
        servers = sandbox.bootstrap_servers
        topics = MeasuredStack(project.root, Path(folder, "topics"), servers, subjects, partitions=1, provider="own")
        topics.prepare(environment(project))
        measure_previews(topics)
        with running_registry(Path(folder, "registry")) as url:
            stack = MeasuredSubjects(project.root, Path(folder, "subjects"), servers, subjects, url)
            print(f"{subjects:>7,} subjects", flush=True)
            stack.measure(environment(project))
    ratios = {
        step: min(stack.seconds[name] for name in names) / min(topics.seconds[name] for name in names)
        for step, names in (
            ("create", ["create"]),
            ("empty preview", ["empty preview", "empty preview again"]),
            ("plan", ["plan"]),
        )
    }
    for step, ratio in ratios.items():
        print(f"{step}: {ratio:.2f} times that of {subjects:,} topics", flush=True)
    return int(ratios["empty preview"] > 1.5)


if __name__ == "__main__":
    sys.exit(main())
