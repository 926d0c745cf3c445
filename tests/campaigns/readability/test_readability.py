"""Compare counts of unreadable records with independent readers, and break what the scan needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from kafka.admin import NewTopic

from tests.campaigns.readability.compared import Comparison, broker, differences, reference_reader
from tests.support.projects import own_cache, project_of
from topicwarden.audit import retained_records
from topicwarden.audit.retained_records import ReaderRecords
from topicwarden.audit.scan import reader_process
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.project import Project
from topicwarden.model.readability import Readability
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.toolchain import Toolchain


@dataclass(frozen=True)
class Written:
    """Drawn pairs whose records are in a broker, and the results that are expected."""

    comparison: Comparison
    expected: list[Readability]
    connection: Connection
    registry: RegistrySettings
    project: Project


@pytest.fixture(scope="module")
def written(registry_url: str, tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    with ExitStack() as stack:
        folder = stack.enter_context(own_cache(tmp_path_factory.mktemp("readability")))
        reference = stack.enter_context(reference_reader(tools.java, folder))
        comparison = Comparison("suite", 40, reference)
        sandbox = stack.enter_context(broker(tools, folder))
        comparison.register(registry_url)
        open_transaction = comparison.write(sandbox.bootstrap_servers)
        connection = Connection(tuple(sandbox.bootstrap_servers), tls=False)
        project = project_of(folder / "project", {})
        yield Written(comparison, comparison.expected(), connection, RegistrySettings(registry_url), project)
        open_transaction.abort_transaction(60)


def test_the_count_is_what_independent_readers_fail_on(written: Written) -> None:
    reader = ReaderRecords(written.connection, written.registry, written.project)
    found = reader.read([drawn.scan() for drawn in written.comparison.drawn])
    assert not differences(written.comparison.drawn, written.expected, found)
    assert sum(each.unreadable for each in found)


def test_a_sample_has_the_newest_records_of_each_partition(written: Written) -> None:
    reader = ReaderRecords(written.connection, written.registry, written.project, most_records=50)
    found = reader.read([drawn.scan() for drawn in written.comparison.drawn])
    scanned = {each.topic: each.scanned for each in found}
    assert 0 < sum(scanned.values()) <= 50
    for one, right in zip(found, written.expected, strict=True):
        assert one.scanned < right.retained <= one.retained
        assert one.unreadable <= right.unreadable


def test_a_topic_that_disappears_costs_no_other_result(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, servers = written.comparison.drawn[0], written.connection.bootstrap_servers
    with connected(servers) as admin:
        admin.create_topics([NewTopic("gone", 1, 1)])
    comparison = written.comparison
    comparison.copy_records(servers, drawn, "gone")
    read_totals = reader_process.read_totals

    def delete_and_read(*arguments: Any) -> object:
        with connected(servers) as admin:
            admin.delete_topics(["gone"])
        return read_totals(*arguments)

    monkeypatch.setattr(retained_records, "read_totals", delete_and_read)
    reader = ReaderRecords(written.connection, written.registry, written.project)
    gone, missing, found = reader.read(
        [replace(drawn.scan(), topic="gone"), replace(drawn.scan(), topic="never-existed"), drawn.scan()]
    )
    assert gone.error is not None
    assert "was not read to its end" in gone.error
    assert missing == Readability("never-existed", drawn.part)
    assert not differences([drawn], written.expected[:1], [found])


def test_a_registry_that_answers_html_or_nothing_makes_records_undecided(written: Written) -> None:
    class Html(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>Welcome</html>")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    scan = written.comparison.drawn[0].scan()
    with ThreadingHTTPServer(("127.0.0.1", 0), Html) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        html = RegistrySettings(f"http://127.0.0.1:{server.server_address[1]}")
        (answered,) = ReaderRecords(written.connection, html, written.project).read([scan])
        server.shutdown()
    (down,) = ReaderRecords(written.connection, RegistrySettings("http://127.0.0.1:1"), written.project).read([scan])
    for found, reason in ((answered, "the Schema Registry's answer is not JSON"), (down, "cannot be reached")):
        assert found.error is None
        assert not found.unreadable
        assert any(reason in each for each in found.undecided)
        assert not found.complete


def test_no_broker_no_registry_and_a_broken_schema_are_errors(written: Written, tmp_path: Path) -> None:
    scan = written.comparison.drawn[0].scan()
    nowhere = Connection(("127.0.0.1:1",), tls=False)
    (unreachable,) = ReaderRecords(nowhere, written.registry, written.project).read([scan])
    assert unreachable.error
    (without,) = ReaderRecords(written.connection, None, written.project).read([scan])
    assert without.error == "the stack has no Schema Registry (topicwarden:schemaRegistry)"
    broken = replace(scan, schema=replace(scan.schema, format="protobuf", text="message {"))
    bad, fine = ReaderRecords(written.connection, written.registry, written.project).read([broken, scan])
    assert bad.error is not None
    assert bad.error.startswith("the new schema is not a valid .proto file")
    assert not differences(written.comparison.drawn[:1], written.expected[:1], [fine])
