"""New files in ``topics/``: all or none, and what a killed import leaves."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from topicwarden.cli.importing.place import place
from topicwarden.problem import Refusal
from topicwarden.specs.write import NewFile

FILES = (
    NewFile("_defaults.yaml", "partitions: 1\n", None),
    NewFile("orders/orders.a.yaml", "topic: orders.a\n", "orders.a"),
    NewFile("pay/pay.b.yaml", "topic: pay.b\n", "pay.b"),
)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_all_come_into_being_and_nothing_else(tmp_path: Path) -> None:
    # What an import that was killed left behind.
    (tmp_path / ".importing").mkdir()
    (tmp_path / ".importing" / "0").write_text("partitions: 99")
    place(tmp_path, FILES)
    assert below(tmp_path) == {file.path for file in FILES} | {"orders", "pay"}
    assert {file.path: (tmp_path / file.path).read_text() for file in FILES} == {f.path: f.text for f in FILES}


@pytest.mark.parametrize("in_the_way", ["pay", "pay/pay.b.yaml"])
def test_where_one_cannot_be_none_stays(tmp_path: Path, in_the_way: str) -> None:
    (tmp_path / in_the_way).parent.mkdir(exist_ok=True)
    (tmp_path / in_the_way).write_text("mine\n")
    before = below(tmp_path)
    with pytest.raises(Refusal, match="nothing was imported"):
        place(tmp_path, FILES)
    assert below(tmp_path) == before
    assert (tmp_path / in_the_way).read_text() == "mine\n"


def test_two_imports_do_not_write_at_once(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    try:
        with pytest.raises(Refusal, match="another import is writing"):
            place(tmp_path, FILES)
    finally:
        os.close(other)
    assert below(tmp_path) == set()
