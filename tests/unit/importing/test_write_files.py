"""Test the creation of new files in ``topics/``: all or none, also after an import was killed."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from topicwarden.interchange.write_files import write_files
from topicwarden.model.problem import Refusal
from topicwarden.specs.write import NewFile

FILES = (
    NewFile("_defaults.yaml", "partitions: 1\n", None),
    NewFile("orders/orders.a.yaml", "topic: orders.a\n", "orders.a"),
    NewFile("pay/pay.b.yaml", "topic: pay.b\n", "pay.b"),
)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_all_files_are_created_or_none(tmp_path: Path) -> None:
    # A killed import left this folder.
    (tmp_path / ".importing").mkdir()
    (tmp_path / ".importing" / "0").write_text("partitions: 99")
    write_files(tmp_path, FILES)
    assert below(tmp_path) == {file.path for file in FILES} | {"orders", "pay"}
    assert {file.path: (tmp_path / file.path).read_text() for file in FILES} == {f.path: f.text for f in FILES}


@pytest.mark.parametrize("in_the_way", ["pay", "pay/pay.b.yaml"])
def test_an_unfixable_document_is_not_changed(tmp_path: Path, in_the_way: str) -> None:
    (tmp_path / in_the_way).parent.mkdir(exist_ok=True)
    (tmp_path / in_the_way).write_text("mine\n")
    before = below(tmp_path)
    with pytest.raises(Refusal, match="nothing was imported"):
        write_files(tmp_path, FILES)
    assert below(tmp_path) == before
    assert (tmp_path / in_the_way).read_text() == "mine\n"


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_file_created_during_the_write_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    target = tmp_path / "pay" / "pay.b.yaml"

    def appearing(name: str) -> Callable[..., object]:
        call = getattr(os, name)

        def wrapped(source: Path, to: Path, **options: bool) -> object:
            if Path(to) == target:
                target.write_text("mine\n")
            if name == "link" and not links:
                raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(source), None, str(to))
            return call(source, to, **options)

        return wrapped

    for name in ("link", "rename", "replace"):
        monkeypatch.setattr(os, name, appearing(name))
    with pytest.raises(Refusal, match=r"pay\.b\.yaml cannot be written: another process has just created this file"):
        write_files(tmp_path, FILES)
    assert below(tmp_path) == {"pay", "pay/pay.b.yaml"}
    assert target.read_text() == "mine\n"


def test_files_are_created_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Path, to: Path, **_: bool) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(source), None, str(to))

    monkeypatch.setattr(os, "link", refused)
    write_files(tmp_path, FILES)
    assert {file.path: (tmp_path / file.path).read_text() for file in FILES} == {f.path: f.text for f in FILES}


def test_a_failed_write_removes_only_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the last file fails, another process replaces the first file and adds a file to its folder."""
    link = os.link

    def meddling(source: Path, to: Path, **options: bool) -> None:
        if Path(to).name == "pay.b.yaml":
            (tmp_path / "mine").write_text("mine\n")
            (tmp_path / "mine").replace(tmp_path / "_defaults.yaml")
            (tmp_path / "orders" / "mine.yaml").write_text("mine\n")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(to))
        link(source, to, **options)

    monkeypatch.setattr(os, "link", meddling)
    with pytest.raises(Refusal, match="nothing was imported"):
        write_files(tmp_path, FILES)
    assert below(tmp_path) == {"_defaults.yaml", "orders", "orders/mine.yaml"}
    assert (tmp_path / "_defaults.yaml").read_text() == "mine\n"


def test_two_imports_do_not_write_at_once(tmp_path: Path) -> None:
    other = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    try:
        with pytest.raises(Refusal, match="another import is writing"):
            write_files(tmp_path, FILES)
    finally:
        os.close(other)
    assert below(tmp_path) == set()
