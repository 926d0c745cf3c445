"""The page ``docs/services.md``: facts about managed and compatible Kafka services, generated from their profiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import AccessLimits, Recognition, ServiceProfile, SettingNames
from topicwarden.kinds.access_converter import converters
from topicwarden.policies.rules.service_limits import accepted_text


def page() -> str:
    """Return the page of all services, as Markdown, with the source of each fact."""
    parts = ["# Services", _INTRODUCTION]
    for profile in PROFILES.values():
        parts += [f"## {profile.title}", f"`topicwarden:profile: {profile.name}`", _table(_facts(profile))]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
`topicwarden:profile` in `stacks/Pulumi.<stack>.yaml` names the managed or compatible Kafka service of a stack. By
default, `check` looks at the host names of the bootstrap servers; commands that connect also look at the id of the
cluster and at the requests that the brokers answer. A cluster that nothing tells apart from Apache Kafka counts as
`apache`.

- `check` reports settings, values and replication factors that the service refuses or ignores, at the line of YAML.
- `check` reports access that the service does not manage through Kafka's protocol.
- `plan` refuses a change of `cleanup.policy` that the service refuses.
- `rebalance` is refused if the service has no replicas to move.
- Settings of the service's own, and defaults that it reports as set on the topic, are no drift, and `import` does not
  write them. A deploy leaves them as they are.
- If a service does not store records as Apache Kafka does, the checks of the audit whose proofs rest on segments,
  retention or the log cleaner are `undecidable`. [docs/checks.md](checks.md) names them.

Each fact has the vendor's page that says so. A fact without such a page is left out. The pages may have changed since:
if a service now accepts a value, waive the rule `service-limits`, or name another profile."""


def _facts(profile: ServiceProfile) -> Iterator[tuple[str, str, str]]:
    """Yield each fact with its subject and its source."""
    yield "storage of records", _storage(profile), profile.log.fact.source
    if profile.look_alike:
        yield "if only recognized", profile.look_alike.fact.text, profile.look_alike.fact.source
    yield from _recognition(profile.recognition)
    if profile.only:
        yield "settings that can be set", _names(profile.only), profile.only.source
    for names in profile.unsupported:
        yield f"settings that the service {names.outcome}", _names(names), names.source
    for bounds in profile.bounds:
        yield f"`{bounds.setting}`", accepted_text(bounds), bounds.source
    if replication := profile.replication:
        numbers = replication.text or ", ".join(map(str, sorted(replication.allowed)))
        yield "replication factor", f"{numbers}; the service {replication.outcome} others", replication.source
    if policy := profile.fixed_policy:
        changes = ", ".join(f"`{before}` to `{after}`" for before, after in sorted(policy.changes))
        yield "refused changes of `cleanup.policy`", changes, policy.source
    if defaults := profile.defaults:
        values = ", ".join(f"`{name}: {value}`" for name, value in sorted(defaults.values.items()))
        yield "defaults", values, defaults.source
    for subject, fact in (
        ("defaults that are reported as set", profile.reports_defaults_as_set),
        ("set values that are reported as defaults", profile.hides_set_defaults),
        ("settings of the service's own", profile.own_settings),
    ):
        if fact:
            yield subject, fact.text, fact.source
    yield from _access(profile.access)
    for api in profile.missing:
        yield f"no {api.name}", api.effect, api.source
    for note in profile.notes:
        yield "note", note.text, note.source


def _access(limits: AccessLimits) -> Iterator[tuple[str, str, str]]:
    for subject, fact in (
        *((f"no {kind.plural}", limits.unmanaged.get(kind.part)) for kind in converters()),
        ("SCRAM users", limits.one_mechanism),
        ("number of ACLs", limits.most_acls[1] if limits.most_acls else None),
    ):
        if fact:
            yield subject, fact.text, fact.source
    for part, (keys, source) in limits.known_keys.items():
        yield part, ", ".join(f"`{key}`" for key in sorted(keys)), source


def _storage(profile: ServiceProfile) -> str:
    return f"{'as Apache Kafka' if profile.log.apache else 'not as Apache Kafka'}: {profile.log.fact.text}"


def _recognition(recognition: Recognition) -> Iterator[tuple[str, str, str]]:
    source = ", ".join(recognition.sources)
    if recognition.hosts:
        yield "host names", ", ".join(f"`{pattern}`" for pattern in recognition.hosts), source
    if recognition.cluster_id:
        yield "cluster id", f"`{recognition.cluster_id}`", source
    if recognition.lacks:
        answered, lacking = (", ".join(map(str, sorted(each))) for each in (recognition.answers, recognition.lacks))
        yield "requests by number", f"answers {answered}, and lacks {lacking}", source


def _names(names: SettingNames) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names.names))


def _table(facts: Iterable[tuple[str, str, str]]) -> str:
    rows = [f"| {subject} | {text} | {_links(source)} |" for subject, text, source in facts]
    return "\n".join(["| | | source |", "|---|---|---|", *rows])


def _links(sources: str) -> str:
    return ", ".join(f"<{source}>" for source in sources.split(", "))
