"""Provide Kafka's jars: exactly the locked ones, from a folder, over HTTP, or with Maven.

Proxies come from the environment (``HTTPS_PROXY``, ``NO_PROXY``), CA certificates from the system or ``SSL_CERT_FILE``.
"""

from __future__ import annotations

import base64
import os
import shutil
import time
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Event
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urlsplit

from tenacity import Retrying, retry_if_exception, sleep_using_event, stop_after_attempt, wait_exponential

from topicwarden import __version__
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.http_redirects import RedirectsWithoutCredentials
from topicwarden.specs.stacks.http_url import split_url
from topicwarden.toolchain import jar_lock
from topicwarden.toolchain.jar_lock import LOCK, POM, LockedJar, checksum, locked_jars

REPOSITORY: Final = "TOPICWARDEN_MAVEN_URL"
"""The variable with the address of a mirror of Maven Central. It may contain a user name and a password."""

_CENTRAL: Final = "https://repo1.maven.org/maven2"
_AT_ONCE: Final = 8
_TIMEOUT_S: Final = 20.0
_ATTEMPTS: Final = 3
_PROGRESS_S: Final = 5.0
"""Seconds between lines of progress."""
_CHUNK: Final = 1 << 18
_TRANSIENT: Final = {408, 429, 500, 502, 503, 504}


class DownloadError(Exception):
    """A jar that could not be downloaded. The message names the jar and the reason, and no credentials."""


def repository() -> str:
    """Return the address of the Maven repository, without credentials. Raises Refusal if it is no URL."""
    return _without_user(_address())


def download(jars: Iterable[LockedJar], folder: Path, say: Callable[[str], None]) -> None:
    """Download ``jars`` into ``folder``. A file has its name only when it is complete and has the locked hash.

    ``say`` receives a line of progress every few seconds. Raises DownloadError for the first jar that fails.
    """
    every = list(jars)
    total, stopped = sum(jar.size for jar in every), Event()
    opener, pool = urllib.request.build_opener(RedirectsWithoutCredentials), ThreadPoolExecutor(_AT_ONCE)
    try:
        pending = {pool.submit(_download, opener, jar, folder, stopped): jar for jar in every}
        running: set[Future[None]] = set(pending)
        while running:
            done, running = wait(running, _PROGRESS_S, FIRST_EXCEPTION)
            for each in done:
                each.result()
            if running:
                arrived = total - sum(pending[each].size for each in running)
                say(f"{len(every) - len(running)} of {len(every)} jars, {arrived >> 20} of {total >> 20} MiB")
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _download(opener: urllib.request.OpenerDirector, jar: LockedJar, folder: Path, stopped: Event) -> None:
    attempts = Retrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_exponential(min=1),
        retry=retry_if_exception(_transient),
        sleep=sleep_using_event(stopped),
        reraise=True,
    )
    try:
        attempts(_read, opener, jar, folder, stopped)
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadError(f"{_reason(error)} ({jar.name})") from error


def _read(opener: urllib.request.OpenerDirector, jar: LockedJar, folder: Path, stopped: Event) -> None:
    partial = folder / f".{jar.name}.partial"
    try:
        with opener.open(_request(jar.path), timeout=_TIMEOUT_S) as answer, partial.open("wb") as file:
            while not stopped.is_set() and file.tell() <= jar.size and (chunk := answer.read(_CHUNK)):
                file.write(chunk)
        if stopped.is_set():
            return
        if not jar.matches(partial):
            raise DownloadError(f"checksum mismatch for {jar.name} from {repository()}")
        partial.replace(folder / jar.name)
    finally:
        partial.unlink(missing_ok=True)


def _request(path: str) -> urllib.request.Request:
    parts = _address()
    headers = {"User-Agent": f"topicwarden/{__version__}"}
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    return urllib.request.Request(f"{_without_user(parts)}/{path}", headers=headers)


def _address() -> SplitResult:
    """Return the parts of the address of the Maven repository. Raises Refusal if it is no URL."""
    with suppress(ValueError):
        parts = urlsplit((os.environ.get(REPOSITORY) or _CENTRAL).rstrip("/"))
        if split_url(_without_user(parts)):
            return parts
    raise Refusal(f"{REPOSITORY}: expected a URL such as https://maven.example.com/releases, got another text")


def _without_user(address: SplitResult) -> str:
    return address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()


def _transient(error: BaseException) -> bool:
    if isinstance(error, HTTPError):
        return error.code in _TRANSIENT
    return isinstance(error, (OSError, HTTPException))


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"{repository()} answers {error.code} {error.reason}"
    return f"{repository()}: {error.reason if isinstance(error, URLError) else error}"


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
        found = jar.found_in(source)
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
        jar_lock.copy(POM, partial)
        wrong = [jar.name for jar in missing if not jar.matches(partial / jar.name)]
        if wrong:
            raise Refusal(f"checksum mismatch for jars from Maven: {', '.join(wrong[:3])}; {remedy}") from error
        return "Maven"
