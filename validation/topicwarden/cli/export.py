"""`topicwarden export`: write the declared topics of a stack as an AsyncAPI document or as data contracts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from topicwarden.cli.options import OnlyStack, Topics
from topicwarden.model.files import read_regular_file, replace_file
from topicwarden.model.message_text import and_others, counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output

app = typer.Typer()

_MAX_BYTES: Final = 256 << 20


@app.command(epilog="Example: topicwarden export --to asyncapi --stack dev --out asyncapi.yaml")
def export(
    to: Annotated[str, typer.Option("--to", metavar="STANDARD", help="asyncapi (3.0) or odcs (3.1).")],
    stack: OnlyStack = None,
    topics: Topics = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="The file for AsyncAPI, or the folder for ODCS (default: standard output).",
            show_default=False,
        ),
    ] = None,
    *,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
) -> int:
    """Write the declared topics as an AsyncAPI document, or as data contracts (ODCS). Needs no cluster."""
    from topicwarden.extensions.interchange.export_operation import export_topics

    report = export_topics(find_project(), to, stack, topics or ())
    if out is None:
        terminal_output.write("---\n".join(report.documents.values()))
    else:
        paths = {out if to == "asyncapi" else out / name: text for name, text in report.documents.items()}
        _write(paths, overwrite=overwrite)
    for warning in report.warnings:
        terminal_output.note(warning)
    terminal_output.note(f"{counted(report.topics, 'topic')} exported")
    return 0


def _write(files: Mapping[Path, str], *, overwrite: bool) -> None:
    """Write the files; none if one of them exists with another text and ``overwrite`` is not set."""
    try:
        changed = {
            path: text
            for path, text in files.items()
            if not path.exists() or read_regular_file(path, _MAX_BYTES) != text.encode()
        }
        existing = [path for path in changed if path.exists()]
        if existing and not overwrite:
            raise Refusal(
                f"{existing[0]} exists and differs{and_others(len(existing) - 1)}; pass --overwrite, or another --out"
            )
        for path, text in changed.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(Path(os.path.realpath(path)) if path.is_symlink() else path, text)
            terminal_output.note(f"wrote {path}")
    except OSError as error:
        raise Refusal(f"{error.filename} cannot be written: {error.strerror}") from error
