"""Reads and summarizes authorizer logs with Spark, in one pass over the files.

Lines of a log repeat: the first aggregation counts equal lines of one hour, without their times. Only what remains is
parsed. All expressions are Spark's own, so that no Python runs on executors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from topicwarden.audit.authorizer_log.grammar import (
    DECISION,
    EXPLANATION,
    GROUPS,
    operation_of,
    resource_of,
    uniform_rule,
)
from topicwarden.audit.authorizer_log.log_folder import JAVA_ERRORS, LogFile, LogFolder, find_log_files
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.audit.scan.spark_source import literal
from topicwarden.model.problem import Refusal
from topicwarden.model.usage import DAY_MS, AuthorizerLogs, LogCoverage, LoggedUse

UTC: Final = "UTC"
MOST_USES: Final = 50_000
"""The most different decisions that the driver receives."""
LONGEST_LINE: Final = 131_072
"""The longest line that is parsed, in characters: names in requests have at most 32,767 bytes."""

_LONGEST_READ: Final = 1 << 20
"""Hadoop's reader skips longer lines, in bytes, so that binary files need little memory."""
_SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_HOUR_MS: Final = 3_600_000
_MARK: Final = "\x01"
"""Separates the groups of a parsed line. No readable line has it."""
_JSON: Final = "`@timestamp` string, timestamp string, time string, level string, `log.level` string, message string"
_COLUMNS: Final = (
    "zone",
    "level",
    "principal",
    "result",
    "operation",
    "host",
    "kind",
    "name",
    "request",
    "references",
    "rule",
)
_DECIDED: Final = ("principal", "host", "operation", "kind", "name", "references", "result", "rule", "request")
_SIZE_MODULUS: Final = 1 << 32


def read_authorizer_logs(
    spark: SparkSession, url: str, time_zone: str = UTC, most_uses: int = MOST_USES
) -> AuthorizerLogs:
    """Return what the authorizer logs in the folder ``url`` show.

    ``url`` has one folder for each broker, or the files of one broker: an address that Spark's Hadoop can read.
    ``time_zone`` is that of the brokers, for times without a zone: a name such as ``Europe/Berlin``, or an offset.
    ``most_uses`` is the most decisions to return, allowed ones first.

    Whatever cannot be read or understood is counted or noted. Raises Refusal if the folder cannot be listed, or if
    there is no such time zone.
    """
    _require_zone(spark, time_zone)
    folder = find_log_files(spark, url)
    if not folder.files:
        empty = {broker: _coverage(broker, [], 0, whole=False) for broker in folder.brokers}
        return AuthorizerLogs(coverage=empty, notes=folder.notes, time_zone=time_zone)
    partitions = spark.conf.get(_SHUFFLE_PARTITIONS) or ""
    # A cached table keeps the number that it was planned with.
    spark.conf.set(_SHUFFLE_PARTITIONS, str(2 * spark.sparkContext.defaultParallelism))
    try:
        lines = _parsed(spark, _counted_lines(spark, folder.files), folder.files, time_zone)
        lines = lines.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            return _summary(lines, folder, time_zone, most_uses)
        finally:
            lines.unpersist()
    except JAVA_ERRORS as error:
        note = f"the authorizer logs could not be read: {root_cause(error)}"
        damaged = {broker: _coverage(broker, [], 0, whole=False) for broker in folder.brokers}
        return AuthorizerLogs(coverage=damaged, notes=(*folder.notes, note), time_zone=time_zone)
    finally:
        spark.conf.set(_SHUFFLE_PARTITIONS, partitions)


def log_notes(logs: AuthorizerLogs) -> list[str]:
    """Return what a report notes about the logs: what was read, in which time zone, and all problems."""
    lines = sum(each.lines for each in logs.coverage.values())
    brokers = f"{len(logs.coverage)} broker{'' if len(logs.coverage) == 1 else 's'}"
    read = f"authorizer logs of {brokers}: {lines:,} lines; times without a time zone are read as {logs.time_zone}"
    return [read, *logs.notes]


def _require_zone(spark: SparkSession, time_zone: str) -> None:
    jvm: Any = spark._jvm
    try:
        jvm.java.time.ZoneId.of(time_zone)
    except JAVA_ERRORS as error:
        raise Refusal(
            f"there is no time zone {time_zone!r}: expected a name such as Europe/Berlin, or an offset such as +02:00"
        ) from error


def _counted_lines(spark: SparkSession, files: Sequence[LogFile]) -> DataFrame:
    """Return equal lines of each file and hour, counted: ``rest`` is a line without its time, None if it has none.

    Lines are handled as bytes: for text, Spark would look for the start of each character.
    """
    raw, data = F.col("value"), F.col("data")
    fields = F.col("fields")
    stamped = F.coalesce(fields["@timestamp"], fields["timestamp"], fields["time"])
    message = F.concat_ws(" ", stamped, F.coalesce(fields["level"], fields["log.level"]), fields["message"])
    begin = F.when(F.startswith(data, F.lit(b"[")), 2).otherwise(1)
    with_fraction = data.substr(begin + 19, F.lit(1)).isin(b",", b".")
    fraction = F.when(with_fraction, data.substr(begin + 20, F.lit(3)).cast("string")).otherwise("000")
    # A time with a zone is cast without the zone of the session.
    stamp = F.concat(data.substr(begin, F.lit(19)).cast("string"), F.lit("."), fraction, F.lit("Z"))
    rest = data.substr(F.when(with_fraction, begin + 23).otherwise(begin + 19), F.lit(LONGEST_LINE))
    time_ms = F.unix_millis(stamp.try_cast("timestamp"))
    return (
        spark.read.option("lineSep", "\n")
        .option("ignoreCorruptFiles", "true")
        .option("ignoreMissingFiles", "true")
        .option("mapreduce.input.linerecordreader.line.maxlength", str(_LONGEST_READ))
        .text([file.url for file in files])
        .select(
            F.col("_metadata.file_path").alias("address"),
            F.octet_length(raw).alias("length"),
            raw.startswith("{").alias("json"),
            F.when(F.octet_length(raw) <= LONGEST_LINE, raw.cast("binary")).alias("data"),
            F.when(raw.startswith("{"), F.from_json(raw, F.lit(_JSON))).alias("fields"),
        )
        .withColumn("data", F.when(F.col("json"), message.cast("binary")).otherwise(data))
        .withColumn("time", time_ms)
        .select(
            "address",
            "json",
            F.when(F.col("time").isNotNull(), rest).when(data.isin(b"", b"\r"), F.lit(b"")).alias("rest"),
            "time",
            (F.col("length") + 1).cast("bigint").alias("bytes"),
        )
        .groupBy("address", "json", "rest", F.floor(F.col("time") / _HOUR_MS).alias("hour"))
        .agg(
            F.count(F.lit(1)).alias("lines"),
            F.min("time").alias("first"),
            F.max("time").alias("last"),
            F.sum("bytes").alias("bytes"),
        )
    )


def _parsed(spark: SparkSession, lines: DataFrame, files: Sequence[LogFile], time_zone: str) -> DataFrame:
    """Return the counted lines with the fields of their decisions, and times in UTC; all are None if unreadable."""
    rows = [{"address": file.address, "broker": file.broker, "number": at} for at, file in enumerate(files)]
    by_address = literal(spark, rows, "address string, broker string, number int")
    # Spark writes file:/// where Hadoop writes file:/.
    address = F.regexp_replace("address", "^([A-Za-z0-9+.-]+:)/+", "$1/")
    text = F.rtrim(F.col("text"), F.lit("\r"))
    fields = _MARK + _MARK.join(f"${number}" for number in range(1, GROUPS + 1))
    marked = F.when(F.is_valid_utf8(F.col("text")), F.regexp_replace(text, DECISION, fields))
    decided = F.col("marked").startswith(_MARK) & (F.col("marked") != text)
    part = F.split("marked", _MARK)
    offset = F.regexp_extract("zone", "^([+-])([0-9]{2}):?([0-9]{2})?$", 1)
    hours = F.regexp_extract("zone", "^([+-])([0-9]{2}):?([0-9]{2})?$", 2).try_cast("bigint")
    minutes = F.regexp_extract("zone", "^([+-])([0-9]{2}):?([0-9]{2})?$", 3).try_cast("bigint")
    shift = F.when(offset == "", 0).otherwise(
        (hours * 60 + F.coalesce(minutes, F.lit(0))) * F.when(offset == "-", -60_000).otherwise(60_000)
    )

    def in_utc(column: str) -> Column:
        local = F.unix_millis(F.to_utc_timestamp(F.timestamp_millis(F.col(column)), time_zone))
        return F.when(F.col("zone") == "", local).otherwise(F.col(column) - shift)

    return (
        lines.withColumn("address", address)
        .join(F.broadcast(by_address.withColumn("address", address)), "address")
        .withColumn("text", F.col("rest").cast("string"))
        .withColumn("marked", marked)
        .withColumn("parts", F.when(decided, part))
        .select(
            "broker",
            "number",
            "json",
            "lines",
            "bytes",
            F.xxhash64("rest", "hour", "first", "last", "lines").alias("digest"),
            F.coalesce(text == "", F.lit(False)).alias("empty"),
            F.coalesce(text.rlike(EXPLANATION), F.lit(False)).alias("explanation"),
            "first",
            "last",
            *(F.col("parts")[at].alias(name) for at, name in enumerate(_COLUMNS, start=1)),
        )
        .withColumn("first", in_utc("first"))
        .withColumn("last", in_utc("last"))
    )


@dataclass
class _FileLines:
    """The counts of one file. ``digest`` is equal for files with the same lines."""

    file: LogFile
    lines: int = 0
    unreadable: int = 0
    bytes: int = 0
    first: int | None = None
    last: int | None = None
    granted: bool = False
    escaped: bool = True
    digest: int = 0
    copies: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """True if as much was read as the file has. A last line without an end counts one byte more.

        A broker may have written to a plain file since its size was read.
        """
        size = self.file.text_bytes
        if size is None:
            return True
        return (self.bytes - size) % _SIZE_MODULUS in (0, 1) if self.file.compressed else self.bytes >= size


def _summary(parsed: DataFrame, folder: LogFolder, time_zone: str, most_uses: int) -> AuthorizerLogs:
    counted = _without_copies(_by_file(parsed, folder.files))
    numbers = [at for at, file in enumerate(folder.files) if any(each.file is file for each in counted)]
    decisions = parsed.where(F.col("principal").isNotNull() & F.col("number").isin(numbers))
    gaps = {row["broker"]: int(row["gap"] or 0) for row in _gaps(decisions).collect()}
    coverage: dict[str, LogCoverage] = {}
    notes = list(folder.notes)
    for broker in sorted(folder.brokers):
        own = [each for each in counted if each.file.broker == broker]
        whole = broker not in folder.damaged and all(each.whole for each in own)
        coverage[broker] = _coverage(broker, own, gaps.get(broker, 0), whole=whole)
        notes += _notes(broker, own, coverage[broker])
    uses, left_out, all_left_out = _uses(decisions, most_uses)
    if all_left_out:
        notes.append(
            f"the authorizer logs have more than {most_uses:,} different decisions: {all_left_out:,} of them, "
            f"{left_out:,} allowed, are left out"
        )
    return AuthorizerLogs(uses, coverage, tuple(notes), left_out, time_zone)


def _by_file(parsed: DataFrame, files: Sequence[LogFile]) -> list[_FileLines]:
    decision = F.col("principal").isNotNull()
    unreadable = ~decision & ~F.col("empty") & ~F.col("explanation")
    rows = (
        parsed.groupBy("number")
        .agg(
            F.sum(F.when(F.col("empty"), 0).otherwise(F.col("lines"))).alias("lines"),
            F.sum(F.when(unreadable, F.col("lines")).otherwise(0)).alias("unreadable"),
            F.sum("bytes").alias("bytes"),
            F.min(F.when(decision, F.col("first"))).alias("first"),
            F.max(F.when(decision, F.col("last"))).alias("last"),
            F.max(decision & (F.col("result") == "Allowed") & (F.col("level") == "DEBUG")).alias("granted"),
            F.min(F.col("json") | F.col("empty")).alias("escaped"),
            F.bit_xor("digest").alias("digest"),
        )
        .collect()
    )
    found = {row["number"]: row.asDict() for row in rows}
    for row in found.values():
        del row["number"]
        row["granted"] = bool(row["granted"])
    return [_FileLines(file, **found.get(at, {})) for at, file in enumerate(files)]


def _without_copies(counted: Sequence[_FileLines]) -> list[_FileLines]:
    """Return the files without copies: a broker's files with the same lines, which count once."""
    known: dict[tuple[object, ...], _FileLines] = {}
    for each in counted:
        same = (each.file.broker, each.lines, each.digest) if each.lines else (each.file.broker, each.file.name)
        if (first := known.setdefault(same, each)) is not each:
            first.copies.append(each.file.name)
    return list(known.values())


def _gaps(decisions: DataFrame) -> DataFrame:
    """Return the longest time between two lines of each broker, from the first and the last line of each hour."""
    hours = decisions.groupBy("broker", F.floor(F.col("first") / _HOUR_MS).alias("hour")).agg(
        F.min("first").alias("first"), F.max("last").alias("last")
    )
    before = F.max("last").over(Window.partitionBy("broker").orderBy("hour").rowsBetween(Window.unboundedPreceding, -1))
    return hours.withColumn("gap", F.col("first") - before).groupBy("broker").agg(F.max("gap").alias("gap"))


def _coverage(broker: str, own: Sequence[_FileLines], gap: int, *, whole: bool) -> LogCoverage:
    firsts = [each.first for each in own if each.first is not None]
    lasts = [each.last for each in own if each.last is not None]
    lines = sum(each.lines for each in own)
    return LogCoverage(
        broker,
        first=min(firsts, default=0),
        last=max(lasts, default=0),
        lines=lines,
        unreadable=sum(each.unreadable for each in own),
        largest_gap_ms=max(0, gap),
        has_grants=any(each.granted for each in own),
        escaped=lines > 0 and all(each.escaped for each in own),
        whole=whole,
    )


def _notes(broker: str, own: Sequence[_FileLines], coverage: LogCoverage) -> Iterator[str]:
    prefix = f"authorizer log of {broker}: "
    for each in own:
        if not each.whole:
            yield f"{prefix}{each.file.name} could not be read to its end: it is cut or damaged, or has very long lines"
        for copy in each.copies:
            yield f"{prefix}{copy} has the same lines as {each.file.name}; they count once"
    dated = sorted((each for each in own if each.first is not None), key=lambda each: (each.first or 0, each.last or 0))
    for earlier, later in pairwise(dated):
        if (later.first or 0) < (earlier.last or 0):
            yield (
                f"{prefix}{earlier.file.name} and {later.file.name} have lines of the same time: a copy of a part, or "
                "a clock that was set back; such lines count twice"
            )
    if coverage.unreadable:
        yield f"{prefix}{coverage.unreadable:,} of {coverage.lines:,} lines are unreadable: cut, damaged or ambiguous"
    if coverage.last > time.time() * 1000 + DAY_MS:
        yield f"{prefix}it has lines of the future: check the clock of the broker, and --log-time-zone"
    if coverage.lines and not coverage.has_grants:
        yield f"{prefix}it has no allowed operation: set the logger kafka.authorizer.logger to DEBUG"


def _uses(decisions: DataFrame, most: int) -> tuple[tuple[LoggedUse, ...], int, int]:
    """Return at most ``most`` uses, and how many allowed ones and how many in total are left out."""
    rule = F.regexp_replace("rule", r"^(MatchingAcl\(acl=StandardAcl)\[(.*)\]\)$", "$1($2))")
    found = (
        decisions.where(F.col("level") != "TRACE")
        .withColumn("rule", rule)
        .withColumn("references", F.when(F.col("references") == "0", "0").otherwise("1"))
        .groupBy(*_DECIDED)
        .agg(F.min("first").alias("first"), F.max("last").alias("last"), F.sum("lines").alias("count"))
    )
    allowed, topic = F.col("result") == "Allowed", F.col("kind") == "Topic"
    rows = found.orderBy(allowed.desc(), topic.desc(), F.desc("count"), *_DECIDED).limit(most + 1).collect()
    left_out = all_left_out = 0
    if len(rows) > most:
        totals = {row["result"]: int(row["count"]) for row in found.groupBy("result").count().collect()}
        kept = sum(row["result"] == "Allowed" for row in rows[:most])
        left_out, all_left_out = totals.get("Allowed", 0) - kept, sum(totals.values()) - most
    uses = tuple(
        LoggedUse(
            principal=row["principal"],
            host=row["host"],
            operation=operation_of(row["operation"]),
            resource=resource_of(row["kind"], row["name"], row["references"]),
            allowed=row["result"] == "Allowed",
            rule=uniform_rule(row["rule"]),
            first=row["first"],
            last=row["last"],
            count=row["count"],
            request=row["request"],
        )
        for row in rows[:most]
    )
    return uses, left_out, all_left_out
