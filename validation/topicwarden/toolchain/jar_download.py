"""Download locked jars over HTTP from a Maven repository.

Proxies come from the environment (``HTTPS_PROXY``, ``NO_PROXY``), CA certificates from the system or ``SSL_CERT_FILE``.
"""

from __future__ import annotations

import base64
import os
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from http.client import HTTPException
from pathlib import Path
from threading import Event
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

from tenacity import Retrying, retry_if_exception, sleep_using_event, stop_after_attempt, wait_exponential

from topicwarden import __version__
from topicwarden.toolchain.jar_lock import LockedJar

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
    """Return the address of the Maven repository, without credentials."""
    parts = urlsplit(_address())
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def download(jars: Iterable[LockedJar], folder: Path, say: Callable[[str], None]) -> None:
    """Download ``jars`` into ``folder``. A file has its name only when it is complete and has the locked hash.

    ``say`` receives a line of progress every few seconds. Raises DownloadError for the first jar that fails.
    """
    every = list(jars)
    total, stopped = sum(jar.size for jar in every), Event()
    opener, pool = urllib.request.build_opener(), ThreadPoolExecutor(_AT_ONCE)
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
    parts = urlsplit(_address())
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{REPOSITORY} must begin with https:// or http://")
    headers = {"User-Agent": f"topicwarden/{__version__}"}
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    return urllib.request.Request(f"{repository()}/{path}", headers=headers)


def _address() -> str:
    return (os.environ.get(REPOSITORY) or _CENTRAL).rstrip("/")


def _transient(error: BaseException) -> bool:
    if isinstance(error, HTTPError):
        return error.code in _TRANSIENT
    return isinstance(error, (OSError, HTTPException))


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"{repository()} answers {error.code} {error.reason}"
    return f"{repository()}: {error.reason if isinstance(error, URLError) else error}"
