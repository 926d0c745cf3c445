"""Test the pages of `topicwarden help`, in any folder, at 80 columns."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.conftest import REPOSITORY
from tests.support.command import topicwarden
from topicwarden.cli import completion
from topicwarden.cli.help import PAGES


def test_the_list_names_each_concept_with_the_title_of_its_page(tmp_path: Path) -> None:
    done = topicwarden("help", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.out.splitlines()] == list(PAGES)
    assert re.search(r"^exit-codes +Exit codes$", done.out, re.MULTILINE)
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("concept", PAGES)
def test_a_page_is_readable_in_a_terminal(concept: str, tmp_path: Path) -> None:
    done = topicwarden("help", concept, cwd=tmp_path, COLUMNS="80")
    assert (done.code, done.err) == (0, "")
    assert max(map(cell_len, done.out.splitlines())) <= 80
    assert ".md" not in re.sub(r"\w*report\.md|comment\.md|- *\w+\.md", "", done.out.replace("\n", ""))
    assert "\x1b" not in done.out


def test_an_unknown_concept_is_named(tmp_path: Path) -> None:
    done = topicwarden("help", "kafka", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "there is no page 'kafka': expected one of topics, policies" in done.err


def test_the_shell_completes_concepts() -> None:
    assert completion.concepts("ex") == ["exit-codes"]


def test_the_wheel_has_each_page() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    packaged = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for page in PAGES.values():
        folder = page.rpartition("/")[0]
        assert packaged[f"docs/{folder}"] == f"topicwarden/help/{folder}"
        assert (REPOSITORY / "docs" / page).is_file()
