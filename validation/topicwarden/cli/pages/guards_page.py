"""The page ``docs/guards.md``: possible losses by change, the consequence that reports them, and how to allow them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from topicwarden.kinds.subject.consequences import CONSEQUENCES
from topicwarden.kinds.subject.predict import READ_ONLY, UNSEEN
from topicwarden.kinds.topic.setting_effects import EFFECTS, DataLoss, SettingEffect, SettingRisk
from topicwarden.model.topic import ALLOWED_BY, AllowedChange
from topicwarden.plan.access_consequences import ACCESS_CONSEQUENCES
from topicwarden.plan.change_guard import ChangeGuard


def page() -> str:
    """Return the page as Markdown, generated from the table that the guards use."""
    settings = (_row(f"`{name}`", effect) for name, effect in EFFECTS.items())
    changes = (_row(change, effect) for change, effect in CHANGES.items())
    access = chain(*(_change_rows(rule.GUARDS, rule.KIND) for rule in ACCESS_CONSEQUENCES))
    rules = (_change_rows(rule.GUARDS, rule.KIND) for rule in CONSEQUENCES)
    subjects = chain(*rules, _change_rows([_REGISTRY]))
    words = (f"| `{allowance.value}` | {meaning} |" for allowance, meaning in ALLOWED_BY.items())
    return (
        "\n\n".join(
            [
                "# Guards",
                _INTRODUCTION,
                "## Words",
                _table("| entry of `allow` | allowed change |", words),
                _WORDS,
                "## Settings",
                "All topic settings that Kafka knows. A change in the other direction is a note, or is not reported.",
                _table(_HEADINGS, settings),
                "## Other changes",
                _table(_HEADINGS, changes),
                "## Access",
                _ACCESS,
                _table("| change of access | consequence | allowed by | why |", access),
                "## Subjects of the Schema Registry",
                _SUBJECTS,
                _table("| change of a subject | consequence | allowed by | why |", subjects),
                "## What cannot be seen",
                _UNSEEN,
                "## Pulumi's own commands",
                _COMMANDS,
                "## How it is tested",
                _TESTED,
            ]
        )
        + "\n"
    )


_HEADINGS = "| change | dangerous | can take away | consequence | allowed by | why |"

CHANGES = {
    "the YAML is removed, or the topic gets another name": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS, DataLoss.AVAILABILITY),
        "destroyed",
        (AllowedChange.DELETE,),
        "the topic and all its records are deleted; the word must be in the YAML of the last deploy",
    ),
    "`partitions` is lowered": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.RECORDS, DataLoss.AVAILABILITY),
        "destroyed",
        (AllowedChange.RECREATE,),
        "Kafka cannot remove a partition: the topic is deleted and created again",
    ),
    "`partitions` is raised": SettingEffect(
        SettingRisk.HIGHER,
        (DataLoss.ORDER, DataLoss.RECORDS),
        "more-partitions",
        (),
        "keys move to other partitions; their old records stay; consumers with `auto.offset.reset=latest` can lose the "
        "first records of new partitions",
    ),
    "`replication_factor` is lowered": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.DURABILITY,),
        "replication-factor",
        (AllowedChange.REDUCE_REPLICAS,),
        "the topic survives the loss of fewer brokers; `rebalance` does it, and needs the same word",
    ),
    "`replication_factor` is raised": SettingEffect(SettingRisk.NONE, why="`rebalance` copies, throttled"),
    "the topic exists and this stack did not deploy it": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS,),
        "foreign",
        (),
        "refused unless it is exactly as declared; then it is adopted",
    ),
    "a new topic differs from one of the cluster in `.` and `_` only": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.AVAILABILITY,),
        "topic-collision",
        (),
        "Kafka refuses it, because their metrics have the same names; refused before the deploy begins",
    ),
    "a second resource of the topic is in Pulumi's state": SettingEffect(
        SettingRisk.ANY, (DataLoss.RECORDS,), "duplicate", (), "the engine would delete the topic itself; refused"
    ),
    "the YAML is removed, and the topic is outside of the stack's scope": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS,),
        "outside-scope",
        (),
        "the topic belongs to another team; `pulumi state delete` releases it from the stack without a change",
    ),
    "somebody changed the topic by hand": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS, DataLoss.DURABILITY),
        "drift, and the consequence of the setting",
        tuple(AllowedChange),
        "reverted only if that loses nothing or is allowed; else it stays as it is, and the plan reports it: "
        "as a danger if it loses something as long as it stays, such as a shorter retention",
    ),
    "brokers have different defaults": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS,),
        "broker-defaults",
        (),
        "a setting that the topic does not set is judged by the most dangerous default",
    ),
    "the cluster is another one than before": SettingEffect(
        SettingRisk.ANY, (DataLoss.RECORDS,), "(the deploy is refused)", (), "unless the stack says that it moved"
    ),
}
"""All changes that are not a setting, by description."""


_SUBJECTS = """\
A deploy registers schemas and sets compatibility levels. It changes no version, and never deletes permanently. What it
cannot judge or write stops the subjects only: topics and access are deployed, and the deploy ends with exit code 1.
[Schemas](explanation/schemas.md) explains the order."""


_REGISTRY = ChangeGuard(
    "the registry does not answer, or its mode does not permit the change",
    (),
    "nothing is known, or nothing can be written; the changed subjects are not deployed",
    f"{UNSEEN}, {READ_ONLY}",
)


def _change_rows(guards: Iterable[ChangeGuard], consequence: str = "") -> Iterator[str]:
    for guard in guards:
        allow = ", ".join(f"`{word.value}`" for word in guard.allow)
        yield f"| {guard.change} | {guard.consequence or consequence} | {allow or '–'} | {guard.why} |"


def _row(change: str, effect: SettingEffect) -> str:
    risk = "–" if effect.risk is SettingRisk.NONE else effect.risk.value
    harms, allow = ", ".join(effect.harms) or "nothing", ", ".join(f"`{word.value}`" for word in effect.allow)
    if len(effect.allow) == len(AllowedChange):
        allow = "the setting's word"
    return f"| {change} | {risk} | {harms} | {effect.consequence or '–'} | {allow or '–'} | {effect.why} |"


def _table(headings: str, rows: Iterable[str]) -> str:
    return "\n".join([headings, "|" + "---|" * (headings.count("|") - 1), *rows])


_INTRODUCTION = """\
Nothing is deleted, shrunk or recreated, and nothing becomes less durable, unless the topic's own YAML allows it by
name. `topicwarden plan`, `pulumi preview` and `pulumi up` use the same code, and refuse such a change before anything
is registered with the engine. A number is exact, or it is an upper bound and says "at most"."""

_WORDS = """\
Each entry allows one kind of change, for the topic whose own file contains the entry. A `_defaults.yaml` cannot allow
anything. A word may have an end: `allow: [{change: shrink-retention, until: 2027-01-31}]` is valid through that day
(UTC). `plan` lists the words that are valid. `check` warns about words that have expired or have no end.

Access needs the word in each file that declares it: in the topic's YAML, or in the file below `access/`. If several
files declare one ACL, each of them needs it."""

_ACCESS = """\
Only access that the last deploy has declared is ever removed, of every kind. Pulumi's state records where each entry
was declared, and what was allowed there. All others are counted in the plan, and stay. A
password may be changed if a deploy has written it; an adopted user keeps the one that it has. Brokers show the
iterations of a credential, and never its password. So a credential with other iterations than a deploy has written
counts as somebody else's. One that was written by hand with the same iterations cannot be told from the stack's own.

A plan decides with the model of Kafka's authorizer who gains and who loses what, from the ACLs before to the ACLs
after. It reads consumer groups with members and addresses, transactional ids and producers only if an ACL changes.
Brokers do not report the principal of a client, so each principal that may do all that a client does is one that it may
have. What a client needs follows from its requests: members of a group need Describe on the group and its topics, too,
so a DENY of Describe stops them. A group without members is a client as long as brokers keep its committed offsets
(`offsets.retention.minutes`, 7 days): a consumer with `assign()` is never a member. Consumers that neither join a group
nor commit, and producers without idempotence that have not written for a day, are not visible."""

_UNSEEN = """\
Unknown never counts as zero. Some losses cannot be measured: in a partition without a leader, in a log whose size this
user may not see, or in a topic whose configuration or existence this user may not see. A change that could cause such a
loss is refused; if the partitions are not seen, unless the topic's YAML allows the loss by name. The message names the
broker to start or the permission that is missing."""

_COMMANDS = """\
| command | what stops it |
|---|---|
| `topicwarden up`, `plan` | the guards, in the process of the command |
| `topicwarden destroy` | the same guards, for every topic of the stack, before the first one is deleted. A word must \
be in the YAML of the last deploy, and in the file if it is still there |
| `topicwarden refresh` | nothing is changed on the cluster; another cluster than at the last deploy is refused |
| `pulumi up`, `preview`, with `--target`, `--exclude`, `--refresh`, `--continue-on-error` | the guards, in the \
program that the engine runs. A command that leaves out a new ACL that denies fails, and so does one that leaves out \
some new ACLs where a resource without ACLs may be open to everyone: they come together |
| `pulumi destroy` | for each topic, Pulumi's protection, which every topic has unless its deployed YAML allows \
`delete`; and the provider, if the YAML did not allow it at the last deploy, or the day of its `until` has passed, \
or another resource in the state is the same topic. ACLs, credentials and quotas need the word of their kind in each \
file. What no deploy has declared, such as an imported topic or ACL, is never deleted, and neither is what a resource \
does not describe, because its id was edited |
| `pulumi up --replace URN`, `pulumi state taint` | the provider: it would adopt the topic that exists, and delete it \
afterwards. A tainted resource is also refused by the program. A password that no deploy has written is not written |
| `pulumi state unprotect`, and `pulumi destroy` after it | the provider, as above |
| `pulumi state delete` | nothing is deleted on the cluster; the next `up` adopts the topic or is refused |
| `pulumi import` | the next `plan`, `preview` and `up` are refused: see `duplicate` and `undeclared-resource`. An \
imported subject only leaves the state |"""

_TESTED = """\
The test `tests/engine/predictions/test_losses.py` makes each of these changes on a real cluster with records, first
without and then with the word. It compares the remaining records with the prediction.
`python -m tests.campaigns.guards` draws random sequences of edits, manual changes, Pulumi commands, lost brokers and
writers. After each step it reads the records on the brokers' disks, and checks that every loss was predicted by the
plan just before, and allowed by name.

| run | sequences | steps | losses predicted and allowed | destroyed or weakened as allowed | violations |
|---|---|---|---|---|---|
| seed 14, with fewer kinds of steps | 300 | 158 | 32 | 70 | 0 |
| seed 20261124 | 108 | 52 | 18 | 27 | 0 |
| seed 20261125 | 192 | 99 | 25 | 42 | 1, refuted below |
| seed 20261201 | 300 | 155 | 45 | 79 | 0 |

Of the 75 losses of the first three runs, 39 happened within their step: 24 matched the prediction exactly, 15 were
within the bound; of the 45 of the last run 14, 7 and 7. The test reported three violations of seed 20261130, which were
its own errors: a deploy that failed had still deployed the topics whose deletion it then found not allowed, and a plan
had named the partition without a leader whose records it could not count. The violation of the third run was an error
of the test, too: records that compaction had superseded were removed early, because
`max.compaction.lag.ms`, set by hand to 1 ms, also rolls segments, and the test knew only `segment.ms`. One project of
that run is not complete: a broker died of `segment.index.bytes: 12`, which the rule `index-bytes` rejects since. In the
first run, one project of twelve topics is not counted, because the provider lost its broker in the first deploy. An
earlier run (seed 12, 348 sequences) found that partitions added by hand made deploys fail halfway, which the official
provider did.

From the second run on, sequences also have every command of `pulumi state`, `pulumi up --replace`, `pulumi up
--target`, `pulumi up --exclude` and `pulumi destroy`, days that pass an `until`, addresses of two clusters, a second
process in another PID namespace, records without a timestamp, expired records behind younger ones, and aborted
transactions. From the second run on, a command, the program and the provider are one process. These runs began at
commit 5ab35d6; messages and the dispatch of the provider's calls changed while they ran. Other work on the two cores
made them slow, at a load of 20 to 60.

A sequence is the history of one topic; twelve topics share a project and its commands. The sequences do not include
brokers with different defaults (tested in `test_losses.py`), share groups and tiered storage (tested in
`test_newest.py`, on Kafka 4.3).

`python -m tests.campaigns.guards.states` draws states of Pulumi that no program of topicwarden writes: objects that
`pulumi import` has brought there, of every kind but subjects, under the URN of the program or another one, with and
without a parent and protection; `pulumi state taint`, `rename`, `delete` and `unprotect`; and edits of the state's
file, which remove the outputs or the record of the last deploy, mark a resource as tainted or as pending deletion,
copy it, or add a rate. Objects are declared in one file or in two, adopted, or of somebody else. After each `up`,
`destroy` or `refresh`, of `pulumi` or of `topicwarden`, whatever is gone or changed must be allowed by the last
deploy, or by a file that is there. The password of a user counts as changed if the controller's log has another record
of it. The first run (seed 20261128, 306 sequences) found that `pulumi destroy` removed a rate that an edit had added to
a resource in the state, if the resource was also marked as tainted. It is refused now, and the same sequences hold.

`python -m tests.campaigns.access` changes access at random on a real broker while members of groups and
transactions are active. Before and after each deploy, the broker says what each user may do. Each loss and each gain
must be in the plan just before, and the loss of an active client must be refused first. Seed 20261124, 40 sequences,
half of them with `allow.everyone.if.no.acl.found`: 109 deploys, 71 of them allowed after a refusal, 1,131 losses and
418 gains of an operation by a user, all in the plan. 22 active clients lost access, each after a refusal. One of
them, a transactional producer, was not named: the first ACL of its topic allowed Read only. Plans name it since."""
