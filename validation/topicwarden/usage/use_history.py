"""The history of use, in the folder of the audit's history: the parts of all runs, joined.

::

    v4/use/<observed>-<uuid>/use.json.gz   the use of one cluster in all observations until then
    v4/use/<observed>-<uuid>/_complete     written last: format, cluster id, and the digest of the other file

A run joins all parts of its cluster, adds its observation, saves a new part, and then deletes the parts that it has
joined. So a run that is killed loses only its own observation, and runs at the same time lose nothing: the next run
joins what each of them has saved.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.access import DeclaredAccess
from topicwarden.model.message_text import enumerated
from topicwarden.model.timestamps import utc
from topicwarden.model.usage import GroupUse, TopicUse
from topicwarden.usage.declared_use import AclUse
from topicwarden.usage.history_files import COMPLETE, HistoryFiles, HistoryParts, LocalFiles, part_name
from topicwarden.usage.join_records import join
from topicwarden.usage.observe import observe_use
from topicwarden.usage.remember import interrupt, remember_or_join
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_records import GroupRecord, TopicRecord, UseRecords

if TYPE_CHECKING:
    from topicwarden.kafka.read.use_reads import ClusterUse
    from topicwarden.policies.usage_policy import UsagePolicy

_FOLDER: Final = "use"
_FILE: Final = "use.json.gz"
_FORMAT: Final = 1
_ATTEMPTS: Final = 3
_FASTEST: Final = 1

_DAMAGE: Final = (EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError)
"""What a damaged file raises; ValueError is also that of JSON, of pydantic and of wrong encodings."""


@dataclass(frozen=True)
class _Saved:
    """The content of a part."""

    topics: list[TopicRecord]
    groups: list[GroupRecord]
    observed_at: int


_SAVED: Final = TypeAdapter(_Saved)


@dataclass(frozen=True)
class RememberedUse:
    """The use of a cluster, from all observations.

    - ``observed_at``: the time of the last observation (ms); 0 if there is none.
    - ``topics``: the use of each topic that the last observation saw, by name, with that observation.
    - ``previous``: the same without the last observation, for topics with the same id.
    - ``groups``: the groups that the last observation saw, by name, whatever they read.
    - ``unseen``: the parts of the use that this user may not see, each with the missing permission.
    - ``notes``: problems with the history, for the report.
    """

    observed_at: int = 0
    topics: Mapping[str, TopicUse] = field(default_factory=dict)
    previous: Mapping[str, TopicUse] = field(default_factory=dict)
    groups: Mapping[str, GroupUse] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def observed_ms(self) -> int:
        """For how long topics have been observed: the longest time of any of them; -1 without an observation."""
        return max((self.observed_at - use.observed_since for use in self.topics.values()), default=-1)


class _Uses(Mapping[str, TopicUse]):
    """The use of topics by name, made from records when it is asked for: most is not."""

    def __init__(self, records: Mapping[str, TopicRecord]) -> None:
        self._records = records

    def __getitem__(self, topic: str) -> TopicUse:
        return self._records[topic].use()

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


def remember_use(
    history: UseHistory,
    snapshot: Snapshot,
    use: ClusterUse,
    declared: DeclaredAccess,
    deployed: Callable[[str], str] = lambda topic: "",
    *,
    save: bool = True,
) -> RememberedUse:
    """Return the use of the cluster from the history and from this observation, and ``save`` it for the next run.

    ``deployed`` returns the digest of a topic's live ACLs, see
    ``UseContext.deployed``. A history that cannot be read or written is only noted. If another run has saved a later
    observation meanwhile, both are united. If the history is of a time that has not come yet, a clock is wrong: this
    observation is then compared with nothing. Only that it saw other access is saved.
    """
    observation = observe_use(snapshot, use, AclUse(declared.acls).digest, deployed)
    known = history.load(snapshot.cluster_id)
    now = int(time.time() * 1000)
    if known.observed_at > max(now, observation.taken_at):
        history.notes.append(
            f"the history of use was saved at {utc(known.observed_at)}, but the clock of this machine says "
            f"{utc(now)}: this observation is compared with nothing, and not saved"
        )
        interrupted = interrupt(known, observation)
        if save and interrupted is not known:
            history.save(interrupted)
        known, save = UseRecords(known.cluster_id), False
    records = remember_or_join(known, observation)
    if save and snapshot.cluster_id is not None:
        history.save(records)
    return RememberedUse(
        records.observed_at,
        records.topic_uses(),
        _Uses(
            {
                key[0]: record
                for key, record in known.topics.items()
                if key in records.topics and records.topics[key].observed_at == records.observed_at
            }
        ),
        records.group_uses(),
        use.unseen,
        tuple(history.notes),
    )


def remember_in_context(
    history: UseHistory, snapshot: Snapshot, use: ClusterUse, context: UseContext
) -> tuple[RememberedUse, UseContext]:
    """Remember the observation by the access of ``context``; return the use, and ``context`` with the groups of it.

    Audits and usage reports call it, so that each continues the observations of the other. See ``remember_use``.
    """
    remembered = remember_use(history, snapshot, use, context.declared, context.deployed)
    return remembered, replace(context, groups=remembered.groups)


class UseHistory:
    """The history of use at ``location``: a path or a URL; None keeps no history.

    ``files`` are the operations on files there; by default those on this machine. ``notes`` has the problems for the
    report.
    """

    def __init__(self, location: str | None, files: HistoryFiles | None = None) -> None:
        self._location = location
        self._parts = HistoryParts(location, files or LocalFiles()) if location is not None else None
        self._joined: list[str] = []
        self._ignored = False
        self.notes: list[str] = []

    def load(self, cluster_id: str | None) -> UseRecords:
        """Return the use of a cluster in all saved parts; empty without a history. Problems become notes.

        If a part cannot be read, all are ignored, and ``save`` saves nothing: the observation was not compared with the
        last one, so a later run would not see what happened between both.
        """
        records = UseRecords(cluster_id or "")
        self._joined, self._ignored = [], False
        if self._parts is None or cluster_id is None:
            return records
        try:
            for _ in range(_ATTEMPTS):
                loaded = self._load(self._parts, records)
                if loaded is not None:
                    records, self._joined = loaded
                    return records
            reason = "other runs change it again and again"
        except OSError as error:
            reason = _reason(error)
        self._ignored = True
        self._note(f"cannot be read, and is ignored: {reason}; this observation is compared with nothing and not saved")
        return records

    def _load(self, parts: HistoryParts, records: UseRecords) -> tuple[UseRecords, list[str]] | None:
        """Return the joined parts and their names; None if another run has deleted one of them in the meantime."""
        joined, problems = list[str](), list[str]()
        found = parts.all_parts(_FOLDER)
        for name in [part.name for part in found]:
            marker = parts.read_bytes(_FOLDER, name, COMPLETE)
            if marker is None:
                if parts.all_parts(_FOLDER) != found:
                    return None
                continue  # a run writes it now, or was killed
            try:
                complete = json.loads(marker)
                if complete["format"] != _FORMAT:
                    problems.append(f"has a part of another version, which is ignored: {name}")
                    continue
                if complete["cluster"] != records.cluster_id:
                    continue
                digest = str(complete["sha256"])
            except _DAMAGE:
                problems.append(f"has a damaged part, which is ignored and can be deleted: {name}")
                continue
            content = parts.read_bytes(_FOLDER, name, _FILE)
            if content is None:
                if parts.is_complete(_FOLDER, name):
                    problems.append(f"has a damaged part, which is ignored and can be deleted: {name}")
                    continue
                return None
            part = _decoded(content, digest, records.cluster_id)
            if part is None:
                problems.append(f"has a damaged part, which is ignored and can be deleted: {name}")
                continue
            records = join(records, part)
            joined.append(name)
        for problem in problems:
            self._note(problem)
        return records, joined

    def save(self, records: UseRecords) -> None:
        """Save ``records``, which contain all that ``load`` has returned, and delete the parts that they replace."""
        parts = self._parts
        if parts is None or self._ignored:
            return
        name = part_name(records.observed_at)
        saved = _Saved(list(records.topics.values()), list(records.groups.values()), records.observed_at)
        content = gzip.compress(_SAVED.dump_json(saved), _FASTEST)
        marker = {
            "format": _FORMAT,
            "cluster": records.cluster_id,
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        try:
            parts.write_bytes(_FOLDER, name, _FILE, content)
            parts.complete(_FOLDER, name, json.dumps(marker).encode())
        except OSError as error:
            self._note(f"cannot be written: {_reason(error)}; the next run cannot compare with this one")
            return
        replaced, self._joined = self._joined, [name]
        try:
            parts.delete(_FOLDER, [*replaced, *parts.abandoned(_FOLDER, int(time.time() * 1000))])
        except OSError as error:
            self._note(f"has an old part that cannot be deleted: {_reason(error)}")

    def _note(self, problem: str) -> None:
        note = f"the history of use at {self._location} {problem}"
        if note not in self.notes:
            self.notes.append(note)


def _decoded(content: bytes, digest: str, cluster_id: str) -> UseRecords | None:
    """Return the records of a part; None if it is damaged."""
    if hashlib.sha256(content).hexdigest() != digest:
        return None
    try:
        saved = _SAVED.validate_json(gzip.decompress(content))
    except (OSError, *_DAMAGE):
        return None
    return UseRecords(
        cluster_id,
        saved.observed_at,
        {record.key: record for record in saved.topics},
        {group.name: group for group in saved.groups},
    )


def _reason(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def too_young(policy: UsagePolicy | None, remembered: RememberedUse) -> list[str]:
    """Return a note on the periods of ``policy`` that are longer than topics have been observed; none if no period is.

    A new project has this note instead of a finding for each topic.
    """
    if policy is None or remembered.observed_ms < 0:
        return []
    since = remembered.observed_at - remembered.observed_ms
    subjects: dict[int, list[str]] = {}
    for subject, period in (
        ("idle topics", policy.idle_after),
        ("idle groups", policy.idle_groups_after),
        ("unused access", policy.unused_access_after),
    ):
        if period is not None and period > remembered.observed_ms:
            subjects.setdefault(since + period, []).append(subject)
    if not subjects:
        return []
    parts = [f"{enumerated(names)} from {utc(at)} on" for at, names in sorted(subjects.items())]
    return [f"the use of topics has been observed since {utc(since)}; it shows {', '.join(parts)}"]
