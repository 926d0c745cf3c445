"""The options of the operations that connect to a cluster. This module imports no client, so that options are cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from topicwarden.audit.inference.inferred_rule import LEAST_RECORDS
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.model.verdict import ReadScope
from topicwarden.specs.stacks.http_url import split_url


@dataclass(frozen=True)
class ClusterAddress:
    """The brokers to ask first, ``host:port,…``, and the file of settings of Kafka's own tools; None for none."""

    bootstrap_server: str
    command_config: Path | None = None


ShareReport: TypeAlias = Callable[[float], None]
"""A function that reports the share of the work that is done, from 0 to 1."""


class ProgressListener:
    """Receive the progress of an operation. This class ignores everything; override the methods that you need.

    An operation may call the methods from any of its threads.
    """

    @contextmanager
    def stage(self, status: str, then: str = "") -> Iterator[ShareReport]:
        """Enter a stage of the operation, such as "reading the cluster"; the block is the stage.

        Yields a function that receives the share that is done, if the operation knows it. Once the share is 1, the
        operation works on ``then``, if there is such work.
        """
        yield lambda share: None

    def note(self, line: str) -> None:
        """Receive a line about the progress, such as the reason of a wait."""

    def warn(self, line: str) -> None:
        """Receive a line that a user should read, whatever the result of the operation is."""


SILENT: Final = ProgressListener()
"""A listener that ignores everything."""


MOST_RECORDS: Final = 10_000
"""The most records of a redrive by default."""
SHORTEST_INTERVAL_S: Final = 1.0
LONGEST_INTERVAL_S: Final = 7 * 86_400.0
_UTC: Final = "UTC"


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit: the records that it reads, and its history.

    ``history`` is a path, a URI, or ``none`` for no history. None means the setting of the stack. ``authorizer_log`` is
    the folder of the brokers' authorizer logs, a path or a URI, with one folder for each broker; ``log_time_zone`` is
    the time zone of the brokers, for lines that name none.
    """

    history: str | None = None
    since: ReadScope = ReadScope.ALL
    bounds: ReadLimits = field(default_factory=ReadLimits)
    authorizer_log: str | None = None
    log_time_zone: str = _UTC

    def __post_init__(self) -> None:
        if self.since is ReadScope.LAST and (self.bounds.max_records or self.bounds.sample):
            raise Refusal("--since last reads all new records; remove --max-records and --sample")


@dataclass(frozen=True)
class InferOptions:
    """Options of an inference of contracts.

    ``most_records`` limits the records to read, the newest of each partition; None reads all. ``records_needed`` is the
    least number of records that a rule rests on. With ``show_values``, contracts have values of records: enumerations
    and bounds. ``master`` is the Spark master, as for an audit.
    """

    most_records: int | None = None
    records_needed: int = LEAST_RECORDS
    show_values: bool = False
    master: str | None = None

    def __post_init__(self) -> None:
        if self.most_records is not None and self.most_records < 1:
            raise Refusal(f"--max-records {self.most_records}: expected 1 or more")
        if self.records_needed < 1:
            raise Refusal(f"--min-records {self.records_needed}: expected 1 or more")


@dataclass(frozen=True)
class UsageOptions:
    """Options of a usage report.

    ``history`` is a path, a URI, or ``none`` for no history; None means the setting of the stack. ``authorizer_log`` is
    the folder of the brokers' authorizer logs. ``master`` is the Spark master, for a report that needs Spark: one with
    authorizer logs, or with a history on another machine. ``log_time_zone`` is the time zone of the brokers, for lines
    that name none.
    """

    history: str | None = None
    authorizer_log: str | None = None
    master: str | None = None
    log_time_zone: str = _UTC


@dataclass(frozen=True)
class RedriveOptions:
    """The finding, the report that has it, the target, and how to copy.

    ``function`` is a repair function, ``module:function``. ``most_records`` bounds the records of the finding. Without
    ``execute``, nothing is copied. ``master`` is the Spark master, as for an audit.
    """

    finding: str
    target: str
    report: Path
    function: str | None = None
    most_records: int = MOST_RECORDS
    execute: bool = False
    master: str | None = None


@dataclass(frozen=True)
class WatchOptions:
    """Options of a watch.

    ``every`` is the time from the start of an audit to the start of the next one, in seconds. ``listen`` is the address
    of the HTTP server, and ``token_file`` a file with the token that its clients need. ``history`` is as in
    ``AuditOptions``, but not ``none``; of several stacks, each has a folder below it. ``url`` is the address of the
    server for people who receive notifications; by default, ``listen``. ``master`` is the Spark master, and ``bounds``
    limits how fast an audit reads.
    """

    every: float = 300.0
    listen: str = "127.0.0.1:9464"
    token_file: Path | None = None
    history: str | None = None
    url: str | None = None
    master: str | None = None
    bounds: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        if not SHORTEST_INTERVAL_S <= self.every <= LONGEST_INTERVAL_S:
            raise Refusal(f"--every: expected 1s to 7d, got {self.every:g} seconds")
        if self.url is not None:
            _check_url(self.url)


def _check_url(url: str) -> None:
    """Raise Refusal unless notifications can show ``url``, with a path after it. They show it as it is."""
    parts = split_url(url)
    if "@" in url:
        raise Refusal("--url: has a user, which everyone who is notified would see; remove it")
    if parts is None:
        raise Refusal(f"--url: expected a URL such as https://audits.example.com, got {quoted(url)}")
    if "?" in url or "#" in url:
        raise Refusal(f"--url: expected a URL without a query and a fragment, got {quoted(url)}")
