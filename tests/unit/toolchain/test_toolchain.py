"""Test what is downloaded, and the caches."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.http_answers import Request, answering, http
from topicwarden.model import project
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, install, jars, kafka_jars, prerequisites, pulumi_cli, spark_reader
from topicwarden.toolchain.jar_lock import LOCK, POM, LockedJar, checksum, lock_text, locked_jars

# How Kafka's jars are fetched: from a repository over HTTP, through a proxy, and from a folder.

CONTENTS = {f"org/example/{name}/1/{name}-1.jar": name.encode() * 1000 for name in ("broker", "clients", "tools")}
JARS = [LockedJar(hashlib.sha256(data).hexdigest(), len(data), path) for path, data in CONTENTS.items()]
NAMES = {jar.name for jar in JARS}


@dataclass
class Repository:
    """A Maven repository on this machine. ``failures`` has the status codes to answer first, by path."""

    url: str
    contents: dict[str, bytes] = field(default_factory=lambda: dict(CONTENTS))
    failures: dict[str, list[int]] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    authorizations: set[str | None] = field(default_factory=set)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requests[self.path] += 1
            served.authorizations.add(self.headers["Authorization"])
            path = self.path.partition("/maven/")[2]
            failures = served.failures.get(path)
            code = failures.pop(0) if failures else 200 if path in served.contents else 404
            self.send_response(code)
            self.end_headers()
            if code == 200:
                self.wfile.write(served.contents[path])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Repository(f"http://127.0.0.1:{server.server_port}/maven")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(jars, "locked_jars", lambda: JARS)
    monkeypatch.setattr(jars, "wait_exponential", lambda min: lambda state: 0)
    monkeypatch.setenv(jars.REPOSITORY, served.url)
    monkeypatch.delenv(jars.OFFLINE, raising=False)
    monkeypatch.setenv("PATH", "")  # no Maven
    yield served
    server.shutdown()
    server.server_close()


def silent(line: str) -> None:
    pass


def fetched(cache: Path) -> set[str]:
    return {path.name for path in jars.folder(cache).glob("*.jar")}


def test_the_lock_is_that_of_the_pom() -> None:
    """After a change of the pom, run ``python -m topicwarden.toolchain.jar_lock``."""
    assert f"# pom.xml: {checksum(POM / 'pom.xml')}" in LOCK.read_text(encoding="utf-8")
    assert len(locked_jars()) == len({jar.name for jar in locked_jars()}) > 50


def test_the_lock_of_a_repository_names_each_jar(tmp_path: Path) -> None:
    for path, data in CONTENTS.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(data)
        (tmp_path / path).with_suffix(".pom").touch()
    head, pom, *lines = lock_text(tmp_path).splitlines()
    assert head.startswith("# Written by") and pom.endswith(checksum(POM / "pom.xml"))
    assert lines == [f"{jar.sha256} {jar.size} {jar.path}" for jar in sorted(JARS, key=lambda jar: jar.path)]


def test_all_jars_are_downloaded_and_reported(repository: Repository, tmp_path: Path) -> None:
    lines: list[str] = []
    assert not jars.present(tmp_path)
    jars.fetch(tmp_path, lines.append)
    assert jars.present(tmp_path) and fetched(tmp_path) == NAMES
    assert lines[0] == f"Kafka: downloading 3 jars, 0 MiB, from {repository.url}"
    assert lines[-1].startswith(f"Kafka: 3 jars from {repository.url} in ")


def test_a_transient_error_is_retried(repository: Repository, tmp_path: Path) -> None:
    repository.failures = {JARS[0].path: [503, 429]}
    jars.fetch(tmp_path, silent)
    assert fetched(tmp_path) == NAMES


def test_another_file_than_the_locked_one_is_refused_and_nothing_is_installed(
    repository: Repository, tmp_path: Path
) -> None:
    repository.contents[JARS[1].path] = b"x" * JARS[1].size
    with pytest.raises(Refusal, match=f"checksum mismatch for {JARS[1].name} from {repository.url}"):
        jars.fetch(tmp_path, silent)
    assert not jars.folder(tmp_path).exists()
    repository.contents = dict(CONTENTS)
    jars.fetch(tmp_path, silent)
    assert fetched(tmp_path) == NAMES


def test_an_interrupted_download_is_continued(repository: Repository, tmp_path: Path) -> None:
    del repository.contents[JARS[2].path]
    with pytest.raises(
        Refusal, match=r"answers 404 Not Found \(tools-1.jar\); check the network and the proxy, set TOPICWARDEN_MAVEN"
    ):
        jars.fetch(tmp_path, silent)
    (tmp_path / "jars" / ".kafka.partial" / ".tools-1.jar.partial").write_bytes(b"half")
    for jar in JARS[:2]:  # all of them, though the first attempt may not have come that far
        (tmp_path / "jars" / ".kafka.partial" / jar.name).write_bytes(CONTENTS[jar.path])
    repository.contents = {JARS[2].path: CONTENTS[JARS[2].path]}
    jars.fetch(tmp_path, silent)
    assert fetched(tmp_path) == NAMES
    assert not list((tmp_path / "jars").glob("**/.*.partial"))


def test_credentials_in_the_address_are_sent_and_never_shown(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jars.REPOSITORY, repository.url.replace("//", "//reader:s%40cret@"))
    lines: list[str] = []
    del repository.contents[JARS[0].path]
    with pytest.raises(Refusal) as refusal:
        jars.fetch(tmp_path, lines.append)
    assert repository.authorizations == {"Basic cmVhZGVyOnNAY3JldA=="}
    assert "cret" not in "".join([str(refusal.value), *lines])


@pytest.mark.parametrize("same", [True, False])
def test_only_redirects_to_the_same_server_get_the_credentials(
    same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: Request) -> bytes:
        location = (mirror if same else storage).url
        found = next((data for path, data in CONTENTS.items() if request.path == f"/stored/{path}"), None)
        return http(found) if found else http(b"", "302 Found", f"Location: {location}/stored{request.path}")

    with answering(answer) as mirror, answering(answer) as storage:
        monkeypatch.setenv(jars.REPOSITORY, mirror.url.replace("//", "//reader:secret@"))
        jars.download(JARS, tmp_path, silent)
        redirected = [each for each in (mirror if same else storage).requests if each.path.startswith("/stored/")]
    assert len(redirected) == len(JARS)
    assert all(("authorization" in request.headers) == same for request in redirected)


def test_a_proxy_of_the_environment_is_used(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", repository.url.removesuffix("/maven"))
    monkeypatch.setenv(jars.REPOSITORY, "http://mirror.invalid/maven")
    jars.fetch(tmp_path, silent)
    assert all(path.startswith("http://mirror.invalid/maven/") for path in repository.requests)


@pytest.mark.parametrize("address", ["file:///etc", "https://[bad/m2", "https://u:secret@", "https://u:secret@host:x"])
def test_an_address_that_is_no_url_is_refused(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(jars.REPOSITORY, address)
    with pytest.raises(Refusal, match=r"TOPICWARDEN_MAVEN_URL: expected a URL such as .*, got another text$"):
        jars.fetch(tmp_path, silent)


@pytest.mark.parametrize("layout", ["side by side", "repository"])
def test_jars_are_taken_from_a_folder_without_the_network(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    for jar in JARS:
        file = tmp_path / "from" / (jar.path if layout == "repository" else jar.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(CONTENTS[jar.path])
    monkeypatch.setenv(jars.OFFLINE, str(tmp_path / "from"))
    jars.fetch(tmp_path / "cache", silent)
    assert (fetched(tmp_path / "cache"), repository.requests) == (NAMES, Counter())


def test_a_folder_that_lacks_jars_is_refused(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / JARS[0].name).write_bytes(CONTENTS[JARS[0].path])
    (tmp_path / JARS[1].name).write_bytes(b"an older version")
    with pytest.raises(Refusal, match=f"lacks 2 of 3 jars, or has other versions of them: {JARS[1].name}, "):
        jars.fetch(tmp_path / "cache", silent, tmp_path)
    assert (repository.requests, jars.present(tmp_path / "cache")) == (Counter(), False)


def test_the_jars_of_an_older_lock_are_kept_and_only_new_ones_downloaded(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "locked_jars", lambda: JARS[:2])
    jars.fetch(tmp_path, silent)
    repository.requests.clear()
    monkeypatch.setattr(jars, "locked_jars", lambda: JARS[1:])
    (jars.folder(tmp_path) / ".lock.sha256").unlink()
    jars.fetch(tmp_path, silent)
    assert fetched(tmp_path) == {jar.name for jar in JARS[1:]}
    assert list(repository.requests) == [f"/maven/{JARS[2].path}"]


def test_commands_at_the_same_time_download_once(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path))
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(lambda _: kafka_jars(Project(tmp_path), silent), range(4)))
    assert set(folders) == {jars.folder(tmp_path)}
    assert set(repository.requests.values()) == {1}


def test_a_read_only_cache_is_reported_in_one_line(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(Refusal, match=r"cannot be written: .*; set TOPICWARDEN_CACHE to a folder for downloads"):
        kafka_jars(Project(tmp_path), silent)


# Where downloads and the data of a project are.


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the home folder of a user with an installed wheel."""
    for name in ("TOPICWARDEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(project, "_CHECKOUT", tmp_path / "lib")
    return tmp_path


def test_a_checkout_keeps_downloads_for_all_projects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)
    assert Project(tmp_path).tools_cache == REPOSITORY / ".cache"
    assert Project(tmp_path).cache == tmp_path / ".cache"


@pytest.mark.parametrize(
    ("platform", "xdg", "expected"),
    [
        ("linux", None, ".cache/topicwarden"),
        ("linux", "relative", ".cache/topicwarden"),  # invalid in the XDG specification
        ("linux", "/var/cache/me", "/var/cache/me/topicwarden"),
        ("darwin", None, "Library/Caches/topicwarden"),
    ],
)
def test_an_installation_uses_the_cache_of_the_user(
    installed: Path, monkeypatch: pytest.MonkeyPatch, platform: str, xdg: str | None, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    if xdg is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert Project(installed / "topics").tools_cache == installed / expected
    assert Project(installed / "topics").cache == installed / "topics" / ".cache"


def test_one_variable_overrides_both(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(installed / "cache"))
    assert Project(installed).tools_cache == Project(installed).cache == installed / "cache"


def test_an_installation_says_which_parts_remain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Downloads and builds, which other tests really run, end at once here."""
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path))
    built = pulumi_cli.PulumiChoice(pulumi_cli.PulumiSource.BUILD, "no download", None)
    monkeypatch.setattr(pulumi_cli, "choose", lambda _: built)
    monkeypatch.setattr(jars, "present", lambda _: False)
    monkeypatch.setattr(spark_reader, "outdated", lambda _: False)
    monkeypatch.setattr(prerequisites, "require", lambda **_: None)
    for module, name in ((jars, "fetch"), (pulumi_cli, "install")):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr("topicwarden.toolchain.toolchain", lambda _: Toolchain(tmp_path, tmp_path, tmp_path))
    lines: list[str] = []
    install(Project(tmp_path), lines.append)
    assert lines == ["installed 1 of 2 parts; remaining: Pulumi"]
    monkeypatch.setattr(spark_reader, "outdated", lambda _: True)
    with pytest.raises(Refusal, match="not built from the sources of this checkout; run `python3 -m tools"):
        install(Project(tmp_path), lines.append)


def test_an_installation_without_the_spark_reader_takes_no_package_of_strangers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A Git commit has none. Until there is a release, a package of this name on an index is not ours."""
    monkeypatch.setattr(spark_reader, "MODULE", tmp_path)
    monkeypatch.setattr(spark_reader, "PACKAGED", tmp_path / "spark-reader.jar")
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path))
    problem = spark_reader.problem(Project(tmp_path), "4.0.1")
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert problem is not None
    assert "no Spark reader: it was not installed from a wheel; " in problem
    assert ("make wheel" in problem and "pip install" not in problem) is not settings["tool"]["topicwarden"]["released"]


# The supported versions of Pulumi.


def test_the_oldest_supported_pulumi_is_built_and_the_newest_tested_one_is_that_of_the_sdk() -> None:
    module = (REPOSITORY / "validation/topicwarden/toolchain/go/cli/go.mod").read_text(encoding="utf-8")
    [built] = re.findall(r"github\.com/pulumi/pulumi/pkg/v3 v(\S+)", module)
    [newest] = re.findall(r'"pulumi==(\S+)"', (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = ".".join(map(str, pulumi_cli.OLDEST))
    assert built == f"{oldest}.0"
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"each change is tested with {oldest}, and a campaign runs with {newest.removesuffix('.0')}" in readme


@pytest.mark.parametrize(
    ("version", "supported"),
    [
        *(("3.229.9", False), ("3.230.0", True), ("3.250.0", True), ("4.0.0", True), ("2.300.0", False)),
        *(("3.250+dirty", True), ("3.229-alpha", False), ("3", False), (None, False)),
    ],
)
def test_an_older_pulumi_is_not_used(version: str | None, supported: bool) -> None:
    assert pulumi_cli.recent_enough(version) is supported


@pytest.mark.parametrize(("way", "kept"), [("path", False), ("build", False), ("official", True)])
def test_a_pulumi_that_an_older_topicwarden_chose_is_chosen_again(tmp_path: Path, way: str, kept: bool) -> None:
    executable = tmp_path / "bin" / "pulumi"
    executable.parent.mkdir()
    executable.touch(0o755)
    record = tmp_path / "pulumi" / "chosen.json"
    record.parent.mkdir()
    chosen = {"way": way, "executable": str(executable), "fingerprint": "of another go.mod"}
    record.write_text(json.dumps(chosen), encoding="utf-8")
    assert pulumi_cli.present(tmp_path) == (executable if kept else None)
    record.write_text(json.dumps({**chosen, "fingerprint": pulumi_cli.fingerprint()}), encoding="utf-8")
    assert pulumi_cli.present(tmp_path) == executable
