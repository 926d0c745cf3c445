"""Build the image without a container engine, and run its commands as a user that the image does not know.

Its bases are Debian's packages and this machine's Go, because image registries may be out of reach. The release
workflow builds the image on the bases that the Dockerfile names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from filelock import FileLock

from tests.conftest import REPOSITORY
from tests.support.installations import build_wheel
from topicwarden.extensions.sandbox import ports
from topicwarden.toolchain import Toolchain

PROGRAMS = ("buildah", "mmdebstrap", "go")
MISSING = [program for program in PROGRAMS if shutil.which(program) is None]
PACKAGES = "python3,python3-venv,python-is-python3,openjdk-17-jre-headless,ca-certificates"
RELEASE = "bookworm"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
USER = "123456:0"

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="mmdebstrap and buildah with chroot isolation need root"),
]


def buildah(*arguments: str | Path, check: bool = True, timeout: float = 1500) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["buildah", *map(str, arguments)],
        env={**os.environ, "BUILDAH_ISOLATION": "chroot"},
        capture_output=True,
        text=True,
        check=check,
        timeout=timeout,
    )


def go(name: str) -> str:
    return subprocess.run(["go", "env", name], capture_output=True, text=True, check=True).stdout.strip()


def debian() -> Path:
    """Return an archive of Debian with Python and Java. It is made once, because that takes a minute or two."""
    cache = REPOSITORY / ".cache" / "debian"
    archive = cache / f"{RELEASE}-{sha256(PACKAGES.encode()).hexdigest()[:16]}.tar"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(archive.with_suffix(".lock")):
        if not archive.is_file():
            new = archive.with_suffix(".new.tar")
            command = ["mmdebstrap", "--variant=apt", f"--include={PACKAGES}", RELEASE, str(new)]
            subprocess.run(command, capture_output=True, check=True)
            new.rename(archive)
    return archive


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """An image with Python, Java and Go where the images that the Dockerfile names have them."""
    container = buildah("from", "scratch").stdout.strip()
    root = Path(buildah("mount", container).stdout.strip())
    subprocess.run(["tar", "--extract", "--file", debian(), "--directory", root], check=True)
    shutil.copy(f"/{CERTIFICATES}", root / CERTIFICATES)
    (java,) = (root / "usr" / "lib" / "jvm").glob("java-17-openjdk-*")
    shutil.copytree(java, root / "opt" / "java" / "openjdk", ignore_dangling_symlinks=True)
    shutil.copytree(go("GOROOT"), root / "usr" / "local" / "go", symlinks=True)
    (root / "usr" / "bin" / "go").symlink_to("/usr/local/go/bin/go")
    buildah("umount", container)
    name = f"localhost/topicwarden-test-base-{os.getpid()}"
    buildah("commit", "--quiet", "--rm", container, name)
    yield name
    buildah("rmi", "--force", name, check=False)


@pytest.fixture(scope="module")
def container(base: str, tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A container of the image, with an empty project folder."""
    context = tmp_path_factory.mktemp("image")
    for file in (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()[2:]:
        for source in REPOSITORY.glob(file.removeprefix("!")):
            target = context / source.relative_to(REPOSITORY)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    shutil.copy(REPOSITORY / "Dockerfile", context)
    shutil.rmtree(context / "dist", ignore_errors=True)
    build_wheel(context / "dist")
    bases = [f"--build-arg={name}_IMAGE={base}" for name in ("GO", "PYTHON", "JAVA")]
    caches = [f"--volume={go('GOCACHE')}:/root/.cache/go-build:rw", f"--volume={go('GOMODCACHE')}:/root/go/pkg/mod:rw"]
    image = f"localhost/topicwarden-test-{os.getpid()}"
    built = buildah("bud", *bases, *caches, "--tag", image, context, check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    sizes = [buildah("images", "--format", "{{.Size}}", name).stdout.strip() for name in (base, image)]
    print(f"the base has {sizes[0]}, the image has {sizes[1]}")
    current = buildah("from", image).stdout.strip()
    yield current
    buildah("rm", current, check=False)
    buildah("rmi", "--force", image, check=False)


def run(container: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the image as a user of group 0 that it does not know, as OpenShift does."""
    entry = ("--user", USER, "--workingdir", "/project", container, "--", "topicwarden-entrypoint")
    return buildah("run", *entry, *arguments, check=False, timeout=900)


def test_an_unknown_user_of_group_0_deploys_and_audits(container: str) -> None:
    began = time.monotonic()
    assert run(container, "--version").returncode == 0
    print(f"the image starts in {time.monotonic() - began:.1f} s")
    try:
        for arguments in (
            ("init",),
            ("check",),
            ("sandbox", "up", "--port", str(ports.BROKERS_FROM + 500)),  # below the ports that systems give to clients
            ("up", "--stack", "dev", "--yes"),
            ("audit", "--stack", "dev"),
        ):
            done = run(container, *arguments)
            assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        assert "2 topics" in done.stdout
    finally:
        run(container, "sandbox", "down", "--remove")
