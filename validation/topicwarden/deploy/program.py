"""The Pulumi program, started by ``stacks/__main__.py``."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.access_program import access_before, missing_line, secrets
from topicwarden.deploy.access_resources import AccessResources
from topicwarden.deploy.access_state import resource_names
from topicwarden.deploy.dangers import access_drift_line, dangers, drift_line
from topicwarden.deploy.intent_log import IntentLog, intent_log
from topicwarden.deploy.program_execution import fail_unless_complete
from topicwarden.deploy.program_run import PlanChanged, ProgramRun, Purpose, Refused, current_run
from topicwarden.deploy.provider_choice import require_cluster, require_provider
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.rule_trials import SEVERITIES, with_tried_rules
from topicwarden.deploy.stack_state import names_by_section, reading_stack_state
from topicwarden.deploy.subject_resources import SubjectResources
from topicwarden.deploy.topic_registration import TopicRegistration, undeclared_throttles
from topicwarden.deploy.topic_resources import TopicResources, shorten_debug_messages
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import (
    SETTINGS,
    connection_from,
    refuse_sandbox_passphrase,
    registry_from,
    settings_file,
)
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kinds.access_resource import AccessBefore
from topicwarden.kinds.acl.resource import RESOURCE as ACL
from topicwarden.kinds.acl.resource import last_acls
from topicwarden.kinds.announced_writes import Intent, UnfinishedWrites, unfinished_writes
from topicwarden.kinds.subject.before import SchemaCheckers, SubjectsBefore, subjects_before
from topicwarden.kinds.subject.predict import OF_REGISTRY
from topicwarden.kinds.subject.records import RecordsOfTopics
from topicwarden.kinds.topic.change import added_by_hand
from topicwarden.model.access import NO_ACCESS, AccessKey, DeclaredAccess, DeployedAccess
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import Action, PlanSection, Severity, TopicPlan
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects
from topicwarden.model.topic import AllowedChange
from topicwarden.model.topic_selection import selected
from topicwarden.plan.changed_rules import recorded_rules
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.earlier_use import EarlierUse
from topicwarden.plan.engine_steps import ResourceNames
from topicwarden.plan.predict import Prediction, predict, refusal_text, refusals
from topicwarden.plan.predicted_stack import new_losses, predicted_stack
from topicwarden.policies.check_specs import check
from topicwarden.policies.policy import Policy
from topicwarden.policies.rules.personal_data import personal_names
from topicwarden.specs.problem_ids import PROBLEM_IDS
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.settings_reader import InvalidSetting
from topicwarden.specs.stacks.stack_file import read_stack_file
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope, stack_scope
from topicwarden.specs.stacks.stack_settings import HISTORY, SCHEMA_REGISTRY, SCOPE
from topicwarden.toolchain import schema_checker

if TYPE_CHECKING:
    from topicwarden.audit.request import AuditRequest


def deploy() -> None:
    """Register every topic and all access of the selected stack; stop if a declaration or a change is refused.

    Nothing is registered with the engine before everything is checked, so a refused deploy changes nothing:

    1. ``_declared``: the YAML is checked, unless the command that runs this program has done so.
    2. ``_observe``: Pulumi's state and the cluster are read, and the consequences of all changes predicted.
    3. ``_refuse``: what no YAML allows ends the program; a plan reports it instead.
    4. ``_register``: the engine gets the access, then the topics, and then the subjects of the Schema Registry.
    """
    shorten_debug_messages()
    run = current_run() or _alone()
    with _refusing(run):
        declared, observed = run.judged or _judged(run)
        _register(run, declared, observed)


def judge(run: ProgramRun) -> None:
    """Check, observe and refuse as ``deploy`` does, before the program of ``run`` begins."""
    with _refusing(run):
        run.judged = _judged(run)


@contextmanager
def _refusing(run: ProgramRun) -> Iterator[None]:
    try:
        yield
    except Refusal as refusal:
        run.refusal = refusal
        raise pulumi.RunError(str(refusal)) from None


def _judged(run: ProgramRun) -> tuple[_Declared, _Observed]:
    declared = _declared(run)
    observed = _observe(run, declared)
    _refuse(run, declared, observed)
    return declared, observed


@dataclass(frozen=True)
class _Declared:
    """The declaration: the topics of the stack that the run is about, its access, and how to reach the cluster.

    ``every_topic`` has the other topics of the stack, too.
    """

    topics: tuple[Declaration, ...]
    access: DeclaredAccess
    secrets: Mapping[AccessKey, str] = field(repr=False)
    scope: StackScope
    settings: dict[str, str]
    connection: Connection
    state: Future[DeployedStack]
    subjects: DeclaredSubjects
    policy: Policy
    every_topic: tuple[Declaration, ...]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(each.topic.name for each in self.topics)


@dataclass(frozen=True)
class _Observed:
    """The topics as deployed and as live, and the prediction; ``unfinished``: what killed deploys left, by section."""

    deployed: DeployedStack
    live: Snapshot
    access: AccessBefore
    subjects: SubjectsBefore
    prediction: Prediction
    unfinished: tuple[UnfinishedWrites, ...]
    remark: str | None


def _alone() -> ProgramRun:
    """Return the run of a program that plain `pulumi` has started in a process of its own."""
    gc.disable()  # the process ends with the deploy; a collection would visit every topic again, a third of its time
    try:
        project = find_project()
    except Refusal as refusal:
        raise pulumi.RunError(str(refusal)) from None
    return ProgramRun(PulumiEngine(project, f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"))


def _declared(run: ProgramRun) -> _Declared:
    project, stack = run.engine.project, pulumi.get_stack()
    refuse_sandbox_passphrase(project, stack)
    require_provider(project)
    state = reading_stack_state(run.engine)  # the SDK would hide resources that are pending deletion
    checked = run.checked or check(project, [stack])
    _stop_at(_blocking(checked.errors, adopting=run.purpose is Purpose.ADOPT))
    access = checked.access.get(stack, NO_ACCESS) if run.concerns_access else NO_ACCESS
    of_access, missing = secrets(access, stack)
    _stop_at(missing)
    settings = {name: value for name in SETTINGS if (value := _setting(name)) is not None}
    return _Declared(
        tuple(each for each in checked.declarations[stack] if selected(each.topic.name, run.patterns)),
        access,
        of_access,
        _scope(project, stack),
        settings,
        connection_from(project, settings_file(stack), settings),
        state,
        checked.subjects.get(stack, NO_SUBJECTS) if run.concerns_access else NO_SUBJECTS,
        checked.policy,
        checked.declarations[stack],
    )


def _observe(run: ProgramRun, declared: _Declared) -> _Observed:
    stack = pulumi.get_stack()
    deployed = declared.state.result().only(run.patterns)
    if not run.concerns_access:
        deployed = replace(deployed, access=DeployedAccess(), subjects={})
    intents = {name: each for name, each in _intents(run, PlanSection.TOPICS).items() if selected(name, run.patterns)}
    names = {*deployed.topics, *deployed.duplicates, *declared.names, *intents}
    with open_cluster(declared.connection) as cluster:
        live = _live(run, cluster, names)
        remark = check_cluster(stack, declared.connection, deployed, live)
        access = access_before(
            cluster,
            _intents(run, PlanSection.ACCESS),
            declared.access,
            deployed.access,
            refreshed=run.refreshes,
        )
        deployed = replace(deployed, access=access.deployed)
        prediction = predict(
            cluster,
            live,
            declared.topics,
            deployed,
            declared.scope,
            access=declared.access,
            live_access=access.live,
            earlier=EarlierUse(run.engine.project, stack, _setting(HISTORY)),
        )
        subjects = _subjects(run, declared, deployed, cluster, live)
    prediction = _with_tried_rules(run, declared, deployed, replace(prediction, subjects=subjects.prediction))
    in_yaml = names_by_section(declared.names, access.declared, declared.subjects.subjects)
    in_state = names_by_section(deployed.topics, access.deployed, deployed.subjects)
    run.names = {section: ResourceNames(in_yaml[section], in_state[section]) for section in PlanSection}
    if in_state[PlanSection.ACCESS] - in_yaml[PlanSection.ACCESS]:
        run.titles.update(resource_names(access.deployed))
    run.prediction = predicted_stack(
        stack, prediction, declared.topics, deployed, remark, access=declared.access, subjects=declared.subjects
    )
    topics = unfinished_writes(
        PlanSection.TOPICS,
        intents,
        declared=declared.names,
        deployed=deployed.topics,
        live=live.topics,
        unseen=live.hidden,
    )
    unfinished = (topics, access.unfinished, subjects.unfinished)
    return _Observed(deployed, live, access, subjects, prediction, unfinished, remark)


def _live(run: ProgramRun, cluster: Cluster, names: Set[str]) -> Snapshot:
    """Return the cluster with the topics ``names``. An adoption has read it; its provider reads each topic again."""
    if run.adoption and names <= run.adoption.live.topics.keys():
        return run.adoption.live
    return cluster.snapshot(names, expected=names, extents=False)


def _with_tried_rules(
    run: ProgramRun, declared: _Declared, deployed: DeployedStack, prediction: Prediction
) -> Prediction:
    """Try new rules on retained records: for a plan, and for a deploy if the policy refuses broken rules."""
    stack, project = pulumi.get_stack(), run.engine.project
    severity = SEVERITIES[declared.policy.contents_for(stack).broken_rules]
    if run.purpose is not Purpose.PLAN and not (run.purpose is Purpose.DEPLOY and severity is Severity.REFUSED):
        return prediction
    registry, brokers = _registry(project), declared.policy.stack_file(stack).brokers

    def request() -> AuditRequest:
        from topicwarden.audit.request import AuditRequest  # noqa: PLC0415 -- only for new rules

        return AuditRequest(
            stack,
            declared.connection,
            declared.every_topic,
            root=project.root,
            registry=registry,
            partition_functions=brokers.partition_functions,
            subjects=declared.subjects,
            metadata_max_age=brokers.metadata_max_age,
            personal_names=personal_names(declared.policy, stack),
        )

    return with_tried_rules(prediction, project, declared.every_topic, deployed, severity, request=request)


def _registry(project: Project) -> RegistrySettings | None:
    setting = _setting(SCHEMA_REGISTRY)
    return None if setting is None else registry_from(setting, project, pulumi.get_stack())


def _subjects(
    run: ProgramRun, declared: _Declared, deployed: DeployedStack, cluster: Cluster, live: Snapshot
) -> SubjectsBefore:
    project = run.engine.project
    registry = _registry(project)
    checkers = SchemaCheckers(lambda: schema_checker(project, pulumi.info))
    records = None
    if declared.subjects:
        from topicwarden.audit.retained_records import ReaderRecords  # noqa: PLC0415 -- only for schemas of records

        records = RecordsOfTopics(
            cluster,
            live,
            {each.topic.name: each.topic for each in declared.topics},
            ReaderRecords(declared.connection, registry, project),
        )
    return subjects_before(
        registry,
        declared.subjects,
        deployed.subjects,
        live.day,
        checkers=checkers,
        records=records,
        intents=_intents(run, PlanSection.REGISTRY),
    )


def _intent_logs(run: ProgramRun) -> dict[PlanSection, IntentLog]:
    """Return the records of what deploys were about to write, of the sections that the run is about."""
    sections = PlanSection if run.concerns_access else (PlanSection.TOPICS,)
    return {section: intent_log(run.engine.project, pulumi.get_stack(), section) for section in sections}


def _intents(run: ProgramRun, section: PlanSection) -> Mapping[str, Intent]:
    """Return what earlier deploys were about to write; nothing of a section that the run is not about."""
    log = _intent_logs(run).get(section)
    return {} if log is None else log.read()


def _refuse(run: ProgramRun, declared: _Declared, observed: _Observed) -> None:
    _stop_at([problem for each in observed.unfinished for problem in each.orphans])
    if not pulumi.runtime.is_dry_run():
        remaining = {each.section: each.intents for each in observed.unfinished}
        for section, log in _intent_logs(run).items():
            log.keep(remaining[section])
    # A registry that does not answer, or is read-only, stops its subjects only.
    refused = [each for each in refusals(observed.prediction) if each.rule not in OF_REGISTRY]
    if refused and run.purpose is not Purpose.PLAN:
        raise Refused(refusal_text(refused, pulumi.get_stack()))
    if run.adoption:
        adopted = [plan.topic for plan in observed.prediction.plans if plan.action is Action.ADOPT]
        run.adoption.require(declared.state.result(), adopted)
    if run.confirmed is None or run.prediction is None:
        return
    if losses := new_losses(run.confirmed, run.prediction.report):
        raise PlanChanged(losses)


def _register(run: ProgramRun, declared: _Declared, observed: _Observed) -> None:
    stack, live, plans = pulumi.get_stack(), observed.live, observed.prediction.plans
    provider = _provider(declared.settings, declared.connection)
    if not pulumi.runtime.is_dry_run() and live.cluster_id is not None:
        require_cluster(live.cluster_id, provider)
    predicted_subjects = observed.prediction.subjects
    lines = dangers(observed.prediction.parts, stack)
    reverts = run.refreshes
    missing, drift = missing_line(observed.access, stack, reverts=reverts), drift_line(plans, stack, reverts=reverts)
    of_access = observed.prediction.access
    access_drift = access_drift_line(of_access.plan.items if of_access else (), stack, reverts=reverts)
    remarks = filter(None, (observed.remark, missing, drift, access_drift))
    unseen = predicted_subjects.unseen if predicted_subjects else ()
    for line in (*remarks, *observed.prediction.remarks, *unseen, *lines):
        pulumi.warn(line)
    if current_run() is None:
        fail_unless_complete(run)
    access = None
    if not observed.access.declared.empty:
        access = AccessResources(
            stack, observed.access, declared.secrets, root=run.engine.project.root, provider=provider
        )
    topics = TopicResources(
        stack,
        _registrations(
            declared.topics,
            plans,
            observed.deployed,
            live,
            observed.access,
            schemas=ProjectSchemas(run.engine.project.root),
        ),
        root=run.engine.project.root,
        cluster_id=live.cluster_id,
        dangers=lines,
        departing=[topic for name, topic in sorted(observed.deployed.topics.items()) if name not in declared.names],
        provider=provider,
        after=None if access is None else access.acls,
    )
    subjects = None
    if declared.subjects:
        if not pulumi.runtime.is_dry_run():
            intent_log(run.engine.project, stack, PlanSection.REGISTRY).write(Intent.CREATE, observed.subjects.created)
        subjects = SubjectResources(
            stack,
            observed.subjects,
            topics=topics.topics.future(),
            root=run.engine.project.root,
            provider=provider,
        )
    run.expect(
        topics.urn,
        topics.topics,
        *([] if access is None else [access.urn, access.done]),
        *([] if subjects is None else [subjects.urn, subjects.done]),
    )
    pulumi.export("topics", topics.topics)


def _registrations(
    declarations: Iterable[Declaration],
    plans: Iterable[TopicPlan],
    deployed: DeployedStack,
    live: Snapshot,
    access: AccessBefore,
    *,
    schemas: ProjectSchemas,
) -> Iterable[TopicRegistration]:
    today, urns = live.day, f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}"
    declarations = list(declarations)
    acls = last_acls(access, [each.topic.name for each in declarations])
    planned = {plan.topic: plan for plan in plans}
    for declaration in declarations:
        plan = planned.get(declaration.topic.name)
        allowed, action = declaration.topic.allowed(today), plan.action if plan else None
        name, written = declaration.topic.name, plan is not None and _writes_config(plan)
        throttles = undeclared_throttles(declaration.topic, live.topics[name].own_config if name in live.topics else {})
        throttles_in_state = undeclared_throttles(
            declaration.topic, deployed.topics[name].config if name in deployed.topics else {}
        )
        uncreated = name in deployed.uncreated
        declared_as_added = added_by_hand(declaration.topic, deployed.topics.get(name), live.topics.get(name))
        yield TopicRegistration(
            declaration.topic,
            declaration.locations.at(()),
            adopt=action is Action.ADOPT and not uncreated,  # the provider takes it over
            deletable=AllowedChange.DELETE in allowed,
            replaced=uncreated or (AllowedChange.RECREATE in allowed and action is Action.RECREATE),
            unchanged=_drifted(plan) if plan and plan.held else ("partitions",) if declared_as_added else (),
            throttles=throttles if written and action is not Action.RECREATE else {},
            throttled=bool(throttles or throttles_in_state) and not written,
            dependencies=(ACL.urn(urns, acls[name]),) if name in acls else (),
            rules=recorded_rules(declaration, schemas),
        )


def _drifted(plan: TopicPlan) -> tuple[str, ...]:
    """Return the properties of the resource that were changed by hand and that the deploy does not revert."""
    names = {setting.name for setting in plan.settings} - {"replication_factor"}
    return tuple(sorted({"partitions" if name == "partitions" else "config" for name in names}))


def _writes_config(plan: TopicPlan) -> bool:
    """Return whether the deploy writes the topic's configuration."""
    return any(
        setting.declared != setting.deployed for setting in plan.settings if setting.name != "replication_factor"
    )


def _blocking(errors: Sequence[Problem], adopting: bool) -> list[Problem]:
    """Return the errors that stop the program; for an adoption only those that make declarations unreadable."""
    return [error for error in errors if error.rule in PROBLEM_IDS or not adopting]


def _stop_at(errors: Sequence[Problem]) -> None:
    if errors:
        raise Refused("\n".join(map(str, errors)))


def _setting(name: str) -> str | None:
    namespace, _, key = name.partition(":")
    return pulumi.Config(namespace).get(key)


def _scope(project: Project, stack: str) -> StackScope:
    """Return the scope of the stack. Refuses one that only Pulumi knows, such as that of an ESC environment."""
    written, value = read_stack_file(project, stack).scope, _setting(SCOPE)
    try:
        in_effect = EVERY_TOPIC if value is None else stack_scope(value)
    except InvalidSetting:
        in_effect = None
    if in_effect == written:
        return written
    raise Refusal(
        f"{SCOPE} in Pulumi's configuration is not the one in {settings_file(stack)}, which `check` and `audit` read: "
        "write it only there"
    )


def _provider(settings: dict[str, str], connection: Connection) -> kafka.Provider | None:
    """Return a provider for the sandbox, whose ports are not in the stack's settings; None for any other cluster."""
    if "kafka:bootstrapServers" in settings:
        return None
    return kafka.Provider("sandbox", bootstrap_servers=list(connection.bootstrap_servers), tls_enabled=connection.tls)
