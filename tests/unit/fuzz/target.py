"""What both fuzzers throw bytes at: one spec file, or one policy file, read and judged as `check` does."""

from __future__ import annotations

from pathlib import Path

from topicwarden.model.project import Project
from topicwarden.policies.check_specs import check

SEEDS = Path(__file__).parents[1]


def project_in(folder: Path) -> Project:
    """A project with one sound topic, so that it is never empty."""
    (folder / "stacks").mkdir(parents=True)
    (folder / "stacks" / "Pulumi.dev.yaml").write_text("config: {}\n")
    (folder / "policies").mkdir()
    (folder / "topics").mkdir()
    (folder / "topics" / "sound.yaml").write_text("{partitions: 1, replication_factor: 1}\n")
    return Project(folder)


def judged(project: Project, data: bytes) -> None:
    """Raises whatever the loader raises; every problem has a place in a file, and prints on one line."""
    for place in (project.topics / "fuzzed.yaml", project.policies / "fuzzed.yaml"):
        place.write_bytes(data)
        for problem in check(project, ["dev"]).problems:
            line = str(problem)
            assert "\n" not in line, line
            assert problem.location.line >= 1, line
            assert problem.location.column >= 1, line
        place.unlink()


def seeds() -> list[bytes]:
    """Every YAML file of the examples, good and bad, but for the very large ones."""
    found = [
        path for part in ("specs", "policies") for path in sorted((SEEDS / part).rglob("*.yaml")) if path.is_file()
    ]
    return [data for path in found if len(data := path.read_bytes()) < 5_000]
