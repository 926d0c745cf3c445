"""Topics with hidden contracts: write records, infer the contracts, and audit later records of the same contracts."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.campaigns.inference.hidden_contract import Hidden, drawn_contract, is_found
from topicwarden.extensions.interchange.import_operation import importing_topics
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.finding import Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import InferOptions

RECORDS, LATER, NEEDED = 900, 300, 100


@dataclass(frozen=True)
class DrawnTopics:
    """The topics ``inferred.<n>`` with their contracts, on the brokers ``servers``."""

    servers: Sequence[str]
    contracts: dict[str, Hidden]
    source: random.Random

    @staticmethod
    def create(servers: Sequence[str], seed: int, count: int) -> DrawnTopics:
        source = random.Random(seed)
        contracts = {f"inferred.{number}": drawn_contract(source) for number in range(count)}
        with connected(servers) as admin:
            admin.create_topics([NewTopic(name, 2, 1) for name in contracts])
        return DrawnTopics(servers, contracts, source)

    def write(self, records: int) -> None:
        """Write committed records to each topic from two producers, and records of another form that are aborted."""
        settings = {"bootstrap.servers": ",".join(self.servers)}
        aborting = Producer({**settings, "transactional.id": "inferred-aborting"})
        aborting.init_transactions()
        aborting.begin_transaction()
        for name in self.contracts:
            aborting.produce(name, b"no JSON", partition=0)
        aborting.flush()
        aborting.abort_transaction()
        writers = [Producer({**settings, "enable.idempotence": True}) for _ in range(2)]
        for name, contract in self.contracts.items():
            for number in range(records):
                value = json.dumps(contract.draw(self.source), ensure_ascii=self.source.random() < 0.5)
                key = f"key {self.source.randrange(10**6)}"
                headers: list[tuple[str, str | bytes | None]] = [("trace-id", b"1")]
                headers += [] if number % 3 else [("rare", b"2")]
                writers[number % 2].produce(name, value.encode(), key, partition=number % 2, headers=headers)
                writers[number % 2].poll(0)
        for writer in writers:
            writer.flush()


def import_contents(project: Project, *, show_values: bool) -> str:
    """Write the inferred contracts into ``project``, and return the text of all files."""
    options = InferOptions(records_needed=NEEDED, show_values=show_values)
    with importing_topics(project, "dev", ["inferred.*"], adopting=False, contents=options) as (report, _):
        assert not report.errors
        assert not report.refused
        return "".join(file.text for file in report.files)


def failures(project: Project) -> list[Finding]:
    """Return what an audit of the topics finds broken, apart from the topics' own settings."""
    with auditing(project, "dev") as look:
        report = look(("inferred.*",))
    return [finding for finding in report.findings if finding.verdict is Verdict.FAIL and finding.topic is not None]


def share_of_found_rules(project: Project, contracts: dict[str, Hidden]) -> tuple[float, list[str]]:
    """Return the share of the contracts' rules that the inferred schemas have, and those that they lack."""
    missing, total = [], 0
    for name, contract in contracts.items():
        schema = json.loads((project.topics / "inferred" / "schemas" / f"{name}-value.json").read_text("utf-8"))
        total += len(contract.rules)
        missing += [f"{name} {rule}" for rule in contract.rules if not is_found(rule, schema)]
    return 1 - len(missing) / total, missing
