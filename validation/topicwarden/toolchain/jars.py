"""Provide Kafka's jars: exactly the locked ones, from a folder, over HTTP, or with Maven."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from topicwarden.model.problem import Refusal
from topicwarden.toolchain import maven_jars
from topicwarden.toolchain.jar_download import REPOSITORY, DownloadError, download, repository
from topicwarden.toolchain.jar_lock import LOCK, POM, LockedJar, checksum, locked_jars

OFFLINE = "TOPICWARDEN_JARS"
"""The variable with a folder that has the jars, for machines without a network."""

_STAMP = ".lock.sha256"


def folder(cache: Path) -> Path:
    """Return the folder of Kafka's jars, which has no subfolders."""
    return cache / "jars" / "kafka"


def present(cache: Path) -> bool:
    """Return whether the jars are installed, and are those of the current lock."""
    stamp = folder(cache) / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == checksum(LOCK)


def fetch(cache: Path, say: Callable[[str], None], source: Path | None = None) -> None:
    """Put all jars into ``folder(cache)``, or none. The hash of each one is verified.

    ``source``, by default the folder in ``TOPICWARDEN_JARS``, has the jars, side by side or as in a Maven repository;
    nothing is downloaded then. Raises Refusal if a jar is missing or has another hash, or cannot be stored.
    """
    try:
        _fetch(cache, say, source)
    except OSError as error:
        raise Refusal(f"Kafka's jars cannot be stored in {folder(cache)}: {error.strerror}") from error


def _fetch(cache: Path, say: Callable[[str], None], source: Path | None) -> None:
    began, every = time.monotonic(), locked_jars()
    target = folder(cache)
    if len(list(target.glob("*.jar"))) == len(every) and all(jar.matches(target / jar.name) for jar in every):
        (target / _STAMP).write_text(checksum(LOCK), encoding="utf-8")  # another lock had the same jars
        return
    partial = target.with_name(f".{target.name}.partial")  # keeps the jars of an interrupted download
    partial.mkdir(parents=True, exist_ok=True)
    configured = os.environ.get(OFFLINE)
    source = source or (Path(configured) if configured else None)
    missing = [jar for jar in every if not jar.matches(partial / jar.name)]
    missing = _copied(missing, partial, target)
    if source is not None:
        origin = str(source)
        missing = _copied(missing, partial, source)
        if missing:
            raise Refusal(_lacking(source, missing, len(every)))
    else:
        origin = _fetch_missing(missing, partial, say) if missing else str(target)
    for stray in {file.name for file in partial.iterdir()} - {jar.name for jar in every}:
        (partial / stray).unlink()
    (partial / _STAMP).write_text(checksum(LOCK), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    say(f"Kafka: {len(every)} jars from {origin} in {time.monotonic() - began:.0f} s")


def _copied(jars: Iterable[LockedJar], target: Path, source: Path) -> list[LockedJar]:
    """Copy the jars that ``source`` has into ``target``, and return the others."""
    others = []
    for jar in jars:
        found = next((file for file in (source / jar.name, source / jar.path) if jar.matches(file)), None)
        if found is None:
            others.append(jar)
        else:
            shutil.copyfile(found, target / jar.name)
    return others


def _lacking(source: Path, missing: list[LockedJar], every: int) -> str:
    names = ", ".join(jar.name for jar in missing[:3]) + (", …" if len(missing) > 3 else "")
    return (
        f"{source} lacks {len(missing)} of {every} jars, or has other versions of them: {names}; {LOCK} lists all jars "
        "with their hashes"
    )


def _fetch_missing(missing: list[LockedJar], partial: Path, say: Callable[[str], None]) -> str:
    """Download the jars, with Maven if that fails and Maven is installed; return where they came from."""
    say(f"Kafka: downloading {len(missing)} jars, {sum(jar.size for jar in missing) >> 20} MiB, from {repository()}")
    try:
        download(missing, partial, lambda line: say(f"Kafka: {line}"))
        return repository()
    except DownloadError as error:
        remedy = (
            f"check the network and the proxy, set {REPOSITORY} to a mirror of Maven Central, or run `topicwarden "
            "sandbox install --from FOLDER` with a folder that has the jars"
        )
        if shutil.which("mvn") is None:
            raise Refusal(f"Kafka's jars cannot be downloaded: {error}; {remedy}") from error
        say(f"Kafka: {error}; trying Maven, which may know a mirror")
        maven_jars.copy(POM, partial)
        wrong = [jar.name for jar in missing if not jar.matches(partial / jar.name)]
        if wrong:
            raise Refusal(f"checksum mismatch for jars from Maven: {', '.join(wrong[:3])}; {remedy}") from error
        return "Maven"
