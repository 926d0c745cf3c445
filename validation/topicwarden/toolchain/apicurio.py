"""Provide Apicurio Registry: the Schema Registry of the sandbox, and its compatibility checkers."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import FileLock

from topicwarden.model.problem import Refusal
from topicwarden.toolchain import jar_lock
from topicwarden.toolchain.jar_lock import LockedJar
from topicwarden.toolchain.jars import OFFLINE, REPOSITORY, DownloadError, download, repository

VERSION: Final = "3.3.3"
RUNNER: Final = "quarkus-run.jar"
"""The jar that starts the registry; all others are in folders beside it."""
ARCHIVE: Final = LockedJar(
    "8bc6751c76d963734224b01d5e7f84ccb3cb61c87d3bd77c36c35f10a5cbed63",
    158_577_952,
    f"io/apicurio/apicurio-registry-app/{VERSION}/apicurio-registry-app-{VERSION}-all.tar.gz",
)
_ARTIFACT: Final = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
_GOAL: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def folder(cache: Path) -> Path:
    """Return the folder that has ``RUNNER``, if it is installed."""
    return cache / "jars" / "apicurio" / VERSION


def present(cache: Path) -> bool:
    """Return whether it is installed."""
    return (folder(cache) / RUNNER).is_file()


def fetch(cache: Path, say: Callable[[str], None]) -> Path:
    """Return the folder that has ``RUNNER``; download the archive (151 MiB) first if it is missing.

    With ``TOPICWARDEN_JARS``, the archive is taken from that folder instead. Its hash is verified. ``say`` receives
    each line of progress. Raises Refusal if that fails.
    """
    target = folder(cache)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{VERSION}.lock"), fallback_to_soft=False):
            if not present(cache):
                _install(target, say)
    except OSError as error:
        raise Refusal(f"Apicurio Registry cannot be stored in {target}: {error.strerror}") from error
    return target


def _install(target: Path, say: Callable[[str], None]) -> None:
    partial = target.with_name(f".{VERSION}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    archive = _archive(partial, say)
    extracted = partial / "extracted"
    with tarfile.open(archive) as tar:
        tar.extractall(extracted, filter="data")
    runner = next(extracted.rglob(RUNNER))
    shutil.rmtree(target, ignore_errors=True)
    runner.parent.rename(target)
    shutil.rmtree(partial)


def _archive(partial: Path, say: Callable[[str], None]) -> Path:
    """Return the archive with the locked hash: from the folder of jars, over HTTP, or else from Maven."""
    target = partial / ARCHIVE.name
    if configured := os.environ.get(OFFLINE):
        found = ARCHIVE.found_in(Path(configured))
        if found is None:
            raise Refusal(f"{configured} lacks {ARCHIVE.name} with the SHA-256 {ARCHIVE.sha256}; copy it there")
        return found
    say(f"Apicurio Registry {VERSION}: downloading {ARCHIVE.size >> 20} MiB from {repository()}")
    try:
        download([ARCHIVE], partial, lambda line: say(f"Apicurio Registry: {line}"))
    except DownloadError as error:
        remedy = f"check the network and the proxy, or set {REPOSITORY} to a mirror of Maven Central"
        if shutil.which("mvn") is None:
            raise Refusal(f"Apicurio Registry cannot be downloaded: {error}; {remedy}") from error
        say(f"Apicurio Registry: {error}; trying Maven, which may know a mirror")
        arguments = [_GOAL, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={partial}"]
        jar_lock.run_maven(arguments, partial, f"download {ARCHIVE.name}")
        if not ARCHIVE.matches(target):
            raise Refusal(f"checksum mismatch for {ARCHIVE.name} from Maven; {remedy}") from error
    return target
