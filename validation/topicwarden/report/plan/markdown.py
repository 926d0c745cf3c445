"""Write a plan as the comment on a pull request, below GitHub's size limit. Each run replaces the comment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import (
    MOST_SEVERE_FIRST,
    AccessPlan,
    Consequence,
    PlanReport,
    RegistryPlan,
    Severity,
    SubjectPlan,
    TopicPlan,
    user_sentences,
)
from topicwarden.report import display
from topicwarden.report.display import one_line
from topicwarden.report.plan import tables
from topicwarden.report.plan.digest import (
    SYMBOLS,
    PlanDigest,
    allowance_text,
    digest,
    foreign_text,
    item_text,
    principal_text,
    topic_count,
)
from topicwarden.report.plan.tables import PlanTable, setting_changes

_Planned = TypeVar("_Planned")
LIMIT: Final = 65_000
"""GitHub's limit is 65,536 characters, with the folder of the project. Here it limits bytes, which are never fewer."""

# Bytes for the lines that report omitted topics.
_RESERVE: Final = 1_000
_MAX_ITEMS: Final = 20
_MAX_MESSAGE: Final = 240
_MAX_DIFFERENCE: Final = 60
_TABLE_HEADER: Final = "| | Topic | Change | Consequence |\n|---|---|---|---|\n"


# Character references have no meaning for Markdown, neither in a table cell nor in an HTML block.
_REFERENCES: Final = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_[]#|~$<>&@"})
# GitHub searches the rendered page for mentions, issues, emoji and links. A zero-width space prevents a match.
_ZERO_WIDTH_SPACE: Final = "&#8203;"
_MENTION: Final = re.compile(r"(&#64;|&#35;)(?=[\w-])")
_EMOJI: Final = re.compile(r":(?=[\w+-]+:)")
_LINK: Final = re.compile(r":(?=//)|\bwww(?=\.)", re.IGNORECASE)


def marker(stack: str) -> str:
    """Return the first line of the comment, an HTML comment by which a later run finds and replaces the comment."""
    return f"<!-- topicwarden plan {display.one_line(stack).replace('>', '')} -->"


def project_marker(first_line: str, folder: str) -> str:
    """Return the first line of the comment of the project in ``folder``, and a line that names the folder."""
    name = display.one_line(folder).replace(">", "")
    return f"{first_line.removesuffix('-->')}of {name} -->\n**Project {code(folder)}**\n"


def no_plan(stack: str, log: str) -> str:
    """Return the comment for a run that could not plan. ``log`` is the address of the run's log."""
    reason = f"The log of {log} has the reason." if log else "The log of the job has the reason."
    return f"{marker(stack)}\n**There is no plan for stack {code(stack)}.** {reason}\n"


def render(report: PlanReport) -> str:
    """Return the headline, the counts, a table of topics, and the folded details of each topic.

    The most severe topics come first, then by name. If the limit is exceeded, the last rows and the last details are
    omitted, and the comment contains their number.
    """
    view = digest(report)
    header, footer = "".join(_header(view)), _footer(report)
    access, cut = _within(_access(view.access), LIMIT // 3) if view.access else ("", False)
    subjects, subjects_cut = _within(_registry(view.registry), LIMIT // 4) if view.registry else ("", False)
    space = LIMIT - _RESERVE - _size(header) - _size(access) - _size(subjects) - _size(footer)
    # At least a third is for the details, because a refusal without its reasons does not help.
    listed: list[TopicPlan | SubjectPlan] = [*view.topics, *_urgent(view.registry)]
    listed.sort(key=lambda each: (*MOST_SEVERE_FIRST, None).index(each.severity))
    rows = _fitting(listed, _row, space * 2 // 3)
    table = _TABLE_HEADER + "".join(rows) + "\n" if rows else ""
    details = _fitting([topic for topic in view.topics if _has_details(topic)], _details, space - _size(table))
    hint = f"see the job's artifact, or run {code(f'topicwarden plan --stack {report.stack}')}."
    if omitted := sum(isinstance(each, TopicPlan) for each in listed[len(rows) :]):
        table += f"… and {topic_count(omitted)} more: {hint}\n\n"
    access += f"… and more consequences of access: {hint}\n\n" if cut else ""
    subjects += f"… and more subjects: {hint}\n\n" if subjects_cut else ""
    text = header + table + access + subjects + "".join(details)
    if omitted := sum(map(_has_details, view.topics)) - len(details):
        text += f"… and the details of {topic_count(omitted)} more: {hint}\n\n"
    return text + footer


def _header(view: PlanDigest) -> Iterator[str]:
    report = view.report
    yield f"{marker(report.stack)}\n"
    yield f"**Plan for stack {code(report.stack)}: {plain(view.headline)}**\n\n{plain(view.summary)}\n\n"
    errors = [f"Pulumi: {plain(_cut(error, 1_000))}" for error in report.engine.errors]
    unseen = [f"Not visible: {prose(_cut(line, 400))}" for line in report.unseen]
    remarks = [f"Remark: {prose(_cut(line, 400))}" for line in report.remarks]
    allowances = [f"Allowed: {plain(_cut(allowance_text(each), 400))}" for each in report.allowances]
    for lines in (errors, unseen, remarks, allowances):
        yield from (f"- {line}\n" for line in lines[:_MAX_ITEMS])
        if len(lines) > _MAX_ITEMS:
            yield f"- … and {len(lines) - _MAX_ITEMS:,} more\n"
        yield "\n" if lines else ""


def _footer(report: PlanReport) -> str:
    cluster = code(report.cluster_id) if report.cluster_id else "unknown"
    taken_at = display.timestamp(report.taken_at)
    return f"<sub>Cluster {cluster} as of {taken_at}, topicwarden {plain(report.topicwarden)}.</sub>\n"


def _urgent(registry: RegistryPlan | None) -> list[SubjectPlan]:
    """Return the subjects with a refused or dangerous change, which the table names beside the topics."""
    subjects = registry.subjects if registry else ()
    return [subject for subject in subjects if subject.severity in (Severity.REFUSED, Severity.DANGER)]


def _row(planned: TopicPlan | SubjectPlan) -> str:
    name = code(planned.topic) if isinstance(planned, TopicPlan) else f"subject {code(planned.subject)}"
    change = setting_changes(planned)
    cells = [SYMBOLS[planned.severity], name, planned.action.value + (f": {plain(change)}" if change else "")]
    consequence = display.NOTHING
    if planned.consequences:
        first, *rest = planned.consequences
        more = f" (and {len(rest):,} more)" if rest else ""
        consequence = f"**{first.severity.value}**: {prose(_cut(first.message, _MAX_MESSAGE))}{more}"
    return f"| {' | '.join([*cells, consequence])} |\n"


def _details(topic: TopicPlan) -> str:
    return "".join(_folded(topic, topic.topic))


def _folded(planned: TopicPlan | SubjectPlan, name: str, change: str = "") -> Iterator[str]:
    severity = f"<b>{planned.severity.value}</b> " if planned.severity else ""
    summary = f"{SYMBOLS[planned.severity]} {severity}{code(name)}: {planned.action.value}"
    yield f"<details><summary>{summary}{f', {plain(change)}' if change else ''}</summary>\n\n"
    if table := tables.settings(planned):
        yield from _table(table)
    if isinstance(planned, SubjectPlan) and planned.difference:
        yield _difference(planned.difference)
    for consequence in planned.consequences:
        yield from _consequence(consequence)
    if planned.location and not any(consequence.location for consequence in planned.consequences):
        yield f"Declared at {code(str(planned.location))}\n\n"
    yield "</details>\n\n"


def _access(access: AccessPlan) -> Iterator[str]:
    """Yield who gains and loses access, and the consequences, as blocks; the changes themselves are folded."""
    yield f"**{SYMBOLS[access.severity]} Access**\n\n"
    for consequence in access.consequences:
        yield "".join(_consequence(consequence))
    lines = [*map(principal_text, access.principals), foreign_text(access)]
    yield _listed(lines)
    changes = _listed(f"{item.action.value} {item_text(item)}" for item in access.items)
    if changes:
        summary = f"{counted(len(access.items), 'change')} of access"
        yield f"<details><summary>{summary}</summary>\n\n{changes}</details>\n\n"


def _registry(registry: RegistryPlan) -> Iterator[str]:
    """Yield a block for the registry, and one for each subject with the folded diff of its schema."""
    yield f"**{SYMBOLS[registry.severity]} Subjects**\n\n"
    for consequence in registry.consequences:
        yield "".join(_consequence(consequence))
    for subject in registry.subjects:
        yield "".join(_folded(subject, subject.subject, setting_changes(subject)))


def _difference(lines: Sequence[str]) -> str:
    """Return a block of a diff, whose fence is longer than any in the schema."""
    one_each = (" ".join(display.printable(line).splitlines()) for line in lines[:_MAX_DIFFERENCE])
    shown = [_cut(line, 200) for line in one_each]
    more = f"… and {len(lines) - _MAX_DIFFERENCE:,} more lines\n\n" if len(lines) > _MAX_DIFFERENCE else ""
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *shown, fence]) + f"\n\n{more}"


def _listed(lines: Iterable[str]) -> str:
    """Return the first of ``lines`` as a list, the number of the others, and an empty line; empty without lines."""
    every = [line for line in lines if line]
    shown = "".join(f"- {plain(_cut(line, 400))}\n" for line in every[:_MAX_ITEMS])
    more = f"- … and {len(every) - _MAX_ITEMS:,} more\n" if len(every) > _MAX_ITEMS else ""
    return f"{shown}{more}\n" if every else ""


def _within(blocks: Iterable[str], space: int) -> tuple[str, bool]:
    """Return the first of ``blocks``, as many as fit into ``space`` bytes, and whether others were left out."""
    text = ""
    for block in blocks:
        if _size(text) + _size(block) > space:
            return text, True
        text += block
    return text, False


def _consequence(consequence: Consequence) -> Iterator[str]:
    yield f"**{consequence.severity.value}** {code(consequence.kind)}: {prose(consequence.message)}\n"
    reasons, omitted = consequence.because[:_MAX_ITEMS], len(consequence.because) - _MAX_ITEMS
    yield from (f"- because {prose(reason)}\n" for reason in reasons)
    yield f"- … and {omitted:,} more reasons\n" if omitted > 0 else ""
    yield from (f"- used: {plain(sentence)}\n" for sentence in user_sentences(consequence.users))
    yield f"- measured: {plain(consequence.measured)}\n" if consequence.measured else ""
    yield f"- **remedy**: {prose(consequence.remedy)}\n" if consequence.remedy else ""
    yield f"- declared at {code(str(consequence.location))}\n" if consequence.location else ""
    yield "\n"
    for table in (tables.partitions(consequence), tables.groups(consequence)):
        if table:
            yield from _table(table)


def _table(table: PlanTable) -> Iterator[str]:
    yield f"| {' | '.join(table.headings)} |\n"
    yield f"|{'|'.join('--:' if number in table.numbers else '---' for number in range(len(table.headings)))}|\n"
    for row in table.rows:
        yield f"| {' | '.join(map(plain, row))} |\n"
    yield f"\n{table.omitted}\n\n" if table.omitted else "\n"


def _fitting(planned: Sequence[_Planned], render_one: Callable[[_Planned], str], space: int) -> list[str]:
    """Return the first of ``planned``, rendered, as many as fit into ``space`` bytes."""
    texts: list[str] = []
    for each in planned:
        text = render_one(each)
        space -= _size(text)
        if space < 0:
            break
        texts.append(text)
    return texts


def _has_details(topic: TopicPlan) -> bool:
    return bool(topic.settings or topic.consequences)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _size(text: str) -> int:
    return len(text.encode())


def plain(text: str) -> str:
    """Return one line of Markdown that shows ``text`` literally: GitHub creates no mentions, links or markup."""
    shown = _MENTION.sub(rf"\1{_ZERO_WIDTH_SPACE}", one_line(text).translate(_REFERENCES))
    shown = _LINK.sub(rf"\g<0>{_ZERO_WIDTH_SPACE}", shown)
    return _EMOJI.sub(f":{_ZERO_WIDTH_SPACE}", shown)


def prose(sentence: str) -> str:
    """Return a sentence as ``plain`` Markdown, in which what is in backticks is code."""
    return "".join(
        code(part)
        if is_code
        else f"{' ' * part.startswith(' ')}{plain(part)}{' ' * (part != ' ' and part.endswith(' '))}"
        for part, is_code in display.code_spans(sentence)
    )


def code(text: str) -> str:
    """Return ``text`` as code, in which GitHub creates no mentions or links; also valid in an HTML block."""
    return f"<code>{one_line(text).translate(_REFERENCES)}</code>"
