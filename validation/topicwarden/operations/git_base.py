"""The declarations of a project as of a Git commit, such as the base of a pull request."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.scratch_folder import scratch_folder

_FOLDERS: Final = ("topics", "subjects", "access", "policies", "stacks")
_SCHEMA_SUFFIXES: Final = (".avsc", ".json", ".proto")
_MAX_BYTES: Final = 16 << 20
"""Larger files are no declarations and no schemas that can be compared."""
_SCHEMA: Final = re.compile(rb"""\bschema["']?[ \t]*:[ \t]*["']?([^"',}\n#]+)""")
_SYMBOLIC_LINK: Final = "120000"
_TIMEOUT_S: Final = 300


@contextmanager
def project_at(project: Project, ref: str) -> Iterator[Project]:
    """Yield the project as of the commit ``ref``, in a temporary folder: YAML files and schemas only.

    The working tree is not changed. Raises Refusal if Git is missing, or if ``ref`` is no commit of the project's
    repository.
    """
    git = shutil.which("git")
    if git is None:
        raise Refusal(f"--base {ref} reads files from Git, and git is not installed; install it")
    repository = _Repository(str(Path(git).absolute()), project.root)  # it starts in the folder
    commit, prefix = repository.commit(ref), repository.prefix()
    with scratch_folder() as scratch:
        repository.write(commit, prefix, scratch)
        for name in ("topics", "stacks"):
            (scratch / name).mkdir(exist_ok=True)
        yield Project(Path(os.path.realpath(scratch)))


class _Repository:
    """A Git repository, read with the command line, in which ``folder`` is."""

    def __init__(self, git: str, folder: Path) -> None:
        self._git = git
        self._folder = folder

    def commit(self, ref: str) -> str:
        """Return the id of the commit ``ref``. Raises Refusal if there is none."""
        done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if done.returncode == 0:
            return done.stdout.decode().strip()
        reason = _first_line(done.stderr)
        if reason:
            raise Refusal(f"--base {ref}: {reason}{_remedy(done.stderr)}")
        shallow = self._run("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        remedy = (
            "this clone is shallow: fetch the commit with `git fetch --depth 1 origin BRANCH` and use FETCH_HEAD, or "
            "fetch the whole history (GitHub Actions: fetch-depth: 0; GitLab: GIT_DEPTH: 0)"
            if shallow
            else "fetch it with `git fetch origin BRANCH`, and use origin/BRANCH"
        )
        raise Refusal(f"--base {ref}: Git knows no commit {quoted(ref)}; {remedy}")

    def prefix(self) -> str:
        """Return the path of the folder in the repository, with a slash at its end; empty for the root."""
        done = self._run("rev-parse", "--show-prefix")
        if done.returncode:
            raise Refusal(f"{self._folder} is in no Git repository that can be read: {_first_line(done.stderr)}")
        return os.fsdecode(done.stdout.removesuffix(b"\n"))

    def write(self, commit: str, prefix: str, target: Path) -> None:
        """Write the YAML files and the schemas below ``prefix`` of ``commit`` to ``target``."""
        blobs = self._blobs(commit, prefix)
        declarations = {path: blob for path, blob in blobs.items() if _is_declaration(path)}
        names: set[str] = set()
        for content in self._write(declarations, target):
            names |= {os.fsdecode(name).strip().rpartition("/")[2] for name in _SCHEMA.findall(content)}
        schemas = {
            path: blob
            for path, blob in blobs.items()
            if path not in declarations and (path.endswith(_SCHEMA_SUFFIXES) or path.rpartition("/")[2] in names)
        }
        for _ in self._write(schemas, target):
            pass

    def _blobs(self, commit: str, prefix: str) -> dict[str, tuple[str, str]]:
        """Return mode and id of each file below ``prefix`` that is not too large, by its path below ``prefix``."""
        tree = f"{commit}:{prefix}"
        listed = self._run("ls-tree", "-r", "-l", "-z", "--full-tree", tree)
        if listed.returncode:  # the folder does not exist at this commit
            return {}
        blobs: dict[str, tuple[str, str]] = {}
        for entry in listed.stdout.split(b"\0"):
            description, _, name = entry.partition(b"\t")
            mode, kind, blob, size = (*description.decode().split(), "", "", "", "")[:4]
            path = os.fsdecode(name)
            if kind == "blob" and size.isdecimal() and int(size) <= _MAX_BYTES and _is_safe(path):
                blobs[path] = mode, blob
        return blobs

    def _write(self, blobs: Mapping[str, tuple[str, str]], target: Path) -> Iterator[bytes]:
        """Write the files, and yield the content of each."""
        contents = self._contents([blob for _, blob in blobs.values()])
        for (path, (mode, _)), content in zip(blobs.items(), contents, strict=True):
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if mode == _SYMBOLIC_LINK:
                file.symlink_to(os.fsdecode(content))
            else:
                file.write_bytes(content)
                yield content

    def _contents(self, blobs: Collection[str]) -> Iterator[bytes]:
        if not blobs:
            return
        done = self._run("cat-file", "--batch", standard_input="\n".join(blobs).encode())
        if done.returncode:
            raise Refusal(f"Git cannot read the files of --base: {_first_line(done.stderr)}")
        output, position = done.stdout, 0
        for blob in blobs:
            end = output.index(b"\n", position)
            header = output[position:end].split()
            if len(header) != 3:  # not id, type and size: a partial clone that cannot fetch says "missing"
                raise Refusal(f"Git cannot read the object {blob} of --base: it is missing in this clone; fetch it")
            position = end + 1 + int(header[2])
            yield output[end + 1 : position]
            position += 1

    def _run(self, *arguments: str, standard_input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        # Without replacements and locks: reading must not change the repository.
        variables = os.environ | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        try:
            return subprocess.run(
                [self._git, *arguments],
                cwd=self._folder,
                env=variables,
                input=standard_input,
                capture_output=True,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            raise Refusal(f"git {arguments[0]} did not end within {_TIMEOUT_S} s") from error
        except (OSError, ValueError) as error:  # a ref with a null byte
            raise Refusal(f"git {arguments[0]} cannot be started: {error}") from error


def _is_declaration(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return path.endswith((".yaml", ".yml")) and (len(parts) == 1 or parts[0] in _FOLDERS)


def _is_safe(path: str) -> bool:
    """Return whether a path of a tree stays below its root. Git refuses others, but trees may be written by hand."""
    return not path.startswith("/") and not {"..", ".git", ""} & set(path.split("/"))


def _remedy(output: bytes) -> str:
    """Return what Git proposes for a clone that belongs to another user; empty for any other problem."""
    proposed = re.search(rb"^\t(git config .*safe\.directory .+)$", output, re.MULTILINE)
    return f"; if you trust its files, run `{proposed[1].decode(errors='replace')}`" if proposed else ""


def _first_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else ""
