"""Test that `topicwarden sandbox down --remove` deletes nothing of another project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.projects import project_of
from topicwarden.cli import sandbox
from topicwarden.cli.sandbox import _delete_state
from topicwarden.model.problem import Refusal
from topicwarden.model.sandbox_folder import refuse_link

KINDS = ("stacks", "history", "backups", "locks/organization")


def files(state: Path) -> set[str]:
    return {str(path.relative_to(state / ".pulumi")) for path in state.rglob("*") if path.is_file()}


def test_the_state_of_another_project_with_a_stack_of_the_same_name_stays(tmp_path: Path) -> None:
    for project in ("ours", "theirs", "dev"):
        for stack in ("dev", "dev2"):
            for kind in KINDS:
                folder = tmp_path / ".pulumi" / kind / project / ("" if kind == "stacks" else stack)
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{stack}.json").write_text("{}", encoding="utf-8")
            (tmp_path / ".pulumi" / "stacks" / project / f"{stack}.json.bak").write_text("{}", encoding="utf-8")
    before = files(tmp_path)
    _delete_state(tmp_path, "ours", ["dev"])
    gone = {f"{kind}/ours/dev/dev.json" for kind in KINDS[1:]} | {"stacks/ours/dev.json", "stacks/ours/dev.json.bak"}
    assert before - files(tmp_path) == gone


@pytest.mark.parametrize("link", [".cache", ".cache/pulumi", ".cache/pulumi/state", ".cache/sandbox"])
def test_a_link_to_the_cache_of_another_project_is_refused(
    link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)
    ours, theirs = project_of(tmp_path / "ours", {}), project_of(tmp_path / "theirs", {})
    target = theirs.root / link
    target.mkdir(parents=True)
    (ours.root / link).parent.mkdir(exist_ok=True, parents=True)
    (ours.root / link).symlink_to(target)
    folder = ours.cache / ("sandbox" if link.endswith(("cache", "sandbox")) else "pulumi/state")
    with pytest.raises(Refusal, match=r"is a link to .*remove the link"):
        refuse_link(folder)
    monkeypatch.setattr(sandbox, "find_project", lambda: ours)
    with pytest.raises(Refusal, match=r"is a link to .*remove the link"):
        sandbox.down(remove=True)
    assert target.is_dir()


def test_a_cache_outside_of_the_project_may_be_below_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk" / "cache").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    refuse_link(tmp_path / "link" / "cache" / "sandbox")
