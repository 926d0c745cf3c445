"""The operation of `topicwarden import` for a cluster: write YAML for undeclared topics, and adopt them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from topicwarden.deploy.adoption import Adoption, adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.extensions.interchange.import_files import ImportReport, SkippedTopics
from topicwarden.extensions.interchange.import_session import ImportSession, open_session
from topicwarden.extensions.interchange.live_access import AccessDraft, draft_access
from topicwarden.extensions.interchange.live_topics import (
    ImportableSubjects,
    changed_topics,
    declarable_topics,
    read_subjects,
)
from topicwarden.kafka.connect.stack_connection import connect_to, registry_of, settings_file
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.access import NO_TOPIC_ACCESS, LiveAccess
from topicwarden.model.contents import Contents
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.operations.operation_options import SILENT, ClusterAddress, InferOptions, ProgressListener
from topicwarden.operations.undeclared_cluster import UndeclaredCluster, undeclared_cluster
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.rules.personal_data import personal_names
from topicwarden.specs.schema_files import SchemaText
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.stack_settings import SCHEMA_REGISTRY, SCOPE
from topicwarden.specs.write import ContentsComments, explicit_contents

if TYPE_CHECKING:
    from topicwarden.audit.infer_topics import TopicInference


@dataclass(frozen=True)
class PendingAdoption:
    """The adoption that may follow an import, on the open ``cluster``.

    ``topics`` are on the cluster as declared, and not in Pulumi's state. ``out_of_scope`` are topics that the stack
    does not own: as long as there are any, nothing may be adopted. ``before`` is the cluster before the adoption, and
    ``resources`` is Pulumi's state. ``checked`` are the declarations, if the import has checked them.
    """

    engine: PulumiEngine
    cluster: Cluster
    before: Snapshot
    resources: Sequence[dict[str, Any]]
    checked: CheckedStacks | None
    topics: frozenset[str]
    out_of_scope: tuple[str, ...]
    listener: ProgressListener

    def run(self) -> Adoption:
        """Adopt the topics into Pulumi's state. Raises Refusal if one of them changed on the cluster meanwhile."""
        with self.listener.stage("adopting the topics into Pulumi's state"):
            adopted = adopt(self.engine, self.before, self.resources, self.checked)
        if changed := changed_topics(self.before, self.cluster.snapshot(adopted.topics), adopted.topics):
            raise Refusal(
                f"{', '.join(changed)} changed on the cluster during the adoption, although an adoption changes "
                "nothing: another client may have changed it; compare with `topicwarden plan`"
            )
        return adopted


@contextmanager
def importing_topics(
    project: Project,
    stack: str | None,
    patterns: Sequence[str] = (),
    *,
    dry_run: bool = False,
    adopting: bool = True,
    access: bool = False,
    schemas: bool = False,
    address: ClusterAddress | None = None,
    waive_until: date | None = None,
    contents: InferOptions | None = None,
    listener: ProgressListener = SILENT,
) -> Iterator[tuple[ImportReport, PendingAdoption | None]]:
    """Write YAML for the undeclared topics on the cluster that match the globs ``patterns``; with ``access``, also for
    the access of these topics, and without patterns for all access of the cluster that the stack owns. ``schemas`` does
    the same with the subjects of the stack's Schema Registry.

    ``contents`` says how to infer the contracts of these topics from their records; None writes no contracts.
    ``address`` has the cluster to read in place of the stack's, for an import without ``adopting``. ``waive_until``
    writes waivers until this day for what the topics violate. Yields the report,
    and the adoption that the caller may run next: None with ``dry_run``, without ``adopting``, and
    if the YAML has errors. Changes nothing on the cluster.

    Raises Refusal, before a file is written, if Pulumi or the stack is missing, if the cluster is another one, if the
    project declares topics outside of the scope of the stack, if the user sees no topic, if none matches, or if
    ``schemas`` is set and the registry is missing or cannot be read.
    """
    session = open_session(project, stack, patterns, waive_until)
    if session.errors:
        yield ImportReport(session.stack, errors=session.errors), None
        return
    if adopting and (outside := session.outside(session.declared)):
        raise Refusal(_out_of_scope(session.stack, outside))
    cluster_read = undeclared_cluster(address) if address else None
    registry = _registry(project, session.stack, cluster_read) if schemas else None
    engine = writing_engine_of(project, session.stack, listener) if adopting and not dry_run else None
    resources = engine.resources() if engine else []
    deployed = deployed_stack(resources)
    connection = cluster_read.connection if cluster_read else connect_to(project, session.stack)
    with open_cluster(connection) as cluster:
        with listener.stage("reading the cluster"):
            before = cluster.snapshot(extents=contents is not None)
        if remark := check_cluster(session.stack, connection, deployed, before):
            listener.warn(remark)
        if not before.topics:
            raise Refusal(
                "this user sees no topic: either the cluster has none, or the user lacks Describe on the topics"
            )
        live_access = cluster.access() if access else None

        def infer(names: Sequence[str]) -> Mapping[str, TopicInference]:
            if contents is None or not names:
                return {}
            from topicwarden.operations import infer as inference  # noqa: PLC0415 -- other imports need no Spark

            of_stack = registry_of(project, session.stack) if cluster_read is None else cluster_read.registry
            personal = personal_names(load_policy(project), session.stack)
            request = inference.inference_request(connection, of_stack, contents, names, personal=personal)
            return inference.infer_live(project, cluster, before, request, master=contents.master, listener=listener)

        report, chosen, adoptable, checked = _declare(
            session, before, deployed, live_access, registry, infer=infer, listener=listener, dry_run=dry_run
        )
        pending = (
            None
            if engine is None
            else PendingAdoption(
                engine, cluster, before, resources, checked, adoptable, tuple(session.outside(chosen)), listener
            )
        )
        yield report, pending


def _out_of_scope(stack: str, names: Sequence[str]) -> str:
    return (
        f"the project declares {counted(len(names), 'topic')} outside of the scope of stack {stack}, such as "
        f"{names[0]}, so nothing can be adopted: each stack deploys all topics of its project; add them to {SCOPE} in "
        f"{settings_file(stack)}, or import into a project of the stack's own"
    )


def _registry(project: Project, stack: str, read: UndeclaredCluster | None) -> RegistrySettings:
    """Return the settings of the Schema Registry of the stack, or of the cluster to read. Raise Refusal without one."""
    if read is not None:
        if read.registry:
            return read.registry
        raise Refusal("the file of --command-config names no Schema Registry: write schema.registry.url into it")
    if registry := registry_of(project, stack):
        return registry
    raise Refusal(f"the stack {stack} has no Schema Registry: write {SCHEMA_REGISTRY} into {settings_file(stack)}")


def _declare(
    session: ImportSession,
    before: Snapshot,
    deployed: DeployedStack,
    access: LiveAccess | None,
    registry: RegistrySettings | None,
    *,
    infer: Callable[[Sequence[str]], Mapping[str, TopicInference]],
    listener: ProgressListener,
    dry_run: bool,
) -> tuple[ImportReport, frozenset[str], frozenset[str], CheckedStacks | None]:
    """Write the files. Return the report, the topics that were selected, and those of them that may be adopted.

    The last part of the result are the declarations, if they were checked after that.
    """
    live = declarable_topics(before)
    names = session.select([*live.topics, *live.refused])
    chosen = {name: live.topics[name] for name in names if name in live.topics}
    new = [name for name in chosen if name not in session.declared]
    of_access = AccessDraft() if access is None else draft_access(session, access, new, session.stack)
    with_access = [replace(topic, access=of_access.topics.get(name, NO_TOPIC_ACCESS)) for name, topic in chosen.items()]
    with listener.stage("reading the Schema Registry") if registry else nullcontext():
        found = read_subjects(session, registry, before.topics, names) if registry else ImportableSubjects()
    subjects = session.draft_subjects(found.subjects, with_access, found.latest)
    topics = [subjects.topics.get(topic.name, topic) for topic in with_access]
    drafted = with_contents(topics, infer(new))
    schemas = {name: (*subjects.schemas.get(name, ()), *drafted.schemas.get(name, ())) for name in new}
    draft = session.draft_files(
        drafted.topics,
        session.stack,
        schemas=schemas,
        evidence=drafted.evidence,
        inherit_access=access is None or access.acls is None,
    )
    files = (*subjects.files, *draft.files, *of_access.files)
    if not dry_run:
        session.write(files)
    known = {*deployed.topics, *deployed.duplicates, *draft.refused}
    unadopted = [name for name in chosen if name not in known]
    differences = {name: session.differences({name: chosen[name]}, "on the cluster") for name in unadopted}
    refused = {**live.refused, **draft.refused}
    files, problems, checked = session.check_files(files, chosen.keys() - draft.refused, dry_run)
    report = ImportReport(
        session.stack,
        files=files,
        topics=len(chosen),
        subjects=subjects.subjects,
        skipped=SkippedTopics(sum(name in session.declared for name in chosen), live.internal),
        refused={name: refused[name] for name in names if name in refused and name not in session.declared}
        | dict(of_access.refused)
        | {f"subject {name}": reason for name, reason in sorted({**found.refused, **subjects.refused}.items())},
        differences=tuple(problem for problems in differences.values() for problem in problems),
        problems=tuple(problems),
        access=bool(of_access.topics or of_access.files),
        users=of_access.users,
    )
    adoptable = frozenset(name for name in unadopted if not differences[name])
    return report, frozenset(chosen), adoptable, checked


@dataclass(frozen=True)
class ContentsDraft:
    """The topics with their contracts; and by topic, the schemas of the contracts and the comments about them."""

    topics: tuple[Topic, ...]
    schemas: Mapping[str, tuple[SchemaText, ...]] = field(default_factory=dict)
    evidence: Mapping[str, ContentsComments] = field(default_factory=dict)


def with_contents(topics: Iterable[Topic], inferences: Mapping[str, TopicInference]) -> ContentsDraft:
    """Return the topics with what is inferred. What a topic has from its subjects is kept, with their schemas."""
    drafted: list[Topic] = []
    schemas: dict[str, tuple[SchemaText, ...]] = {}
    evidence: dict[str, ContentsComments] = {}
    for topic in topics:
        inference = inferences.get(topic.name)
        if inference is None:
            drafted.append(topic)
            continue
        evidence[topic.name] = _comments(inference)
        if inference.inferred is None:
            drafted.append(topic)
            continue
        known = explicit_contents(topic.contents)
        contents = _merged(explicit_contents(inference.inferred.contents), known)
        inferred = inference.inferred
        schemas[topic.name] = tuple(
            SchemaText(part, "json", inferred.schema_text(part)) for part in inferred.schemas if part not in known
        )
        drafted.append(replace(topic, contents=Contents.model_validate(contents)))
    return ContentsDraft(tuple(drafted), schemas, evidence)


def _comments(inference: TopicInference) -> ContentsComments:
    inferred = inference.inferred
    if inferred is None:
        return ContentsComments(below=(f"nothing is inferred: {inference.unread}",))
    records = counted(inferred.records, "record")
    offsets = f", the newest {inference.read:,} of {inference.retained:,} offsets"
    read = f"inferred from {records}{offsets if inference.read < inference.retained else ', all that are retained'}"
    return ContentsComments({(): read, **inferred.comments}, inferred.suggestions)


def _merged(inferred: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``inferred`` with the settings of ``known``, which replace the encoding of a part as a whole."""
    merged = dict(inferred)
    for section, settings in known.items():
        own = inferred.get(section, {})
        kept = {name: value for name, value in own.items() if name not in ("format", "registry")}
        merged[section] = {**kept, **settings} if isinstance(settings, Mapping) else settings
    return merged
