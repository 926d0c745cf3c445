"""Ask a real Apicurio Registry and topicwarden whether pairs of schemas are compatible, and compare the answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import urllib3

from tests.support.schema_pairs import SchemaPair, pairs
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.project import Project
from topicwarden.specs.record_schemas.schema_compatibility import Comparison, ResolvedSchema, incompatibilities
from topicwarden.toolchain import schema_checker

FORMATS = ("avro", "json", "protobuf")
_HEADERS = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
_CONFLICT = 409


@dataclass
class Agreement:
    """The verdicts of all judged pairs of one format: counts of equal ones, and every difference."""

    equal: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    @property
    def judged(self) -> int:
        return self.equal.total() + len(self.differences)


@dataclass(frozen=True)
class _RegistryVerdict:
    pair: SchemaPair
    level: Compatibility
    verdict: str


def agreement(url: str, project: Project, form: str, count: int, seed: int) -> Agreement:
    """Return how topicwarden agrees with the registry at ``url`` on ``count`` pairs that the registry compares.

    Pairs with a new schema that it refuses are further ones.
    """
    random, judged, decided = Random(seed), list[_RegistryVerdict](), 0
    with urllib3.PoolManager() as pool:
        registry = _Registry(pool, url)
        for number, pair in enumerate(pairs(form, 3 * count, seed)):
            level = random.choice(list(Compatibility))
            if verdict := registry.verdict(f"agreement-{seed}-{form}-{number}", pair, level):
                judged.append(_RegistryVerdict(pair, level, verdict))
                decided += verdict != "refused"
            if decided == count:
                break
    found = Agreement()
    comparisons = [
        Comparison(_schema(each.pair, each.pair.new), (_schema(each.pair, each.pair.old),), each.level)
        for each in judged
    ]
    for each, own in zip(judged, incompatibilities(comparisons, schema_checker(project, print)), strict=True):
        ours = "refused" if own.error else "incompatible" if own.incompatibilities else "compatible"
        if ours == each.verdict:
            found.equal[ours] += 1
        else:
            pair = each.pair
            found.differences.append(
                f"{each.level.value}, {pair.source}: the registry says {each.verdict}, topicwarden {ours} "
                f"({own.error or list(own.incompatibilities)})\n  old: {pair.old}\n  new: {pair.new}"
            )
    return found


def _schema(pair: SchemaPair, text: str) -> ResolvedSchema:
    return ResolvedSchema(pair.format, text, pair.references)


class _Registry:
    def __init__(self, pool: urllib3.PoolManager, url: str) -> None:
        self._pool = pool
        self._url = url

    def verdict(self, subject: str, pair: SchemaPair, level: Compatibility) -> str | None:
        """Return the registry's verdict: compatible, incompatible or refused; None if it refuses the old schema.

        With references, the new schema is registered, because the endpoint for compatibility ignores references.
        """
        references: list[dict[str, object]] = []
        for name, text in pair.references.items():
            target = f"{subject}-{name}"
            self._ask("POST", f"subjects/{target}/versions", {"schema": text, "schemaType": pair.format.upper()})
            references.append({"name": name, "subject": target, "version": 1})
        body: dict[str, object] = {"schemaType": pair.format.upper(), "references": references}
        status, _ = self._ask("POST", f"subjects/{subject}/versions", body | {"schema": pair.old})
        if status != 200:
            return None
        self._ask("PUT", f"config/{subject}", {"compatibility": level.value})
        path = f"subjects/{subject}/versions" if references else f"compatibility/subjects/{subject}/versions/latest"
        status, answer = self._ask("POST", path, body | {"schema": pair.new})
        if status == 200:
            return "compatible" if answer.get("is_compatible", True) else "incompatible"
        return "incompatible" if status == _CONFLICT else "refused"

    def _ask(self, method: str, path: str, body: dict[str, object]) -> tuple[int, dict[str, object]]:
        data = json.dumps(body).encode()
        answer = self._pool.request(method, f"{self._url}/{path}", body=data, headers=_HEADERS, timeout=20, retries=2)
        value = json.loads(answer.data or b"{}")
        return answer.status, value if isinstance(value, dict) else {}


def report(agreements: Sequence[tuple[str, Agreement]]) -> str:
    """Return a line for each format, and all differences."""
    lines = []
    for form, found in agreements:
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(found.equal.items()))
        lines.append(f"{form}: {found.judged:,} pairs, {counts}; {len(found.differences):,} differences")
        lines += found.differences
    return "\n".join(lines)
