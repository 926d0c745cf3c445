"""The program's part about subjects: what it reads before the deploy, and what it registers with the engine.

Everything is read before anything is judged: the registry, whether new schemas are compatible, who refers to a subject
that is deleted, and which retained records a reader with a new schema can still read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Final

from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import (
    NO_REASON,
    each_of,
    find_version,
    read_mode,
    read_registry,
    referenced_texts,
    referrers,
    refusal,
    registered_versions,
)
from topicwarden.kafka.registry.registry_error import SETTING, RegistryError
from topicwarden.kinds.announced_writes import Intent, UnfinishedWrites, unfinished_writes
from topicwarden.kinds.subject.change import (
    RegistryChange,
    SubjectChange,
    complete,
    names_to_read,
    registry_change,
)
from topicwarden.kinds.subject.consequences.lower_compatibility import implies
from topicwarden.kinds.subject.evidence import RegistryVerdict, SubjectEvidence
from topicwarden.kinds.subject.predict import SubjectPrediction, predict_subjects
from topicwarden.kinds.subject.records import RecordsOfTopics
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.planned_change import Action, PlanSection
from topicwarden.model.problem import Refusal
from topicwarden.model.subject import (
    DeclaredSubjects,
    DeployedSubjects,
    LiveRegistry,
    LiveSubject,
    RegisteredSchema,
    SubjectVersion,
)
from topicwarden.specs.record_schemas.schema_compatibility import Comparison, ResolvedSchema, incompatibilities
from topicwarden.specs.stacks.registry_settings import RegistrySettings

NO_INTENTS: Final[Mapping[str, Intent]] = {}
NO_SCHEMAS: Final[Mapping[str, RegisteredSchema]] = {}


@dataclass(frozen=True)
class SubjectsBefore:
    """The declared subjects, what the registry and the topics show before the deploy, and what killed deploys left."""

    change: RegistryChange = field(default_factory=RegistryChange)
    prediction: SubjectPrediction | None = None
    unfinished: UnfinishedWrites = field(default_factory=partial(UnfinishedWrites, PlanSection.REGISTRY))

    @property
    def created(self) -> list[str]:
        """The subjects that do not exist, and that the deploy registers."""
        return [name for name, each in self.change.changes.items() if each.action is Action.CREATE]


def subjects_before(
    settings: RegistrySettings | None,
    declared: DeclaredSubjects,
    deployed: DeployedSubjects,
    today: date,
    *,
    checkers: SchemaCheckers,
    records: RecordsOfTopics | None = None,
    intents: Mapping[str, Intent] = NO_INTENTS,
) -> SubjectsBefore:
    """Return the change of the subjects with its consequences; asks nobody if the stack has no subjects.

    ``checkers`` compare schemas if a level or a reference changes. ``records`` reads the records of topics; None if no
    record is to be read. ``intents`` are those of earlier deploys.
    """
    if not declared and not deployed and not intents:
        return SubjectsBefore()
    compared = partial(registry_change, declared, deployed, today=today)
    if settings is None:
        change = compared(LiveRegistry(error=f"the stack names no Schema Registry: set {SETTING}"))
        return _judged(change, SubjectEvidence(), today, intents)
    try:
        with RegistryClient(settings) as client:
            registry = read_registry(client, names_to_read(declared, deployed) | intents.keys())
            reader = _RegistryReader(client, checkers)
            change = compared(registry, lookup=reader.lookup)
            if reader.error is not None:
                change = compared(LiveRegistry(error=reader.error))
            evidence = reader.evidence(change)
    except RegistryError as error:
        change = compared(LiveRegistry(error=error.reason))
        evidence = SubjectEvidence()
    if records is not None:
        evidence = records.added_to(evidence, change)
    return _judged(change, evidence, today, intents)


def _judged(
    change: RegistryChange, evidence: SubjectEvidence, today: date, intents: Mapping[str, Intent]
) -> SubjectsBefore:
    live = change.registry.subjects
    # What the registry does not show may exist.
    missing = {name for name, each in live.items() if each.latest is None and each.error is None}
    unfinished = unfinished_writes(
        PlanSection.REGISTRY,
        intents,
        declared=change.declared.subjects,
        deployed=change.deployed,
        live=intents.keys() - missing,
        title="subject {}".format,
    )
    return SubjectsBefore(change, predict_subjects(change, evidence, today), unfinished)


class _RegistryReader:
    """Asks the registry about the subjects that change, several at a time. ``error``: it has ceased to answer."""

    def __init__(self, client: RegistryClient, checkers: SchemaCheckers) -> None:
        self._client, self._checkers = client, checkers
        self.error: str | None = None

    def lookup(self, schemas: Mapping[str, RegisteredSchema]) -> Mapping[str, SubjectVersion | None]:
        """Return the version that each subject has for its schema."""

        def find(name: str) -> SubjectVersion | None:
            try:
                return None if self.error else find_version(self._client, name, schemas[name])
            except RegistryError as error:
                # A registry that refuses to look up an invalid schema refuses to register it, too; see ``verdict``.
                if error.unreachable:
                    self.error = error.reason
                return None

        return each_of(self._client, find, schemas)

    def evidence(self, change: RegistryChange) -> SubjectEvidence:
        """Return the verdicts on new schemas, who refers to what is deleted, and the modes of what is written."""
        judged = [each for name, each in change.changes.items() if name not in change.unjudged]
        new = {each.name: each for each in judged if each.changes_readers and each.schema is not None}
        deleted = {each.name: each for each in judged if each.action is Action.DELETE}
        modes = each_of(self._client, self._mode, (each.name for each in judged if each.writes))
        return SubjectEvidence(
            each_of(self._client, lambda name: self._verdict(change, new[name]), new),
            each_of(self._client, lambda name: self._referrers(deleted[name]), deleted),
            modes={name: mode for name, mode in modes.items() if mode is not None},
        )

    def _mode(self, subject: str) -> str | None:
        """Return the mode that applies to a subject; None if the registry does not say."""
        try:
            return read_mode(self._client, subject)
        except RegistryError:
            return None

    def _verdict(self, registry: RegistryChange, change: SubjectChange) -> RegistryVerdict:
        """Return whether the schema is compatible with the versions of its subject, and of those that it replaces."""
        schema, level = change.schema, registry.level(change)
        applied = (change.declared.compatibility if change.declared else None) or level
        own = [change.live] if change.registers and change.live is not None else []
        earlier = [each for each in (*own, *change.replaces) if each.latest is not None]
        if schema is None or not earlier or applied is Compatibility.NONE:
            return RegistryVerdict()  # the first version of a subject is compatible
        for subject in earlier:
            if complete(schema):
                verdict = self._compatible(subject, schema, registry.registry.level(subject), applied)
            else:
                verdict = self._with_new_references(subject, schema, applied, registry.schemas)
            if verdict.reasons or verdict.error:
                break
        return verdict

    def _compatible(
        self, subject: LiveSubject, schema: RegisteredSchema, level: Compatibility | None, applied: Compatibility | None
    ) -> RegistryVerdict:
        """Return whether ``schema`` is compatible by ``applied``. The subject has ``level`` in the registry."""
        try:
            verdict = self._registry_verdict(subject.name, schema, level)
            implied = level is not None and applied is not None and implies(level, applied)
            if applied is not None and applied is not level and (verdict.reasons or not implied):
                verdict = self._checkers_verdict(subject.name, schema, applied)
            elif schema.references and applied is not None and verdict.reasons:
                # Apicurio resolves references when it registers a schema, but not when it only compares.
                own = self._checkers_verdict(subject.name, schema, applied)
                verdict = verdict if own.error else own
            elif verdict.reasons == NO_REASON and applied is not None:
                own = self._checkers_verdict(subject.name, schema, applied)
                judge = f"{verdict.judge}; the reasons are those of {own.judge}"
                verdict = replace(verdict, reasons=own.reasons, judge=judge) if own.reasons else verdict
        except RegistryError as error:
            return RegistryVerdict(error=error.reason)
        return replace(verdict, subject=subject)

    def _with_new_references(
        self,
        subject: LiveSubject,
        schema: RegisteredSchema,
        applied: Compatibility | None,
        declared: Mapping[str, RegisteredSchema],
    ) -> RegistryVerdict:
        """Return whether a schema is compatible that refers to ``declared`` ones, which the registry does not have."""
        if applied is None:
            return RegistryVerdict(error="the level that applies is not known")
        try:
            return replace(self._checkers_verdict(subject.name, schema, applied, declared), subject=subject)
        except RegistryError as error:
            return RegistryVerdict(error=error.reason)

    def _registry_verdict(self, subject: str, schema: RegisteredSchema, level: Compatibility | None) -> RegistryVerdict:
        """Return the registry's verdict. A schema that it cannot use is one of its reasons."""
        try:
            return RegistryVerdict(refusal(self._client, subject, schema, level))
        except RegistryError as error:
            if error.unreachable or error.status is None or error.status >= _SERVER_ERROR:
                raise
            return RegistryVerdict((error.reason,))

    def _checkers_verdict(
        self,
        subject: str,
        schema: RegisteredSchema,
        level: Compatibility,
        declared: Mapping[str, RegisteredSchema] = NO_SCHEMAS,
    ) -> RegistryVerdict:
        versions = registered_versions(self._client, subject)
        schemas = [schema, *(each.schema for each in versions)]
        new, *earlier = (
            ResolvedSchema(each.format, each.text, references)
            for each, references in zip(schemas, referenced_texts(self._client, schemas, declared), strict=True)
        )
        return self._checkers.verdict(Comparison(new, tuple(earlier), level))

    def _referrers(self, change: SubjectChange) -> tuple[str, ...]:
        if change.latest is None:
            return ()
        try:
            return referrers(self._client, change.name)
        except RegistryError:
            return ()  # a registry without this request refuses the deletion itself


_SERVER_ERROR: Final = 500


@dataclass(frozen=True)
class SchemaCheckers:
    """Compares schemas where a registry cannot: by a level, or with references, that it does not have yet.

    ``command`` returns that of the checkers. It raises Refusal if they are not installed.
    """

    command: Callable[[], list[str]]

    def verdict(self, comparison: Comparison) -> RegistryVerdict:
        """Return whether the new schema is compatible with the earlier ones."""
        try:
            (verdict,) = incompatibilities([comparison], self.command())
        except (Refusal, OSError) as error:
            return RegistryVerdict(error=f"the registry cannot compare these schemas, and {error}")
        reasons = tuple(f"{each.path}: {each.message}" for each in verdict.incompatibilities)
        return RegistryVerdict(
            reasons, "the checkers of Apicurio Registry, with the level that will apply", verdict.error
        )
