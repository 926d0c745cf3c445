"""Compare the model of the authorizer with the answers of a broker, and with the ACLs that the broker logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from tests.campaigns.authorizer.brokers import SOURCES, AuthorizingBroker
from tests.campaigns.authorizer.draw import Chance, Draw
from tests.campaigns.authorizer.questions import ANY_TOPIC, Question, ask
from tests.campaigns.authorizer.wire import Connection, create_coordinators, replace_acls
from tests.support.authorizer_lines import decision_in_line
from topicwarden.kafka_facts.access.authorizer import Authorizer, Decision, logged_rule
from topicwarden.model.access import WILDCARD, Operation, Resource

_LOGGER, _BROKER_LOGGER = "kafka.authorizer.logger", 8
_SMALL_DRAWS: Final = 10
"""The number of draws that only ask for producer IDs, for each other draw."""


@dataclass
class Tally:
    """The number of compared decisions and of compared logged rules, and what differed."""

    decisions: int = 0
    allowed: int = 0
    rules: int = 0
    differences: list[str] = field(default_factory=list)


def compare(broker: AuthorizingBroker, seed: str, draws: int, clients: int, tally: Tally) -> None:
    """Compare the decisions about random ACLs on ``broker``, and each time with the rules in its log if it has them."""
    zookeeper = broker.version.zookeeper
    with broker.super_user() as super_user:
        create_coordinators(super_user)
        has_rules = not zookeeper and _log_decisions(super_user)
        for number in range(draws):
            chance = Chance(f"{seed}/{number}", broker.operations, zookeeper=zookeeper)
            for draw in (chance.draw(clients), *(chance.draw_for_producer_ids() for _ in range(_SMALL_DRAWS))):
                replace_acls(super_user, draw.acls)
                model = Authorizer(draw.acls, broker.settings)
                name = f"{broker.name}, draw {number}"
                with _new_lines(broker.log) as lines:
                    _compare_answers(broker, name, draw, model, tally)
                if has_rules:
                    _compare_rules(name, draw, model, "".join(lines), tally)


def _compare_answers(broker: AuthorizingBroker, name: str, draw: Draw, model: Authorizer, tally: Tally) -> None:
    for user, source in draw.clients:
        principal, host = f"User:{user}", SOURCES[source]
        seen: dict[Question, bool] = {}
        with broker.user(user, source) as client:
            for question, allowed in ask(client, draw.resources, group_configs=broker.group_configs):
                resource, operation = question
                decision = _decide(model, principal, operation, resource, host)
                if decision.allowed is not allowed:
                    tally.differences.append(
                        f"{name}: {principal} from {host}, {operation} on {resource}: "
                        f"the broker says {allowed}, the model {decision}"
                    )
                seen[question] = allowed
        tally.decisions += len(seen)
        tally.allowed += sum(seen.values())


def _decide(model: Authorizer, principal: str, operation: Operation, resource: Resource, host: str) -> Decision:
    if resource == ANY_TOPIC:
        return model.decide_producer_id(principal, host)
    return model.decide(principal, operation, resource, host)


def _compare_rules(name: str, draw: Draw, model: Authorizer, log: str, tally: Tally) -> None:
    """Compare the rule that decides with each logged decision about a client and a resource of the draw.

    For a name before "*", ``StandardAuthorizerData`` reads some ACLs twice, so that another ACL is the last.
    """
    clients = {(f"User:{user}", SOURCES[source]) for user, source in draw.clients}
    resources = {resource for resource in draw.resources if resource.name >= WILDCARD}
    checked = set()
    for line in log.split("\n"):
        if (found := decision_in_line(line)) is None:
            continue
        logged = found[1]
        key = (logged.principal, logged.host, logged.operation, logged.resource)
        if key in checked or key[:2] not in clients or logged.resource not in resources:
            continue
        checked.add(key)
        decision = model.decide(logged.principal, logged.operation, logged.resource, logged.host)
        if (expected := logged_rule(decision)) != logged.rule:
            tally.differences.append(f"{name}: {key}: the broker logs the rule {logged.rule}, the model {expected}")
    tally.rules += len(checked)


def _log_decisions(super_user: Connection) -> bool:
    """Have the broker log every decision with its rule. Kafka 3.9 can only do this with Log4j 1; return False then."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    level = resource.AlterableConfig(name=_LOGGER, config_operation=0, value="TRACE")
    changed = super_user.send(
        IncrementalAlterConfigsRequest[0](
            resources=[resource(resource_type=_BROKER_LOGGER, resource_name="1", configs=[level])], validate_only=False
        )
    )
    return not changed.responses[0].error_code


@contextmanager
def _new_lines(log: Path) -> Iterator[list[str]]:
    """Yield a list that has, after the block, what was written to the log, which may have rolled once."""
    lines: list[str] = []
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(0, 2)
        before = log.stat().st_ino
        yield lines
        lines.append(file.read())
        if log.stat().st_ino != before:
            lines.append(log.read_text(encoding="utf-8", errors="replace"))
