"""``docs/guards.md``: what a change can take away, which consequence reports it, and which word allows it."""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.model.topic import PERMITS, Allowance
from topicwarden.plan.setting_effects import EFFECTS, DataLoss, SettingEffect, SettingRisk


def page() -> str:
    """Return the page as Markdown, drawn from the table that the guards themselves use."""
    settings = (_row(f"`{name}`", effect) for name, effect in EFFECTS.items())
    changes = (_row(change, effect) for change, effect in CHANGES.items())
    words = (f"| `{allowance.value}` | {meaning} |" for allowance, meaning in PERMITS.items())
    return (
        "\n\n".join(
            [
                "# Guards",
                _INTRODUCTION,
                "## Words",
                _table("| word under `allow` | permits |", words),
                _WORDS,
                "## Settings",
                "Every setting of a topic that Kafka knows. The other direction is a note, or says nothing.",
                _table(_HEADINGS, settings),
                "## Other changes",
                _table(_HEADINGS, changes),
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
        (Allowance.DELETE,),
        "the topic and all its records are deleted; the word counts as the last deploy recorded it",
    ),
    "`partitions` is lowered": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.RECORDS, DataLoss.AVAILABILITY),
        "destroyed",
        (Allowance.RECREATE,),
        "Kafka takes no partition away: the topic is deleted and created again",
    ),
    "`partitions` is raised": SettingEffect(
        SettingRisk.HIGHER,
        (DataLoss.ORDER,),
        "more-partitions",
        (),
        "keys move to other partitions; their old records stay",
    ),
    "`replication_factor` is lowered": SettingEffect(
        SettingRisk.LOWER,
        (DataLoss.DURABILITY,),
        "replication-factor",
        (Allowance.REDUCE_REPLICAS,),
        "fewer brokers may be lost; `rebalance` does it, and asks for the same word",
    ),
    "`replication_factor` is raised": SettingEffect(SettingRisk.NONE, why="`rebalance` copies, throttled"),
    "the topic exists and this stack did not deploy it": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS,),
        "foreign",
        (),
        "refused unless it is exactly as declared; then it is adopted",
    ),
    "a second resource holds the topic": SettingEffect(
        SettingRisk.ANY, (DataLoss.RECORDS,), "duplicate", (), "the engine would delete the topic itself; refused"
    ),
    "a setting changes after somebody added partitions by hand": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.AVAILABILITY,),
        "stale-partitions",
        (),
        "refused until `pulumi refresh`, as the provider would write the setting and then fail",
    ),
    "somebody changed the topic by hand": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS, DataLoss.DURABILITY),
        "drift, and that of the setting",
        tuple(Allowance),
        "put back only if that loses nothing or is allowed; else it is left as it is, and the plan says so",
    ),
    "brokers have different defaults": SettingEffect(
        SettingRisk.ANY,
        (DataLoss.RECORDS,),
        "broker-defaults",
        (),
        "what a topic leaves to them is judged by the worst",
    ),
    "the cluster is another one than before": SettingEffect(
        SettingRisk.ANY, (DataLoss.RECORDS,), "(the deploy is refused)", (), "unless the stack says that it moved"
    ),
}
"""Every change that is no setting, by its description."""


def _row(change: str, effect: SettingEffect) -> str:
    risk = "–" if effect.risk is SettingRisk.NONE else effect.risk.value
    harms, allow = ", ".join(effect.harms) or "nothing", ", ".join(f"`{word.value}`" for word in effect.allow)
    if len(effect.allow) == len(Allowance):
        allow = "the setting's word"
    return f"| {change} | {risk} | {harms} | {effect.consequence or '–'} | {allow or '–'} | {effect.why} |"


def _table(headings: str, rows: Iterable[str]) -> str:
    return "\n".join([headings, "|" + "---|" * (headings.count("|") - 1), *rows])


_INTRODUCTION = """\
Nothing is deleted, shrunk or recreated, and nothing becomes less durable, unless the topic's own YAML allows it by
name. `topicwarden plan`, `pulumi preview` and `pulumi up` refuse it alike, by the same code, before anything is
registered with the engine. A number is exact, or it is an upper bound and says "at most"."""

_WORDS = """\
Each word permits one thing, for the topic in whose own file it stands; a `_defaults.yaml` cannot allow anything. It may
have an end: `allow: [{change: shrink-retention, until: 2027-01-31}]` holds through that day (UTC). `plan` lists the
words that stand, and `check` warns about those that are over or have no end."""

_UNSEEN = """\
Unknown is never zero. A partition without a leader counts as a loss that could not be measured, and so does a log whose
size, a topic whose configuration, or a topic whose very existence this user may not see: a change that could lose
something there is refused, with the broker to start or the right that is missing."""

_COMMANDS = """\
| command | what stops it |
|---|---|
| `pulumi up`, `preview`, with `--target`, `--exclude`, `--refresh`, `--continue-on-error` | the guards, in the \
program that the engine runs |
| `pulumi destroy`, `pulumi up --replace URN` | Pulumi's protection, which every topic has unless its deployed YAML \
allows `delete` |
| `pulumi state unprotect`, `pulumi destroy` after it | nothing: these are deliberate |
| `pulumi state delete` | nothing is deleted on the cluster; the next `up` adopts the topic or is refused |
| `pulumi import` of a topic that is declared | the next `plan`, `preview` and `up` are refused: see `duplicate` |"""

_TESTED = """\
`tests/engine/predictions/test_losses.py` makes each of these changes on a real cluster with records, first without
and then with the word, and compares what is left with what was predicted. `python -m tests.system.guards` draws
sequences of edits, hand-made changes, Pulumi commands, lost brokers and writers at random, and holds after each step,
from the records on the brokers' disks, that whatever was lost was predicted by the plan just before, and allowed by
name.

| run | sequences | steps | losses predicted and allowed | destroyed or weakened as allowed | violations |
|---|---|---|---|---|---|
| `python -m tests.system.guards --sequences 312 --seed 14` | 300 | 158 | 32 | 70 | 0 |

Of the 32 losses 19 happened within their step, 11 to the record and 8 within the bound. One project of twelve topics is
not counted, as the provider lost its broker in the first deploy. An earlier run (seed 12, 348 sequences) found that
partitions which somebody added by hand made deploys fail in the middle: see `stale-partitions`.

A sequence is the history of one topic; twelve topics share a project and its commands. Not drawn: brokers with
different defaults (tested in `test_losses.py`), share groups and tiered storage (tested in `test_newest.py`, on
Kafka 4.3)."""
