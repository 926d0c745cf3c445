"""Infer the contracts of topics from their records. Only reads from Kafka, and writes no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from topicwarden.audit.infer_topics import InferenceRequest, TopicInference, infer_topics
from topicwarden.audit.inference.inferred_contents import ContractDifference, differences
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.spark_platform import refuse_unsupported
from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connect_to, registry_of
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import NO_SUBJECTS
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.operation_options import SILENT, ClusterAddress, InferOptions, ProgressListener
from topicwarden.operations.undeclared_cluster import undeclared_cluster
from topicwarden.policies.rules.personal_data import personal_names
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas, UnusableSchema, schema_path
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class InferredTopic:
    """The inferred contract of a topic. ``differences``: what it says beyond the declared one; None if undeclared."""

    inference: TopicInference
    differences: tuple[ContractDifference, ...] | None = None


@dataclass(frozen=True)
class InferReport:
    """The inferred contracts of the topics, by name."""

    topics: tuple[InferredTopic, ...]

    @property
    def complete(self) -> bool:
        """True if all topics could be read, and no record breaks what is declared."""
        return not any(each.inference.broken or each.inference.failed for each in self.topics)


def infer_stack(
    project: Project,
    stack: str,
    patterns: Sequence[str],
    options: InferOptions | None = None,
    *,
    listener: ProgressListener = SILENT,
) -> InferReport:
    """Infer the contracts of the topics on the cluster of ``stack`` that match ``patterns``.

    Declared topics are compared with what is declared. Raises Refusal if the declarations have errors, if no topic
    matches, if the cluster or a Schema Registry that records refer to does not answer, or if the scan failed.
    """
    checked = checked_stack(project, stack, "compared with their records")
    declared = {each.topic.name: each for each in checked.declarations[stack]}
    settings = options or InferOptions()
    refuse_unsupported(settings.master)
    connection, registry = connect_to(project, stack), registry_of(project, stack)
    scope = checked.policy.stack_file(stack).scope
    with open_cluster(connection) as cluster:
        with listener.stage("reading the cluster"):
            snapshot = cluster.snapshot()
        request = inference_request(
            connection,
            registry,
            settings,
            _matching(snapshot, patterns, scope),
            personal=personal_names(checked.policy, stack),
        )
        request = request.compared_with(project.root, declared, checked.subjects.get(stack, NO_SUBJECTS))
        found = infer_live(project, cluster, snapshot, request, master=settings.master, listener=listener)
    schemas = ProjectSchemas(project.root)
    return InferReport(tuple(_compared(each, declared.get(name), schemas) for name, each in found.items()))


def infer_cluster(
    address: ClusterAddress,
    patterns: Sequence[str],
    options: InferOptions | None = None,
    *,
    listener: ProgressListener = SILENT,
) -> InferReport:
    """Infer the contracts of topics of a cluster that no project declares. Raises what ``infer_stack`` does."""
    settings = options or InferOptions()
    refuse_unsupported(settings.master)
    read = undeclared_cluster(address)
    with open_cluster(read.connection) as cluster:
        with listener.stage("reading the cluster"):
            snapshot = cluster.snapshot()
        names = _matching(snapshot, patterns, EVERY_TOPIC)
        request = inference_request(read.connection, read.registry, settings, names)
        found = infer_live(read.project, cluster, snapshot, request, master=settings.master, listener=listener)
    return InferReport(tuple(map(InferredTopic, found.values())))


def inference_request(
    connection: Connection,
    registry: RegistrySettings | None,
    options: InferOptions,
    names: Sequence[str],
    *,
    personal: frozenset[str] = frozenset(),
) -> InferenceRequest:
    """Return the request to infer the contracts of the topics ``names``. ``personal`` are names of personal fields."""
    return InferenceRequest(
        connection,
        tuple(names),
        registry,
        most_records=options.most_records,
        records_needed=options.records_needed,
        shows_values=options.show_values,
        personal_names=personal,
    )


def infer_live(
    project: Project,
    cluster: Cluster,
    snapshot: Snapshot,
    request: InferenceRequest,
    *,
    master: str | None,
    listener: ProgressListener,
) -> Mapping[str, TopicInference]:
    """Return the inference of each topic of ``request``. Spark starts only if there are records to read."""
    reader_jars.jars(project)
    with ExitStack() as resources:
        spark = session_on_demand(resources, project, master, listener.note)
        with listener.stage("reading the records") as progress:
            return infer_topics(spark, cluster, snapshot, request, progress)


def _matching(snapshot: Snapshot, patterns: Sequence[str], scope: StackScope) -> list[str]:
    """Return the topics that match ``patterns``, without internal ones. Raise Refusal if there is none."""
    known = [
        name
        for name, live in snapshot.topics.items()
        if name in patterns or (scope.owns(name) and not live.topic.internal and not name.startswith("__"))
    ]
    names = sorted(name for name in known if selected(name, patterns))
    if not names:
        unmatched = none_selected("topic on the cluster", tuple(patterns), known, option="")
        raise Refusal(f"{unmatched} (topics on which this user lacks Describe are not seen)")
    return names


def _compared(inference: TopicInference, declaration: Declaration | None, schemas: ProjectSchemas) -> InferredTopic:
    if declaration is None:
        return InferredTopic(inference)
    texts: dict[str, str] = {}
    for part in ("key", "value"):
        if path := schema_path(declaration, part):
            try:
                texts[part] = schemas.text(path)
            except UnusableSchema:  # the check has reported it
                continue
    found = differences(declaration.topic.contents, texts, inference.inferred) if inference.inferred else ()
    return InferredTopic(inference, tuple(found))
