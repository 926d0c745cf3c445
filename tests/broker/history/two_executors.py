"""Write a history from two executors in separate processes: ``python -m … PROJECT ADDRESS…`` prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.broker.history.conftest import NOW, look
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.key_store import FOLDER
from topicwarden.audit.history.store import HistoryStore, HistoryUnavailable
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


def remembered(spark: SparkSession, address: str) -> dict[str, Any]:
    """Save one audit in the history at ``address``; return the reported problems and the stored content."""
    history, found = AuditHistory(spark, address), dict[str, Any]()
    try:
        history.require_shared()
        found["refused"] = ""
    except Refusal as refusal:
        found["refused"] = str(refusal)
    history.save([look()], NOW)
    found["notes"] = history.notes
    found["states"] = list(AuditHistory(spark, address).last_states("c"))
    try:
        rows = spark.range(0, 1_000, 1, 4).withColumn("keyed", F.col("id") % 3 == 0)
        store = HistoryStore(spark, address)
        store.write(FOLDER, "0000000000001-a", rows, partition_by="keyed")
        store.complete(FOLDER, "0000000000001-a")
        found["keys"] = ""
    except HistoryUnavailable as error:
        found["keys"] = str(error)
    found["parts"] = len(HistoryStore(spark, address).parts(FOLDER))
    return found


if __name__ == "__main__":
    with spark_session(Project(Path(sys.argv[1])), "local-cluster[2,1,1024]") as session:
        print(json.dumps({address: remembered(session, address) for address in sys.argv[2:]}))
