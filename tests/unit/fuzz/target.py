"""The target of both fuzzers: load and check one file of topics, access or policies, as `check` does."""

from __future__ import annotations

from pathlib import Path

from tests.support.cases import KINDS, cases
from topicwarden.model.project import Project
from topicwarden.policies.check_specs import check

UNIT = Path(__file__).parents[1]


def project_in(folder: Path) -> Project:
    """Create a project with one valid topic, so that the project is never empty."""
    (folder / "stacks").mkdir(parents=True)
    (folder / "stacks" / "Pulumi.dev.yaml").write_text("config: {}\n")
    (folder / "policies").mkdir()
    (folder / "access").mkdir()
    (folder / "topics").mkdir()
    (folder / "topics" / "sound.yaml").write_text("{partitions: 1, replication_factor: 1}\n")
    return Project(folder)


def judged(project: Project, data: bytes) -> None:
    """Check ``data`` as a file. Let loader errors pass; assert that each problem has a location and is one line."""
    for folder in (project.topics, project.access, project.policies):
        file = folder / "fuzzed.yaml"
        file.write_bytes(data)
        for problem in check(project, ["dev"]).problems:
            line = str(problem)
            assert "\n" not in line, line
            assert problem.location.line >= 1, line
            assert problem.location.column >= 1, line
        file.unlink()


def seeds() -> list[bytes]:
    """Return every YAML file of the examples, good and bad, except for the very large ones."""
    return [
        data
        for folder in ("specs", "policies")
        for kind in KINDS
        for case in cases(UNIT / folder / "cases", kind)
        for path, data in case.data().items()
        if path.endswith(".yaml") and len(data) < 5_000
    ]
