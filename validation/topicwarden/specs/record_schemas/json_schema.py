"""Check JSON Schemas of drafts 4, 6, 7, 2019-09 and 2020-12 (the default), and their regular expressions.

The reader's counterpart of the patterns is ``EcmaPattern.java``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import regress

from topicwarden.model.message_text import kind_of, quoted
from topicwarden.specs.record_schemas.json_text import JsonError, parse
from topicwarden.specs.record_schemas.referenced_schemas import References, unknown_names

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


_DRAFTS: Final = (
    "http://json-schema.org/draft-04/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ROOT: Final = "topicwarden:/schema"


class _SchemaError(ValueError):
    """An error of a schema. The message continues a sentence that begins with the file's name."""


def schema_error(text: str, references: References | None = None) -> str | None:
    """Return the error if ``text`` is not a JSON Schema that is complete with ``references``, else None.

    Checks the draft, the draft's meta-schema, references and regular expressions. The error continues a sentence that
    begins with the file's name.
    """
    try:
        schema = parse(text, unique_keys=True)
        if not isinstance(schema, (dict, bool)):
            return "is not a JSON Schema: expected an object"
        draft = _draft(schema)
        _require_valid(schema, draft)
        for part in _schemas(schema, draft, references):
            _draft(part)
            _require_patterns(part)
    except (_SchemaError, JsonError) as error:
        return str(error)
    return None


def title(text: str) -> str | None:
    """Return the ``title`` of a JSON Schema; None if it has none."""
    try:
        schema = parse(text)
    except JsonError:
        return None
    written = schema.get("title") if isinstance(schema, dict) else None
    return written if isinstance(written, str) and written else None


def _draft(schema: Any) -> str:
    """Return the draft that a schema names in ``$schema``, or the default."""
    written = schema.get("$schema", _DRAFTS[-1]) if isinstance(schema, dict) else _DRAFTS[-1]
    draft = written.removesuffix("#") if isinstance(written, str) else ""
    if draft not in _DRAFTS:
        raise _SchemaError(
            f"has the unknown draft {quoted(str(written))} in $schema; expected one of {', '.join(_DRAFTS)}"
        )
    return draft


def _require_valid(schema: Any, draft: str) -> None:
    from jsonschema.exceptions import best_match  # noqa: PLC0415  (slow to import)
    from jsonschema.validators import validator_for  # noqa: PLC0415

    validator = validator_for({"$schema": draft})
    if error := best_match(validator(validator.META_SCHEMA).iter_errors(schema)):
        location = "/" + "/".join(map(str, error.absolute_path))
        raise _SchemaError(f"is not a JSON Schema: at {quoted(location)}, {_expected(error)}")


def _expected(error: ValidationError) -> str:
    """Return what the meta-schema expects. jsonschema's own message quotes the value, which may be a secret."""
    if error.validator == "type":
        types = error.validator_value
        return f"expected {' or '.join([types] if isinstance(types, str) else types)}, got {kind_of(error.instance)}"
    if words := next(
        (each.validator_value for each in (error, *(error.context or ())) if each.validator == "enum"), None
    ):
        return f"expected one of {', '.join(map(str, words))}"
    if error.validator == "uniqueItems":
        return "an item appears twice"
    bound = error.validator_value
    limit = f" {bound}" if isinstance(bound, (int, float, str)) else ""
    return f"the value breaks the rule {error.validator}{limit} of the draft"


def _schemas(schema: Any, draft: str, references: References | None) -> Iterator[dict[str, Any]]:
    """Yield every schema in ``schema``, including the targets of references."""
    import referencing.jsonschema  # noqa: PLC0415
    from jsonschema_specifications import REGISTRY  # noqa: PLC0415
    from referencing.exceptions import CannotDetermineSpecification, Unresolvable  # noqa: PLC0415

    specification = referencing.jsonschema.specification_with(draft)
    root = specification.create_resource(schema)
    try:
        registry = REGISTRY.with_resources(_referenced(references)).with_resource(root.id() or _ROOT, root).crawl()
        pending = [(registry.resolver(root.id() or _ROOT), root)]
        visited: set[int] = set()
        while pending:
            resolver, resource = pending.pop()
            if id(resource.contents) in visited or not isinstance(resource.contents, dict):
                continue
            visited.add(id(resource.contents))
            yield resource.contents
            pending += [(resolver.in_subresource(subresource), subresource) for subresource in resource.subresources()]
            for reference in (resource.contents.get(name) for name in _REFERENCES):
                if isinstance(reference, str):
                    target = _target(resolver, reference, references)
                    if target is not None:
                        pending.append((target.resolver, specification.create_resource(target.contents)))
    except (Unresolvable, CannotDetermineSpecification) as error:
        raise _SchemaError(f"has references that cannot be resolved: {error.__class__.__name__}") from error


def _referenced(references: References | None) -> Iterator[tuple[str, Any]]:
    """Yield the name and the resource of each known schema of another subject."""
    import referencing.jsonschema  # noqa: PLC0415

    for name, text in references or ():
        if text is not None:
            try:
                schema = parse(text)
                specification = referencing.jsonschema.specification_with(_draft(schema))
            except (_SchemaError, JsonError) as error:
                raise _SchemaError(f"refers to {quoted(name)}, which {error}") from error
            yield name, specification.create_resource(schema)


def _target(resolver: Any, reference: str, references: References | None) -> Any:
    """Return the target of a ``$ref``; None if it is in a schema that is not known."""
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    try:
        target = resolver.lookup(reference)
    except Unresolvable as error:
        if {reference, reference.partition("#")[0]} & unknown_names(references):
            return None
        others = "only references within the file work" if references is None else "add it to references"
        remedy = ": copy the target under $defs" if references is None else ", or copy the target under $defs"
        raise _SchemaError(f"refers to {quoted(reference)}; {others}{remedy}") from error
    if not isinstance(target.contents, (dict, bool)):
        raise _SchemaError(f"refers to {quoted(reference)}, which is not a schema")
    return target


def _require_patterns(schema: dict[str, Any]) -> None:
    pattern_properties = schema.get("patternProperties")
    patterns = [*(pattern_properties if isinstance(pattern_properties, dict) else ()), schema.get("pattern")]
    for pattern in patterns:
        if isinstance(pattern, str) and (error := pattern_error(pattern)):
            raise _SchemaError(f"has the regular expression {quoted(pattern)}: {error}")


_TOKEN: Final = re.compile(
    r"\\u\{[^}]*\}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\c.|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\[1-9][0-9]*|\\.|"
    r"\{[0-9]+(?:,[0-9]*)?\}|\(\?(?:<[A-Za-z_][A-Za-z0-9_]*>|<[=!]|.)?|.",
    re.DOTALL,
)
_MAX_REPETITIONS: Final = 1_000_000
_MAX_LENGTH: Final = 10_000
_MAX_DEPTH: Final = 50
_CATEGORIES: Final = frozenset(
    re.findall(
        r"\w+",
        """
        Letter Lowercase_Letter Uppercase_Letter Titlecase_Letter Modifier_Letter Other_Letter Mark Nonspacing_Mark
        Spacing_Mark Enclosing_Mark Number Decimal_Number digit Letter_Number Other_Number Punctuation punct
        Connector_Punctuation Dash_Punctuation Open_Punctuation Close_Punctuation Initial_Punctuation
        Final_Punctuation Other_Punctuation Symbol Math_Symbol Currency_Symbol Modifier_Symbol Other_Symbol
        Separator Space_Separator Line_Separator Paragraph_Separator Other Control Format Surrogate Private_Use
        L Ll Lu Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co
        """,
    )
)
_SCRIPTS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew
        Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thai Tibetan
        """,
    )
)
_BINARY_PROPERTIES: Final = frozenset(("ASCII", "Any", "Alphabetic", "Lowercase", "Uppercase", "White_Space"))


def pattern_error(pattern: str) -> str | None:
    """Return the error of a regular expression, or None."""
    if len(pattern) > _MAX_LENGTH:
        return f"longer than {_MAX_LENGTH:,} characters"
    names: list[str] = []
    depth = 0
    for token, in_class in _tokens(pattern):
        depth += 0 if in_class else (token[0] == "(") - (token == ")")
        if error := _property_error(token) or (None if in_class else _syntax_error(token, names, depth)):
            return error
    try:
        regress.Regex(strict_pattern(pattern), flags="u")
    except regress.RegressError as error:
        return str(error).lower()
    except UnicodeEncodeError:
        return "it contains an unpaired surrogate"
    return None


def strict_pattern(pattern: str) -> str:
    """Return ``pattern`` with punctuation escapes and literal brackets as hexadecimal escapes.

    Unicode mode rejects them: only Annex B of ECMA-262 allows escaped punctuation and literal brackets.
    """
    return "".join(_strict_token(token, in_class) for token, in_class in _tokens(pattern))


def _strict_token(token: str, in_class: bool) -> str:
    escapes_punctuation = len(token) == 2 and token[0] == "\\" and "!" <= token[1] <= "~" and not token[1].isalnum()
    if escapes_punctuation and token[1] != "_":
        return f"\\x{ord(token[1]):02x}"
    return f"\\x{ord(token):02x}" if token in ("{", "}", "]") and not in_class else token


def _tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield each token, and whether it is inside a character class."""
    in_class = False
    for token in _TOKEN.findall(pattern):
        yield token, in_class
        in_class = token == "[" if not in_class else token != "]"


def _syntax_error(token: str, names: list[str], depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return f"more than {_MAX_DEPTH} nested groups"
    if token.startswith("(?<") and token.endswith(">"):
        names.append(token[3:-1])
        return f"two groups are named {names[-1]}" if names[-1] in names[:-1] else None
    if token.startswith("(?") and token not in ("(?:", "(?=", "(?!"):
        return "lookbehind is not supported" if token in ("(?<=", "(?<!") else f"{token}…) is not supported"
    if token.startswith(r"\k") and token[3:-1] not in names:
        return "a reference before its named group"
    if token[0] == "{" and token != "{" and max(int(n) for n in re.findall("[0-9]+", token)) > _MAX_REPETITIONS:
        return f"more than {_MAX_REPETITIONS:,} repetitions"
    return None


def _property_error(token: str) -> str | None:
    if token[:3] not in (r"\p{", r"\P{"):
        return None
    kind, equals, value = token[3:-1].partition("=")
    if equals:
        known = value in {"gc": _CATEGORIES, "General_Category": _CATEGORIES, "sc": _SCRIPTS, "Script": _SCRIPTS}.get(
            kind, frozenset()
        )
    else:
        known = kind in _CATEGORIES or kind in _BINARY_PROPERTIES
    return None if known else f"the property {token} is not supported"
