"""`topicwarden init`: write the files of a new project."""

from __future__ import annotations

import json
import os.path
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

import topicwarden
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.report import terminal_output

app = typer.Typer()

TEMPLATE: Final = Path(topicwarden.__file__).parent / "template"
"""The files that this command writes: always those in ``project``, and the others for a CI."""
CI: Final = {"github": (".github",), "gitlab": (".gitlab-ci.yml", ".gitlab")}
"""The parts of the template for each CI."""

_EXAMPLES: Final = ("topics", "policies/topics.yaml")
"""Examples, which are written only into a folder that has no YAML yet."""
_SCHEMAS: Final = ("topic", "access", "subject", "policy", "stack")
"""The kinds of files that editors check; `.vscode/settings.json` of the template has the folders of each kind."""
_NO_TOPICS: Final = ("topics/_defaults.yaml", "# What all topics share, such as owner: team-platform\n{}\n")
"""The only file below topics/ of a project without topics."""
_PULUMI_FILES: Final = {"PulumiPolicy.yaml"}
_NOT_IN_A_NAME: Final = re.compile(r"[^\w.-]+", re.ASCII)
_PLACEHOLDER: Final = "fill-in.invalid"
"""The host in the files for CI that the user replaces. The Action refuses it."""
_WHEEL: Final = "topicwarden-py3-none-any.whl"
_MAX_NAME: Final = 100  # Pulumi's limit


@app.command(epilog="Example: topicwarden init orders --ci github")
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder of the project (default: this one).", show_default=False)
    ] = Path(),
    ci: Annotated[
        str | None,
        typer.Option("--ci", metavar="SERVICE", help="Also write CI files: github or gitlab.", show_default=False),
    ] = None,
    *,
    empty: Annotated[bool, typer.Option("--empty", help="Write no example topics: for an import.")] = False,
) -> int:
    """Write a new project: two topics, policies, a stack on the sandbox, Pulumi's files. Overwrites nothing."""
    from topicwarden.deploy.linked_environment import link_environment
    from topicwarden.deploy.pulumi_project import require_program

    if ci is not None and ci not in CI:
        raise Refusal(f"there are no files for --ci {ci}: expected one of {', '.join(CI)}")
    if folder.exists() and not folder.is_dir():
        raise Refusal(f"{folder} is a file: expected a folder, which may be new")
    root = folder.absolute()
    if os.path.lexists(root / "Pulumi.yaml"):
        require_program(Project(root))
    written, kept = [], []
    try:
        for name, text in list(_files(root, ci, empty)):
            path = root / name
            if path.exists() or path.is_symlink():
                kept += [] if path.is_file() and path.read_bytes() == text.encode() else [name]
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(name)
    except OSError as error:
        raise Refusal(
            f"{error.filename or root} cannot be written: {error.strerror}; files so far: {len(written)}"
        ) from error
    environment = link_environment(Project(root))
    terminal_output.write_text(
        "\n".join([*_report(folder, written, kept, environment), *_to_fill_in(root, ci), *_next_steps(folder, empty)])
        + "\n"
    )
    return 0


def _files(root: Path, ci: str | None, empty: bool) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file, without examples for folders that have YAML of their own."""
    from topicwarden.cli.schema import SCHEMAS

    for path, text in _template(TEMPLATE / "project", TEMPLATE / "project"):
        example = path.startswith(_EXAMPLES)
        if example and (_has_yaml(root / path.partition("/")[0]) or (empty and path.startswith(_EXAMPLES[0]))):
            continue
        own = {
            "Pulumi.yaml": ("name: topicwarden\n", f"name: {_project_name(root)}\n"),
            "requirements.txt": (f"/{_WHEEL}", f"/{_WHEEL.replace('-', f'-{topicwarden.__version__}-', 1)}"),
        }
        yield path, text.replace(*own[path]) if path in own else text
    for name in _SCHEMAS:
        yield f"schemas/{name}.schema.json", json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"
    if empty and not _has_yaml(root / _EXAMPLES[0]):
        yield _NO_TOPICS
    for part in CI[ci] if ci else ():
        yield from _template(TEMPLATE / part, TEMPLATE)


def _template(part: Path, top: Path) -> Iterator[tuple[str, str]]:
    files: Iterable[Path] = [part] if part.is_file() else sorted(part.rglob("*"))
    for file in files:
        if file.is_file() and file.suffix != ".pyc":
            yield file.relative_to(top).as_posix(), file.read_text(encoding="utf-8")


def _has_yaml(folder: Path) -> bool:
    return any(file.name not in _PULUMI_FILES for file in folder.rglob("*.yaml"))


def _project_name(root: Path) -> str:
    """Return the name of the folder as Pulumi accepts it: letters, digits, dots, dashes, underscores."""
    return _NOT_IN_A_NAME.sub("-", root.resolve().name).strip("-.")[:_MAX_NAME] or "topics"


def _report(folder: Path, written: Sequence[str], kept: Sequence[str], environment: Path | None) -> Iterator[str]:
    yield from (f"wrote {folder / name}" for name in written)
    yield from (f"kept  {folder / name}: it exists; compare it with {_source(name)}" for name in kept)
    if environment is not None:
        yield f"wrote {folder / environment.name}: a virtual environment with this installation of topicwarden"


def _source(name: str) -> Path | str:
    source = next((path for path in (TEMPLATE / "project" / name, TEMPLATE / name) if path.is_file()), None)
    return source or f"`topicwarden schema {Path(name).name.partition('.')[0]}`"


def _to_fill_in(root: Path, ci: str | None) -> Iterator[str]:
    """Yield what CI cannot do without the user: topicwarden is not released, so no index and no registry has it."""
    files = {"github": "requirements.txt", "gitlab": ".gitlab-ci.yml"}
    if ci is not None and _PLACEHOLDER in (root / files[ci]).read_text(encoding="utf-8", errors="replace"):
        what = "a wheel or a Git commit" if ci == "github" else "an image"
        yield f"\ntopicwarden is not released yet: replace {_PLACEHOLDER} in {files[ci]} by the address of {what}"


def _next_steps(folder: Path, empty: bool) -> Iterator[str]:
    program = shlex.quote("topicwarden" if shutil.which("topicwarden") else str(Path(sys.argv[0]).absolute()))
    steps = {
        f"{program} sandbox up": "start a Kafka cluster on this machine",
        f"{program} up --stack dev --yes": "deploy the topics to it",
        f"{program} audit --stack dev": "read their records, and compare them with the YAML",
    }
    if empty:
        steps = {
            f"{program} import --files-only --bootstrap-server HOST:PORT": "write the YAML of the topics of a cluster",
            f"{program} check": "judge it by the policies",
        }
    yield "\nNext:"
    if folder.absolute() != Path.cwd():
        yield f"  cd {shlex.quote(str(folder))}"
    width = max(map(len, steps))
    yield from (f"  {command:<{width}}  # {effect}" for command, effect in steps.items())
