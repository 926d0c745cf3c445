"""The texts that all formats of a usage report share: the headline, the summary, and the words of a use.

Times are in words such as ``last 7 d``, and not to the second, so that two reports of one state are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from topicwarden.model.message_text import counted, enumerated, first_of
from topicwarden.model.usage import DAY_MS, UserKind
from topicwarden.model.usage_report import CostShare, TopicUsage, TopicUser, UndeclaredUse, UsageReport, UsedBetween
from topicwarden.report import display

HOUR_MS: Final = 3_600_000
_RECENT: Final = (
    (2 * HOUR_MS, "last 2 h"),
    (26 * HOUR_MS, "last 26 h"),  # a report that runs every day, and sometimes an hour late
    (8 * DAY_MS, "last 8 d"),
    (31 * DAY_MS, "last 31 d"),
)
KINDS: Final = {
    UserKind.GROUP: "group",
    UserKind.TRANSACTIONAL_ID: "transactional id",
    UserKind.PRODUCER_ID: "producer id",
    UserKind.PRINCIPAL: "principal",
}


NOUNS: Final = {"topic": "topic", "group": "group", "acl": "ACL"}
"""The nouns of what can be removed, by kind."""
UNUSED: Final = {True: "nobody uses", False: "nobody was seen to use"}
"""The words for what can be removed, by whether observations prove that it is not used."""


def undeclared(report: UsageReport) -> list[UndeclaredUse]:
    """Return the uses that no declared access of their topic allows."""
    return [use for use in report.undeclared if use.access_declared]


def headline(report: UsageReport) -> str:
    """Return one sentence on what needs attention."""
    if not report.topics:
        return "There are no topics."
    uses = len(undeclared(report))
    parts = [f"{counted(uses, 'use')} without a declaration"] if uses else []
    for proven, words in UNUSED.items():
        kinds = Counter[str](each.kind for each in report.removable if each.proven is proven)
        unused = [counted(kinds[kind], noun) for kind, noun in NOUNS.items() if kinds[kind]]
        parts += [f"{words} {enumerated(unused)}"] if unused else []
    if parts:
        return f"{'; '.join(parts)[0].upper()}{'; '.join(parts)[1:]}."
    return "No undeclared use was seen, and nothing is known to be unused."


def summary(report: UsageReport) -> str:
    """Return the number of topics, their size and their cost, the last line on a terminal."""
    total = report.total
    parts = [counted(total.topics, "topic"), f"{size_of(total)} on all replicas"]
    if total.unknown_tiered and not total.tiered_bytes:
        parts.append("an unknown size in remote storage")
    elif total.tiered_bytes:
        parts.append(f"{display.at_least(total.unknown_tiered)}{display.size(total.tiered_bytes)} in remote storage")
    if total.cost_per_month is not None:
        parts.append(f"{money(total.cost_per_month)} {report.currency} per month")
        for proven, words in UNUSED.items():
            if saved := sum(each.saves_per_month or 0 for each in report.removable if each.proven is proven):
                parts[-1] += f", {money(saved)} of it for what {words}"
    return ", ".join(parts)


def size_of(share: CostShare) -> str:
    """Return the bytes on all replicas of some topics; a dash if all sizes are unknown."""
    if share.topics and share.unknown_sizes == share.topics:
        return display.NOTHING
    return display.at_least(share.unknown_sizes) + display.size(share.replica_bytes)


def money(amount: float | None) -> str:
    """Return an amount with two decimals; a dash for None."""
    return display.NOTHING if amount is None else f"{amount + 0:,.2f}"


def growth_text(bytes_per_day: float | None) -> str:
    """Return a change per day with its sign: ``+1.5 GiB``; a dash for None."""
    if bytes_per_day is None:
        return display.NOTHING
    return f"{'+' if bytes_per_day >= 0 else '-'}{display.size(abs(bytes_per_day))}"


def recency(last: UsedBetween | None, taken_at: int) -> str:
    """Return a short text for the time of a use: ``last 8 d``, or a day for an older one; a dash for None."""
    if last is None:
        return display.NOTHING
    for age, text in _RECENT:
        if taken_at - last.after <= age:
            return text
    return f"by {day(last.until)}"


def interval_text(last: UsedBetween | None) -> str:
    """Return the time of a use in whole hours: ``between 2026-11-20 08:00 and 2026-11-21 08:00 UTC``."""
    if last is None:
        return "not seen"
    after, until = last.after - last.after % HOUR_MS, last.until + -last.until % HOUR_MS
    if last.after == last.until:
        return f"{minute(last.after)} UTC"
    return f"between {minute(after)} and {minute(until)} UTC"


def day(time: int) -> str:
    """Return the day of a time."""
    return display.timestamp(time).partition("T")[0]


def minute(time: int) -> str:
    """Return a time to the minute: ``2026-11-20 08:00``."""
    return display.timestamp(time)[:16].replace("T", " ")


def user_name(user: TopicUser) -> str:
    """Return the name of a reader or writer with its kind: ``billing``, ``transactional id tx-1``."""
    return user.name if user.kind in (UserKind.GROUP, UserKind.PRINCIPAL) else f"{KINDS[user.kind]} {user.name}"


def user_kind(user: TopicUser) -> str:
    """Return the kind of a reader or writer: ``share group``, ``transactional id``."""
    kind = KINDS[user.kind]
    return f"{user.group_type} {kind}" if user.kind is UserKind.GROUP and user.group_type else kind


def marked_names(users: Iterable[TopicUser]) -> list[str]:
    """Return the names of ``users``, the undeclared first and marked, then the active ones."""
    ordered = sorted(users, key=lambda user: (user.declared is not False, not user.active, user.kind, user.name))
    return [user_name(user) + (" (undeclared)" if user.declared is False else "") for user in ordered]


def declared_text(user: TopicUser) -> str:
    """Return whether declared access allows the use, in one word."""
    return {True: "yes", False: "no", None: display.NOTHING}[user.declared]


def principals_text(user: TopicUser) -> str:
    """Return the principals that the user can be."""
    if user.kind is UserKind.PRINCIPAL:
        return user.name
    if user.candidates is None:
        return display.NOTHING
    return first_of(user.candidates, 3) or "none"


def lag_text(user: TopicUser) -> str:
    """Return the lag of a group: ``1,234 offsets, 3 h``."""
    if user.lag is None:
        return display.NOTHING
    age = "" if user.lag_ms is None or not user.lag else f", {display.duration(user.lag_ms)}"
    return f"{counted(user.lag, 'offset')}{age}"


def cost_notes(topics: Iterable[TopicUsage]) -> Iterator[str]:
    """Yield each reason why parts of the cost are unknown, with the number of its topics."""
    counts: dict[str, int] = {}
    for topic in topics:
        for reason in topic.cost.unknown if topic.cost else ():
            counts[reason] = counts.get(reason, 0) + 1
    for reason, number in sorted(counts.items()):
        yield f"{reason} ({counted(number, 'topic')})"
