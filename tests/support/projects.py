"""Create projects in temporary folders; each has its own cache, with links to what `make setup` installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.command import topicwarden
from tests.support.vault import SECRETS_PROVIDER, vault_variables
from tests.support.warm_python import ENVIRONMENT, warm_python
from topicwarden.model.project import Project
from topicwarden.toolchain import environment

BIN = Path(sys.executable).parent
_OURS = ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "SPARK_CONF_DIR")
_COMMAND = "import sys; sys.argv[0] = 'topicwarden'; from topicwarden.cli.main import run; run()"
_SANDBOX = "config: {'topicwarden:cluster': sandbox}\n"


@dataclass(frozen=True)
class Shell:
    """A working directory for commands, and the environment variables that differ from this process."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, *command: str | Path, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            env={**os.environ, **self.variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def in_process(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `topicwarden` in this process, which needs no second to start. Audits need the fixture `spark`."""
        done = topicwarden(*arguments, cwd=self.folder, **self.variables)
        return subprocess.CompletedProcess(["topicwarden", *map(str, arguments)], done.code, done.out, done.err)

    def topicwarden(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `topicwarden` as a process of its own."""
        environment = os.environ.get(ENVIRONMENT)
        command = [Path(environment) / "bin" / "python", "-c", _COMMAND] if environment else [BIN / "topicwarden"]
        return self.run(*command, *arguments)


def copy_of_the_example(folder: Path) -> Project:
    """Copy this repository's example project, without its engine."""
    for name in ("topics", "access", "policies", "stacks"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return _finished(folder)


def project_of(folder: Path, files: Mapping[str, str], settings: str = _SANDBOX) -> Project:
    """Create a project with ``files`` in ``topics/``, by path, and the single stack ``dev``. Existing files stay."""
    (folder / "topics").mkdir(parents=True, exist_ok=True)
    write_topics(Project(folder), files)
    (folder / "stacks").mkdir(exist_ok=True)
    shutil.copy(REPOSITORY / "stacks" / "__main__.py", folder / "stacks")
    (folder / "stacks" / "Pulumi.dev.yaml").write_text(settings, encoding="utf-8")
    return _finished(folder)


def write_topics(project: Project, files: Mapping[str, str]) -> None:
    """Write ``files``, by their paths in ``topics/``."""
    for name, text in files.items():
        path = project.topics / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def empty_stack(
    project: Project, state: Path, variables: Mapping[str, str] | None = None, *, passphrase: bool = False
) -> Shell:
    """Return a shell of ``project``, whose stack ``dev`` is empty and has its state in the new folder ``state``.

    ``variables`` replace those of the project's environment. The state is a copy. ``pulumi stack init`` runs only for
    the first stack of a cache, because it takes a second. With ``passphrase``, the sandbox's encrypts the secrets.
    """
    variables = {**environment(project), "PULUMI_STACK": "dev", **(variables or {})}
    provider = "passphrase" if passphrase else SECRETS_PROVIDER
    if not passphrase:
        variables |= vault_variables()
    template = project.cache / f"empty-stack-{'passphrase' if passphrase else 'vault'}"
    if not template.exists():
        template.mkdir()
        shell = Shell(project.root, {**variables, "PULUMI_BACKEND_URL": template.as_uri()})
        settings = project.stacks / "Pulumi.dev.yaml"
        before = settings.read_bytes()
        done = shell.run("pulumi", "stack", "init", "dev", "--secrets-provider", provider, "--non-interactive")
        assert done.returncode == 0, done.stderr
        settings.write_bytes(before)  # without the key of the first stack
    shutil.copytree(template, state)
    return Shell(project.root, {**variables, "PULUMI_BACKEND_URL": state.as_uri()})


def location_of(project: Project, file: str, setting: str) -> str:
    """Return ``file:line:column`` of the value in the first line with ``setting``, such as ``partitions: 5``."""
    lines = (project.root / file).read_text(encoding="utf-8").splitlines()
    line, text = next((number, text) for number, text in enumerate(lines, 1) if setting in text)
    return f"{file}:{line}:{text.index(setting) + setting.index(': ') + 3}"


def _finished(folder: Path) -> Project:
    shutil.copy(REPOSITORY / "Pulumi.yaml", folder)
    venv = folder / ".venv"
    if not venv.is_symlink():
        venv.symlink_to(os.environ.get(ENVIRONMENT, sys.prefix))
    return Project(folder)


@contextmanager
def own_cache(folder: Path, *, warm: bool = False) -> Iterator[Path]:
    """Create one cache for all projects of a test folder, and yield ``folder``.

    This shell's variables for Pulumi and Spark are unset during the block.

    With ``warm``, Pulumi's programs are forks of a process that has already imported Pulumi; see ``warm_python``.
    """
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for name in _OURS:
            patch.delenv(name, raising=False)
        cache = borrowing_cache(folder / "cache")
        patch.setenv("TOPICWARDEN_CACHE", str(cache))
        for name, value in (stack.enter_context(warm_python(cache, folder)) if warm else {}).items():
            patch.setenv(name, value)
        yield folder


def borrowing_cache(folder: Path) -> Path:
    """Create a cache without a sandbox and without Pulumi state; jars and Pulumi are links into this repository."""
    installed = Project(REPOSITORY).tools_cache
    for name in ("jars", "pulumi/bin", "pulumi/home", "pulumi/chosen.json"):
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if (installed / name).exists():
            link.symlink_to(installed / name)
    return folder
