"""Build a diagnosis of doctor with every kind of finding."""

from __future__ import annotations

from topicwarden.model.diagnosis import (
    Ability,
    AbsentApi,
    CheckState,
    ClusterFacts,
    CommandState,
    Diagnosis,
    InstalledPart,
    PermissionState,
    Possession,
    RegistryState,
)


def rich() -> Diagnosis:
    """Return a diagnosis with a missing part, permission, API and registry, and an undecidable check."""
    return Diagnosis(
        topicwarden="0.1.0",
        stack="prod",
        commands=[
            CommandState(command="check", ability=Ability.READY),
            CommandState(command="plan", ability=Ability.LIMITED, reasons=["Read on Topic: unread records; grant it"]),
            CommandState(command="audit", ability=Ability.UNABLE, reasons=["pyspark is missing"]),
        ],
        parts=[
            InstalledPart(name="Pulumi CLI", version="3.250.0", commands=["plan"]),
            InstalledPart(name="pyspark", version=None, commands=["audit"], remedy="pip install 'topicwarden[audit]'"),
        ],
        cluster=ClusterFacts(
            cluster_id="5L6g3nShT-eMCtK--X86sw",
            kafka="4.1",
            mode="KRaft",
            features={"metadata.version": 27},
            brokers=3,
            topics=12,
            groups=1,
        ),
        registry=RegistryState(url="http://registry:8081", commands=["audit"], subjects=2, mode="READONLY"),
        missing_apis=[AbsentApi(name="DescribeLogDirs", version=1, commands=["audit"], lost="sizes on disk")],
        permissions=[
            PermissionState(
                permission="Read on Topic",
                state=Possession.MISSING,
                commands=["plan"],
                topics=[f"orders.t{number}.v1" for number in range(7)],
                of=12,
                lost={"plan": "the unread records of groups are unknown"},
            ),
            PermissionState(permission="Describe on Cluster", state=Possession.GRANTED, commands=["audit"]),
            PermissionState(
                permission="Write on Topic", state=Possession.UNTESTED, commands=["plan"], reason="a test would write"
            ),
        ],
        checks=20,
        undecidable=[CheckState(check="null-key", reasons=["Read on Topic"])],
    )
