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
TESTS = Path(__file__).parent

TWINS = {
    r"places?$": "location",
    r"weights?": "severity",
    r"permits?|permitted": "allow",
    r"rights": "permissions",
    r"foretold|foretells?|foresee[ns]?|foresight": "predict",
    r"lawful(?:ly)?": "legitimate",
    r"said|told": "output, reported",
    r"asked|wanted|meant": "requested, expected",
    r"held|stood": "stored, persisted",
    r"grave|buried|risen": "tombstone, resurrected",
    r"witness(?:es)?|suspicions?": "remembered record, suspect",
    r"brak(?:e|ing)|mover": "throttle, reassignment",
    r"stretch(?:es)?|lots?": "offset range",
    r"desk|wish|deed|teller|befalls?|surroundings|patien(?:ce|tly)|sheet": "a term of the field",
}
"""Words that no identifier may contain, with the term of ``docs/reference/glossary.md`` to use instead."""

PHRASES = {
    r"expected\b[^.;]*[,;] (?:seen|found) ": "expected …, got …",
    r"permits|permitted": "allow",
    r"(?:the|a|no|each|every|missing|Kafka|denied) rights": "permissions",
    r"foretold|foretells?|foresee[ns]?": "predict",
    r"lawful(?:ly)?": "legitimate",
    r"(?:is|are) (?:said|told)|to be had|of which|gives way|as it were|nor is|so that it is|brought together": "say it",
    r"lies|stands|stood|befalls?|whoever|there(?:of|in|by)|wherein|naught|for ever": "a plain word",
}
"""Phrases that no docstring, comment or message may contain, with what to write instead."""

_TRUE_WEIGHTS = {"batches.py", "test_provider.py", "draw.py", "test_cleanings_between_audits.py"}
"""Modules in which a weight is a number."""
_PUBLISHED = {"held", "held_by"}
"""Fields of published JSON schemas, which keep their names."""
_ABOUT_WORDS = {"style.py", "test_gates.py"}

_FIRST_LINE = re.compile(r"^(?:What|Where|Who|Which|Whose|Whether|How|Of|As|From|Why|When|That|To)\b")
"""A first line that begins with one of these words is a clause without a subject and a verb."""

_MOST_WORDS = 25
PLUGIN_PACKAGES = {"policies/rules", "audit/checks", "kinds/topic/consequences"}
"""Modules in these folders have the id that users write, so a rule and a check may share a name."""
FORMAT_PACKAGES = {"report/audit", "report/doctor", "report/fleet", "report/plan", "report/problems", "report/usage"}
"""Modules in these folders have the name of the format that they write."""
COMMAND_PACKAGES = {"cli", "operations"}
"""Modules in these folders have the name of the command that they belong to."""
_PLUGIN_CLASSES = {"Required", "Settings"}
"""Each check or rule has its own class with this name, because the ``Check`` or ``Rule`` protocol requires it."""


_TWIN = {re.compile(rf"(?:^|_)(?:{words})(?:_|$)"): term for words, term in TWINS.items()}
_PHRASE = {
    re.compile(rf"\b(?:{words})" + ("" if words.endswith(" ") else r"\b")): term for words, term in PHRASES.items()
}


def problems(file: Path) -> Iterator[str]:
    """Yield each violation in ``file``, as ``path:line: message``."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for line, name in sorted(set(_identifiers(tree)) - set(_published_fields(tree))):
        for pattern, term in _TWIN.items():
            if pattern.search(name.lower()) and not ("weight" in name.lower() and file.name in _TRUE_WEIGHTS):
                yield f"{file}:{line}: the name {name!r} has a better twin: {term}"
    for line, prose in _prose(text):
        for pattern, term in _PHRASE.items():
            for found in pattern.finditer(prose):
                at = line + prose[: found.start()].count("\n")
                yield f"{file}:{at}: {found[0]!r} has a better twin: {term}"
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
        package = str(file.parent.relative_to(PACKAGE))
        name = file.parent.name if file.stem == "__init__" else file.stem
        if (
            not file.stem.startswith("__")
            and file.parent.parent.name != "kinds"
            and package not in PLUGIN_PACKAGES | FORMAT_PACKAGES | COMMAND_PACKAGES
        ):
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


def files(root: Path) -> list[Path]:
    """Return the Python files of ``root``, without the ones that list the words themselves."""
    every = [root] if root.is_file() else sorted(root.rglob("*.py"))
    return [file for file in every if file.name not in _ABOUT_WORDS]


def main(paths: list[str]) -> int:
    """Print the violations in ``paths`` (default: the package and the tests), and return the exit code."""
    roots = [Path(path) for path in paths] or [PACKAGE, TESTS]
    found = [problem for root in roots for file in files(root) for problem in problems(file)]
    if not paths:
        found += duplicate_names(files(PACKAGE))
    print("\n".join(found) or "no problem")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
