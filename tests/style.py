"""Check the wording rules that a program can check: ``python -m tests.style [PATH…]`` prints the violations."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "validation" / "topicwarden"

_NAMES = re.compile(
    r"(?:^|_)(?:said|told|held|meant|wanted|asked|patience|patiently|foresee|foresight|foretell|befall|sheet|buried"
    r"|risen|grave|witness(?:es)?|suspicions?|surroundings|deed|teller|brake|braking|mover|desk|wish|stood|lot|lots"
    r"|stretch|stretches|moment)(?:_|$)"
)
"""Words that no identifier may contain: each has a standard term in the field."""

_WORDS = re.compile(
    r"\b(?:lies|befalls?|befell|foretells?|foretold|foresee[ns]?|to be had|of which|is said|are said|are told|is told"
    r"|stands|stood|whoever|thereof|therein|wherein|thereby|lawful(?:ly)?|naught|gives way|as it were|for ever"
    r"|brought together|nor is|so that it is)\b"
)
"""Words and phrases that no docstring, comment or message may contain."""

_PUBLISHED = {"held", "held_by"}
"""Fields of published JSON schemas, which keep their names."""

_FIRST_LINE = re.compile(r"^(?:What|Where|Who|Which|Whose|Whether|How|Of|As|From|Why|When|That|To)\b")
"""A first line that begins with one of these words is a clause without a subject and a verb."""

_MOST_WORDS = 25
PLUGIN_ROOMS = {"policies/rules", "audit/checks", "plan/consequences"}
"""Modules in these folders have the id that users write, so a rule and a check may share a name."""
FORMAT_ROOMS = {"report/audit", "report/doctor", "report/plan", "report/problems"}
"""Modules in these folders have the name of the format that they write."""
COMMAND_ROOMS = {"cli", "operations"}
"""Modules in these folders have the name of the command that they belong to."""
_PLUGIN_CLASSES = {"Required", "Settings"}
"""Each check or rule has its own class with this name, because the ``Check`` or ``Rule`` protocol requires it."""


def problems(file: Path) -> Iterator[str]:
    """Yield each violation in ``file``, as ``path:line: message``."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for line, name in sorted(set(_identifiers(tree)) - set(_published_fields(tree))):
        if _NAMES.search(name.lower()):
            yield f"{file}:{line}: the name {name!r} is on the list of words to avoid"
    for line, prose in _prose(text):
        for found in _WORDS.finditer(prose):
            at = line + prose[: found.start()].count("\n")
            yield f"{file}:{at}: {found[0]!r} is on the list of words to avoid"
    for line, docstring in _docstrings(tree):
        first = docstring.strip().partition("\n\n")[0].replace("\n", " ")
        if _FIRST_LINE.match(first):
            yield f"{file}:{line}: a docstring begins with what is returned or done, not with {first.split()[0]!r}"
        if len(re.split(r"(?<=[.:;])\s", first)[0].split()) > _MOST_WORDS:
            yield f"{file}:{line}: the first sentence has more than {_MOST_WORDS} words"


def duplicate_names(files: Iterable[Path]) -> list[str]:
    """Return the public classes and the modules that share a name, each with its locations."""
    classes, modules = defaultdict(set), defaultdict(set)
    for file in files:
        room = str(file.parent.relative_to(PACKAGE))
        name = file.parent.name if file.stem == "__init__" else file.stem
        if not file.stem.startswith("__") and room not in PLUGIN_ROOMS | FORMAT_ROOMS | COMMAND_ROOMS:
            modules[name].add(str(file.relative_to(PACKAGE)))
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in _PLUGIN_CLASSES:
                classes[node.name].add(str(file.relative_to(PACKAGE)))
    return [
        f"the {kind} {name} has several meanings: {', '.join(sorted(places))}"
        for kind, found in (("class", classes), ("module", modules))
        for name, places in sorted(found.items())
        if len(places) > 1
    ]


def _identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name


def _published_fields(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each place that declares or reads a field of ``_PUBLISHED``."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Attribute(attr=name) if name in _PUBLISHED:
                yield node.lineno, name


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments, docstrings and literals that contain a space, each with its first line number."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type in _STRINGS and " " in token.string):
            yield token.start[0], re.sub(r"\s*\n\s*", lambda gap: "\n" * gap[0].count("\n"), token.string)


_STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
"""Since Python 3.12, the text of an f-string is a separate token."""


def _docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield getattr(node, "lineno", 1), docstring


def main(paths: list[str]) -> int:
    """Print the violations in ``paths`` (default: the whole package), and return the exit code."""
    roots = [Path(path) for path in paths] or [PACKAGE]
    files = sorted(file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py")))
    found = [problem for file in files for problem in problems(file)]
    if not paths:
        found += duplicate_names(files)
    print("\n".join(found) or "no problem")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
