"""Test what is read from the authorizer logs of a real broker, with a client that tries to write lines of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.campaigns.authorizer.brokers import authorizing_broker
from tests.campaigns.authorizer.questions import ask
from tests.campaigns.authorizer.wire import create_coordinators, replace_acls
from tests.campaigns.versions.clusters import KafkaVersion
from topicwarden.audit.authorizer_log.log_folder import log_address
from topicwarden.audit.authorizer_log.read_logs import read_authorizer_logs
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka_facts.access.authorizer import Authorizer, logged_rule
from topicwarden.model.access import Acl, Operation, PatternType, PermissionType, Resource, ResourceType

LOGGING = """\
<Configuration status="ERROR" shutdownHook="disable">
  <Appenders>
    <File name="server" fileName="${sys:topicwarden.broker}/server.log">
      <PatternLayout pattern="[%d] %p %m (%c)%n"/>
    </File>
    <File name="text" fileName="${sys:topicwarden.broker}/logs/text/kafka-authorizer.log">
      <PatternLayout pattern="[%d{ISO8601_OFFSET_DATE_TIME_HHCMM}] %p %m (%c)%n"/>
    </File>
    <File name="json" fileName="${sys:topicwarden.broker}/logs/json/kafka-authorizer.log">
      <PatternLayout pattern="{&quot;time&quot;:&quot;%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}&quot;,\
&quot;level&quot;:&quot;%p&quot;,&quot;logger&quot;:&quot;%c&quot;,&quot;message&quot;:&quot;%enc{%m}{JSON}&quot;}%n"/>
    </File>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="server"/></Root>
    <Logger name="kafka.authorizer.logger" level="DEBUG" additivity="false">
      <AppenderRef ref="text"/><AppenderRef ref="json"/>
    </Logger>
  </Loggers>
</Configuration>
"""
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ACLS = {
    Acl("User:alice", "*", Operation.READ, PermissionType.ALLOW, TOPIC, "pay", PatternType.PREFIXED),
    Acl("User:alice", "*", Operation.READ, PermissionType.DENY, TOPIC, "secret"),
    Acl("User:CN=orders,OU=apps,O=Acme", "*", Operation.WRITE, PermissionType.ALLOW, TOPIC, "orders"),
    Acl("User:größe", "127.0.0.1", Operation.ALL, PermissionType.ALLOW, TOPIC, "*"),
    Acl("User:*", "*", Operation.READ, PermissionType.ALLOW, GROUP, "*"),
}
FORGED = (
    "x for request = JoinGroup with resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)\n"
    "[2026-11-20T12:00:00,000+00:00] DEBUG Principal = User:victim is Allowed operation = WRITE from host = 10.0.0.1 "
    "on resource = Topic:LITERAL:orders for request = Produce with resourceRefCount = 1 based on rule SuperUser "
    "(kafka.authorizer.logger)\ny"
)
RESOURCES = [
    *(Resource(TOPIC, name) for name in ("orders", "payments", "secret")),
    *(Resource(GROUP, name) for name in ("a b, c: d", "数据", FORGED, "y for request = Fetch with")),
]
CLIENTS = [("alice", "127.0.0.1"), ("CN=orders,OU=apps,O=Acme", "::1"), ("größe", "127.0.0.1"), ("root", "127.0.0.2")]


def test_the_log_of_a_broker_says_what_it_decided(
    spark: SparkSession, java: Path, jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logging = tmp_path / "log4j2.xml"
    logging.write_text(LOGGING, encoding="utf-8")
    monkeypatch.setattr("topicwarden.extensions.sandbox.jvm._LOGGING", logging)
    line = ".".join(next(jars.glob("kafka-clients-*.jar")).stem.removeprefix("kafka-clients-").split(".")[:2])
    answers = {}
    with authorizing_broker(KafkaVersion(line), java, tmp_path, open_without_acl=False, jars=jars) as broker:
        with broker.super_user() as super_user:
            create_coordinators(super_user)
            replace_acls(super_user, ACLS)
        for user, source in CLIENTS:
            with broker.user(user, source) as client:
                for (resource, operation), allowed in ask(client, RESOURCES, group_configs=broker.group_configs):
                    answers[f"User:{user}", operation, resource] = allowed
        folder = log_address(str(broker.log.parent / "logs"))
        request = AuditRequest("dev", Connection((broker.address,), tls=False), (), authorizer_log=folder)
        report = audit(spark, request, lambda _: None)
        logs = read_authorizer_logs(spark, folder)
    assert any(note.startswith("authorizer logs of 2 brokers: ") for note in report.notes)
    text, json = logs.coverage["text"], logs.coverage["json"]
    assert json.escaped
    assert not text.escaped
    assert json.unreadable > 0  # requests about the hostile groups
    assert json.whole
    assert json.has_grants
    victims = [use for use in logs.uses if use.principal == "User:victim"]
    assert [use.last for use in victims] == [1795176000000]
    assert text.first == victims[0].first < json.first
    model = Authorizer(ACLS, broker.settings)
    compared = 0
    for use in logs.uses:
        if use.resource in RESOURCES and use not in victims:
            decision = model.decide(use.principal, use.operation, use.resource, use.host)
            assert (decision.allowed, logged_rule(decision)) == (use.allowed, use.rule), use
            assert answers.get((use.principal, use.operation, use.resource), use.allowed) is use.allowed
            compared += 1
    print(f"{compared} of {len(logs.uses)} uses compared")
    assert compared > 30
