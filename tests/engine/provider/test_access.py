"""Test that deploys create, adopt, change and delete exactly the declared access, on a broker with an authorizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from tests.engine.provider.access_stack import AccessStack
from tests.support.access_names import ACL_TYPE, QUOTA_TYPE, SCRAM_TYPE, acl_name, user_name
from tests.support.clients import until
from tests.support.killed_deploys import killed_up
from tests.support.projects import empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.deploy.intent_log import intent_log
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.authorizer_reads import list_acls
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.topic_reads import list_topics
from topicwarden.kafka.write.access_admin import (
    Credential,
    Password,
    alter_quotas,
    create_acls,
    delete_acls,
    write_credentials,
)
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE, TOPIC_PATH
from topicwarden.model.access import Acl, Operation, PatternType, PermissionType, Resource, ResourceType
from topicwarden.model.planned_change import PlanSection
from topicwarden.toolchain import Toolchain

PASSWORD, OTHER_PASSWORD = "hunter2-never-written", "correct-horse-never-written"
UP = "up --yes --skip-preview --suppress-outputs"


def acl(
    principal: str,
    operation: Operation,
    name: str,
    *,
    resource: ResourceType = ResourceType.TOPIC,
    permission: PermissionType = PermissionType.ALLOW,
    prefixed: bool = False,
) -> Acl:
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return Acl(principal, "*", operation, permission, resource, name, pattern)


@pytest.fixture
def stack(access_stack: AccessStack) -> AccessStack:
    return access_stack


EVERYTHING = """
acls:
  - {principal: 'User:NAME-ops', operations: [DescribeConfigs], permission: Deny, resource: Topic, name: NAME.}
  - {principal: 'User:NAME|CN=ops,OU=a', operations: [Describe], resource: Group, name: 'NAME|a,*'}
users:
  NAME-app: {mechanism: [SCRAM-SHA-512, SCRAM-SHA-256], iterations: 4096, password: {secret: app, version: 1}}
quotas:
  - {user: NAME-app, producer_byte_rate: 1MiB}
  - {user: NAME-app, client_id: nightly, consumer_byte_rate: 2MiB, request_percentage: 12.5}
  - {user: NAME-app, default: [client_id], consumer_byte_rate: 3MiB}
group_configs: {NAME-group: {consumer.session.timeout.ms: 50s}}
"""
ROLES = ", access: {produce: ['User:NAME-app'], consume: [{principal: 'User:NAME-app', group: NAME-group}]}"


def roles(name: str) -> set[Acl]:
    app = f"User:{name}-app"
    return {
        acl(app, Operation.WRITE, f"{name}.orders"),
        acl(app, Operation.READ, f"{name}.orders"),
        acl(app, Operation.READ, f"{name}-group", resource=ResourceType.GROUP),
    }


def test_all_access_is_created_and_no_password_is_written_anywhere(stack: AccessStack, tmp_path: Path) -> None:
    name, log = stack.name, tmp_path / "events.json"
    stack.declare(EVERYTHING, ROLES)
    refused = stack.shell.in_process("up", "--stack", "dev", "--yes")
    assert refused.returncode == 1
    assert "access/all.yaml:6" in refused.stdout
    assert "`pulumi config set --secret app --stack dev` sets it" in refused.stdout
    assert stack.acls() == set()

    stack.set_password("app", PASSWORD)
    stack.shell = replace(stack.shell, variables={**stack.shell.variables, "PULUMI_DEBUG_COMMANDS": "true"})
    printed = stack.pulumi(f"up --yes --debug --event-log {log} --logtostderr -v=5")
    live = stack.live()
    denied = acl(f"User:{name}-ops", Operation.DESCRIBE_CONFIGS, f"{name}.", permission=PermissionType.DENY)
    odd = acl(f"User:{name}|CN=ops,OU=a", Operation.DESCRIBE, f"{name}|a,*", resource=ResourceType.GROUP)
    assert stack.acls() == {*roles(name), denied, odd}
    assert live.users is not None and live.quotas is not None and live.group_configs is not None
    assert {key[1]: user.iterations for key, user in live.users.items() if key[0] == f"{name}-app"} == {
        "SCRAM-SHA-256": 4096,
        "SCRAM-SHA-512": 4096,
    }
    user = ("user", f"{name}-app")
    assert {entity: rates for entity, rates in live.quotas.items() if user in entity} == {
        (user,): {"producer_byte_rate": 2.0**20},
        (("client-id", "nightly"), user): {"consumer_byte_rate": 2.0**21, "request_percentage": 12.5},
        (("client-id", None), user): {"consumer_byte_rate": 3 * 2.0**20},
    }
    assert live.group_configs[f"{name}-group"] == {"consumer.session.timeout.ms": "50000"}

    stack.pulumi("preview --expect-no-changes")
    plan = stack.shell.in_process("plan", "--stack", "dev", "--format", "json")
    written = [printed, log.read_text(encoding="utf-8"), plan.stdout, plan.stderr, stack.up()]
    written += [stack.pulumi(f"stack export{option}") for option in ("", " --show-secrets")]
    written += [stack.pulumi("stack output --show-secrets --json")]
    files = [path for folder in (stack.project.root, stack.project.cache) for path in folder.rglob("*.jsonl")]
    written += [path.read_text(encoding="utf-8", errors="replace") for path in files]
    assert files
    assert [line[:3000] for text in written for line in text.splitlines() if PASSWORD in line] == []


def test_quotas_iterations_and_group_settings_change_in_place_and_foreign_access_stays(stack: AccessStack) -> None:
    name = stack.name
    foreign = acl(f"User:{name}-foreign", Operation.READ, f"{name}.orders")
    user = ("user", f"{name}-app")
    stack.set_password("app", PASSWORD)
    stack.declare(EVERYTHING, ROLES)
    with stack.admin() as admin:
        assert create_acls(admin, [foreign]) == {}
        assert alter_quotas(admin, {(user,): {"request_percentage": 77.0}}) == {}
    stack.up()
    before = json.loads(stack.pulumi("stack export"))["deployment"]["resources"]

    changed = EVERYTHING.replace("1MiB", "4MiB").replace("4096", "8192").replace("50s", "55s")
    stack.declare(changed.replace(", request_percentage: 12.5", ""), ROLES)
    stack.up()
    live = stack.live()
    assert live.users is not None and live.quotas is not None and live.group_configs is not None
    assert live.quotas[(user,)] == {"producer_byte_rate": 2.0**22, "request_percentage": 77.0}
    assert live.quotas[("client-id", "nightly"), user] == {"consumer_byte_rate": 2.0**21}
    assert live.users[f"{name}-app", "SCRAM-SHA-256"].iterations == 8192
    assert live.group_configs[f"{name}-group"] == {"consumer.session.timeout.ms": "55000"}
    after = json.loads(stack.pulumi("stack export"))["deployment"]["resources"]
    assert sorted(each["urn"] for each in after) == sorted(each["urn"] for each in before)
    stack.pulumi("refresh --yes --skip-preview --expect-no-changes")
    assert foreign in stack.acls()


def test_a_targeted_topic_is_deployed_without_grants_that_are_no_targets_but_not_without_denials(
    stack: AccessStack,
) -> None:
    topic, urn = f"{stack.name}.orders", "urn:pulumi:dev::topicwarden::"
    parents = f"{SET_TYPE}::dev", f"{SET_TYPE}${DOMAIN_TYPE}::dev/topics"
    targets = " ".join(f"--target {urn}{each}" for each in (*parents, f"{TOPIC_PATH}::{topic}"))
    stack.declare(EVERYTHING.partition("users:")[0], ROLES)
    refused = stack.shell.run("pulumi", *f"up --yes --skip-preview --non-interactive {targets}".split())
    assert refused.returncode != 0
    assert "does not create 1 declared ACLs that deny" in refused.stdout + refused.stderr
    stack.declare("allow: []", ROLES)
    stack.pulumi(f"up --yes --skip-preview {targets}")
    with stack.admin() as admin:
        assert topic in list_topics(admin)
    assert stack.acls() == set()


@pytest.mark.nightly("The campaign of access changes overlapping grants, in the suite too.")
def test_deleting_one_of_two_overlapping_grants_leaves_the_other(stack: AccessStack) -> None:
    name = stack.name
    grant = "{principal: 'User:NAME-app', operations: [Read], resource: Topic, pattern: Prefixed, name: "
    literal = "{principal: 'User:NAME-app', operations: [Read], resource: Topic, name: NAME.orders.}"
    stack.declare(f"acls: [{grant} NAME.}}, {grant} NAME.orders.}}, {literal}]")
    stack.up()
    app = f"User:{name}-app"
    wide, narrow = (acl(app, Operation.READ, prefix, prefixed=True) for prefix in (f"{name}.", f"{name}.orders."))
    assert stack.acls() == {wide, narrow, acl(app, Operation.READ, f"{name}.orders.")}
    stack.declare(f"acls: [{grant} NAME.orders.}}]\nallow: [revoke-access]")
    stack.up()
    assert stack.acls() == {narrow}


@pytest.mark.nightly("The suite keeps the adoption of topics and of subjects, and the units of access.")
def test_access_that_exists_as_declared_is_adopted_without_a_change(stack: AccessStack) -> None:
    name = stack.name
    user = ("user", f"{name}-app")
    credentials = {Credential(f"{name}-app", f"SCRAM-SHA-{bits}"): Password(OTHER_PASSWORD, 4096) for bits in (256,)}
    with stack.admin() as admin:
        assert create_acls(admin, roles(name)) == {}
        assert alter_quotas(admin, {(user,): {"producer_byte_rate": 2.0**20}}) == {}
        assert write_credentials(admin, credentials) == {}
    stack.set_password("app", PASSWORD)
    stack.declare(EVERYTHING.replace("[SCRAM-SHA-512, SCRAM-SHA-256]", "SCRAM-SHA-256"), ROLES)
    printed = stack.up()
    assert "import" in printed
    assert roles(name) <= stack.acls()
    stack.pulumi("preview --expect-no-changes")
    assert f"{name}-app" in stack.pulumi("stack export")


def test_access_that_is_gone_from_the_cluster_is_reported_and_created_again_by_a_refresh(stack: AccessStack) -> None:
    stack.declare("allow: []", ROLES)
    stack.up()
    gone = acl(f"User:{stack.name}-app", Operation.READ, f"{stack.name}.orders")
    with stack.admin() as admin:
        assert delete_acls(admin, [gone]) == {}
    printed = stack.up()
    assert f"{gone}: declared and deployed, but not on the cluster any more" in printed
    printed = stack.up("--refresh")
    assert f"{gone}: declared and deployed, but not on the cluster any more; this deploy creates it" in printed
    assert stack.acls() == roles(stack.name)


def test_two_resources_of_one_acl_are_one_acl(stack: AccessStack) -> None:
    """`pulumi import` makes another resource, which the program does not register: the engine deletes it."""
    name = stack.name
    stack.declare(EVERYTHING.partition("users:")[0], ROLES)
    stack.up()
    before = stack.acls()
    id = f"User:{name}|CN=ops,OU=a|*|Describe|Allow|Group|{name}|a,*|Literal"
    provider = "--provider sandbox=urn:pulumi:dev::topicwarden::pulumi:providers:kafka::sandbox"
    stack.pulumi(f"import kafka:index/acl:Acl again {id} --yes --protect=false --generate-code=false {provider}")
    stack.up()
    assert "::again" not in stack.pulumi("stack export")
    assert stack.acls() == before
    assert len(before) == 5


def test_imported_access_is_never_removed_or_written_by_any_command(stack: AccessStack) -> None:
    name = stack.name
    stack.set_password("app", PASSWORD)
    stack.declare(EVERYTHING, ROLES)
    foreign = acl(f"User:{name}-foreign", Operation.READ, f"{name}.orders")
    other = acl(f"User:{name}-other", Operation.READ, f"{name}.orders")
    users = {Credential(f"{name}-{each}", "SCRAM-SHA-256"): Password(OTHER_PASSWORD, 4096) for each in ("one", "two")}
    entity = (("client-id", f"{name}-client"),)
    stack.up()
    with stack.admin() as admin:
        assert create_acls(admin, [foreign, other]) == {}
        assert alter_quotas(admin, {entity: {"producer_byte_rate": 9.0}}) == {}
        assert write_credentials(admin, users) == {}
    urn = "urn:pulumi:dev::topicwarden::"
    provider = f"--provider sandbox={urn}pulumi:providers:kafka::sandbox"
    parent = f"--parent access={urn}topicwarden:index:AccessSet::dev"
    for token, resource, id, option in (
        (ACL_TYPE, acl_name(foreign), f"User:{name}-foreign|*|Read|Allow|Topic|{name}.orders|Literal", parent),
        (ACL_TYPE, "other", f"User:{name}-other|*|Read|Allow|Topic|{name}.orders|Literal", ""),
        (SCRAM_TYPE, user_name(f"{name}-one", "SCRAM-SHA-256"), f"{name}-one|SCRAM-SHA-256|{OTHER_PASSWORD}", parent),
        (SCRAM_TYPE, "two", f"{name}-two|SCRAM-SHA-256|{OTHER_PASSWORD}", ""),
        (QUOTA_TYPE, "quota", f"{name}-client|client-id", parent),
    ):
        stack.pulumi(f"import {token} {resource} {id} --yes --protect=false --generate-code=false {provider} {option}")
    before = stack.live()
    plan = json.loads(stack.shell.topicwarden("plan", "--stack", "dev", "--format", "json").stdout)
    kinds = [each["kind"] for each in plan["access"]["consequences"] if each["severity"] == "refused"]
    assert kinds.count("undeclared-resource") == 5
    for command in ("preview", "up --yes --skip-preview", "destroy --yes --skip-preview"):
        done = stack.shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode != 0, command
        # A plain destroy stops at the first deletions that are refused, which may be those of declared access.
        reasons = ["no deploy has declared", *["deploy it first"] * command.startswith("destroy")]
        assert any(reason in done.stdout + done.stderr for reason in reasons), command
    assert stack.shell.topicwarden("destroy", "--stack", "dev", "--yes").returncode == 1
    after = stack.live()
    assert {foreign, other} <= stack.acls()
    assert after.users == before.users
    assert (after.quotas or {})[entity] == {"producer_byte_rate": 9.0}


def test_the_password_of_an_adopted_user_is_replaced_only_with_the_word(stack: AccessStack) -> None:
    name = stack.name
    users = "users:\n  NAME-app: {mechanism: SCRAM-SHA-256, iterations: 4096, password: {secret: app, version: 1}}\n"
    urn = f"urn:pulumi:dev::topicwarden::{ACCESS_SET_TYPE}${SCRAM_TYPE}::{user_name(f'{name}-app', 'SCRAM-SHA-256')}"
    user = Credential(f"{name}-app", "SCRAM-SHA-256")
    with stack.admin() as admin:
        assert write_credentials(admin, {user: Password(OTHER_PASSWORD, 4096)}) == {}
    stack.set_password("app", PASSWORD)
    stack.declare(users)
    stack.up()
    stack.declare(users.replace("4096", "8192"))
    refused = stack.shell.topicwarden("up", "--stack", "dev", "--yes")
    assert refused.returncode == 1
    assert "credential-replaced" in refused.stdout
    stack.declare(users)
    commands: tuple[tuple[str, ...], ...] = (("up", "--replace", urn), ("state", "taint", urn), ("up",))
    for command in commands:
        done = stack.shell.run(
            "pulumi", *command, "--yes", "--non-interactive", *["--skip-preview"][: command[0] == "up"]
        )
        assert (done.returncode == 0) is (command[0] == "state"), done.stdout + done.stderr
    stack.pulumi(f"state untaint {urn} --yes")
    with open_cluster(connect_to(stack.project, "dev")) as cluster:
        assert (cluster.access([]).users or {})[f"{name}-app", "SCRAM-SHA-256"].iterations == 4096
    stack.declare(users.replace("4096", "8192") + "allow: [replace-credential]\n")
    stack.up()
    stack.declare(users.replace("4096", "9000"))  # a password that was deployed here
    stack.up()
    assert (stack.live().users or {})[f"{name}-app", "SCRAM-SHA-256"].iterations == 9000


def test_a_deploy_that_would_refresh_a_password_of_somebody_else_changes_nothing(stack: AccessStack) -> None:
    name = stack.name
    users = "users:\n  NAME-app: {mechanism: SCRAM-SHA-256, password: {secret: app, version: 1}}\n"
    stack.set_password("app", PASSWORD)
    stack.declare(users, ROLES)
    stack.up()
    gone = acl(f"User:{name}-app", Operation.READ, f"{name}.orders")
    user = Credential(f"{name}-app", "SCRAM-SHA-256")
    with stack.admin() as admin:
        assert delete_acls(admin, [gone]) == {}
        assert write_credentials(admin, {user: Password(OTHER_PASSWORD, 5000)}) == {}
    refused = stack.shell.in_process("up", "--stack", "dev", "--yes", "--refresh")
    assert refused.returncode == 1
    assert "replaces the password of User:" in refused.stdout
    assert stack.acls() == roles(name) - {gone}
    assert (stack.live().users or {})[f"{name}-app", "SCRAM-SHA-256"].iterations == 5000


def test_plain_destroy_revokes_only_what_each_declaring_file_allowed(stack: AccessStack) -> None:
    stack.declare("allow: [revoke-access]", ", allow: [delete]" + ROLES)
    stack.up()
    done = stack.shell.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode != 0
    assert f"into the YAML of {stack.name}.orders and deploy it first" in done.stdout + done.stderr
    assert stack.acls() == roles(stack.name)


def test_no_moment_has_a_grant_without_the_denial_that_restricts_it(stack: AccessStack) -> None:
    name = stack.name
    allowed = "{principal: 'User:NAME-app', operations: [Read], resource: Topic, name: NAME., pattern: Prefixed}"
    denied = "{principal: 'User:NAME-app', operations: [Read], permission: Deny, resource: Topic, name: NAME.secret}"
    grant = acl(f"User:{name}-app", Operation.READ, f"{name}.", prefixed=True)
    denial = acl(f"User:{name}-app", Operation.READ, f"{name}.secret", permission=PermissionType.DENY)
    gaps: list[frozenset[Acl]] = []
    with polled(stack, lambda acls: gaps.append(acls) if grant in acls and denial not in acls else None):
        stack.declare(f"acls: [{allowed}, {denied}]")
        stack.up()
        assert stack.acls() == {grant, denial}
        stack.declare("allow: [revoke-access, open-access]")
        stack.up()
        assert stack.acls() == set()
    assert gaps == []


def test_plain_destroy_is_refused_unless_the_yaml_allows_it(stack: AccessStack) -> None:
    stack.declare("allow: []", f"{ROLES}, allow: [delete]")
    stack.up()
    refused = stack.shell.run("pulumi", "destroy", "--yes", "--skip-preview", "--stack", "dev", "--non-interactive")
    assert refused.returncode != 0
    assert "`topicwarden destroy` says who would lose ACL Allow Read on" in refused.stdout + refused.stderr
    assert stack.acls() == roles(stack.name)
    stack.declare("allow: []", f"{ROLES}, allow: [delete, revoke-access]")
    stack.up()
    stack.pulumi("destroy --yes --skip-preview")
    assert stack.acls() == set()


def test_no_moment_has_a_topic_without_acls_where_that_is_open_to_everyone(tools: Toolchain, tmp_path: Path) -> None:
    overrides = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
    }
    with own_cache(tmp_path, warm=True), running(sandbox_of(project_of(tmp_path / "broker", {})), 1, overrides):
        project = project_of(tmp_path / "open", {})
        stack = AccessStack(project, empty_stack(project, tmp_path / "state"), "open")
        stack.declare("allow: []", f"{ROLES}, allow: [delete, first-acl, open-access, revoke-access]")
        gaps: list[int] = []
        access, first = "urn:pulumi:dev::topicwarden::" + ACCESS_SET_TYPE, min(roles(stack.name))
        target = f"--target {access}::dev --target {access}${ACL_TYPE}::{acl_name(first)}"
        refused = stack.shell.run("pulumi", *f"up --yes --non-interactive {target}".split())
        assert refused.returncode != 0
        assert "also the 2 that this command leaves out" in refused.stdout + refused.stderr
        assert stack.acls() == set()
        with stack.admin() as admin:

            def exists() -> bool:
                return "open.orders" in list_topics(admin)

            def look(acls: frozenset[Acl]) -> None:
                if before[-1] and roles(stack.name).isdisjoint(acls) and exists():
                    gaps.append(len(before))
                before.append(exists())

            before = [False]
            with polled(stack, look):
                stack.up()
                assert stack.acls() == roles(stack.name)
                resources = json.loads(stack.pulumi("stack export"))["deployment"]["resources"]
                (topic,) = (each for each in resources if each["type"] == "kafka:index/topic:Topic")
                assert len(topic["dependencies"]) == 1
                other = "{topic: open.other, owner: team, partitions: 1, replication_factor: 1}\n"
                (project.topics / "all.yaml").write_text(other, encoding="utf-8")
                stack.up()
        assert stack.acls() == set()
        assert any(before)
        assert gaps == []


@pytest.mark.nightly(
    "The suite keeps the kill of the engine while access is created; campaigns kill at random moments.",
    stays=("engine-create",),
)
@pytest.mark.parametrize(("process", "intent"), [("engine", "create"), ("command", "delete")])
def test_a_killed_deploy_locks_nobody_out_and_the_next_one_converges(
    stack: AccessStack, process: str, intent: str
) -> None:
    """Each application's literal grant becomes a prefixed one; the deploy is killed while it writes that.

    A deploy without the prefixed grants is refused then, unless Pulumi's state has them: they would stay.
    """
    name = stack.name
    literal = "{principal: 'User:NAME-N', operations: [Read], resource: Topic, name: NAME.orders}"
    prefixed = literal.replace("NAME.orders", "NAME.").replace("}", ", pattern: Prefixed}")
    stack.declare(_acls(literal))
    stack.up()
    before = stack.acls()
    assert len(before) == APPLICATIONS
    stack.declare(_acls(prefixed))
    after = {acl(f"User:{name}-{number}", Operation.READ, f"{name}.", prefixed=True) for number in range(APPLICATIONS)}
    topic, locked_out = Resource(ResourceType.TOPIC, f"{name}.orders"), list[str]()
    principals = {each.principal for each in before}

    def look(acls: frozenset[Acl]) -> None:
        locked_out.extend(principals - {each.principal for each in acls if each.matches(topic)})

    with polled(stack, look):
        _intents(stack).unlink()

        def wait() -> None:
            until(lambda: intent in _text(_intents(stack)), f"the deploy announces what it will {intent}")

        assert killed_up(stack.project, stack.shell, process, wait)
        assert stack.acls() >= before or stack.acls() >= after
        stack.shell.run("pulumi", "cancel", "--yes", "--stack", "dev")  # in a container, nobody sees that it was killed
        stack.declare(_acls(literal))
        refused = stack.shell.in_process("up", "--stack", "dev", "--yes")
        if refused.returncode:  # otherwise the engine still wrote the state, so that it has the prefixed grants
            assert refused.returncode == 1
            assert "a deploy that was killed created this" in refused.stdout
        stack.declare(_acls(prefixed))
        stack.up()
        assert stack.acls() == after
        stack.pulumi("preview --expect-no-changes")
    assert locked_out == []


APPLICATIONS = 120  # more than 100, so that the state is written at the end only


def _acls(entry: str) -> str:
    entries = "".join(f"  - {entry.replace('-N', f'-{number}')}\n" for number in range(APPLICATIONS))
    return f"allow: [revoke-access]\nacls:\n{entries}"


def _intents(stack: AccessStack) -> Path:
    return intent_log(stack.project, "dev", PlanSection.ACCESS).path


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@contextmanager
def polled(stack: AccessStack, look: Callable[[frozenset[Acl]], object]) -> Iterator[None]:
    """Ask the broker for its ACLs during the block, again and again, and let ``look`` see each answer."""
    ended = Event()

    def poll() -> None:
        with stack.admin() as admin:
            while not ended.wait(0.01):
                look(list_acls(admin).acls)

    with ThreadPoolExecutor(1) as executor:
        polling = executor.submit(poll)
        try:
            yield
        finally:
            ended.set()
        polling.result()
