"""Copy the records of a finding in small transactions: the process that a test kills at a random moment.

The argument is JSON: the connection, the topics, the offsets by partition, and the name of the redrive.
"""

from __future__ import annotations

import json
import sys

from topicwarden.audit.finding_records import FindingRecords
from topicwarden.extensions.redrive import redrive_copy
from topicwarden.extensions.redrive.redrive_copy import FindingCopy, RedriveTarget
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.records_at_offsets import open_reader, read_progress
from topicwarden.kafka.write.transactional_copy import open_copy, unchanged
from topicwarden.model.finding import Finding
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict

BATCH = 7


def main(arguments: str) -> None:
    """Copy what is left. Print a line for each transaction, and at last the number of copies of this run."""
    given = json.loads(arguments)
    redrive_copy.BATCH_RECORDS = BATCH  # type: ignore[misc]
    connection = Connection(tuple(given["servers"]), tls=False)
    with open_cluster(connection) as cluster:
        live = cluster.snapshot([given["target"]]).topics[given["target"]]
    offsets = {int(partition): tuple(each) for partition, each in given["offsets"].items()}
    finding = Finding(id="f1f1f1", check="value-schema", verdict=Verdict.FAIL, topic=given["source"])
    target = RedriveTarget(Topic(given["target"], live.topic.partitions, 3), live, 3)
    work = FindingCopy(finding, FindingRecords(offsets), target, unchanged, given["name"])
    print("started", flush=True)
    with open_copy(connection, given["name"], given["target"]) as writer, open_reader(connection) as reader:
        done = read_progress(connection, given["name"], given["source"], range(3), settled=True)
        print("copying", flush=True)
        work.verify(done)
        print(work.copy(reader, writer, done, lambda _: print("committed", flush=True)).copies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
